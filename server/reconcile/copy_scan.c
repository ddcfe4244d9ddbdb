/* Fetches the rows of a part of the placement; see copy.c. */
#include "reconcile/copy_internal.h"
#include "verb/pushdown.h"

/* The most rows that are scanned together. */
#define FETCH_ROWS_MAX 500
/* The same if most of them are only compared. */
#define FETCH_ROWS_COMPARED 2000
/* The most bytes that are scanned together. */
#define FETCH_BYTES_MAX ((size_t)1 << 20)
/* At most so many scans copy rows at the same time. */
#define VISITING_MAX 2
/* After this many bytes, a slice does not scan more. */
#define SLICE_BYTES_MAX ((size_t)4 << 20)
#define CONTROL KW_BYTES_LITERAL("ColumnPrefixFilter ('\0kw:')")
/* Every row, with its control cells. */
#define FIRST_OR_CONTROL                                                                                     \
    KW_BYTES_LITERAL("FirstKeyOnlyFilter () OR QualifierFilter (=, 'binaryprefix:\0kw:')")

/* The filter of a scan of row keys: it returns one cell of every row, and the columns of identity fields that
 * the row key does not hold. */
static kw_bytes
filter_of(const kw_copy_slice *self)
{
    if (kw_copy_is_sweep(self))
        return self->request->scan_all ? FIRST_OR_CONTROL : CONTROL;
    if (self->names_records)
        return KW_STORE_FIRST_CELL;
    size_t count;
    const kw_column *columns = kw_reader_columns(self->reader, &count);
    return kw_pushdown_first_or(columns, count, self->call->arena);
}

kw_range_scan_spec
kw_copy_keys_spec(const kw_copy_slice *self)
{
    return (kw_range_scan_spec){.table = self->request->from->store_table,
                                .max_versions = 1,
                                .filter = filter_of(self),
                                .filters_cells_only = true,
                                .time_from = self->since_ms,
                                .time_to = kw_copy_time_to(self),
                                .with_removed = self->names_records && !kw_copy_is_sweep(self),
                                .keep_blocks_out_of_cache = true,
                                .max_row_bytes =
                                    (size_t)kw_policy_model(self->call->policy)->limits.frame_bytes,
                                .account = self->call->account,
                                .call = self->call->number,
                                .ordering = kw_copy_is_sweep(self) ? NULL : &kw_copy_table(self)->ordering};
}

/* Limits the scan of a sweep to the family that has the control cells. */
static void
limit_sweep(const kw_copy_slice *self, kw_range_scan_spec *spec)
{
    kw_column *family = KW_ARENA_NEW(self->call->arena, kw_column);
    if (!kw_copy_is_sweep(self) || self->request->scan_all)
        return;
    *family = (kw_column){.family = kw_copy_table(self)->ordering.family, .whole_family = true};
    spec->columns = family;
    spec->columns_count = 1;
}

static kw_range_scan_spec
spec_of_whole_rows(const kw_copy_slice *self)
{
    return (kw_range_scan_spec){.table = self->request->from->store_table,
                                .max_versions = INT32_MAX,
                                .time_from = self->since_ms,
                                .time_to = kw_copy_time_to(self),
                                .keep_blocks_out_of_cache = true,
                                .max_row_bytes = FETCH_BYTES_MAX,
                                .account = self->call->account,
                                .call = self->call->number};
}

/* --- fetches ----------------------------------------------------------------------------------------- */

static void fetch(kw_copy_scan *scan);

/* Scans from the first row key that was not scanned. */
static void
open_range(kw_copy_scan *scan)
{
    const kw_copy_slice *self = scan->slice;
    kw_range_scan_spec spec = self->whole ? spec_of_whole_rows(self) : kw_copy_keys_spec(self);
    limit_sweep(self, &spec);
    spec.start = kw_copy_part_start(scan->part, scan->scanned, self->call->arena);
    spec.stop = scan->part->stop;
    scan->range = kw_store_handle_open_range_scan(self->call->handle, &spec);
}

static void
end_fetch(kw_copy_scan *scan)
{
    kw_copy_slice *self = scan->slice;
    scan->fetching = false;
    self->fetching_rows -= scan->fetching_rows;
    self->fetching_bytes -= scan->fetching_bytes;
    scan->fetching_rows = scan->fetching_bytes = 0;
}

void
kw_copy_scan_cancel(kw_copy_scan *scan)
{
    if (scan->fetching)
        end_fetch(scan);
    kw_range_scan_close(g_steal_pointer(&scan->range));
    kw_rows_free(g_steal_pointer(&scan->next));
}

/* The slice ends with the rows of the next fetch, and with those that are being copied. */
static void
scan_keys_instead(kw_copy_scan *scan)
{
    kw_copy_slice *self = scan->slice;
    for (size_t i = 0; i < self->scans_count; i++)
        kw_copy_scan_cancel(&self->scans[i]);
    self->whole = false;
    open_range(scan);
    fetch(scan);
}

