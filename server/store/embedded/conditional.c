/* Operations that read a row before they write it. Each sees the entries that the batch has collected before
 * it. They run one after another on the committer's thread, so each is atomic without locks. */
#include "store/check.h"
#include "store/columns.h"
#include "store/control.h"
#include "store/derive.h"
#include "store/embedded/embedded_internal.h"
#include "store/embedded/key.h"
#include "store/embedded/reader.h"

/* Reads the newest cells of one row. Gives up when the deadline passes. */
typedef struct row_reading {
    kw_selection selection;
    kw_effort effort;
    rocksdb_iterator_t *iterator;
    kw_reader reader;
} row_reading;

static bool
begin_reading(row_reading *self, kw_embedded *store, kw_entries *batch, const kw_stored_row *target,
              const kw_column *columns, size_t count, kw_deadline deadline, kw_error *ret_error)
{
    kw_read_request request = {.columns = columns, .columns_count = count, .max_versions = 1};
    self->effort = (kw_effort){.deadline = deadline};
    if (!kw_selection_init_on(&self->selection, target->table, &request, ret_error))
        return false;
    self->iterator = kw_entries_iterator(batch, store);
    kw_reader_init(&self->reader, self->iterator, &self->selection);
    self->reader.effort = &self->effort;
    return true;
}

static bool
end_reading(row_reading *self, kw_error *ret_error)
{
    bool good = kw_engine_check_iterator(self->iterator, ret_error) &&
                (!self->effort.over || kw_effort_fail(&self->effort, "the stored row was read", ret_error));
    kw_reader_clear(&self->reader);
    rocksdb_iter_destroy(self->iterator);
    kw_selection_clear(&self->selection);
    return good;
}

/* Reads the row, as a get would. */
static bool
read_and_end(row_reading *self, kw_bytes key, kw_rows *rows, kw_row *ret_row, kw_error *ret_error)
{
    kw_version_filter *filter = &self->reader.version_filter;
    kw_version_filter_set_output(filter, rows);
    if (!kw_reader_get(&self->reader, key, ret_row))
        *ret_row = (kw_row){0};
    if (filter->too_large)
        ret_row->omitted = KW_OMITTED_TOO_LARGE;
    return end_reading(self, ret_error);
}

static bool
read_row(kw_embedded *store, kw_entries *batch, const kw_stored_row *target, const kw_column *columns,
         size_t count, kw_deadline deadline, kw_rows *rows, kw_row *ret_row, kw_error *ret_error)
{
    row_reading reading;
    return begin_reading(&reading, store, batch, target, columns, count, deadline, ret_error) &&
           read_and_end(&reading, target->key, rows, ret_row, ret_error);
}

/* --- removals ---------------------------------------------------------------------------------------- */

typedef struct later_cell {
    int64_t stamp;
    int64_t found; /* a timestamp above `stamp`; 0: none */
} later_cell;

/* Needs no more cells after the first one that is later. */
static bool
note_later(void *user, kw_bytes after_row, kw_bytes value)
{
    later_cell *self = user;
    kw_key_cell cell;
    (void)value;
    bool parsed = kw_key_parse(after_row, &cell);
    g_assert(parsed); /* the version filter has parsed it, too */
    if (cell.timestamp > self->stamp)
        self->found = cell.timestamp;
    return self->found == 0;
}

bool
kw_conditional_removal(kw_embedded *store, kw_entries *batch, const kw_stored_row *target,
                       const kw_write *removal, int64_t stamp, kw_deadline deadline, kw_error *ret_error)
{
    later_cell later = {.stamp = stamp};
    row_reading reading;
    if (!begin_reading(&reading, store, batch, target, removal->columns, removal->columns_count, deadline,
                       ret_error))
        return false;
    reading.reader.version_filter.sink = note_later;
    reading.reader.version_filter.sink_user = &later;
    kw_reader_pass(&reading.reader, target->key, KW_BYTES_NONE);
    bool good = end_reading(&reading, ret_error);
    return good && (later.found == 0 || kw_refuse_removal(target->table->name, target->key, later.found,
                                                          later.found - stamp, ret_error));
}

