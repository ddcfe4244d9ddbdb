/* scan and next: plan the query, gather one page, decode its rows to records, seal a cursor for the rest.
 *
 *   scan:  request ------------------------------> plan -> gather -> page + cursor
 *   next:  cursor -> checks -> request, position ---^        ^
 *   a later page of a kw_scan (scan.h) ----------------------'
 *
 * An interval that is read in windows has one plan at a time. When a window has been read and the page is not
 * full, the next window is planned.
 */
#include "verb/scan_internal.h"

#include "base/guard.h"
#include "base/metrics.h"
#include "path/cells.h"

#include <glib.h>

/* Maximum size in bytes of a row of which only some columns are returned. */
#define WIDE_ROW_BYTES ((int64_t)256 * 1024 * 1024)

void
kw_scan_free(kw_scan *scan)
{
    if (!scan)
        return;
    kw_compiling_give_up(scan->compiling);
    kw_scan_hints_free(scan->hints);
    kw_gather_free(scan->gather);
    kw_pushdown_clear(&scan->push);
    g_array_free(scan->records, TRUE);
    kw_arena_free(scan->scratch);
    kw_arena_free(scan->planning);
    if (scan->spans_pages)
        kw_call_release(&scan->call);
}

/* --- rows ------------------------------------------------------------------------------------------ */

#define WAY_ON "; a query with skip_undecodable (keyway: --skip-undecodable) skips such rows and counts them"

/* Handles a row whose key does not follow the path's rule, or whose values cannot be decoded, or are too
 * large (LIMIT): the page ends before such a row, and the next one fails. Drops it if its columns show that
 * it does not match the query. Otherwise skips it if the query allows that, or fails, because an answer
 * without the row could be incomplete. */
bool
kw_scan_accept_undecodable(kw_scan *self, const kw_row *row, const kw_error *why, kw_acceptance *ret_accepted,
                           kw_error *ret_error)
{
    const kw_record *record;
    kw_error ignored;
    *ret_accepted = why->code == KW_LIMIT ? KW_ROW_NEXT_PAGE : KW_ROW_DROPPED;
    if (why->code == KW_LIMIT && self->records->len > 0)
        return true;
    if (row && self->plan->residual && kw_reader_decode_cells(self->reader, row, &record, &ignored) &&
        !kw_plan_matches(self->plan, record))
        return true;
    if (why->code == KW_CORRUPT && self->request.skip_undecodable) {
        self->undecodable++;
        *ret_accepted = self->request.waits_for_row ? KW_ROW_DROPPED : KW_ROW_SKIPPED;
        return true;
    }
    *ret_error = *why;
    if (why->code == KW_CORRUPT)
        kw_error_suffix(ret_error, WAY_ON);
    return false;
}

/* Upper bound of the bytes of a reply without its records and its cursor. */
#define HEAD_BYTES ((size_t)512)
/* By how much the cursor of a query by a hint path can grow. */
#define HINT_MEMORY_BYTES ((size_t)8 * KW_HINT_MEMORY)

/* Maximum size in bytes of the page's records in the reply; the cursor needs the rest. */
static size_t
max_records_bytes(kw_scan *self, size_t key_size)
{
    size_t frame = self->limits.frame_bytes;
    if (self->cursor_bytes == 0)
        self->cursor_bytes =
            kw_page_cursor(self->page_call, &self->request, self->plan, &(kw_gathered){0}, false).size;
    size_t more = self->hints ? HINT_MEMORY_BYTES : 0;
    return frame - MIN(frame, self->cursor_bytes + more + 2 * key_size + HEAD_BYTES);
}

/* Accepts the row only if the page still fits into a reply. */
static bool
reserve_space(kw_scan *self, const kw_placement *placement, const kw_row *row, kw_bytes position,
              kw_acceptance *ret_accepted, kw_error *ret_error)
{
    size_t bytes = kw_reader_reply_bytes(self->reader), all = self->reply_bytes + bytes;
    bool fits = all <= self->limits.frame_bytes / 4 || all <= max_records_bytes(self, position.size);
    *ret_accepted = fits ? KW_ROW_ACCEPTED : KW_ROW_NEXT_PAGE;
    if (fits)
        self->reply_bytes = all;
    else if (self->records->len == 0) {
        kw_error_set(ret_error, KW_LIMIT,
                     "it needs %zu bytes of a reply, which has space for %zu (limits.frame); request fewer "
                     "columns, or increase the limit",
                     bytes, max_records_bytes(self, position.size));
        return kw_reader_name_record(self->reader, placement, row->key, ret_error);
    }
    return true;
}

