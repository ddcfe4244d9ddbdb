/* Copies rows to other rows, mostly of other store tables, in slices. The committer is the only writer, so a
 * row cannot change during a slice.
 *
 * A slice copies rows of one table to rows of one other table, for about 0.3 milliseconds. It reads all its
 * rows with one iterator, which does not see the entries of the batch. A copy within one table is therefore a
 * slice of its own. A slice can end inside a large row, between two columns. The next slice then reads the
 * rest of the row, including the writes that were made in between.
 *
 * Delete markers are copied too, with their timestamps: a put with an older timestamp can still arrive. The
 * row of a record has the same entries in both tables then, apart from those that no read can see. So the
 * same cells are visible in both, even if a marker and a put have the same timestamp.
 *
 * The copies are written to the write-ahead log, but not synced. The log is sequential, so the next synced
 * write makes them durable too.
 */
#include "store/check.h"
#include "store/embedded/embedded_internal.h"
#include "store/embedded/key.h"
#include "store/embedded/reader.h"

#define SLICE_BYTES ((size_t)64 * 1024)
#define SLICE_NS 300000u
/* Maximum size of the versions of one column, which are copied together. */
#define COLUMN_BYTES_MAX ((size_t)64 * 1024 * 1024)
/* The end of the key of a cell: timestamp and kind. */
#define CELL_SUFFIX 9

typedef enum row_state { ROW_COPIED, ROW_CUT, ROW_FAILED } row_state;

typedef struct slice {
    kw_copies *copies;
    kw_entries *batch;
    kw_stored_table *from, *to;
    int families[KW_KEY_FAMILIES_MAX]; /* of `from` in `to`; -1: `to` lacks the family */
    kw_selection selection;
    rocksdb_iterator_t *iterator;
    kw_reader reader;
    size_t prefix_size; /* of the target row in batch->key */
    kw_buffer column;   /* the column of the last cell */
    size_t column_from; /* batch->bytes before its first cell */
    row_state state;
    kw_error *error; /* of the current copy */
} slice;

/* --- the list of commits ------------------------------------------------------------------------------ */

void
kw_copies_clear(kw_copies *copies)
{
    g_assert(!copies->first);
    kw_buffer_clear(&copies->resume);
}

void
kw_copies_take(kw_copies *copies, kw_commit **chain)
{
    for (kw_commit **at = chain; *at;) {
        kw_commit *commit = *at;
        if (commit->kind != KW_COMMIT_COPY) {
            at = &commit->next;
            continue;
        }
        *at = commit->next;
        commit->next = NULL;
        if (copies->first)
            copies->last->next = commit;
        else
            copies->first = commit;
        copies->last = commit;
    }
}

/* --- one row ------------------------------------------------------------------------------------------ */

/* False: the slice ends before this column, or the copy of the row fails because `to` lacks the family. */
static bool
enter_column(slice *self, kw_bytes column)
{
    if (self->column.size > 0 && self->batch->bytes >= SLICE_BYTES) {
        self->copies->resume.size = 0;
        kw_buffer_append(&self->copies->resume, column);
        self->state = ROW_CUT;
        return false;
    }
    if (self->families[column.data[0] / 2] < 0) {
        kw_unknown_family(self->to, self->from->families[column.data[0] / 2].name, self->error);
        self->state = ROW_FAILED;
        return false;
    }
    self->column.size = 0;
    kw_buffer_append(&self->column, column);
    self->column_from = self->batch->bytes;
    return true;
}

static bool
check_column_bytes(slice *self, kw_bytes value)
{
    size_t bytes = self->batch->bytes - self->column_from + value.size;
    if (bytes <= COLUMN_BYTES_MAX)
        return true;
    kw_error_set(self->error, KW_LIMIT,
                 "table %s: the versions of a column have more than %zu bytes, the most that can be copied",
                 kw_show(self->from->name).text, COLUMN_BYTES_MAX);
    self->state = ROW_FAILED;
    return false;
}

/* The key of a copy differs from the original only in row and family. */
static void
put_copy(slice *self, kw_bytes after_row, kw_bytes value)
{
    kw_buffer *key = &self->batch->key;
    uint8_t tag = after_row.data[0];
    key->size = self->prefix_size;
    kw_buffer_append_byte(key, (uint8_t)(self->families[tag / 2] * 2 + (tag & 1)));
    kw_buffer_append(key, kw_bytes_skip(after_row, 1));
    kw_entries_put(self->batch, kw_buffer_bytes(key), value);
}

/* Copies a visible cell or a delete marker. The removal of a row marks all families, also those that `to`
 * lacks. */
static bool
add_entry(void *user, kw_bytes after_row, kw_bytes value)
{
    slice *self = user;
    kw_key_cell entry;
    bool parsed = kw_key_parse(after_row, &entry);
    g_assert(parsed); /* the version filter has parsed it, too */
    bool marks = entry.family_marker || entry.kind == KW_KEY_DELETE;
    if (marks && self->families[entry.family] < 0)
        return true;
    if (entry.family_marker) {
        put_copy(self, after_row, value);
        return true;
    }
    kw_bytes column = kw_bytes_of(after_row.data, after_row.size - CELL_SUFFIX);
    if (!kw_bytes_equal(column, kw_buffer_bytes(&self->column)) && !enter_column(self, column))
        return false;
    if (!check_column_bytes(self, value))
        return false;
    put_copy(self, after_row, value);
    return true;
}

static void
begin_target(slice *self, kw_bytes row)
{
    self->batch->key.size = 0;
    kw_key_row(&self->batch->key, self->to->id, row);
    self->prefix_size = self->batch->key.size;
}

