/* See atomic.h. */
#include "path/atomic.h"

#include <glib.h>

#define HELD_RETRY_MS 10000

bool
kw_atomic_check_path(const kw_table *table, const char *verb, kw_error *ret_error)
{
    if (table->paths_count > 1)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: %s works on tables with one path; this one has %zu, which cannot be "
                            "changed atomically",
                            table->name, verb, table->paths_count);
    if (table->chosen && !table->association)
        return kw_error_set(
            ret_error, KW_INVALID,
            "table %s: %s needs to know a record's row, and its bucket is chosen at each put; "
            "add an association to the table",
            table->name, verb);
    return true;
}

/* A value in two rows cannot be compared or added to in one step of the store. */
static bool
refuse_held(const kw_table *table, const char *verb, kw_error *ret_error)
{
    kw_error_set(ret_error, KW_UNAVAILABLE,
                 "table %s: its key rule is being changed; %s is possible again when the change has ended "
                 "(keyway change status %s)",
                 table->name, verb, table->name);
    ret_error->retry_after_ms = HELD_RETRY_MS;
    return false;
}

bool
kw_atomic_check_order(const kw_table *table, const char *verb, kw_error *ret_error)
{
    if (table->ordering.order == KW_WRITE_ORDER_STAMP)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: %s needs order: store; with order: stamp the gateways give the "
                            "timestamps, so values cannot be changed in place",
                            table->name, verb);
    if (!table->ordering.atomics)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: %s needs atomics: true, so that removals notice it", table->name,
                            verb);
    return !table->atomics_held || refuse_held(table, verb, ret_error);
}

typedef struct search {
    kw_atomic_row_found done;
    void *user;
} search;

static void
rows_found(void *user, const kw_record_rows *rows)
{
    search *self = user;
    g_assert(rows->error || rows->count == 1);
    self->done(self->user, rows->error ? NULL : &rows->rows[0], rows->error);
}

void
kw_atomic_find_row(kw_call *call, const kw_table *table, const kw_record *record, int64_t stamp,
                   kw_atomic_row_found done, void *user)
{
    search *self = KW_ARENA_NEW(call->arena, search);
    *self = (search){done, user};
    const kw_record **one = KW_ARENA_NEW(call->arena, const kw_record *);
    *one = record;
    kw_rows_find(call, table, one, 1, KW_ROWS_PUT, stamp, rows_found, self);
}