/* Maximum size in bytes of a row while it is read. The whole row can be read even if only some of its columns
 * are returned, because a record without any of the chosen columns is returned, too. */
size_t
kw_scan_max_row_bytes(const kw_scan *self)
{
    size_t frame = (size_t)kw_policy_model(self->call.policy)->limits.frame_bytes;
    if (self->request.picks_count == 0)
        return frame;
    return MAX(frame, (size_t)MIN(kw_budget_left(self->call.account) / 2, WIDE_ROW_BYTES));
}

/* The page ends before a row that is too large to be read. The next page, which begins with it, fails. */
bool
kw_scan_accept_large(kw_scan *self, const kw_placement *placement, const kw_row *row,
                     kw_acceptance *ret_accepted, kw_error *ret_error)
{
    *ret_accepted = KW_ROW_NEXT_PAGE;
    if (self->records->len > 0)
        return true;
    kw_error_set(ret_error, KW_LIMIT,
                 "it has more than %zu bytes (limits.frame), or so many cells that it needs more memory than "
                 "one call can use (limits.memory); request fewer columns, or increase the limit",
                 kw_scan_max_row_bytes(self));
    return kw_reader_name_record(self->reader, placement, row->key, ret_error);
}

bool
kw_scan_accept_record(kw_scan *self, const kw_placement *placement, const kw_row *row, kw_bytes position,
                      kw_acceptance *ret_accepted, kw_error *ret_error)
{
    if (!reserve_space(self, placement, row, position, ret_accepted, ret_error))
        return false;
    if (*ret_accepted == KW_ROW_ACCEPTED) {
        kw_record kept = kw_reader_keep(self->reader, self->page_call->arena);
        g_array_append_val(self->records, kept);
    }
    return true;
}

static bool
accept_row(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error)
{
    kw_scan *self = user;
    const kw_record *record;
    kw_error error;
    const kw_placement *placement = self->plan->ranges[kw_gather_range(self->gather)].placement;
    if (row->omitted)
        return kw_scan_accept_large(self, placement, row, ret_accepted, ret_error);
    if (!kw_reader_decode(self->reader, placement, row, &record, &error))
        return kw_scan_accept_undecodable(self, row, &error, ret_accepted, ret_error);
    *ret_accepted = KW_ROW_DROPPED;
    if (self->plan->residual && !kw_plan_matches_in(self->plan, kw_gather_range(self->gather), record))
        return true;
    return kw_scan_accept_record(self, placement, row, row->key, ret_accepted, ret_error);
}

/* --- opening --------------------------------------------------------------------------------------- */

typedef struct plan_step {
    kw_scan *scan;
    bool good;
    kw_error *error;
} plan_step;

static void
make_plan_step(void *user)
{
    plan_step *what = user;
    kw_scan *self = what->scan;
    if (!kw_page_plan(&self->call, &self->request, self->planning, &self->plan, what->error))
        return;
    self->reader = kw_pushdown_reader(&self->call, &self->request, self->plan, self->scratch);
    what->good =
        kw_pushdown_make(&self->call, &self->request, self->plan, self->reader, &self->push, what->error);
}

static bool
make_plan(kw_scan *self, kw_error *ret_error)
{
    plan_step what = {.scan = self, .error = ret_error};
    return kw_guard_run(self->planning, make_plan_step, &what, ret_error) && what.good;
}