/* Copies the row, or the rest of it. If it fails, none of its cells are in the batch. */
static row_state
copy_row(slice *self, const kw_row_copy *copy, kw_error *ret_error)
{
    kw_buffer from = self->copies->resume;
    self->copies->resume = KW_BUFFER_EMPTY;
    self->state = ROW_COPIED;
    self->error = ret_error;
    self->column.size = 0;
    begin_target(self, copy->to_row);
    kw_entries_set_savepoint(self->batch);
    kw_reader_pass(&self->reader, copy->row, kw_buffer_bytes(&from));
    if (self->state != ROW_FAILED && !kw_engine_check_iterator(self->iterator, ret_error))
        self->state = ROW_FAILED;
    kw_entries_end_savepoint(self->batch, self->state != ROW_FAILED);
    ret_error->maybe_applied = self->state == ROW_FAILED && from.size > 0;
    kw_buffer_clear(&from);
    return self->state;
}

/* --- slices ------------------------------------------------------------------------------------------- */

static bool
find_tables(slice *self, kw_embedded *store, const kw_row_copy *copy, kw_error *ret_error)
{
    kw_read_request all = {.max_versions = INT32_MAX};
    self->from = kw_embedded_tables_find(store->tables, copy->table);
    if (!self->from)
        return kw_unknown_table(copy->table, ret_error);
    self->to = kw_embedded_tables_find(store->tables, copy->to_table);
    if (!self->to)
        return kw_unknown_table(copy->to_table, ret_error);
    for (size_t i = 0; i < self->from->families_count; i++)
        self->families[i] = kw_stored_table_family(self->to, self->from->families[i].name);
    return kw_selection_init_on(&self->selection, self->from, &all, ret_error);
}

static bool
slice_open(slice *self, kw_embedded *store, const kw_commit *commit, kw_error *ret_error)
{
    const kw_row_copy *copy = &commit->copy.copies[commit->copy.next];
    if (!kw_embedded_check_deadline(commit->deadline, "the row was copied", ret_error) ||
        !find_tables(self, store, copy, ret_error))
        return false;
    self->iterator = rocksdb_create_iterator(store->engine.db, store->copy_options);
    kw_reader_init(&self->reader, self->iterator, &self->selection);
    self->reader.version_filter.sink = add_entry;
    self->reader.version_filter.sink_user = self;
    self->reader.version_filter.passes_markers = true;
    return true;
}

static void
slice_close(slice *self)
{
    if (self->iterator) {
        kw_reader_clear(&self->reader);
        rocksdb_iter_destroy(self->iterator);
    }
    kw_selection_clear(&self->selection);
    kw_stored_table_unref(self->from);
    kw_stored_table_unref(self->to);
    kw_buffer_clear(&self->column);
}

static void
set_result(kw_written *result, bool good)
{
    result->outcome = good                          ? KW_OUTCOME_OK
                      : result->error.maybe_applied ? KW_OUTCOME_UNKNOWN
                                                    : KW_OUTCOME_FAILED;
    if (good)
        result->error.code = KW_OK;
}

/* True if the next copy can be part of the slice. */
static bool
slice_continues(const slice *self, const kw_commit *commit)
{
    const kw_row_copy *next = &commit->copy.copies[commit->copy.next], *last = next - 1;
    return commit->copy.next < commit->copy.count && self->from != self->to &&
           kw_bytes_equal(next->table, last->table) && kw_bytes_equal(next->to_table, last->to_table) &&
           self->batch->bytes < SLICE_BYTES;
}

static void
copy_rows(slice *self, kw_embedded *store, kw_commit *commit)
{
    uint64_t until_ns = kw_clock_mono_ns() + SLICE_NS;
    do {
        const kw_row_copy *copy = &commit->copy.copies[commit->copy.next];
        kw_written *result = &commit->copy.results[commit->copy.next];
        row_state state = copy_row(self, copy, &result->error);
        set_result(result, state != ROW_FAILED);
        if (state == ROW_CUT)
            return;
        kw_stamps_copied(&store->stamps, copy->row, copy->to_row);
        commit->copy.next++;
    } while (slice_continues(self, commit) && kw_clock_mono_ns() < until_ns);
}

void
kw_copies_collect(kw_copies *copies, kw_embedded *store, kw_entries *batch)
{
    kw_commit *commit = copies->first;
    slice self = {.copies = copies, .batch = batch};
    g_assert(commit && !batch->is_indexed && batch->bytes == 0);
    copies->slice_from = commit->copy.next;
    copies->resumed = copies->resume.size > 0;
    kw_written *result = &commit->copy.results[commit->copy.next];
    if (slice_open(&self, store, commit, &result->error)) {
        copy_rows(&self, store, commit);
    } else {
        result->error.maybe_applied = copies->resumed;
        set_result(result, false);
        copies->resume.size = 0;
        commit->copy.next++;
    }
    slice_close(&self);
}

/* A row whose first part could not be written must not be continued. */
static void
fail_slice(kw_copies *copies, kw_commit *commit, const kw_error *error)
{
    size_t end = commit->copy.next + (copies->resume.size > 0);
    for (size_t i = copies->slice_from; i < end; i++) {
        kw_written *result = &commit->copy.results[i];
        if (result->outcome != KW_OUTCOME_OK)
            continue;
        result->error = *error;
        result->error.maybe_applied |= copies->resumed && i == copies->slice_from;
        set_result(result, false);
    }
    copies->resume.size = 0;
    commit->copy.next = end;
}

kw_commit *
kw_copies_end_slice(kw_copies *copies, const kw_error *error)
{
    kw_commit *commit = copies->first;
    if (error)
        fail_slice(copies, commit, error);
    if (commit->copy.next < commit->copy.count)
        return NULL;
    copies->first = commit->next;
    commit->next = NULL;
    return commit;
}
