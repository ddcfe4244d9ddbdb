/* See verify.h. One slice:
 *
 *   open the cursor --> the last row key, once --> a batch of rows <------------.
 *                                                    |  the next batch begins   |
 *                                                    v                          |
 *                                                  judge its rows ---> enough, or time is up? --> answer with a cursor
 *
 * A row that is too large to be read as a whole fails a batch. The batches get smaller until that row is
 * alone; then only its key is judged.
 */
#include "reconcile/verify.h"

#include "base/guard.h"
#include "reconcile/first_key.h"
#include "reconcile/share.h"
#include "verb/row_keys.h"

#define BATCH_ROWS 256 /* judging them takes about a millisecond */
#define BATCH_BYTES ((size_t)512 * 1024)
#define SLICE_MS 2000
#define VERSIONS_MOST 1000

typedef struct verify {
    kw_call *call;
    const kw_verify_request *request;
    const kw_placement *placement;
    kw_arena *scratch;
    kw_verify_counts *counts;
    kw_verify_position position;
    kw_deadline stop_by; /* after this time, the slice ends with the present batch */
    kw_range_scan *scan;
    uint32_t batch_rows;
    bool alone; /* reads the first cell of a large row */
    kw_verify_done done;
    void *user;
} verify;

/* --- the end ------------------------------------------------------------------------------------- */

static void
finish(verify *self, const kw_verify_result *result, const kw_error *error)
{
    kw_range_scan_close(g_steal_pointer(&self->scan));
    kw_arena_free(self->scratch);
    self->done(self->user, result, error);
}

static void
fail(verify *self, const kw_error *error)
{
    kw_verify_result unused;
    kw_error named = *error;
    kw_error_prefix(&named, "table %s, path %s", self->placement->path->table->name,
                    self->placement->path->name);
    kw_verify_counts_end(self->counts, &unused);
    finish(self, NULL, &named);
}

static void
answer(verify *self, bool end)
{
    kw_verify_result result;
    kw_error error;
    kw_verify_position *position = &self->position;
    kw_verify_counts_end(self->counts, &result);
    if (!kw_guard_check(self->call->arena, &error)) {
        finish(self, NULL, &error);
        return;
    }
    position->rows += result.rows;
    position->misfits += result.foreign + result.undecodable + result.large;
    result.rows_so_far = position->rows;
    result.all_fit = end && position->misfits == 0;
    result.progress = end ? 1 : kw_share_of_keys(position->first, position->last, position->after);
    result.cursor = end ? KW_BYTES_NONE : kw_verify_cursor(self->placement, position, self->call->arena);
    finish(self, &result, NULL);
}

/* --- batches ------------------------------------------------------------------------------------- */

static void fetch(verify *self);
static void open_scan(verify *self);

static bool
is_over(const verify *self, const kw_rows *rows)
{
    return rows->end || kw_verify_counts_rows(self->counts) + rows->count >= self->request->max_rows ||
           kw_deadline_passed(self->stop_by);
}

static void
judge(verify *self, const kw_rows *rows, bool large)
{
    for (size_t i = 0; i < rows->count; i++)
        kw_verify_counts_add(self->counts, &rows->rows[i], large);
    if (rows->count == 0)
        return;
    if (self->position.first.size == 0)
        self->position.first = kw_arena_copy(self->call->arena, rows->rows[0].key);
    self->position.after = kw_arena_copy(self->call->arena, rows->rows[rows->count - 1].key);
}

/* Reads the rest without the large row, or with smaller batches. */
static void
narrow(verify *self)
{
    self->alone = self->batch_rows == 1;
    self->batch_rows = MAX(self->batch_rows / 2, 1);
    open_scan(self);
    fetch(self);
}

