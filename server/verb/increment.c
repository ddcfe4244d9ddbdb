/* increment: adds to 8-byte integers of a record. The store reads one row and writes the sums to all rows of
 * the record (path/atomic.h). */
#include "path/atomic.h"
#include "path/cells.h"
#include "verb/verb.h"

typedef struct increment {
    kw_call *call;
    const kw_table *table;
    const kw_pick *picks;
    kw_increment what;
    kw_increment_record_done done;
    void *user;
} increment;

static bool
check_pick(const kw_table *table, kw_pick pick, kw_error *ret_error)
{
    const kw_field *field = kw_pick_field(table, pick);
    if (field->identity)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: field %s is part of the key and cannot be added to", table->name,
                            field->name);
    if (field->type != KW_FIELD_INT)
        return kw_error_set(ret_error, KW_INVALID, "table %s: field %s is not an int and cannot be added to",
                            table->name, field->name);
    if (!field->stored || field->form != KW_CELL_RAW_BE)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: field %s is not stored in the 8-byte form that can be added to",
                            table->name, field->name);
    if (!table->fields[pick.field].counter)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: field %s is not a counter; add \"counter: true\" to it in the policy",
                            table->name, table->fields[pick.field].name);
    return true;
}

static bool
make_columns(increment *self, size_t count, kw_error *ret_error)
{
    if (count == 0)
        return kw_error_set(ret_error, KW_INVALID, "table %s: no field to add to", self->table->name);
    kw_column *columns = KW_ARENA_ARRAY(self->call->arena, kw_column, count);
    for (size_t i = 0; i < count; i++) {
        if (!check_pick(self->table, self->picks[i], ret_error))
            return false;
        columns[i] = kw_pick_column(self->table, self->picks[i], self->call->arena);
    }
    self->what.columns = columns;
    self->what.columns_count = count;
    return true;
}

/* Adds one new value to the returned record: a field, or one more entry of a map. */
static void
add_sum(const increment *self, kw_pick pick, kw_value sum, kw_record *values)
{
    kw_value *value = &values->values[pick.field];
    if (pick.entry.size == 0) {
        *value = sum;
        return;
    }
    if (value->kind == KW_VALUE_NONE)
        *value = (kw_value){.kind = KW_VALUE_MAP,
                            .entries = KW_ARENA_ARRAY(self->call->arena, kw_entry, self->what.columns_count)};
    kw_entry *entries = (kw_entry *)value->entries;
    entries[value->entries_count++] = (kw_entry){pick.entry, sum};
}

static bool
read_sums(const increment *self, const kw_rows *rows, kw_record *values, kw_error *ret_error)
{
    const kw_row *row = &rows->rows[0];
    for (size_t i = 0; i < self->what.columns_count; i++) {
        const kw_field *field = kw_pick_field(self->table, self->picks[i]);
        const kw_column *column = &self->what.columns[i];
        bool found = false;
        kw_value sum = KW_VALUE_ABSENT;
        for (uint32_t cell = 0; cell < row->cells_count && !found; cell++) {
            found = kw_bytes_equal(row->cells[cell].family, column->family) &&
                    kw_bytes_equal(row->cells[cell].qualifier, column->qualifier);
            if (found && !kw_field_decode_cell(self->table, field, row->cells[cell].value, self->call->arena,
                                               &sum, ret_error))
                return false;
        }
        if (!found)
            return kw_error_set(ret_error, KW_INTERNAL,
                                "table %s: the store did not return the new value of %s", self->table->name,
                                field->name);
        add_sum(self, self->picks[i], sum, values);
    }
    return true;
}

static void
incremented(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    increment *self = user;
    if (error) {
        kw_error named = *error;
        named.maybe_applied = outcome == KW_OUTCOME_UNKNOWN;
        self->done(self->user, NULL, &named);
        return;
    }
    kw_record values = kw_record_new(self->table, self->call->arena);
    kw_error wrong;
    bool good = read_sums(self, rows, &values, &wrong);
    kw_rows_free(rows);
    if (!good)
        wrong.maybe_applied = true;
    self->done(self->user, good ? &values : NULL, good ? NULL : &wrong);
}

static void
found(void *user, const kw_atomic_rows *rows, const kw_error *error)
{
    increment *self = user;
    if (error) {
        self->done(self->user, NULL, error);
        return;
    }
    self->what.table = rows->first.table;
    self->what.row = rows->first.row;
    self->what.others = rows->others;
    self->what.others_count = rows->others_count;
    kw_store_handle_increment(self->call->handle, &self->what, incremented, self);
}

void
kw_verb_increment(kw_call *call, const kw_table *table, const kw_record *key, const kw_pick *picks,
                  const int64_t *amounts, size_t picks_count, kw_write_options options,
                  kw_increment_record_done done, void *user)
{
    increment *self = KW_ARENA_NEW(call->arena, increment);
    *self = (increment){.call = call, .table = table, .picks = picks, .done = done, .user = user};
    self->what = (kw_increment){.ordering = &table->ordering,
                                .amounts = amounts,
                                .durability = options.durability,
                                .deadline = call->deadline,
                                .fenced = true,
                                .era = call->era};
    kw_error error = KW_ERROR_NONE;
    if (options.has_timestamp)
        kw_error_set(&error, KW_INVALID, "table %s: an increment takes no timestamp", table->name);
    else if (kw_atomic_check_path(table, "increment", &error) &&
             kw_atomic_check_order(call, table, "increment", &error) &&
             make_columns(self, picks_count, &error))
        kw_key_check(table, key, &error);
    if (error.code != KW_OK)
        done(user, NULL, &error);
    else
        kw_atomic_find_rows(call, table, key, KW_TIMESTAMP_NONE, found, self);
}
