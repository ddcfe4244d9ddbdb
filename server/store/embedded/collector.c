/* Collects the writes of commits in one batch: finds their tables, allocates timestamps, and executes
 * conditional operations. Runs on the committer's thread. */
#include "store/derive.h"
#include "store/embedded/embedded_internal.h"
#include "store/embedded/selection.h"
#include "store/embedded/turns.h"

/* A slice of a MANY commit ends when it has one of them. */
#define SLICE_ENTRIES KW_TURNS_ROUND_ENTRIES
#define SLICE_BYTES ((size_t)2 * 1024 * 1024)

/* The rows of a record, and those of the puts that precede it. */
#define TARGETS_MAX (2 * KW_STORE_RECORD_ROWS_MAX)

static kw_stored_table *
find_table(kw_collector *self, kw_bytes name, kw_error *ret_error)
{
    if (self->table && kw_bytes_equal(self->table->name, name))
        return self->table;
    kw_stored_table_unref(self->table);
    self->table = kw_embedded_tables_find(self->store->tables, name);
    if (!self->table)
        kw_unknown_table(name, ret_error);
    return self->table;
}

/* False if a cell with a later timestamp, which its caller set, would survive the removal. Reads the row only
 * if the store can have such cells. */
static bool
check_removal(kw_collector *self, const kw_write *write, kw_stored_table *table, int64_t stamp,
              kw_deadline deadline, kw_error *ret_error)
{
    if (write->kind != KW_WRITE_DELETE || write->timestamp != KW_TIMESTAMP_NONE ||
        !kw_stamps_can_be_exceeded(&self->store->stamps, stamp))
        return true;
    kw_stored_row target = {table, write->row};
    return kw_conditional_removal(self->store, &self->batch, &target, write, stamp, deadline, ret_error);
}

/* Adds a write to the batch with the timestamp `stamp`, unless the write's caller has set one. */
static bool
add_write(kw_collector *self, const kw_write *write, int64_t stamp, kw_error *ret_error)
{
    kw_stored_table *table = find_table(self, write->table, ret_error);
    if (write->timestamp != KW_TIMESTAMP_NONE)
        stamp = write->timestamp;
    if (write->timestamp != KW_TIMESTAMP_NONE && write->kind == KW_WRITE_PUT)
        kw_stamps_note_put(&self->store->stamps, stamp);
    return table && kw_entries_add(&self->batch, table, write, stamp, ret_error);
}

static bool
add_single(kw_collector *self, const kw_commit *commit, int64_t stamp, kw_error *ret_error)
{
    const kw_write *write = commit->write;
    kw_stored_table *table = find_table(self, write->table, ret_error);
    return table && check_removal(self, write, table, stamp, commit->deadline, ret_error) &&
           add_write(self, write, stamp, ret_error);
}

static int64_t
stamp_of_write(kw_collector *self, const kw_write *write)
{
    if (write->timestamp != KW_TIMESTAMP_NONE)
        return write->timestamp;
    return kw_stamps_allocate(&self->store->stamps, &write->row, 1, write->kind == KW_WRITE_DELETE);
}

/* The number of successive writes from `first` on that are rows of the same record and have the same
 * timestamp; at most KW_STORE_RECORD_ROWS_MAX. */
static size_t
record_rows(const kw_commit *commit, size_t first)
{
    const kw_write *const *writes = commit->many.writes;
    size_t end = first + 1;
    while (end < commit->many.count && writes[first]->record &&
           writes[end]->record == writes[first]->record && writes[end]->timestamp == writes[first]->timestamp)
        end++;
    return MIN(end - first, KW_STORE_RECORD_ROWS_MAX);
}

static int64_t
stamp_of_record(kw_collector *self, const kw_write *const *writes, size_t count)
{
    kw_bytes rows[KW_STORE_RECORD_ROWS_MAX];
    bool removal = false;
    if (writes[0]->timestamp != KW_TIMESTAMP_NONE)
        return writes[0]->timestamp;
    for (size_t i = 0; i < count; i++) {
        rows[i] = writes[i]->row;
        removal = removal || writes[i]->kind == KW_WRITE_DELETE;
    }
    return kw_stamps_allocate(&self->store->stamps, rows, count, removal);
}

/* False if one of the rows cannot be written. Then none is written, so that the rows of a record stay equal.
 */