/* Allocated in the arena of its call. */
static kw_scan *
scan_new(const kw_call *call, const kw_scan_request *request)
{
    kw_scan *self = KW_ARENA_NEW(call->arena, kw_scan);
    *self = (kw_scan){.call = *call, .request = *request};
    self->records = g_array_new(FALSE, FALSE, sizeof(kw_record));
    self->scratch = kw_arena_new_below(call->arena, KW_MEMORY_CALLS);
    self->planning = kw_arena_new_below(call->arena, KW_MEMORY_CALLS);
    return self;
}

/* Gathers the rows of the current plan. */
void
kw_scan_gather(kw_scan *self, const kw_position *position)
{
    kw_gather_spec spec = {
        .plan = self->plan,
        .position = *position,
        .columns = self->push.columns,
        .columns_count = self->push.columns_count,
        .filter = self->push.filter,
        .prepared = self->push.prepared,
        .filters_cells_only = self->push.filters_cells_only,
        .by_patterns = self->push.by_patterns,
        .buffer_bytes = (size_t)kw_limits_scan_buffer_bytes(&kw_policy_model(self->call.policy)->limits),
        .limit = self->request.limit && !self->hints ? self->request.limit - self->records->len : 0,
        .more_pages = self->spans_pages,
        .row_bytes = kw_scan_max_row_bytes(self),
        .account = self->call.account,
        .call = self->call.number,
        .accept = self->hints ? kw_scan_hints_accept : accept_row,
        .accept_copies = true,
        .accept_user = self};
    self->gather = kw_gather_new(self->call.handle, &spec);
}

static bool
open_plan(kw_scan *self, const kw_position *position, kw_error *ret_error)
{
    if (!make_plan(self, ret_error))
        return false;
    if (self->plan->path->content == KW_CONTENT_HINTS)
        self->hints = kw_scan_hints_new(self, position);
    self->position = *position;
    self->cost.partial = position->started;
    return true;
}

/* --- a page ---------------------------------------------------------------------------------------- */

void
kw_scan_answer(kw_scan *self, const kw_gathered *last, bool end)
{
    kw_arena *arena = self->page_call->arena;
    kw_bytes rows = kw_bytes_of(self->records->data, self->records->len * sizeof(kw_record));
    kw_scan_page page = {.rows = (const kw_record *)(const void *)kw_arena_copy(arena, rows).data,
                         .count = self->records->len,
                         .scanned = self->scanned + last->scanned,
                         .undecodable = self->undecodable,
                         .table = self->request.query.table};
    kw_gathered all = {.count = page.count, .position = last->position};
    if (!end)
        page.cursor = kw_page_cursor(self->page_call, &self->request, self->plan, &all, self->window_read);
    if (self->request.limit)
        self->request.limit -= page.count;
    if (self->hints)
        kw_scan_hints_end_page(self);
    kw_metrics_add(KW_METRIC_rows_returned, (int64_t)page.count);
    self->done(self->user, &page, NULL);
}

/* Answers with the rows of earlier windows if time ran out in a later one; the next page reads that window
 * again. */
static void
fail(kw_scan *self, const kw_error *error)
{
    kw_error copy = *error;
    bool is_answer = self->in_later_window && (self->records->len || !self->request.waits_for_row);
    if (copy.code == KW_TIMEOUT && is_answer)
        kw_scan_answer(self, &(kw_gathered){.count = 0}, false);
    else
        self->done(self->user, NULL, &copy);
}

/* The rows that count for the size of the page. */
uint64_t
kw_scan_rows_of_page(const kw_scan *self)
{
    return self->records->len + (self->request.waits_for_row ? 0 : self->undecodable);
}

bool
kw_scan_has_enough(const kw_scan *self)
{
    return self->request.limit && self->records->len >= self->request.limit;
}

bool
kw_scan_has_space(const kw_scan *self)
{
    bool is_short = self->records->len > 0 && kw_budget_pressure(self->call.account) != KW_PRESSURE_NONE;
    return !is_short && kw_scan_rows_of_page(self) < self->limits.rows && self->bytes < self->limits.bytes;
}

bool
kw_scan_page_is_full(const kw_scan *self)
{
    bool time_is_up = !self->request.waits_for_row && kw_deadline_passed(self->stop_by);
    return time_is_up || !kw_scan_has_space(self);
}

static void on_page_gathered(void *user, const kw_gathered *gathered, const kw_error *error);