/* --- write_if ---------------------------------------------------------------------------------------- */

static const kw_cell *
find_cell(const kw_row *row, const kw_column *column)
{
    return kw_row_find_cell(row, column->family, column->qualifier);
}

/* The checked column, followed by those that the put replaces. */
static const kw_column *
columns_to_read(kw_arena *arena, const kw_write *write, const kw_check *check, size_t *ret_count)
{
    size_t count = write->kind == KW_WRITE_PUT ? write->cells_count : 0;
    kw_column *columns = KW_ARENA_ARRAY(arena, kw_column, count + 1);
    columns[0] = (kw_column){.family = check->family, .qualifier = check->qualifier};
    for (size_t i = 0; i < count; i++)
        columns[i + 1] =
            (kw_column){.family = write->cells[i].family, .qualifier = write->cells[i].qualifier};
    *ret_count = count + 1;
    return columns;
}

/* A cell with a caller's timestamp can be newer than the store's clock. As in HBase, a conditional put gets
 * a timestamp that is not older than the cells that it replaces; so does a derived one. All rows of the
 * record get it, so they stay equal. Cells that the store stamped are never newer than `stamp`. */
static int64_t
stamp_after(int64_t stamp, const kw_row *row, const kw_write *write)
{
    for (size_t i = 0; write->kind == KW_WRITE_PUT && i < write->cells_count; i++) {
        const kw_cell *old = kw_row_find_cell(row, write->cells[i].family, write->cells[i].qualifier);
        stamp = old ? MAX(stamp, old->timestamp) : stamp;
    }
    return stamp;
}

/* Checks the tables of the other rows for missing families before the first row is added, so that a failure
 * adds no row. */
static bool
check_others(const kw_write *write, const kw_stored_row *rows, size_t count, kw_error *ret_error)
{
    bool good = true;
    for (size_t i = 1; good && i < count; i++)
        good = kw_entries_check(rows[i].table, write, ret_error);
    return good;
}

static bool
add_rows(kw_entries *batch, const kw_write *write, const kw_stored_row *rows, size_t count, int64_t stamp,
         kw_error *ret_error)
{
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        kw_write one = *write;
        one.row = rows[i].key;
        good = kw_entries_add(batch, rows[i].table, &one, stamp, ret_error);
        g_assert(good || i == 0);
    }
    return good;
}

bool
kw_conditional_write(kw_embedded *store, kw_entries *batch, const kw_stored_row *targets,
                     size_t targets_count, int64_t stamp, kw_commit *commit)
{
    const kw_check *check = commit->check;
    const kw_write *write = commit->write;
    g_assert(commit->kind == KW_COMMIT_IF && check);
    if (!check_others(write, targets, targets_count, &commit->error))
        return false;
    kw_rows *rows = kw_rows_new();
    size_t count;
    const kw_column *columns = columns_to_read(rows->arena, write, check, &count);
    kw_row row;
    bool good =
        read_row(store, batch, &targets[0], columns, count, commit->deadline, rows, &row, &commit->error);
    commit->applied = good && kw_check_is_met(check, find_cell(&row, &columns[0]));
    if (good && write->timestamp == KW_TIMESTAMP_NONE)
        stamp = stamp_after(stamp, &row, write);
    kw_rows_free(rows);
    return good &&
           (!commit->applied || add_rows(batch, write, targets, targets_count, stamp, &commit->error));
}

/* --- derived writes ---------------------------------------------------------------------------------- */

static bool
read_within(kw_embedded *store, kw_entries *batch, const kw_stored_row *target, const kw_column *columns,
            size_t count, kw_commit *commit, kw_rows *rows, kw_row *ret_row)
{
    row_reading reading;
    if (!begin_reading(&reading, store, batch, target, columns, count, commit->deadline, &commit->error))
        return false;
    kw_version_filter_limit_rows(&reading.reader.version_filter, NULL, KW_STORE_DERIVED_BYTES_MAX, false);
    return read_and_end(&reading, target->key, rows, ret_row, &commit->error);
}