/* The slice has its rows so far, unless there are none. */
static void
note_error(verify *self, const kw_error *error)
{
    if (error->code == KW_LIMIT && !self->alone)
        narrow(self);
    else if (error->code == KW_TIMEOUT && kw_verify_counts_rows(self->counts) > 0)
        answer(self, false);
    else
        fail(self, error);
}

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    verify *self = user;
    if (error) {
        note_error(self, error);
        return;
    }
    if (!self->alone)
        self->batch_rows = MIN(2 * self->batch_rows, BATCH_ROWS);
    bool over = is_over(self, rows), end = rows->end, large = self->alone && rows->count > 0;
    if (!over && !large)
        fetch(self); /* its rows arrive after this batch was judged */
    judge(self, rows, large);
    kw_rows_free(rows);
    if (over) {
        answer(self, end);
    } else if (large) {
        self->alone = false;
        self->batch_rows = BATCH_ROWS;
        open_scan(self);
        fetch(self);
    }
}

static uint32_t
batch_rows(const verify *self)
{
    uint64_t left = self->request->max_rows - kw_verify_counts_rows(self->counts);
    return (uint32_t)CLAMP(left, 1, self->batch_rows);
}

static void
fetch(verify *self)
{
    kw_range_scan_fetch(self->scan, self->alone ? 1 : batch_rows(self), BATCH_BYTES, true,
                        self->call->deadline, fetched, self);
}

static void
open_scan(verify *self)
{
    kw_range_scan_spec spec = {.table = self->placement->store_table,
                               .start = kw_row_key_after(self->position.after, self->call->arena),
                               .keep_blocks_out_of_cache = true,
                               .account = self->call->account,
                               .call = self->call->number,
                               .ordering = &self->placement->path->table->ordering};
    if (self->alone) {
        spec.max_versions = 1;
        spec.filter = KW_STORE_FIRST_CELL;
        spec.filters_cells_only = true;
    } else {
        spec.max_versions = VERSIONS_MOST;
        spec.max_row_bytes = (size_t)kw_policy_model(self->call->policy)->limits.frame_bytes;
    }
    kw_range_scan_close(g_steal_pointer(&self->scan));
    self->scan = kw_store_handle_open_range_scan(self->call->handle, &spec);
}

/* --- the beginning ------------------------------------------------------------------------------- */

static void
last_found(void *user, kw_bytes last, const kw_error *error)
{
    verify *self = user;
    if (error) {
        fail(self, error);
        return;
    }
    self->position.last = last;
    open_scan(self);
    fetch(self);
}

/* Finds the last row key, for the progress only. */
static void
begin(verify *self)
{
    kw_last_key_find(self->call, self->placement, &self->placement->path->table->ordering, last_found, self);
}

static bool
check(verify *self, kw_error *ret_error)
{
    const kw_path *path = self->request->path;
    if (kw_path_is_filling(path))
        return kw_error_set(
            ret_error, KW_REFUSED,
            "table %s, path %s: the path is being added and lacks rows; verify it when the change has "
            "ended",
            path->table->name, path->name);
    return self->request->cursor.size == 0 ||
           kw_verify_open_cursor(self->placement, self->request->cursor, &self->position, ret_error);
}

void
kw_verify(kw_call *call, const kw_verify_request *request, kw_verify_done done, void *user)
{
    verify *self = KW_ARENA_NEW(call->arena, verify);
    kw_error error;
    *self =
        (verify){.call = call,
                 .request = request,
                 .placement = kw_path_scanned(request->path),
                 .batch_rows = BATCH_ROWS,
                 .stop_by = kw_deadline_in_ms(MIN(SLICE_MS, MAX(kw_deadline_left_ms(call->deadline) / 2, 1))),
                 .done = done,
                 .user = user};
    if (!check(self, &error)) {
        done(user, NULL, &error);
        return;
    }
    self->scratch = kw_arena_new_below(call->arena, KW_MEMORY_CALLS);
    self->counts = kw_verify_counts_new(self->placement, request->max_examples, kw_clock_wall_ms(),
                                        call->arena, self->scratch);
    if (self->position.after.size) {
        open_scan(self);
        fetch(self);
    } else {
        begin(self);
    }
}