/* Reads the rows that the page still lacks from the current window. */
static void
gather_page(kw_scan *self)
{
    self->reading_ns = kw_clock_mono_ns();
    if (self->hints) {
        kw_scan_hints_read(self);
        return;
    }
    kw_gather_page(self->gather, (uint32_t)(self->limits.rows - kw_scan_rows_of_page(self)),
                   self->limits.bytes - self->bytes, self->page_call->deadline, on_page_gathered, self);
}

/* Opens the window after the one that was read. */
static bool
open_next_window(kw_scan *self, kw_error *ret_error)
{
    static const kw_position from_the_start;
    kw_arena *planning = kw_arena_new_below(self->call.arena, KW_MEMORY_CALLS);
    const kw_plan *next;
    kw_pace_next(&self->pace, self->plan, &self->cost, &self->request.query);
    if (!kw_page_plan(&self->call, &self->request, planning, &next, ret_error)) {
        kw_arena_free(planning);
        return false;
    }
    kw_gather_free(self->gather);
    kw_arena_free(self->planning);
    self->planning = planning;
    self->plan = next;
    self->window_read = false;
    self->cost = (kw_pace_cost){.rows = 0};
    self->cursor_bytes = 0;
    kw_scan_gather(self, &from_the_start);
    if (self->hints)
        kw_scan_hints_begin_window(self);
    return true;
}

static void
on_page_gathered(void *user, const kw_gathered *gathered, const kw_error *error)
{
    kw_scan *self = user;
    if (error)
        fail(self, error);
    else
        kw_scan_gathered(self, gathered);
}

void
kw_scan_gathered(kw_scan *self, const kw_gathered *gathered)
{
    kw_error failure;
    if (self->request.waits_for_row && self->records->len == 0 && !gathered->end) {
        kw_error_set(&failure, KW_TIMEOUT, "the deadline passed before a row was found");
        fail(self, &failure);
        return;
    }
    bool enough = kw_scan_has_enough(self);
    self->window_read = gathered->end && !enough && self->plan->rest.limit > 0;
    self->bytes += gathered->bytes;
    self->cost.rows += gathered->scanned;
    self->cost.us += (kw_clock_mono_ns() - self->reading_ns) / 1000;
    if (!self->window_read || kw_scan_page_is_full(self)) {
        kw_scan_answer(self, gathered, gathered->end && !self->window_read);
        return;
    }
    self->scanned += gathered->scanned;
    self->in_later_window = true;
    if (open_next_window(self, &failure))
        gather_page(self);
    else
        fail(self, &failure);
}

/* The first page starts when the filter is compiled. */
static void
filter_ready(void *user, const kw_error *error)
{
    kw_scan *self = user;
    if (error) {
        kw_error named = *error;
        kw_error_prefix(&named, "table %s", self->plan->query->table->name);
        fail(self, &named);
        return;
    }
    if (self->hints) {
        kw_scan_hints_begin_query(self);
        return;
    }
    kw_scan_gather(self, &self->position);
    gather_page(self);
}

static kw_deadline
half_way(kw_deadline deadline)
{
    int64_t left = kw_deadline_left_ms(deadline);
    return deadline == KW_DEADLINE_NONE ? deadline : kw_deadline_in_ms(MAX(left / 2, 1));
}

void
kw_scan_next(kw_scan *scan, kw_call *call, kw_scan_done done, void *user)
{
    kw_error error;
    scan->page_call = call;
    scan->done = done;
    scan->user = user;
    g_array_set_size(scan->records, 0);
    scan->limits = kw_page_limits_of(call, &scan->request);
    scan->stop_by = half_way(call->deadline);
    scan->in_later_window = false;
    scan->scanned = 0;
    scan->undecodable = 0;
    scan->bytes = 0;
    scan->reply_bytes = 0;
    if (scan->hints)
        kw_scan_hints_begin_page(scan);
    if (!scan->gather)
        kw_compile(call, scan->push.prepared, filter_ready, scan, &scan->compiling);
    else if (scan->window_read && !open_next_window(scan, &error))
        fail(scan, &error);
    else
        gather_page(scan);
}