bool
kw_conditional_read(kw_embedded *store, kw_entries *batch, const kw_stored_row *target, kw_commit *commit,
                    kw_evaluated *ret_evaluated)
{
    const kw_derivation *derivation = commit->derivation;
    g_assert(commit->kind == KW_COMMIT_DERIVED);
    *ret_evaluated = (kw_evaluated){.memory = kw_rows_new()};
    return read_within(store, batch, target, derivation->columns, derivation->columns_count, commit,
                       ret_evaluated->memory, &ret_evaluated->row);
}

bool
kw_conditional_derive(kw_commit *commit, kw_evaluated *evaluated)
{
    evaluated->seen.row = &evaluated->row;
    evaluated->seen.others = evaluated->others;
    bool good = kw_derive_write(commit->write, commit->derivation, &evaluated->seen, evaluated->memory->arena,
                                &evaluated->write, &evaluated->derived, &commit->error);
    commit->applied = good && evaluated->derived.is_met;
    return good;
}

bool
kw_conditional_look_up(kw_embedded *store, kw_entries *batch, const kw_stored_row *target, kw_commit *commit,
                       kw_evaluated *evaluated)
{
    const kw_lookup *lookup = &evaluated->derived.lookups[evaluated->seen.others_count];
    if (!evaluated->others)
        evaluated->others = KW_ARENA_ARRAY(evaluated->memory->arena, kw_row, KW_STORE_LOOKUPS_MAX);
    return read_within(store, batch, target, lookup->columns, lookup->columns_count, commit,
                       evaluated->memory, &evaluated->others[evaluated->seen.others_count++]);
}

void
kw_evaluated_clear(kw_evaluated *evaluated)
{
    kw_rows_free(evaluated->memory);
    *evaluated = (kw_evaluated){0};
}

/* A put of a row that was looked up replaces what was seen there, even if that is newer. */
static int64_t
stamp_of_preceding(int64_t stamp, const kw_evaluated *evaluated, const kw_write *put)
{
    for (size_t i = 0; i < evaluated->seen.others_count; i++) {
        const kw_lookup *lookup = &evaluated->derived.lookups[i];
        if (kw_bytes_equal(lookup->row, put->row) && kw_bytes_equal(lookup->table, put->table))
            stamp = stamp_after(stamp, &evaluated->others[i], put);
    }
    return stamp;
}

bool
kw_conditional_add_derived(kw_entries *batch, const kw_evaluated *evaluated, const kw_stored_row *targets,
                           size_t record_rows, int64_t stamp, kw_error *ret_error)
{
    const kw_derived *derived = &evaluated->derived;
    const kw_stored_row *preceding = targets + record_rows;
    bool good = check_others(&evaluated->write, targets, record_rows, ret_error);
    for (size_t i = 0; good && i < derived->preceding_count; i++)
        good = kw_entries_check(preceding[i].table, &derived->preceding[i], ret_error);
    stamp = stamp_after(stamp, &evaluated->row, &evaluated->write);
    if (!good || !add_rows(batch, &evaluated->write, targets, record_rows, stamp, ret_error))
        return false;
    for (size_t i = 0; i < derived->preceding_count; i++) {
        int64_t its_stamp = stamp_of_preceding(stamp, evaluated, &derived->preceding[i]);
        kw_entries_add(batch, preceding[i].table, &derived->preceding[i], its_stamp, ret_error); /* checked */
    }
    return true;
}

/* --- increment --------------------------------------------------------------------------------------- */

static bool
check_counters(const kw_increment *increment, const kw_row *row, kw_error *ret_error)
{
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (row->cells[i].value.size != 8)
            return kw_error_set(ret_error, KW_INVALID,
                                "table %s: column %s:%s is not a counter: it has %zu bytes instead of 8",
                                kw_show(increment->table).text, kw_show(row->cells[i].family).text,
                                kw_show(row->cells[i].qualifier).text, row->cells[i].value.size);
    return true;
}

