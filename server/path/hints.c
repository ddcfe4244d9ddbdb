#include "path/hints.h"

#include "hint/program.h"
#include "path/atomic.h"
#include "store/control.h"

#include <glib.h>

/* The embedded store has one clock, and nothing arrives late. */
kw_hint_limits
kw_hints_limits(const kw_call *call, const kw_table *table)
{
    const kw_model *model = kw_policy_model(call->policy);
    bool shared = kw_store_is_shared(call->store);
    int64_t skew_ms = shared ? model->store.hbase.max_clock_skew_ms : 0;
    int64_t late_ms = shared ? model->store.hbase.late_ms : 0;
    return (kw_hint_limits){.window_ms = KW_HINT_WINDOW_MS,
                            .late_ms = late_ms,
                            .clock_difference_ms = shared ? KW_HINT_CLOCK_DIFFERENCE_MS : 0,
                            .keep_ms = model->hints_keep_ms,
                            .lag_ms =
                                kw_hint_lag_ms(shared ? table->ordering.regime.order : KW_WRITE_ORDER_STORE,
                                               skew_ms, KW_HINT_WINDOW_MS, late_ms)};
}

int64_t
kw_hints_earliest_ms(const kw_call *call)
{
    int64_t earliest_ms;
    return kw_store_earliest_ms(call->store, &earliest_ms) ? earliest_ms : KW_HINT_NO_TIME;
}

/* --- tuples ---------------------------------------------------------------------------------------- */

kw_hint_fields
kw_hints_given(const kw_table *table, const kw_record *record)
{
    kw_hint_fields given = 0;
    for (size_t i = 0; i < table->fields_count; i++)
        if (table->tuple_bits[i] != KW_IN_NO_TUPLE && record->values[i].kind != KW_VALUE_NONE)
            given |= (kw_hint_fields)1 << table->tuple_bits[i];
    return given;
}

kw_hint_put
kw_hints_put_of(const kw_table *table, const kw_record *record)
{
    return kw_hint_put_of(table->tuples, table->tuples_count, kw_hints_given(table, record));
}

bool
kw_hints_is_derived(const kw_table *table, const kw_record *record)
{
    if (table->tuples_count == 0)
        return false;
    kw_hint_put put = kw_hints_put_of(table, record);
    return put.part == KW_HINT_PARTIAL || (put.touched & table->unique_fields);
}

/* The names of the fields with these bits, for example "created, seller". In the arena. */
static const char *
names_of(const kw_table *table, kw_hint_fields fields, kw_arena *arena)
{
    const char *names = "";
    for (size_t i = 0; i < table->fields_count; i++)
        if (table->tuple_bits[i] != KW_IN_NO_TUPLE && (fields >> table->tuple_bits[i] & 1))
            names = kw_arena_printf(arena, "%s%s%s", names, *names ? ", " : "", table->fields[i].name);
    return names;
}

static bool
refuse_partial(const kw_table *table, const kw_record *record, kw_error *ret_error)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_hint_fields fields = kw_hints_given(table, record);
    kw_hint_fields touched = kw_hints_put_of(table, record).touched;
    const char *given = names_of(table, fields, arena), *missing = names_of(table, touched & ~fields, arena);
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s: put %s together with %s: paths of the table have these fields in "
                        "their keys. Puts of some of them need atomics: true in the table's policy",
                        table->name, missing, given);
}

static bool
refuse_timestamp(const kw_table *table, const kw_record *record, kw_error *ret_error)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s: a put of %s takes no timestamp, because paths of the table have these "
                        "fields in their keys; remove the timestamp",
                        table->name, names_of(table, kw_hints_given(table, record), arena));
}

bool
kw_hints_counts_natively(const kw_call *call, const kw_table *table)
{
    return kw_store_is_shared(call->store) && table->ordering.regime.order == KW_WRITE_ORDER_STORE;
}

static bool
check_counters(const kw_call *call, const kw_table *table, const kw_record *record, kw_error *ret_error)
{
    for (size_t i = 0; kw_hints_counts_natively(call, table) && i < table->fields_count; i++)
        if (table->fields[i].counter && record->values[i].kind != KW_VALUE_NONE)
            return kw_error_set(ret_error, KW_REFUSED,
                                "table %s: put the counter %s by itself, or together with all fields in the "
                                "keys of the paths that the put touches",
                                table->name, table->fields[i].name);
    return true;
}

