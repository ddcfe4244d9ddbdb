/* copy: visits the rows of a placement while the key rule of its path changes, or while another path is
 * added: copies them to the other placement, gives both rows of each record the newest cells (pass), or
 * removes gone cells (sweep). One slice:
 *
 *   the first and last row key, for the progress --> scan rows of `from` --> each record's key in `to`
 *                                                      --> copy the rows in the store --> answer
 *
 * In a store with one writer, only the row keys are scanned. The store copies each row as it is at that
 * moment, so it does not matter how old the scanned keys are. If a row was removed since then, only its
 * removal is copied. A record that is put after the scan passed its row key has been written to both
 * placements.
 *
 * In a store with several writers, whole rows are scanned, which costs much less than to read them one by
 * one. Such a store copies rows as they were read, however long ago (store/order/copy.c). While rows are
 * written, the next ones are scanned. If a row is too large, the rest of the slice scans row keys.
 *
 * Rows of removed records are copied as well: their removals hide puts with older timestamps that arrive
 * later. That is not possible if the row key does not hold the identity fields, because a row without cells
 * then does not name its record. In a store with several writers this is harmless: if a removal hides cells
 * in one of the placements, the record has a row with cells there, and a pass visits that row.
 *
 * A pass scans both placements, first one and then the other. It compares what the scans return
 * (copy_seen.h), and reads one by one only rows that differ. All calls that began before the pass have ended,
 * so each of the two rows of a record need be read only once, at any moment. tests/unit/change explores this.
 *
 * A sweep reads rows with their control cells, and does not decode records.
 */
#include "path/reader.h"
#include "store/control.h"
#include "verb/first_key.h"
#include "verb/pushdown.h"
#include "verb/scrub.h"
#include "verb/share.h"
#include "verb/verb.h"

/* The most rows that are scanned together. */
#define FETCH_ROWS_MAX 500
/* The same if most of them are only compared. */
#define FETCH_ROWS_COMPARED 2000
/* The most bytes that are scanned together. */
#define FETCH_BYTES_MAX ((size_t)1 << 20)
/* After this many bytes, a slice does not scan more. */
#define SLICE_BYTES_MAX ((size_t)4 << 20)
#define FIRST_CELL KW_BYTES_LITERAL("FirstKeyOnlyFilter ()")
#define CONTROL KW_BYTES_LITERAL("ColumnPrefixFilter ('\0kw:')")
/* Every row, with its control cells. */
#define FIRST_OR_CONTROL                                                                                     \
    KW_BYTES_LITERAL("FirstKeyOnlyFilter () OR QualifierFilter (=, 'binaryprefix:\0kw:')")

typedef struct copy_slice {
    kw_call *call;
    int64_t since_ms; /* the request's; 0: all rows are scanned */
    const kw_copy_request *request;
    kw_copy_done done;
    void *user;
    kw_reader *reader;
    bool names_records; /* the row keys hold the identity fields */
    bool whole;         /* scans whole rows, with their control cells */
    kw_range_scan *scan;
    kw_bytes *searched; /* &first or &last: the one that is or was last searched; NULL: none yet */
    kw_bytes first, last;
    /* scanning */
    bool fetching;
    bool fetched_any; /* a fetch of the present scan returned rows, or the end */
    bool ended;       /* there are no more rows */
    size_t count;     /* rows scanned */
    size_t bytes;
    kw_bytes scanned; /* the last row key */
    kw_rows *next;    /* scanned, while the rows before are copied */
    /* copying or sweeping */
    kw_rows *rows; /* NULL: none in progress */
    kw_row_sweep *sweeps;
    kw_bytes *visited; /* the keys of the rows */
    kw_written *written;
    size_t visited_count;
    bool failed;
    kw_error error;
    kw_copy_result result;
} copy_slice;

static const kw_table *
table_of(const copy_slice *self)
{
    return self->request->from->path->table;
}

