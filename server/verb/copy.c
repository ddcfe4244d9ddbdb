/* copy: visits the rows of a placement while the key rule of its path changes: copies them to the other
 * placement, gives both rows of each record the newest cells (pass), or removes gone cells (sweep). One
 * slice:
 *
 *   the first and last row key, for the progress --> scan row keys of `from` --> each record's key in `to`
 *                                                      --> copy the rows in the store --> answer
 *
 * The store copies each row as it is at that moment, so it does not matter how old the scanned keys are. A
 * row that was removed since has only its removal to copy. A record that is put after its place was
 * scanned has been written to both placements.
 *
 * Rows of removed records are copied as well: their removals hide puts with older timestamps that arrive
 * later. That is not possible if the row key does not hold the identity fields, because a row without cells
 * then does not name its record. In a store with several writers this is harmless: a removal only matters if
 * one of the placements has cells that it hides, and a pass also visits the rows of that placement.
 *
 * A sweep reads below the hiding, and needs no records.
 */
#include "path/reader.h"
#include "store/control.h"
#include "verb/pushdown.h"
#include "verb/share.h"
#include "verb/verb.h"

/* Most bytes of the rows scanned together. */
#define SLICE_BYTES_MAX (1 << 20)
#define FIRST_CELL KW_BYTES_LITERAL("FirstKeyOnlyFilter ()")
/* Every row, with its control cells. */
#define FIRST_OR_CONTROL                                                                                     \
    KW_BYTES_LITERAL("FirstKeyOnlyFilter () OR QualifierFilter (=, 'binaryprefix:\0kw:')")

typedef struct copy_slice {
    kw_call *call;
    const kw_copy_request *request;
    kw_copy_done done;
    void *user;
    kw_reader *reader;
    kw_bytes filter;
    bool names_records; /* the row keys hold the identity fields */
    kw_range_scan *scan;
    kw_bytes *edge; /* the one that `scan` finds */
    kw_bytes first, last;
    kw_row_sweep *sweeps;
    kw_bytes *visited; /* the keys of the rows to copy or to sweep */
    kw_written *written;
    size_t count;
    kw_copy_result result;
} copy_slice;

static const kw_table *
table_of(const copy_slice *self)
{
    return self->request->from->path->table;
}

static void
finish(copy_slice *self, const kw_error *error)
{
    kw_range_scan_close(g_steal_pointer(&self->scan));
    self->done(self->user, error ? NULL : &self->result, error);
}

static bool
is_sweep(const copy_slice *self)
{
    return self->request->mode == KW_COPY_SWEEP;
}

/* --- the rows of the slice ----------------------------------------------------------------------- */

static void
on_rows_done(void *user)
{
    copy_slice *self = user;
    for (size_t i = 0; i < self->count; i++) {
        if (self->written[i].outcome == KW_OUTCOME_OK)
            continue;
        kw_error error = self->written[i].error;
        kw_reader_name_row(self->reader, self->visited[i], &error);
        finish(self, &error);
        return;
    }
    self->result.progress =
        self->result.end ? 1 : kw_share_of_keys(self->first, self->last, self->result.after);
    finish(self, NULL);
}

static void
note_foreign(copy_slice *self, const kw_error *error)
{
    if (self->result.foreign++ == 0)
        self->result.example = kw_arena_text(self->call->arena, kw_bytes_of_text(error->text));
}

/* The copy between a row of `from` and a row of `to`. */
static kw_row_copy
copy_of(const copy_slice *self, kw_bytes row, kw_bytes to_row)
{
    const kw_copy_request *request = self->request;
    bool both = request->mode == KW_COPY_BOTH;
    bool back = both && request->to->role.put > request->from->role.put;
    kw_row_copy copy = {
        .table = request->from->store_table,
        .row = row,
        .to_table = request->to->store_table,
        .to_row = to_row,
        .ordering = kw_store_is_shared(self->call->store) ? &table_of(self)->ordering : NULL,
        .both_ways = both,
    };
    if (!back)
        return copy;
    kw_row_copy turned = copy; /* the row that puts write last comes first */
    turned.table = copy.to_table;
    turned.row = copy.to_row;
    turned.to_table = copy.table;
    turned.to_row = copy.row;
    return turned;
}