static bool
check_partial(const kw_call *call, const kw_table *table, const kw_record *record, kw_error *ret_error)
{
    if (!kw_atomic_is_allowed(call, table))
        return refuse_partial(table, record, ret_error);
    if (!check_counters(call, table, record, ret_error))
        return false;
    bool held = table->ordering.regime.atomics == KW_ATOMICS_HELD;
    if (held)
        kw_atomic_set_held_error(table->name, "put of some fields in a path's key", ret_error);
    return !held;
}

bool
kw_hints_check_put(const kw_call *call, const kw_table *table, const kw_record *record, bool has_timestamp,
                   kw_error *ret_error)
{
    if (table->tuples_count == 0)
        return true;
    kw_hint_put put = kw_hints_put_of(table, record);
    if (put.part != KW_HINT_OUTSIDE && has_timestamp)
        return refuse_timestamp(table, record, ret_error);
    return put.part != KW_HINT_PARTIAL || check_partial(call, table, record, ret_error);
}

kw_hint_fields
kw_hints_tuple(const kw_placement *placement)
{
    kw_hint_fields tuple = 0;
    for (size_t i = 0; i < placement->tuple_count; i++)
        tuple |= (kw_hint_fields)1 << placement->path->table->tuple_bits[placement->tuple[i]];
    return tuple;
}

kw_column *
kw_hints_columns(const kw_placement *placement, kw_arena *arena)
{
    kw_column *columns = KW_ARENA_ARRAY(arena, kw_column, placement->tuple_count);
    for (size_t i = 0; i < placement->tuple_count; i++) {
        const kw_field *field = &placement->path->table->fields[placement->tuple[i]];
        columns[i] = (kw_column){.family = field->family, .qualifier = field->qualifier};
    }
    return columns;
}

int64_t
kw_hints_newest_ms(const kw_placement *placement, const kw_row *row)
{
    int64_t newest_ms = KW_HINT_NO_TIME;
    for (size_t i = 0; i < placement->tuple_count; i++) {
        const kw_field *field = &placement->path->table->fields[placement->tuple[i]];
        const kw_cell *cell = kw_row_find_cell(row, field->family, field->qualifier);
        if (cell)
            newest_ms = MAX(newest_ms, cell->timestamp);
    }
    return newest_ms;
}

bool
kw_hints_can_expire(const kw_placement *placement)
{
    const kw_table *table = placement->path->table;
    for (size_t i = 0; i < placement->tuple_count; i++) {
        const kw_model_family *family =
            kw_table_find_family(table, table->fields[placement->tuple[i]].family);
        if (family && family->ttl_seconds > 0)
            return true;
    }
    return false;
}

/* --- rows ------------------------------------------------------------------------------------------ */

kw_record
kw_hints_stored(const kw_table *table, const kw_record *record, kw_arena *arena)
{
    kw_record stored = kw_record_new(table, arena);
    memcpy(stored.values, record->values, table->fields_count * sizeof *stored.values);
    for (size_t i = 0; i < table->fields_count; i++) {
        const kw_field *field = &table->fields[i];
        kw_error error;
        if (table->tuple_bits[i] == KW_IN_NO_TUPLE || field->type != KW_FIELD_DOUBLE ||
            record->values[i].kind == KW_VALUE_NONE)
            continue;
        kw_bytes cell = kw_field_encode_cell(field, record->values[i], arena);
        bool decoded = kw_field_decode_cell(table, field, cell, arena, &stored.values[i], &error);
        g_assert(decoded);
    }
    return stored;
}

bool
kw_hint_encode(const kw_placement *placement, const kw_record *record, kw_buffer *scratch, kw_arena *arena,
               kw_hint *ret_hint, kw_error *ret_error)
{
    scratch->size = 0;
    if (!kw_layout_encode(placement->layout, record, scratch, ret_error))
        return false;
    *ret_hint = (kw_hint){placement, kw_arena_copy(arena, kw_buffer_bytes(scratch))};
    return true;
}

bool
kw_hints_of(const kw_table *table, const kw_record *record, kw_arena *arena, kw_hint **ret_hints,
            size_t *ret_count, kw_error *ret_error)
{
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    bool good = true;
    kw_record stored = kw_hints_stored(table, record, arena);
    *ret_hints = KW_ARENA_ARRAY(arena, kw_hint, table->placements_count);
    *ret_count = 0;
    for (size_t i = 0; good && i < table->placements_count; i++) {
        const kw_placement *placement = &table->placements[i];
        if (placement->content != KW_CONTENT_HINTS || !placement->role.put ||
            !kw_placement_has_record(placement, record))
            continue;
        good = kw_hint_encode(placement, &stored, &scratch, arena, &(*ret_hints)[*ret_count], ret_error);
        *ret_count += good;
    }
    return good;
}