static bool
check_record(kw_collector *self, const kw_write *const *writes, size_t count, kw_deadline deadline,
             int64_t *ret_stamp, kw_error *ret_error)
{
    bool good = true;
    for (size_t i = 0; good && count > 1 && i < count; i++) { /* add_write checks a single row */
        const kw_stored_table *table = find_table(self, writes[i]->table, ret_error);
        good = table && kw_entries_check(table, writes[i], ret_error);
    }
    *ret_stamp = good ? stamp_of_record(self, writes, count) : 0;
    for (size_t i = 0; good && i < count; i++) {
        kw_stored_table *table = find_table(self, writes[i]->table, ret_error);
        good = table && check_removal(self, writes[i], table, *ret_stamp, deadline, ret_error);
    }
    return good;
}

static void
add_record(kw_collector *self, kw_commit *commit, size_t first, size_t count)
{
    const kw_write *const *writes = commit->many.writes + first;
    kw_written *results = commit->many.results + first;
    kw_error error;
    int64_t stamp;
    bool checked = check_record(self, writes, count, commit->deadline, &stamp, &error);
    for (size_t i = 0; i < count; i++) {
        bool good = checked && add_write(self, writes[i], stamp, &error);
        results[i].outcome = good ? KW_OUTCOME_OK : KW_OUTCOME_FAILED;
        if (good)
            results[i].error.code = KW_OK;
        else
            results[i].error = error;
    }
}

static bool
add_slice(kw_collector *self, kw_commit *commit)
{
    size_t bytes_end = self->batch.bytes + SLICE_BYTES, entries_end = self->batch.count + SLICE_ENTRIES;
    commit->many.slice_from = commit->many.next;
    do {
        size_t count = record_rows(commit, commit->many.next);
        add_record(self, commit, commit->many.next, count);
        commit->many.next += count;
    } while (commit->many.next < commit->many.count && self->batch.bytes < bytes_end &&
             self->batch.count < entries_end);
    return true;
}

/* --- conditional operations -------------------------------------------------------------------------- */

static bool
find_target(kw_collector *self, kw_bytes table, kw_bytes row, kw_stored_row *ret_row, kw_error *ret_error)
{
    *ret_row = (kw_stored_row){find_table(self, table, ret_error), row};
    return ret_row->table;
}

/* Finds the tables of a record's rows. The result borrows the tables from the store's list of tables. They
 * stay valid because only this thread changes the list. */
static bool
find_targets(kw_collector *self, kw_bytes table, kw_bytes row, const kw_row_target *others, size_t count,
             kw_stored_row *ret_rows, kw_error *ret_error)
{
    g_assert(count < KW_STORE_RECORD_ROWS_MAX);
    bool good = find_target(self, table, row, &ret_rows[0], ret_error);
    for (size_t i = 0; good && i < count; i++)
        good = find_target(self, others[i].table, others[i].row, &ret_rows[i + 1], ret_error);
    return good;
}

/* Allocates one timestamp for all rows, so a later write of any of them gets no smaller one. */
static int64_t
stamp_of_rows(kw_collector *self, const kw_stored_row *rows, size_t count, bool removal)
{
    kw_bytes keys[TARGETS_MAX];
    for (size_t i = 0; i < count; i++)
        keys[i] = rows[i].key;
    return kw_stamps_allocate(&self->store->stamps, keys, count, removal);
}

static bool
add_conditional_write(kw_collector *self, kw_commit *commit)
{
    const kw_write *write = commit->write;
    kw_stored_row rows[KW_STORE_RECORD_ROWS_MAX];
    size_t count = 1 + write->others_count;
    if (!find_targets(self, write->table, write->row, write->others, write->others_count, rows,
                      &commit->error))
        return false;
    int64_t stamp = write->timestamp;
    if (stamp == KW_TIMESTAMP_NONE)
        stamp = stamp_of_rows(self, rows, count, write->kind == KW_WRITE_DELETE);
    else if (write->kind == KW_WRITE_PUT)
        kw_stamps_note_put(&self->store->stamps, stamp);
    return kw_conditional_write(self->store, &self->batch, rows, count, stamp, commit);
}

static bool
add_increment(kw_collector *self, kw_commit *commit)
{
    const kw_increment *increment = commit->increment;
    kw_stored_row rows[KW_STORE_RECORD_ROWS_MAX];
    size_t count = 1 + increment->others_count;
    if (!find_targets(self, increment->table, increment->row, increment->others, increment->others_count,
                      rows, &commit->error))
        return false;
    int64_t stamp = stamp_of_rows(self, rows, count, false);
    return kw_conditional_increment(self->store, &self->batch, rows, count, stamp, commit);
}

