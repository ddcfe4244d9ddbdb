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
 * So the order of the rows does not matter either. While callers or the operator wait for a pass, several
 * scans visit different parts of the placement at the same time (copy_parts.h):
 *
 *   regions --> parts --> scan: fetch rows -> copy those that differ -> fetch more, or take the next part
 *                     --> scan: ...
 *
 * Beside the calls of many callers, most of a fetch is the wait for its turn on the servers. The fetches of a
 * slice are limited together: the rows and bytes that a fetch can return count when it starts. To copy rows
 * takes more memory, because their other rows are read, and both are written. So at most two scans of a slice
 * copy at the same time, and the others wait with the rows that they have fetched. If the memory of the
 * process (base/budget.h) is short, only one scan fetches or copies.
 *
 * A sweep reads rows with their control cells, and does not decode records.
 */
#include "reconcile/copy_internal.h"
#include "reconcile/first_key.h"
#include "reconcile/share.h"
#include "store/store.h"

/* The regions are read within this share of the call's time, and at most so long. */
#define REGIONS_SHARE 4
#define REGIONS_MS_MAX 2000
/* What all scans of a slice can hold: 8 MiB of rows that were fetched, and for each of two scans that copy 8
 * MiB of other rows (store/order/copy.c), which are written. */
#define SLICE_MEMORY ((int64_t)32 << 20)

typedef kw_copy_slice slice;

/* --- the end of a slice ------------------------------------------------------------------------------ */

static void
finish(slice *self)
{
    kw_arena *arena = self->call->arena;
    for (size_t i = 0; i < self->scans_count; i++)
        kw_copy_scan_cancel(&self->scans[i]);
    self->result.end = kw_copy_parts_have_ended(self->parts);
    self->result.after = kw_arena_copy(arena, kw_copy_parts_after(self->parts));
    self->result.first = self->first;
    self->result.last = self->last;
    self->result.progress =
        self->result.end ? 1 : kw_share_of_keys(self->first, self->last, self->result.after);
    kw_copy_parts_release(self->parts);
    if (!self->request->seen)
        kw_copy_parts_free(g_steal_pointer(&self->parts));
    self->done(self->user, self->failed ? NULL : &self->result, self->failed ? &self->error : NULL);
}

void
kw_copy_fail(slice *self, const kw_error *error)
{
    if (!self->failed)
        self->error = *error;
    self->failed = true;
    for (size_t i = 0; i < self->scans_count; i++)
        kw_copy_scan_cancel(&self->scans[i]);
}

void
kw_copy_advance(slice *self)
{
    bool busy = false;
    for (size_t i = 0; i < self->scans_count; i++)
        kw_copy_scan_advance(&self->scans[i]);
    for (size_t i = 0; i < self->scans_count; i++)
        busy = busy || kw_copy_scan_is_busy(&self->scans[i]);
    if (!busy)
        finish(self);
}

bool
kw_copy_has_memory(const slice *self)
{
    const kw_account *account = self->call->account;
    return kw_budget_pressure(account) == KW_PRESSURE_NONE && kw_budget_left(account) >= SLICE_MEMORY;
}

/* --- the parts --------------------------------------------------------------------------------------- */

/* If the regions cannot be read, the slice scans one part. The next one asks again, except after a timeout,
 * because the next request would probably take as long. */
static void
on_regions(void *user, kw_regions *regions, const kw_error *error)
{
    slice *self = user;
    if (!error)
        kw_copy_parts_divide(self->parts, regions);
    else if (error->code == KW_TIMEOUT)
        kw_copy_seen_keep_whole(self->request->seen);
    kw_regions_free(regions);
    kw_copy_advance(self);
}

static void
begin(slice *self)
{
    const kw_call *call = self->call;
    if (self->scans_count == 1 || kw_copy_parts_are_divided(self->parts)) {
        kw_copy_advance(self);
        return;
    }
    kw_deadline deadline = kw_deadline_earlier(kw_deadline_first_part(call->deadline, REGIONS_SHARE),
                                               kw_deadline_in_ms(REGIONS_MS_MAX));
    kw_store_handle_regions(call->handle, self->request->from->store_table, deadline, on_regions, self);
}

/* --- the first and the last row key ------------------------------------------------------------------ */

static void search_first_and_last(slice *self);

static void
on_first_key(void *user, kw_bytes key, const kw_error *error)
{
    slice *self = user;
    if (error) {
        kw_copy_fail(self, error);
        finish(self);
        return;
    }
    *self->searched = key;
    search_first_and_last(self);
}

/* Finds the last key, then the first one, unless the slice begins with it. A scan of recent rows needs
 * neither: its progress cannot be estimated from row keys. */
static void
search_first_and_last(slice *self)
{
    bool at_first = self->request->after.size == 0;
    bool know = self->since_ms > 0 || (self->last.size && (self->first.size || at_first));
    if (know || self->searched == &self->first || (self->searched && at_first)) {
        begin(self);
        return;
    }
    self->searched = self->last.size ? &self->first : self->searched ? &self->first : &self->last;
    kw_range_scan_spec spec = kw_copy_keys_spec(self);
    spec.reversed = self->searched == &self->last;
    spec.filter = kw_copy_is_sweep(self) ? KW_STORE_FIRST_CELL : spec.filter;
    kw_first_key_find(self->call, &spec, on_first_key, self);
}

/* --- all --------------------------------------------------------------------------------------------- */

bool
kw_copy_can_select_by_time(const kw_placement *from, const kw_placement *to)
{
    return kw_placement_names_records(from) && kw_placement_names_records(to);
}

/* Only a pass can scan several parts: it knows in the next slice how far each of them has come. */
static void
set_scans(slice *self)
{
    const kw_copy_request *request = self->request;
    self->parts = request->seen ? kw_copy_seen_parts(request->seen, request->seen_use, request->after)
                                : kw_copy_parts_new(request->after);
    self->scans_count = request->seen && self->whole ? MAX(request->max_scans, 1) : 1;
    self->scans = KW_ARENA_ARRAY(self->call->arena, kw_copy_scan, self->scans_count);
    for (size_t i = 0; i < self->scans_count; i++)
        self->scans[i] = (kw_copy_scan){.slice = self};
}

void
kw_copy(kw_call *call, const kw_copy_request *request, kw_copy_done done, void *user)
{
    const kw_path *path = request->from->path;
    bool copies = request->mode != KW_COPY_SWEEP;
    g_assert(copies ? request->to->path->table == path->table : request->to == NULL);
    g_assert(request->max_rows > 0 && request->max_rows <= KW_COPY_ROWS_MAX);
    g_assert(request->max_scans <= KW_COPY_SCANS_MAX);
    g_assert(request->since_ms == 0 || !copies || kw_copy_can_select_by_time(request->from, request->to));
    if (copies && request->to->content == KW_CONTENT_HINTS) {
        kw_copy_to_hints(call, request, done, user);
        return;
    }
    slice *self = KW_ARENA_NEW(call->arena, slice);
    *self = (slice){.call = call,
                    .since_ms = request->scan_all ? 0 : request->since_ms,
                    .request = request,
                    .done = done,
                    .user = user,
                    .whole = copies && kw_store_is_shared(call->store),
                    .first = request->first,
                    .last = request->last};
    self->reader = kw_reader_new_identity(call, path->table, path);
    self->names_records = kw_placement_names_records(request->from);
    set_scans(self);
    search_first_and_last(self);
}
