/* Copies or sweeps the rows of a fetch; see copy.c. */
#include "reconcile/copy_internal.h"
#include "reconcile/scrub.h"
#include "store/control.h"

static void
note_visited(const kw_copy_slice *self, kw_bytes key)
{
    if (self->request->seen && self->request->seen_use == KW_COPY_SEEN_COMPARE)
        kw_copy_seen_note_visited(self->request->seen, key);
}

/* False: a row could not be visited. */
static bool
check_visited(const kw_copy_scan *scan)
{
    kw_copy_slice *self = scan->slice;
    for (size_t i = 0; i < scan->visited_count; i++) {
        if (scan->written[i].outcome == KW_OUTCOME_OK) {
            note_visited(self, scan->visited[i]);
            continue;
        }
        kw_error error = scan->written[i].error;
        kw_reader_name_row(self->reader, scan->visited[i], &error);
        kw_copy_fail(self, &error);
        return false;
    }
    return true;
}

static void
on_rows_done(void *user)
{
    kw_copy_scan *scan = user;
    const kw_rows *rows = scan->rows;
    kw_bytes last = rows->count ? rows->rows[rows->count - 1].key : KW_BYTES_NONE;
    scan->slice->visiting--;
    if (check_visited(scan))
        kw_copy_part_note(scan->part, last, rows->end);
    kw_rows_free(g_steal_pointer(&scan->rows));
    kw_copy_advance(scan->slice);
}

static void
note_undecodable(kw_copy_slice *self, const kw_error *error)
{
    if (self->result.undecodable++ == 0)
        self->result.example = kw_arena_text(self->call->arena, kw_bytes_of_text(error->text));
}

/* The copy between a row of `from` and a row of `to`. stored: the row of `from`; NULL: it was not read. */
static kw_row_copy
copy_of(const kw_copy_slice *self, kw_bytes row, const kw_row *stored, kw_bytes to_row)
{
    const kw_copy_request *request = self->request;
    bool is_pass = request->mode == KW_COPY_PASS;
    bool to_is_read = is_pass && request->to->role.scan;
    kw_row_copy copy = {
        .table = request->from->store_table,
        .row = row,
        .to_table = request->to->store_table,
        .to_row = to_row,
        .ordering = kw_store_is_shared(self->call->store) ? &kw_copy_table(self)->ordering : NULL,
        .both_ways = is_pass,
        .stored = stored,
        .time_from = self->since_ms,
        .time_to = kw_copy_time_to(self),
        .era = self->call->era,
    };
    if (!to_is_read)
        return copy;
    kw_row_copy reversed = copy; /* the row that scans read comes first */
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
needs_old_cells(const kw_copy_slice *self, const kw_row *row)
{
    return !self->whole || kw_control_find(&kw_copy_table(self)->ordering, row, KW_CONTROL_TRACE);
}

static kw_row_copy
copy_of_scanned(const kw_copy_slice *self, kw_bytes key, const kw_row *row, kw_bytes to_row)
{
    bool all = self->since_ms && needs_old_cells(self, row);
    kw_row_copy copy = copy_of(self, key, self->whole && !all ? row : NULL, to_row);
    copy.time_from = all ? 0 : copy.time_from;
    return copy;
}

/* False: a pass finds out without a copy whether both rows of the record are the same. to_key: the record's
 * row key in `to`. */
static bool
needs_copy(const kw_copy_slice *self, const kw_row *row, kw_bytes to_key)
{
    const kw_copy_request *request = self->request;
    bool second = request->seen_use == KW_COPY_SEEN_COMPARE;
    bool known = !needs_old_cells(self, row) && !request->scan_all;
    return !request->seen ||
           kw_copy_seen_must_visit(request->seen, request->seen_use, &kw_copy_table(self)->ordering,
                                   second ? row->key : to_key, known ? row : NULL);
}

/* Plans the copy of a row whose record can be decoded. */
static void
add_copy(kw_copy_scan *scan, const kw_row *row, kw_row_copy *copies, kw_buffer *scratch)
{
    kw_copy_slice *self = scan->slice;
    const kw_record *record;
    kw_error error;
    kw_arena *arena = self->call->arena;
    kw_row visible = self->whole ? kw_scrub_visible(&kw_copy_table(self)->ordering, row, arena) : *row;
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
        scan->visited[scan->visited_count] = key;
        copies[scan->visited_count++] =
            copy_of_scanned(self, key, row, kw_arena_copy(arena, kw_buffer_bytes(scratch)));
    }
}

static void
copy_rows(kw_copy_scan *scan, const kw_rows *rows)
{
    const kw_call *call = scan->slice->call;
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    kw_row_copy *copies = KW_ARENA_ARRAY(call->arena, kw_row_copy, rows->count);
    for (size_t i = 0; i < rows->count; i++)
        add_copy(scan, &rows->rows[i], copies, &scratch);
    scan->written = KW_ARENA_ARRAY(call->arena, kw_written, scan->visited_count);
    kw_store_handle_copy_rows(call->handle, copies, scan->visited_count, call->deadline, scan->written,
                              on_rows_done, scan);
}

/* Plans the sweep of a row with gone cells or traces. */
static void
add_sweep(kw_copy_scan *scan, const kw_row *row, kw_row_sweep *sweeps)
{
    kw_copy_slice *self = scan->slice;
    const kw_ordering *ordering = &kw_copy_table(self)->ordering;
    bool swept = false;
    for (uint32_t i = 0; i < row->cells_count && !swept; i++)
        swept = kw_control_is_swept(ordering, &row->cells[i]);
    self->result.rows += !swept;
    self->result.removed += swept;
    if (!swept)
        return;
    kw_row_sweep *sweep = &sweeps[scan->visited_count];
    *sweep = (kw_row_sweep){.table = self->request->from->store_table,
                            .row = kw_arena_copy(self->call->arena, row->key),
                            .ordering = ordering,
                            .until_ms = self->request->until_ms,
                            .era = self->call->era};
    scan->visited[scan->visited_count++] = sweep->row;
}

static void
sweep_rows(kw_copy_scan *scan, const kw_rows *rows)
{
    const kw_call *call = scan->slice->call;
    kw_row_sweep *sweeps = KW_ARENA_ARRAY(call->arena, kw_row_sweep, rows->count);
    for (size_t i = 0; i < rows->count; i++)
        add_sweep(scan, &rows->rows[i], sweeps);
    scan->written = KW_ARENA_ARRAY(call->arena, kw_written, scan->visited_count);
    kw_store_handle_sweep_rows(call->handle, sweeps, scan->visited_count, call->deadline, scan->written,
                               on_rows_done, scan);
}

/* Parts are scanned at the same time, so the smallest key can come late. */
static void
note_first(kw_copy_slice *self, const kw_rows *rows)
{
    if (rows->count && (self->first.size == 0 || kw_bytes_compare(rows->rows[0].key, self->first) < 0))
        self->first = kw_arena_copy(self->call->arena, rows->rows[0].key);
}

void
kw_copy_visit(kw_copy_scan *scan, kw_rows *rows)
{
    kw_copy_slice *self = scan->slice;
    g_assert(!scan->rows);
    scan->rows = rows;
    self->visiting++;
    scan->visited = KW_ARENA_ARRAY(self->call->arena, kw_bytes, rows->count);
    scan->visited_count = 0;
    note_first(self, rows);
    if (kw_copy_is_sweep(self))
        sweep_rows(scan, rows);
    else
        copy_rows(scan, rows);
}