/* --- writes ---------------------------------------------------------------------------------------- */

kw_write
kw_hint_write(const kw_call *call, const kw_table *table, const kw_hint *hint, kw_durability durability,
              kw_arena *arena)
{
    kw_cell *cell = KW_ARENA_NEW(arena, kw_cell);
    *cell = (kw_cell){.family = table->default_family};
    return (kw_write){.kind = KW_WRITE_PUT,
                      .table = hint->placement->store_table,
                      .row = hint->key,
                      .cells = cell,
                      .cells_count = 1,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .durability = durability,
                      .deadline = call->deadline,
                      .fenced = true,
                      .era = call->era};
}

typedef struct writing {
    kw_call *call;
    const kw_table *table;
    kw_error *errors; /* by record */
    size_t count;
    kw_write *writes;
    const kw_write **list;
    kw_written *written;
    const kw_hint **hints; /* parallel to writes */
    size_t *records;       /* the same: index of the record */
    size_t writes_count;
    kw_durability durability;
    kw_deadline row_deadline;
    kw_hints_written done;
    void *user;
} writing;

static bool
add_record(writing *self, size_t index, const kw_record *record, kw_error *ret_error)
{
    kw_hint *hints;
    size_t count;
    if (!kw_hints_of(self->table, record, self->call->arena, &hints, &count, ret_error))
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t at = self->writes_count++;
        self->hints[at] = &hints[i];
        self->records[at] = index;
        self->writes[at] =
            kw_hint_write(self->call, self->table, &hints[i], self->durability, self->call->arena);
        self->list[at] = &self->writes[at];
    }
    return true;
}

/* The outcome of a record whose hint may be missing is certain, because its row is not sent. */
static void
fail_record(writing *self, size_t at)
{
    kw_error *error = &self->errors[self->records[at]];
    if (error->code != KW_OK)
        return;
    *error = self->written[at].error;
    error->maybe_applied = false;
    kw_error_prefix(error, "table %s, path %s: the record was not written, because its path was not",
                    self->table->name, self->hints[at]->placement->path->name);
}

static void
all_written(void *user)
{
    writing *self = user;
    for (size_t i = 0; i < self->writes_count; i++)
        if (self->written[i].outcome != KW_OUTCOME_OK)
            fail_record(self, i);
    self->done(self->user, self->errors, self->row_deadline);
}

static void
written(void *user)
{
    writing *self = user;
    kw_call_guard(self->call, all_written, self);
}

kw_durability
kw_hint_durability(kw_durability of_row)
{
    return of_row == KW_DURABILITY_SYNC_WAL || of_row == KW_DURABILITY_FSYNC_WAL ? of_row
                                                                                 : KW_DURABILITY_DEFAULT;
}

void
kw_hints_write(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
               kw_durability durability, kw_hints_written done, void *user)
{
    kw_arena *arena = call->arena;
    size_t most = count * table->placements_count;
    writing *self = KW_ARENA_NEW(arena, writing);
    *self = (writing){.call = call, .table = table, .count = count, .done = done, .user = user};
    self->durability = kw_hint_durability(durability);
    self->errors = KW_ARENA_ARRAY(arena, kw_error, count);
    self->writes = KW_ARENA_ARRAY(arena, kw_write, most);
    self->list = KW_ARENA_ARRAY(arena, const kw_write *, most);
    self->hints = KW_ARENA_ARRAY(arena, const kw_hint *, most);
    self->records = KW_ARENA_ARRAY(arena, size_t, most);
    for (size_t i = 0; i < count; i++) {
        kw_error_clear(&self->errors[i]);
        add_record(self, i, records[i], &self->errors[i]);
    }
    self->written = KW_ARENA_ARRAY(arena, kw_written, self->writes_count);
    self->row_deadline = MIN(call->deadline, kw_deadline_in_ms(KW_HINT_WINDOW_MS));
    if (self->writes_count)
        kw_store_handle_write_many(call->handle, self->list, self->writes_count, self->written, written,
                                   self);
    else
        done(user, self->errors, self->row_deadline);
}