/* --- whole scans ----------------------------------------------------------------------------------- */

/* Opens a scan of several pages, which owns the call from then on. If `good` is false, the caller has set
 * *ret_error: releases the call and returns NULL. */
static kw_scan *
open_scan(const kw_call *call, const kw_scan_request *request, const kw_position *position, bool good,
          kw_error *ret_error)
{
    kw_scan *self = scan_new(call, request);
    self->spans_pages = true;
    if (good && open_plan(self, position, ret_error))
        return self;
    kw_scan_free(self);
    return NULL;
}

static const kw_pick *
copy_picks(const kw_scan_request *from, kw_arena *arena)
{
    kw_pick *picks = KW_ARENA_ARRAY(arena, kw_pick, from->picks_count);
    for (size_t i = 0; i < from->picks_count; i++)
        picks[i] = (kw_pick){from->picks[i].field, kw_arena_copy(arena, from->picks[i].entry)};
    return picks;
}

/* Copies a request by encoding and decoding its query, as a cursor does. Restores what that does not keep:
 * the placement, and full_scan, because encoding sets it for every query with a limit. That and `planned` are
 * right for a cursor, whose query was accepted and planned before; this query was not. */
static bool
copy_request(const kw_scan_request *from, kw_arena *arena, kw_scan_request *to, kw_error *ret_error)
{
    g_auto(kw_buffer) query = KW_BUFFER_EMPTY;
    size_t used;
    kw_record_query_encode(&from->query, &query);
    kw_bytes copy = kw_arena_copy(arena, kw_buffer_bytes(&query));
    *to = *from;
    to->filter = kw_arena_copy(arena, from->filter);
    to->picks = copy_picks(from, arena);
    if (!kw_record_query_decode(from->query.table, copy, arena, &to->query, &used, ret_error))
        return false;
    to->query.full_scan = from->query.full_scan;
    to->query.planned = from->query.planned;
    to->query.placement = from->query.placement;
    return true;
}

kw_scan *
kw_scan_of_request(const kw_call *like, const kw_scan_request *request, kw_error *ret_error)
{
    static const kw_position from_the_start;
    kw_call call = kw_call_copy(like);
    kw_scan_request copy = {0};
    bool good = copy_request(request, call.arena, &copy, ret_error);
    return open_scan(&call, &copy, &from_the_start, good, ret_error);
}

kw_scan *
kw_scan_of_cursor(const kw_call *like, kw_bytes cursor, kw_error *ret_error)
{
    kw_call call = kw_call_copy(like);
    kw_scan_request request = {0};
    kw_position position = {0};
    bool good = kw_page_open_cursor(&call, kw_arena_copy(call.arena, cursor), &request, &position, ret_error);
    return open_scan(&call, &request, &position, good, ret_error);
}

/* --- one page -------------------------------------------------------------------------------------- */

typedef struct single {
    kw_scan *scan;
    kw_scan_done done;
    void *user;
} single;

static void
single_done(void *user, const kw_scan_page *page, const kw_error *error)
{
    single *self = user;
    kw_scan_free(self->scan);
    self->done(self->user, page, error);
}

static void
start(kw_call *call, const kw_scan_request *request, const kw_position *position, kw_scan_done done,
      void *user)
{
    single *self = KW_ARENA_NEW(call->arena, single);
    *self = (single){scan_new(call, request), done, user};
    kw_error error;
    if (open_plan(self->scan, position, &error))
        kw_scan_next(self->scan, call, single_done, self);
    else
        single_done(self, NULL, &error);
}

void
kw_verb_scan(kw_call *call, const kw_scan_request *request, kw_scan_done done, void *user)
{
    static const kw_position from_the_start;
    start(call, request, &from_the_start, done, user);
}

void
kw_verb_next(kw_call *call, kw_bytes cursor, kw_scan_done done, void *user)
{
    kw_scan_request request;
    kw_position position;
    kw_error error;
    if (kw_page_open_cursor(call, cursor, &request, &position, &error))
        start(call, &request, &position, done, user);
    else
        done(user, NULL, &error);
}
