#include "path/hint_cleaner.h"

#include "base/metrics.h"

#include <glib.h>
#include <stdatomic.h>

/* Of one page. */
#define HINTS_MAX 256
#define BYTES_MAX ((size_t)256 * 1024)
/* Of the process. */
#define BATCHES_MAX 4
#define DELETE_MS 10000

typedef struct kw_stale_hint {
    struct kw_stale_hint *next;
    const kw_placement *placement;
    kw_bytes key;
    int64_t timestamp;
} kw_stale_hint;

static _Atomic int batches;

/* While the rows of the table move, a put can be in one placement only, where a cleaner does not see it. */
bool
kw_stale_hint_can_be_deleted(const kw_call *call, const kw_table *table, const kw_hint_facts *facts)
{
    kw_hint_limits limits = kw_hints_limits(call, table);
    return !kw_table_changes_rows(table) && kw_hint_can_be_cleaned(facts, &limits);
}

kw_write
kw_stale_hint_delete(const kw_call *call, const kw_placement *placement, kw_bytes key, int64_t timestamp,
                     kw_arena *arena)
{
    kw_column *column = KW_ARENA_NEW(arena, kw_column);
    *column = (kw_column){.family = placement->path->table->default_family};
    return (kw_write){.kind = KW_WRITE_DELETE,
                      .table = placement->store_table,
                      .row = key,
                      .columns = column,
                      .columns_count = 1,
                      .timestamp = timestamp,
                      .deadline = call->deadline,
                      .fenced = true,
                      .era = call->era};
}

void
kw_stale_hints_add(kw_stale_hints *hints, kw_arena *arena, const kw_call *call, const kw_placement *placement,
                   kw_bytes key, const kw_hint_facts *facts)
{
    if (hints->count == HINTS_MAX || hints->bytes + key.size > BYTES_MAX ||
        !kw_stale_hint_can_be_deleted(call, placement->path->table, facts))
        return;
    kw_stale_hint *hint = KW_ARENA_NEW(arena, kw_stale_hint);
    *hint = (kw_stale_hint){.next = hints->first,
                            .placement = placement,
                            .key = kw_arena_copy(arena, key),
                            .timestamp = facts->hint_ms};
    hints->first = hint;
    hints->count++;
    hints->bytes += key.size;
}

/* --- deletes --------------------------------------------------------------------------------------- */

typedef struct cleaning {
    kw_call call; /* its arena holds this struct */
    kw_write *writes;
    const kw_write **list;
    kw_written *written;
    size_t count;
} cleaning;

static void
cleaned(void *user)
{
    cleaning *self = user;
    kw_call call = self->call;
    int64_t deleted = 0;
    for (size_t i = 0; i < self->count; i++)
        deleted += self->written[i].outcome == KW_OUTCOME_OK;
    kw_metrics_add(KW_METRIC_hints_cleaned, deleted);
    atomic_fetch_sub(&batches, 1);
    kw_call_release(&call);
}

static void
add_delete(cleaning *self, const kw_stale_hint *hint)
{
    kw_arena *arena = self->call.arena;
    kw_bytes key = kw_arena_copy(arena, hint->key);
    kw_write *write = &self->writes[self->count];
    *write = kw_stale_hint_delete(&self->call, hint->placement, key, hint->timestamp, arena);
    self->list[self->count++] = write;
}

void
kw_stale_hints_clean(const kw_stale_hints *hints, kw_call *call)
{
    if (hints->count == 0 || kw_budget_pressure(call->account) != KW_PRESSURE_NONE)
        return;
    if (atomic_fetch_add(&batches, 1) >= BATCHES_MAX) {
        atomic_fetch_sub(&batches, 1);
        return;
    }
    kw_call copy = kw_call_copy(call);
    cleaning *self = KW_ARENA_NEW(copy.arena, cleaning);
    *self = (cleaning){.call = copy};
    self->call.deadline = kw_deadline_in_ms(DELETE_MS);
    self->writes = KW_ARENA_ARRAY(copy.arena, kw_write, hints->count);
    self->list = KW_ARENA_ARRAY(copy.arena, const kw_write *, hints->count);
    self->written = KW_ARENA_ARRAY(copy.arena, kw_written, hints->count);
    for (const kw_stale_hint *hint = hints->first; hint; hint = hint->next)
        add_delete(self, hint);
    kw_store_handle_write_many(copy.handle, self->list, self->count, self->written, cleaned, self);
}