static void
finish(copy_slice *self)
{
    g_assert(!self->rows && !self->fetching && !self->next);
    kw_range_scan_close(g_steal_pointer(&self->scan));
    self->result.first = self->first;
    self->result.last = self->last;
    self->result.progress =
        self->result.end ? 1 : kw_share_of_keys(self->first, self->last, self->result.after);
    self->done(self->user, self->failed ? NULL : &self->result, self->failed ? &self->error : NULL);
}

static bool
is_sweep(const copy_slice *self)
{
    return self->request->mode == KW_COPY_SWEEP;
}

/* --- the rows of the slice ----------------------------------------------------------------------- */

static void advance(copy_slice *self);

/* The slice ends with the error as soon as no write is in progress. */
static void
fail(copy_slice *self, const kw_error *error)
{
    if (!self->failed)
        self->error = *error;
    self->failed = true;
    self->fetching = false; /* closing the scan cancels it */
    kw_range_scan_close(g_steal_pointer(&self->scan));
    kw_rows_free(g_steal_pointer(&self->next));
}

static void
note_visited(const copy_slice *self, kw_bytes key)
{
    if (self->request->seen && self->request->seen_use == KW_COPY_SEEN_COMPARE)
        kw_copy_seen_note_visited(self->request->seen, key);
}

static void
on_rows_done(void *user)
{
    copy_slice *self = user;
    kw_rows_free(g_steal_pointer(&self->rows));
    for (size_t i = 0; i < self->visited_count; i++) {
        if (self->written[i].outcome == KW_OUTCOME_OK) {
            note_visited(self, self->visited[i]);
            continue;
        }
        kw_error error = self->written[i].error;
        kw_reader_name_row(self->reader, self->visited[i], &error);
        fail(self, &error);
        break;
    }
    advance(self);
}

static void
note_undecodable(copy_slice *self, const kw_error *error)
{
    if (self->result.undecodable++ == 0)
        self->result.example = kw_arena_text(self->call->arena, kw_bytes_of_text(error->text));
}

/* The copy between a row of `from` and a row of `to`. stored: the row of `from`; NULL: it was not read. */
static kw_row_copy
copy_of(const copy_slice *self, kw_bytes row, const kw_row *stored, kw_bytes to_row)
{
    const kw_copy_request *request = self->request;
    bool is_pass = request->mode == KW_COPY_PASS;
    bool to_is_written_last = is_pass && request->to->role.put > request->from->role.put;
    kw_row_copy copy = {
        .table = request->from->store_table,
        .row = row,
        .to_table = request->to->store_table,
        .to_row = to_row,
        .ordering = kw_store_is_shared(self->call->store) ? &table_of(self)->ordering : NULL,
        .both_ways = is_pass,
        .stored = stored,
        .time_from = self->since_ms,
        .era = self->call->era,
    };
    if (!to_is_written_last)
        return copy;
    kw_row_copy reversed = copy; /* the row that put operations write last comes first */
    reversed.table = copy.to_table;
    reversed.row = copy.to_row;
    reversed.to_table = copy.table;
    reversed.to_row = copy.row;
    reversed.stored = NULL;
    reversed.to_stored = stored;
    return reversed;
}

/* True if the older cells of the row are needed, too. A trace shows that a caller put cells with timestamps
 * of its choice, which a scan of recent cells does not return. A scan of row keys does not return traces. */
static bool
needs_old_cells(const copy_slice *self, const kw_row *row)
{
    return !self->whole || kw_control_find(&table_of(self)->ordering, row, KW_CONTROL_TRACE);
}

static kw_row_copy
copy_of_scanned(const copy_slice *self, kw_bytes key, const kw_row *row, kw_bytes to_row)
{
    bool all = self->since_ms && needs_old_cells(self, row);
    kw_row_copy copy = copy_of(self, key, self->whole && !all ? row : NULL, to_row);
    copy.time_from = all ? 0 : copy.time_from;
    return copy;
}

/* False: a pass finds out without a copy whether both rows of the record are the same. to_key: the record's
 * row key in `to`. */