/* Plans the copy of a row whose record can be decoded. */
static void
add_copy(copy_slice *self, const kw_row *row, kw_row_copy *copies, kw_buffer *scratch)
{
    const kw_record *record;
    kw_error error;
    scratch->size = 0;
    bool removed = row->cells_count == 0;
    if (!kw_reader_decode(self->reader, self->request->from, row, &record, &error)) {
        if (!removed)
            note_foreign(self, &error);
    } else if (!kw_layout_encode(self->request->to->layout, record, scratch, &error)) {
        kw_reader_name_row(self->reader, row->key, &error);
        if (!removed)
            note_foreign(self, &error);
    } else {
        kw_bytes key = kw_arena_copy(self->call->arena, row->key);
        self->result.rows += !removed;
        self->result.removed += removed;
        self->visited[self->count] = key;
        copies[self->count++] =
            copy_of(self, key, kw_arena_copy(self->call->arena, kw_buffer_bytes(scratch)));
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
    kw_store_handle_copy_rows(self->call->handle, copies, self->count, self->call->deadline, self->written,
                              on_rows_done, self);
}

/* Plans the sweep of a row with control cells. */
static void
add_sweep(copy_slice *self, const kw_row *row)
{
    const kw_ordering *ordering = &table_of(self)->ordering;
    bool control = false;
    for (uint32_t i = 0; i < row->cells_count && !control; i++)
        control = kw_is_control(ordering, &row->cells[i]);
    self->result.rows += !control;
    self->result.removed += control;
    if (!control)
        return;
    kw_row_sweep *sweep = &self->sweeps[self->count];
    *sweep = (kw_row_sweep){.table = self->request->from->store_table,
                            .row = kw_arena_copy(self->call->arena, row->key),
                            .ordering = ordering,
                            .until_ms = self->request->until_ms};
    self->visited[self->count++] = sweep->row;
}

static void
sweep_rows(copy_slice *self, const kw_rows *rows)
{
    self->sweeps = KW_ARENA_ARRAY(self->call->arena, kw_row_sweep, rows->count);
    self->visited = KW_ARENA_ARRAY(self->call->arena, kw_bytes, rows->count);
    for (size_t i = 0; i < rows->count; i++)
        add_sweep(self, &rows->rows[i]);
    kw_store_handle_sweep_rows(self->call->handle, self->sweeps, self->count, self->call->deadline,
                               self->written, on_rows_done, self);
}

static void
visit_rows(copy_slice *self, const kw_rows *rows)
{
    kw_arena *arena = self->call->arena;
    self->written = KW_ARENA_ARRAY(arena, kw_written, rows->count);
    self->result.end = rows->end;
    self->result.after =
        kw_arena_copy(arena, rows->count ? rows->rows[rows->count - 1].key : self->request->after);
    if (self->first.size == 0 && rows->count)
        self->first = kw_arena_copy(arena, rows->rows[0].key);
    if (is_sweep(self))
        sweep_rows(self, rows);
    else
        copy_rows(self, rows);
}

/* --- scanning ------------------------------------------------------------------------------------ */

static kw_range_scan_spec
spec_of(const copy_slice *self)
{
    return (kw_range_scan_spec){.table = self->request->from->store_table,
                                .max_versions = 1,
                                .filter = self->filter,
                                .filters_cells_only = true,
                                .with_removed = self->names_records && !is_sweep(self),
                                .keep_blocks_out_of_cache = true,
                                .max_row_bytes =
                                    (size_t)kw_policy_model(self->call->policy)->limits.frame_bytes,
                                .account = self->call->account,
                                .call = self->call->number,
                                .ordering = is_sweep(self) ? NULL : &table_of(self)->ordering};
}

static void fetch(copy_slice *self);

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    copy_slice *self = user;
    if (error) {
        finish(self, error);
        return;
    }
    bool none_yet = rows->count == 0 && !rows->end;
    if (!none_yet)
        visit_rows(self, rows);
    kw_rows_free(rows);
    if (none_yet)
        fetch(self);
}