/* Adds the rows of the record and of the preceding puts. rows: TARGETS_MAX; has the record's rows. */
static bool
add_evaluated(kw_collector *self, const kw_evaluated *evaluated, kw_stored_row *rows, size_t record_rows,
              kw_error *ret_error)
{
    const kw_derived *derived = &evaluated->derived;
    size_t count = record_rows;
    for (size_t i = 0; i < derived->preceding_count; i++, count++)
        if (!find_target(self, derived->preceding[i].table, derived->preceding[i].row, &rows[count],
                         ret_error))
            return false;
    int64_t stamp = stamp_of_rows(self, rows, count, false);
    return kw_conditional_add_derived(&self->batch, evaluated, rows, record_rows, stamp, ret_error);
}

static bool
look_up(kw_collector *self, kw_commit *commit, kw_evaluated *evaluated)
{
    bool good = true;
    while (good && kw_derived_needs(&evaluated->derived, &evaluated->seen)) {
        const kw_lookup *lookup = &evaluated->derived.lookups[evaluated->seen.others_count];
        kw_stored_row row;
        good = find_target(self, lookup->table, lookup->row, &row, &commit->error) &&
               kw_conditional_look_up(self->store, &self->batch, &row, commit, evaluated);
    }
    return good;
}

static bool
derive(kw_collector *self, kw_commit *commit, kw_evaluated *evaluated)
{
    bool good = kw_conditional_derive(commit, evaluated);
    while (good && kw_derived_needs(&evaluated->derived, &evaluated->seen))
        good = look_up(self, commit, evaluated) && kw_conditional_derive(commit, evaluated);
    return good;
}

static bool
add_derived_write(kw_collector *self, kw_commit *commit)
{
    const kw_write *write = commit->write;
    kw_stored_row rows[TARGETS_MAX];
    size_t count = 1 + write->others_count;
    if (!find_targets(self, write->table, write->row, write->others, write->others_count, rows,
                      &commit->error))
        return false;
    kw_evaluated evaluated;
    bool good = kw_conditional_read(self->store, &self->batch, &rows[0], commit, &evaluated) &&
                derive(self, commit, &evaluated) &&
                (!commit->applied || add_evaluated(self, &evaluated, rows, count, &commit->error));
    kw_evaluated_clear(&evaluated);
    commit->applied = commit->applied && good;
    return good;
}

bool
kw_collector_add(kw_collector *self, kw_commit *commit)
{
    if (!kw_embedded_check_deadline(commit->deadline, "the write was applied", &commit->error))
        return false;
    switch (commit->kind) {
    case KW_COMMIT_WRITE:
        return add_single(self, commit, stamp_of_write(self, commit->write), &commit->error);
    case KW_COMMIT_MANY:
        return add_slice(self, commit);
    case KW_COMMIT_IF:
        return add_conditional_write(self, commit);
    case KW_COMMIT_INCREMENT:
        return add_increment(self, commit);
    case KW_COMMIT_DERIVED:
        return add_derived_write(self, commit);
    case KW_COMMIT_COPY:
    case KW_COMMIT_CREATE:
    case KW_COMMIT_DROP:
        break;
    }
    g_assert_not_reached();
}

static bool
is_put_ahead(const kw_stamps *stamps, const kw_write *write)
{
    return write->timestamp != KW_TIMESTAMP_NONE && write->timestamp > stamps->now_ms &&
           write->kind == KW_WRITE_PUT;
}

/* True if one of the writes that are in no slice yet is a put with a timestamp ahead of the clock. */
static bool
has_put_ahead(const kw_stamps *stamps, const kw_commit *commit)
{
    for (size_t i = commit->many.next; i < commit->many.count; i++)
        if (is_put_ahead(stamps, commit->many.writes[i]))
            return true;
    return false;
}

bool
kw_collector_can_read(const kw_collector *self, const kw_commit *commit)
{
    const kw_stamps *stamps = &self->store->stamps;
    if (kw_stamps_can_be_exceeded(stamps, stamps->now_ms))
        return true;
    return commit->kind == KW_COMMIT_WRITE ? is_put_ahead(stamps, commit->write)
           : commit->kind == KW_COMMIT_MANY
               ? has_put_ahead(stamps, commit)
               : commit->kind == KW_COMMIT_IF || commit->kind == KW_COMMIT_INCREMENT ||
                     commit->kind == KW_COMMIT_DERIVED;
}

void
kw_collector_forget_table(kw_collector *self)
{
    kw_stored_table_unref(g_steal_pointer(&self->table));
}