/* The new cell is not older than the one it replaces. */
static bool
make_sum(kw_arena *arena, const kw_increment *increment, const kw_column *column, const kw_cell *old,
         int64_t stamp, kw_cell *ret_cell, kw_error *ret_error)
{
    int64_t stored = old ? (int64_t)kw_be64_load(old->value.data) : 0;
    int64_t sum;
    if (!kw_check_sum(increment->table, column, stored, increment->amounts[column - increment->columns], &sum,
                      ret_error))
        return false;
    uint8_t *value = kw_arena_alloc(arena, 8);
    kw_be64_store(value, (uint64_t)sum);
    *ret_cell = (kw_cell){.family = kw_arena_copy(arena, column->family),
                          .qualifier = kw_arena_copy(arena, column->qualifier),
                          .value = kw_bytes_of(value, 8),
                          .timestamp = old ? MAX(stamp, old->timestamp) : stamp};
    return true;
}

/* The new values of one row, in the form of the result. */
static bool
make_sums(kw_rows *rows, const kw_increment *increment, const kw_row *old, int64_t stamp, kw_error *ret_error)
{
    kw_row *row = rows->rows = KW_ARENA_NEW(rows->arena, kw_row);
    row->key = kw_arena_copy(rows->arena, increment->row);
    row->cells = KW_ARENA_ARRAY(rows->arena, kw_cell, increment->columns_count);
    row->cells_count = (uint32_t)increment->columns_count;
    rows->count = rows->scanned = 1;
    rows->bytes = row->key.size;
    kw_sorted_columns sorted = kw_columns_sort(increment->columns, increment->columns_count, rows->arena);
    for (size_t i = 0; i < sorted.count; i++) {
        const kw_column *column = sorted.columns[i];
        if (!make_sum(rows->arena, increment, column, find_cell(old, column), stamp, &row->cells[i],
                      ret_error))
            return false;
        rows->bytes += row->cells[i].qualifier.size + 8;
    }
    return true;
}

static bool
check_families(const kw_stored_table *table, const kw_increment *increment, kw_error *ret_error)
{
    for (size_t i = 0; i < increment->columns_count; i++)
        if (kw_stored_table_family(table, increment->columns[i].family) < 0)
            return kw_unknown_family(table, increment->columns[i].family, ret_error);
    return true;
}

static void
add_cells(kw_entries *batch, const kw_stored_row *target, const kw_row *row)
{
    batch->key.size = 0;
    kw_key_row(&batch->key, target->table->id, target->key);
    size_t prefix_size = batch->key.size;
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *cell = &row->cells[i];
        unsigned family = (unsigned)kw_stored_table_family(target->table, cell->family);
        batch->key.size = prefix_size;
        kw_key_column(&batch->key, family, cell->qualifier, cell->timestamp, KW_KEY_PUT);
        kw_entries_put(batch, kw_buffer_bytes(&batch->key), cell->value);
    }
}

bool
kw_conditional_increment(kw_embedded *store, kw_entries *batch, const kw_stored_row *targets,
                         size_t targets_count, int64_t stamp, kw_commit *commit)
{
    const kw_increment *increment = commit->increment;
    g_assert(commit->kind == KW_COMMIT_INCREMENT && !commit->rows);
    kw_rows *rows = kw_rows_new();
    kw_row old;
    bool good = read_row(store, batch, &targets[0], increment->columns, increment->columns_count,
                         commit->deadline, rows, &old, &commit->error) &&
                check_counters(increment, &old, &commit->error);
    for (size_t i = 1; good && i < targets_count; i++)
        good = check_families(targets[i].table, increment, &commit->error);
    if (!good || !make_sums(rows, increment, &old, stamp, &commit->error)) {
        kw_rows_free(rows);
        return false;
    }
    for (size_t i = 0; i < targets_count; i++)
        add_cells(batch, &targets[i], &rows->rows[0]);
    commit->rows = rows;
    return true;
}
