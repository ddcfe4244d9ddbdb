#include "path/atomic.h"

#include <glib.h>

#define HELD_RETRY_MS 1000

bool
kw_atomic_check_path(const kw_table *table, const char *verb, kw_error *ret_error)
{
    if (table->chosen && !table->locators)
        return kw_error_set(
            ret_error, KW_INVALID,
            "table %s: %s needs to know a record's row, and its bucket is chosen at each put; "
            "add an association to the table",
            table->name, verb);
    return true;
}

void
kw_atomic_set_held_error(const char *table, const char *verb, kw_error *ret_error)
{
    kw_error_set(
        ret_error, KW_UNAVAILABLE,
        "table %s: its key rule, its paths or its setting atomics are being changed, and the present "
        "place of the change allows no %s; try again later (keyway change status %s)",
        table, verb, table);
    ret_error->retry_after_ms = HELD_RETRY_MS;
}

/* A store with one writer orders all writes itself and needs no control cells: there, atomic operations are
 * allowed unless the policy forbids them. */
bool
kw_atomic_is_allowed(const kw_call *call, const kw_table *table)
{
    return kw_store_is_shared(call->store) ? table->ordering.regime.atomics != KW_ATOMICS_OFF
                                           : table->model->atomics != 0;
}

bool
kw_atomic_check_order(const kw_call *call, const kw_table *table, const char *verb, kw_error *ret_error)
{
    if (!kw_atomic_is_allowed(call, table))
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: %s needs atomics: true in the table's policy; see "
                            "keyway-ordering(7)",
                            table->name, verb);
    bool held = table->ordering.regime.atomics == KW_ATOMICS_HELD;
    if (held)
        kw_atomic_set_held_error(table->name, verb, ret_error);
    return !held;
}

typedef struct search {
    kw_call *call;
    const kw_table *table;
    kw_atomic_rows_found done;
    void *user;
} search;

static bool
is_read(const kw_table *table, const kw_placement *placement)
{
    return placement->role.get && placement->path == &table->paths[0];
}

/* The row that get operations read comes first: only its cells are compared or added to. */
kw_atomic_rows
kw_atomic_rows_of(kw_call *call, const kw_table *table, const kw_record_rows *found)
{
    g_assert(!found->error);
    kw_row_target *others = KW_ARENA_ARRAY(call->arena, kw_row_target, found->count);
    kw_atomic_rows rows = {.others = others};
    for (size_t i = 0; i < found->count; i++) {
        const kw_placed_row *row = &found->rows[i];
        kw_row_target target = {row->placement->store_table, row->key, row->step};
        if (is_read(table, row->placement))
            rows.first = target;
        else
            others[rows.others_count++] = target;
    }
    g_assert(rows.others_count == found->count - 1);
    return rows;
}

static void
rows_found(void *user, const kw_record_rows *found)
{
    search *self = user;
    if (found->error) {
        self->done(self->user, NULL, found->error);
        return;
    }
    kw_atomic_rows *rows = KW_ARENA_NEW(self->call->arena, kw_atomic_rows);
    *rows = kw_atomic_rows_of(self->call, self->table, found);
    self->done(self->user, rows, NULL);
}

void
kw_atomic_find_rows(kw_call *call, const kw_table *table, const kw_record *record, int64_t stamp,
                    kw_atomic_rows_found done, void *user)
{
    search *self = KW_ARENA_NEW(call->arena, search);
    *self = (search){call, table, done, user};
    const kw_record **one = KW_ARENA_NEW(call->arena, const kw_record *);
    *one = record;
    kw_rows_find(call, table, one, 1, KW_ROWS_PUT, stamp, rows_found, self);
}