static void
note_fetched(kw_copy_scan *scan, kw_rows *rows)
{
    kw_copy_slice *self = scan->slice;
    scan->ended = rows->end;
    scan->next = rows;
    self->rows += rows->count;
    self->bytes += rows->bytes;
    if (rows->count == 0)
        return;
    scan->scanned = kw_arena_copy(self->call->arena, rows->rows[rows->count - 1].key);
    if (self->whole)
        scan->part->row_bytes = rows->bytes / rows->count;
}

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    kw_copy_scan *scan = user;
    kw_copy_slice *self = scan->slice;
    end_fetch(scan);
    if (error && error->code == KW_LIMIT && self->whole) {
        scan_keys_instead(scan);
        return;
    }
    if (error) {
        kw_copy_fail(self, error);
    } else if (rows->count == 0 && !rows->end) {
        kw_rows_free(rows);
        fetch(scan);
        return;
    } else {
        note_fetched(scan, rows);
    }
    kw_copy_advance(self);
}

/* How many scans share the limits of the slice: no more than there are parts left. */
static size_t
sharing_scans(const kw_copy_slice *self)
{
    return CLAMP(kw_copy_parts_left(self->parts), 1, self->scans_count);
}

static size_t
bytes_of_fetch(const kw_copy_slice *self)
{
    return sharing_scans(self) > 1 ? FETCH_BYTES_MAX / 2 : FETCH_BYTES_MAX;
}

/* The most rows of a fetch, so that all scans together fetch no more than one slice needs. The store limits
 * the bytes by the mean size of all rows of the table, so the rows of this part can be larger. */
static size_t
rows_of_fetch(const kw_copy_scan *scan)
{
    const kw_copy_slice *self = scan->slice;
    bool compares = self->request->seen && self->whole && !self->request->scan_all;
    size_t most = compares ? FETCH_ROWS_COMPARED : FETCH_ROWS_MAX;
    if (self->whole && scan->part->row_bytes)
        most = MIN(most, bytes_of_fetch(self) / scan->part->row_bytes);
    return MAX(MIN(most, self->request->max_rows / sharing_scans(self)), 1);
}

static void
fetch(kw_copy_scan *scan)
{
    kw_copy_slice *self = scan->slice;
    size_t before = self->rows + self->fetching_rows, max = self->request->max_rows;
    size_t left = max > before ? max - before : 1, most = rows_of_fetch(scan), bytes = bytes_of_fetch(self);
    scan->fetching = self->fetched_any = true;
    scan->fetching_rows = MIN(left, most);
    scan->fetching_bytes = MAX(bytes, scan->part->row_bytes);
    self->fetching_rows += scan->fetching_rows;
    self->fetching_bytes += scan->fetching_bytes;
    kw_range_scan_fetch(scan->range, (uint32_t)scan->fetching_rows, bytes, self->whole && left > most,
                        self->call->deadline, fetched, scan);
}

/* --- progress ---------------------------------------------------------------------------------------- */

static bool
others_are_busy(const kw_copy_scan *scan)
{
    const kw_copy_slice *self = scan->slice;
    for (size_t i = 0; i < self->scans_count; i++)
        if (&self->scans[i] != scan && kw_copy_scan_is_busy(&self->scans[i]))
            return true;
    return false;
}

/* True if the slice has space for another fetch. */
static bool
has_space(const kw_copy_slice *self)
{
    size_t rows = self->rows + self->fetching_rows, bytes = self->bytes + self->fetching_bytes;
    size_t bytes_max = sharing_scans(self) > 1 ? 2 * SLICE_BYTES_MAX : SLICE_BYTES_MAX;
    return self->whole && rows < self->request->max_rows && bytes < bytes_max;
}

/* True if the scan can fetch, and the slice may go on. */
static bool
may_fetch(const kw_copy_scan *scan)
{
    kw_copy_slice *self = scan->slice;
    const kw_copy_request *request = self->request;
    if (self->failed || self->stopped || (self->fetched_any && !has_space(self)))
        return false;
    if (others_are_busy(scan) && !kw_copy_has_memory(self))
        return false;
    self->stopped = self->fetched_any && request->may_go_on && !request->may_go_on(request->may_go_on_user);
    return !self->stopped;
}

static void
leave_part(kw_copy_scan *scan)
{
    kw_range_scan_close(g_steal_pointer(&scan->range));
    scan->part = NULL;
    scan->scanned = KW_BYTES_NONE;
    scan->ended = false;
}

/* False: there is no part left. */
static bool
has_part(kw_copy_scan *scan)
{
    if (scan->part)
        return true;
    scan->part = kw_copy_parts_take(scan->slice->parts);
    if (scan->part)
        open_range(scan);
    return scan->part != NULL;
}

static bool
may_visit(const kw_copy_slice *self)
{
    return self->visiting < (kw_copy_has_memory(self) ? VISITING_MAX : 1);
}

void
kw_copy_scan_advance(kw_copy_scan *scan)
{
    if (scan->next && !scan->rows && may_visit(scan->slice))
        kw_copy_visit(scan, g_steal_pointer(&scan->next));
    if (scan->ended && !kw_copy_scan_is_busy(scan))
        leave_part(scan);
    if (!scan->ended && !scan->fetching && !scan->next && may_fetch(scan) && has_part(scan))
        fetch(scan);
}

bool
kw_copy_scan_is_busy(const kw_copy_scan *scan)
{
    return scan->fetching || scan->next || scan->rows;
}