static bool
needs_copy(const copy_slice *self, const kw_row *row, kw_bytes to_key)
{
    const kw_copy_request *request = self->request;
    bool second = request->seen_use == KW_COPY_SEEN_COMPARE;
    bool known = !needs_old_cells(self, row) && !request->scan_all;
    return !request->seen ||
           kw_copy_seen_must_visit(request->seen, request->seen_use, &table_of(self)->ordering,
                                   second ? row->key : to_key, known ? row : NULL);
}

/* Plans the copy of a row whose record can be decoded. */
static void
add_copy(copy_slice *self, const kw_row *row, kw_row_copy *copies, kw_buffer *scratch)
{
    const kw_record *record;
    kw_error error;
    kw_arena *arena = self->call->arena;
    kw_row visible = self->whole ? kw_scrub_visible(&table_of(self)->ordering, row, arena) : *row;
    bool removed = visible.cells_count == 0;
    scratch->size = 0;
    if (removed && !self->names_records)
        return;
    if (self->names_records)
        visible.cells_count =
            MIN(visible.cells_count, 1); /* decodes the same cell whether rows or their keys are scanned */
    if (!kw_reader_decode(self->reader, self->request->from, &visible, &record, &error)) {
        if (!removed)
            note_undecodable(self, &error);
    } else if (!kw_layout_encode(self->request->to->layout, record, scratch, &error)) {
        kw_reader_name_row(self->reader, row->key, &error);
        if (!removed)
            note_undecodable(self, &error);
    } else {
        self->result.rows += !removed;
        self->result.removed += removed;
        if (!needs_copy(self, row, kw_buffer_bytes(scratch)))
            return;
        kw_bytes key = kw_arena_copy(arena, row->key);
        self->visited[self->visited_count] = key;
        copies[self->visited_count++] =
            copy_of_scanned(self, key, row, kw_arena_copy(arena, kw_buffer_bytes(scratch)));
    }
}

static void
copy_rows(copy_slice *self, const kw_rows *rows)
{
    kw_buffer scratch = KW_BUFFER_EMPTY;
    kw_row_copy *copies = KW_ARENA_ARRAY(self->call->arena, kw_row_copy, rows->count);
    self->visited = KW_ARENA_ARRAY(self->call->arena, kw_bytes, rows->count);
    for (size_t i = 0; i < rows->count; i++)
        add_copy(self, &rows->rows[i], copies, &scratch);
    kw_buffer_clear(&scratch);
    kw_store_handle_copy_rows(self->call->handle, copies, self->visited_count, self->call->deadline,
                              self->written, on_rows_done, self);
}

/* Plans the sweep of a row with gone cells or traces. */
static void
add_sweep(copy_slice *self, const kw_row *row)
{
    const kw_ordering *ordering = &table_of(self)->ordering;
    bool swept = false;
    for (uint32_t i = 0; i < row->cells_count && !swept; i++)
        swept = kw_control_is_swept(ordering, &row->cells[i]);
    self->result.rows += !swept;
    self->result.removed += swept;
    if (!swept)
        return;
    kw_row_sweep *sweep = &self->sweeps[self->visited_count];
    *sweep = (kw_row_sweep){.table = self->request->from->store_table,
                            .row = kw_arena_copy(self->call->arena, row->key),
                            .ordering = ordering,
                            .until_ms = self->request->until_ms,
                            .era = self->call->era};
    self->visited[self->visited_count++] = sweep->row;
}

static void
sweep_rows(copy_slice *self, const kw_rows *rows)
{
    self->sweeps = KW_ARENA_ARRAY(self->call->arena, kw_row_sweep, rows->count);
    self->visited = KW_ARENA_ARRAY(self->call->arena, kw_bytes, rows->count);
    for (size_t i = 0; i < rows->count; i++)
        add_sweep(self, &rows->rows[i]);
    kw_store_handle_sweep_rows(self->call->handle, self->sweeps, self->visited_count, self->call->deadline,
                               self->written, on_rows_done, self);
}