static void
fetch(copy_slice *self)
{
    kw_range_scan_fetch(self->scan, self->request->max_rows, SLICE_BYTES_MAX, false, self->call->deadline,
                        fetched, self);
}

/* Scans from the smallest row key after the last one: that key with a zero byte appended. */
static void
scan(copy_slice *self)
{
    kw_range_scan_spec spec = spec_of(self);
    kw_bytes after = self->request->after;
    if (after.size) {
        uint8_t *start = kw_arena_alloc(self->call->arena, after.size + 1);
        memcpy(start, after.data, after.size);
        start[after.size] = 0;
        spec.start = kw_bytes_of(start, after.size + 1);
    }
    self->scan = kw_store_handle_open_range_scan(self->call->handle, &spec);
    fetch(self);
}

/* --- the first and the last row key -------------------------------------------------------------- */

static void next_edge(copy_slice *self);
static void fetch_edge(copy_slice *self);

static void
edge_fetched(void *user, kw_rows *rows, const kw_error *error)
{
    copy_slice *self = user;
    if (error) {
        finish(self, error);
        return;
    }
    bool none_yet = rows->count == 0 && !rows->end;
    if (rows->count)
        *self->edge = kw_arena_copy(self->call->arena, rows->rows[0].key);
    kw_rows_free(rows);
    if (none_yet) {
        fetch_edge(self);
        return;
    }
    kw_range_scan_close(g_steal_pointer(&self->scan));
    next_edge(self);
}

static void
fetch_edge(copy_slice *self)
{
    kw_range_scan_fetch(self->scan, 1, 1, false, self->call->deadline, edge_fetched, self);
}

/* Finds the last key, then the first one, unless the slice begins with it. */
static void
next_edge(copy_slice *self)
{
    if (self->edge == &self->first || (self->edge && self->request->after.size == 0)) {
        scan(self);
        return;
    }
    self->edge = self->edge ? &self->first : &self->last;
    kw_range_scan_spec spec = spec_of(self);
    spec.reversed = self->edge == &self->last;
    self->scan = kw_store_handle_open_range_scan(self->call->handle, &spec);
    fetch_edge(self);
}

/* --- all ----------------------------------------------------------------------------------------- */

static bool
keys_name_records(const copy_slice *self)
{
    const kw_table *table = table_of(self);
    bool held = true;
    for (size_t i = 0; held && i < table->fields_count; i++)
        held = !table->fields[i].identity || kw_layout_holds_field(self->request->from->layout, i);
    return held;
}

/* Requests the columns of identity fields that the row key does not hold, and of every row one cell. */
static kw_bytes
filter_of(const copy_slice *self)
{
    if (is_sweep(self))
        return FIRST_OR_CONTROL;
    if (self->names_records)
        return FIRST_CELL;
    size_t count;
    const kw_column *columns = kw_reader_columns(self->reader, &count);
    return kw_pushdown_first_or(columns, count, self->call->arena);
}

void
kw_verb_copy(kw_call *call, const kw_copy_request *request, kw_copy_done done, void *user)
{
    const kw_path *path = request->from->path;
    bool copies = request->mode != KW_COPY_SWEEP;
    g_assert(copies ? request->to->path == path : request->to == NULL);
    g_assert(request->max_rows > 0 && request->max_rows <= KW_COPY_ROWS_MAX);
    copy_slice *self = KW_ARENA_NEW(call->arena, copy_slice);
    *self = (copy_slice){.call = call, .request = request, .done = done, .user = user};
    self->reader = kw_reader_new_identity(call, path->table, path);
    self->names_records = keys_name_records(self);
    self->filter = filter_of(self);
    next_edge(self);
}