/* Copies or sweeps the rows, and frees them afterwards. */
static void
visit_rows(copy_slice *self, kw_rows *rows)
{
    kw_arena *arena = self->call->arena;
    self->rows = rows;
    self->written = KW_ARENA_ARRAY(arena, kw_written, rows->count);
    self->visited_count = 0;
    self->result.end = rows->end;
    self->result.after =
        rows->count ? kw_arena_copy(arena, rows->rows[rows->count - 1].key) : self->result.after;
    if (self->first.size == 0 && rows->count)
        self->first = kw_arena_copy(arena, rows->rows[0].key);
    if (is_sweep(self))
        sweep_rows(self, rows);
    else
        copy_rows(self, rows);
}

/* --- scanning ------------------------------------------------------------------------------------ */

/* The filter of a scan of row keys: it returns one cell of every row, and the columns of identity fields that
 * the row key does not hold. */
static kw_bytes
filter_of(const copy_slice *self)
{
    if (is_sweep(self))
        return self->request->scan_all ? FIRST_OR_CONTROL : CONTROL;
    if (self->names_records)
        return FIRST_CELL;
    size_t count;
    const kw_column *columns = kw_reader_columns(self->reader, &count);
    return kw_pushdown_first_or(columns, count, self->call->arena);
}

/* The scan of row keys or, for a sweep, of control cells. */
static kw_range_scan_spec
spec_of(const copy_slice *self)
{
    return (kw_range_scan_spec){.table = self->request->from->store_table,
                                .max_versions = 1,
                                .filter = filter_of(self),
                                .filters_cells_only = true,
                                .time_from = self->since_ms,
                                .time_to = self->since_ms ? INT64_MAX : 0,
                                .with_removed = self->names_records && !is_sweep(self),
                                .keep_blocks_out_of_cache = true,
                                .max_row_bytes =
                                    (size_t)kw_policy_model(self->call->policy)->limits.frame_bytes,
                                .account = self->call->account,
                                .call = self->call->number,
                                .ordering = is_sweep(self) ? NULL : &table_of(self)->ordering};
}

/* Limits the scan of a sweep to the family that has the control cells. */
static void
limit_sweep(const copy_slice *self, kw_range_scan_spec *spec)
{
    kw_column *family = KW_ARENA_NEW(self->call->arena, kw_column);
    if (!is_sweep(self) || self->request->scan_all)
        return;
    *family = (kw_column){.family = table_of(self)->ordering.family, .whole_family = true};
    spec->columns = family;
    spec->columns_count = 1;
}

static kw_range_scan_spec
spec_of_whole_rows(const copy_slice *self)
{
    return (kw_range_scan_spec){.table = self->request->from->store_table,
                                .max_versions = INT32_MAX,
                                .time_from = self->since_ms,
                                .time_to = self->since_ms ? INT64_MAX : 0,
                                .keep_blocks_out_of_cache = true,
                                .max_row_bytes = FETCH_BYTES_MAX,
                                .account = self->call->account,
                                .call = self->call->number};
}

static void scan(copy_slice *self);
static void fetch(copy_slice *self);

static void
scan_keys_instead(copy_slice *self)
{
    kw_range_scan_close(g_steal_pointer(&self->scan));
    self->whole = self->fetched_any = false;
    scan(self);
}

static void
note_fetched(copy_slice *self, kw_rows *rows)
{
    self->fetched_any = true;
    self->ended = rows->end;
    self->count += rows->count;
    self->bytes += rows->bytes;
    self->next = rows;
    if (rows->count)
        self->scanned = kw_arena_copy(self->call->arena, rows->rows[rows->count - 1].key);
}

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    copy_slice *self = user;
    self->fetching = false;
    if (error && error->code == KW_LIMIT && self->whole) {
        scan_keys_instead(self);
        return;
    }
    if (error) {
        fail(self, error);
    } else if (rows->count == 0 && !rows->end) {
        kw_rows_free(rows);
        fetch(self);
        return;
    } else {
        note_fetched(self, rows);
    }
    advance(self);
}

static void
fetch(copy_slice *self)
{
    size_t left = self->request->max_rows - self->count;
    bool compares = self->request->seen && self->whole && !self->request->scan_all;
    size_t most = compares ? FETCH_ROWS_COMPARED : FETCH_ROWS_MAX;
    self->fetching = true;
    kw_range_scan_fetch(self->scan, (uint32_t)MIN(left, most), FETCH_BYTES_MAX, self->whole && left > most,
                        self->call->deadline, fetched, self);
}

/* Scans from the smallest row key after the last one: that key with a zero byte appended. */
static void
scan(copy_slice *self)
{
    kw_range_scan_spec spec = self->whole ? spec_of_whole_rows(self) : spec_of(self);
    limit_sweep(self, &spec);
    kw_bytes after = self->scanned;
    if (after.size) {
        uint8_t *start = kw_arena_alloc(self->call->arena, after.size + 1);
        memcpy(start, after.data, after.size);
        start[after.size] = 0;
        spec.start = kw_bytes_of(start, after.size + 1);
    }
    self->scan = kw_store_handle_open_range_scan(self->call->handle, &spec);
    fetch(self);
}

static bool
needs_more(const copy_slice *self)
{
    const kw_copy_request *request = self->request;
    bool space = self->whole && self->count < request->max_rows && self->bytes < SLICE_BYTES_MAX;
    if (self->ended || (self->fetched_any && !space))
        return false;
    return !self->fetched_any || !request->may_go_on || request->may_go_on(request->may_go_on_user);
}

/* Starts the next scan and the next copy, if they can start now. */
static void
advance(copy_slice *self)
{
    if (self->next && !self->rows)
        visit_rows(self, g_steal_pointer(&self->next));
    if (!self->failed && !self->fetching && !self->next && needs_more(self))
        fetch(self);
    if (!self->rows && !self->fetching)
        finish(self);
}

/* --- the first and the last row key -------------------------------------------------------------- */

static void search_first_and_last(copy_slice *self);

static void
on_first_key(void *user, kw_bytes key, const kw_error *error)
{
    copy_slice *self = user;
    if (error) {
        fail(self, error);
        finish(self);
        return;
    }
    *self->searched = key;
    search_first_and_last(self);
}

/* Finds the last key, then the first one, unless the slice begins with it. A scan of recent rows needs
 * neither: its progress cannot be estimated from row keys. */
static void
search_first_and_last(copy_slice *self)
{
    bool at_first = self->request->after.size == 0;
    bool know = self->since_ms > 0 || (self->last.size && (self->first.size || at_first));
    if (know || self->searched == &self->first || (self->searched && at_first)) {
        scan(self);
        return;
    }
    self->searched = self->last.size ? &self->first : self->searched ? &self->first : &self->last;
    kw_range_scan_spec spec = spec_of(self);
    spec.reversed = self->searched == &self->last;
    spec.filter = is_sweep(self) ? FIRST_CELL : spec.filter;
    kw_first_key_find(self->call, &spec, on_first_key, self);
}

/* --- all ----------------------------------------------------------------------------------------- */

bool
kw_copy_can_select_by_time(const kw_placement *from, const kw_placement *to)
{
    return kw_placement_names_records(from) && kw_placement_names_records(to);
}

void
kw_verb_copy(kw_call *call, const kw_copy_request *request, kw_copy_done done, void *user)
{
    const kw_path *path = request->from->path;
    bool copies = request->mode != KW_COPY_SWEEP;
    g_assert(copies ? request->to->path->table == path->table : request->to == NULL);
    g_assert(request->max_rows > 0 && request->max_rows <= KW_COPY_ROWS_MAX);
    g_assert(request->since_ms == 0 || !copies || kw_copy_can_select_by_time(request->from, request->to));
    copy_slice *self = KW_ARENA_NEW(call->arena, copy_slice);
    *self = (copy_slice){.call = call,
                         .since_ms = request->scan_all ? 0 : request->since_ms,
                         .request = request,
                         .done = done,
                         .user = user,
                         .whole = copies && kw_store_is_shared(call->store),
                         .first = request->first,
                         .last = request->last,
                         .scanned = request->after,
                         .result = {.after = request->after}};
    self->reader = kw_reader_new_identity(call, path->table, path);
    self->names_records = kw_placement_names_records(request->from);
    search_first_and_last(self);
}
