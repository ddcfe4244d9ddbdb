/* The page: takes rows in order from the first open group until the page is full, and completes it.
 *
 *   idle --page()--> busy --full, end, error or deadline--> idle      (can be freed in any state)
 *
 * A gather that failed stays failed, because its range scans may have lost rows. Continue with a new gather
 * at the position of the last page. Everything runs on one loop.
 */
#include "gather/gather_internal.h"

#include "base/container.h"
#include "base/metrics.h"
#include "base/shortage.h"
#include "base/stall.h"
#include "gather/bounds.h"
#include "store/check.h"
#include "store/class.h"

#include <glib.h>

/* Maximum size of a page while memory is short. */
#define SHORT_PAGE_BYTES ((size_t)64 * 1024)
/* Maximum number of rows taken before the loop runs other work: about a millisecond. */
#define SLICE_ROWS 256
/* How long after its deadline a page waits for rows that the store is about to return. */
#define GRACE_MS 8

static void complete(kw_gather *gather);

static void
run_posted(kw_task *task)
{
    kw_gather *gather = KW_CONTAINER(task, kw_gather, task);
    gather->posted = false;
    if (gather->freed)
        g_free(gather);
    else
        complete(gather);
}

static void
run_work(kw_work *work)
{
    kw_gather_continue(KW_CONTAINER(work, kw_gather, work));
}

static bool
drops_rows(const kw_plan *plan)
{
    for (size_t i = 0; i < plan->ranges_count; i++)
        if (plan->ranges[i].row_size)
            return true;
    return plan->residual;
}

kw_gather *
kw_gather_new(kw_store_handle *handle, const kw_gather_spec *spec)
{
    g_assert(handle && spec && spec->plan);
    kw_gather *gather = g_new0(kw_gather, 1);
    gather->handle = handle;
    gather->spec = *spec;
    gather->task.run = run_posted;
    gather->work = (kw_work){.item = {.account = spec->account, .call = spec->call}, .run = run_work};
    gather->flow = (kw_flow){.account = spec->account,
                             .budget_bytes = spec->buffer_bytes,
                             .limit = spec->limit,
                             .more_pages = spec->more_pages,
                             .drops_rows = drops_rows(spec->plan)};
    gather->page.position = spec->position;
    if (!kw_position_fits(spec->plan, &spec->position)) {
        kw_error error;
        kw_error_set(&error, KW_INVALID, "the position does not fit the query");
        kw_gather_fail(gather, &error);
    } else if (spec->plan->point) {
        gather->points = kw_points_new(gather);
    } else if (spec->position.started) {
        gather->next_group = spec->position.group;
    }
    return gather;
}

void
kw_gather_free(kw_gather *gather)
{
    if (!gather)
        return;
    while (gather->groups) {
        kw_group *next = gather->groups->next;
        kw_group_free(gather->groups);
        gather->groups = next;
    }
    kw_points_free(gather->points);
    if (kw_work_waits(&gather->work))
        kw_loop_cancel_work(gather->handle->loop, &gather->work);
    kw_timer_free(gather->timer);
    kw_page_clear(&gather->page);
    g_free(gather->error);
    g_free(gather->later_error);
    gather->freed = true;
    if (!gather->posted)
        g_free(gather);
}

/* --- taking rows ----------------------------------------------------------------------------------- */

static bool
page_full(const kw_gather *gather)
{
    const kw_flow *flow = &gather->flow;
    if (gather->page_over || kw_flow_page_full(flow))
        return true;
    if (flow->page_rows && flow->page_bytes >= SHORT_PAGE_BYTES && kw_flow_is_short(flow)) {
        kw_metrics_add(KW_METRIC_memory_short_pages, 1);
        return true;
    }
    /* a kept row keeps its whole batch in memory: end the page if these batches are much larger than a full
     * page */
    return flow->page_rows && gather->page.retired_bytes >= 4 * flow->max_bytes + flow->budget_bytes;
}

void
kw_gather_count(kw_gather *gather, const kw_rows *rows)
{
    uint64_t found = 0;
    if (gather->points) {
        for (size_t i = 0; i < rows->count; i++)
            found += rows->rows[i].cells_count > 0;
        gather->scanned += found;
    } else {
        uint64_t scanned = MAX(rows->scanned, rows->count);
        found = rows->count;
        /* rows read ahead for later pages are counted when they are examined */
        gather->scanned += gather->spec.more_pages ? scanned - found : scanned;
    }
    kw_flow_count(&gather->flow, found, rows->bytes, found ? kw_arena_used(rows->arena) : 0);
}

/* Counts the bytes of this row: an average over all rows read would be wrong if only the large rows are kept.
 */
static void
keep_row(kw_gather *gather, kw_row *row)
{
    kw_flow_keep(&gather->flow, kw_row_bytes(row));
    if (!gather->spec.accept_copies)
        kw_page_add(&gather->page, row);
}

static bool
fail_large(kw_gather *gather, uint32_t range, const kw_row *row)
{
    kw_error error;
    kw_error_set(&error, KW_LIMIT, "table %s: row %s is too large to be read; request fewer columns",
                 kw_show(gather->spec.plan->ranges[range].placement->store_table).text,
                 kw_show(row->key).text);
    kw_gather_fail(gather, &error);
    return false;
}

/* Decides whether to keep a row. Drops it if the range requires another key size; otherwise calls
 * spec.accept. False after an error. */
static bool
consider(kw_gather *gather, uint32_t range, kw_row *row, kw_acceptance *ret_accepted)
{
    uint32_t row_size = gather->flow.drops_rows ? gather->spec.plan->ranges[range].row_size : 0;
    bool fits = row_size == 0 || row->key.size == row_size;
    *ret_accepted = fits ? KW_ROW_ACCEPTED : KW_ROW_DROPPED;
    if (fits && !gather->spec.accept && row->omitted)
        return fail_large(gather, range, row);
    if (!fits || !gather->spec.accept)
        return true;
    kw_error error;
    gather->accepting = range;
    if (gather->spec.accept(gather->spec.accept_user, row, ret_accepted, &error))
        return true;
    kw_gather_fail(gather, &error);
    return false;
}

size_t
kw_gather_range(const kw_gather *gather)
{
    return gather->accepting;
}

bool
kw_gather_has_begun(const kw_gather *gather, size_t range)
{
    if (gather->points)
        return kw_points_were_requested(gather->points, (uint32_t)range);
    return gather->spec.plan->ranges[range].group < gather->next_group;
}

kw_taken
kw_gather_take(kw_gather *gather, uint32_t range, kw_row *row, bool *ret_kept)
{
    kw_acceptance accepted;
    if (!consider(gather, range, row, &accepted))
        return KW_TAKE_FAILED;
    if (accepted == KW_ROW_NEXT_PAGE) {
        gather->page_over = true;
        return KW_TAKE_LATER;
    }
    gather->flow.examined++;
    gather->scanned += gather->spec.more_pages && !gather->points;
    kw_page_pass(&gather->page, row, range);
    if (accepted == KW_ROW_ACCEPTED)
        keep_row(gather, row);
    gather->flow.page_skipped += accepted == KW_ROW_SKIPPED;
    *ret_kept = accepted == KW_ROW_ACCEPTED && !gather->spec.accept_copies;
    return KW_TAKE_DONE;
}

void
kw_gather_fail(kw_gather *gather, const kw_error *error)
{
    if (!gather->error)
        gather->error = g_memdup2(error, sizeof *error);
}

/* --- groups ---------------------------------------------------------------------------------------- */

static void
open_groups(kw_gather *gather)
{
    const kw_plan *plan = gather->spec.plan;
    size_t ahead =
        kw_demand_groups(kw_flow_wanted(&gather->flow), gather->finished_groups, gather->finished_rows);
    while (gather->next_group < plan->groups_count && gather->groups_open <= ahead) {
        bool has_space = gather->flow.held_bytes < gather->spec.buffer_bytes / 2 && !gather->waiting_first;
        if (gather->groups && !has_space)
            return;
        kw_group_open(gather);
    }
}

static kw_step
take_head(kw_gather *gather, kw_group *group, kw_stream *stream)
{
    bool kept = false;
    kw_taken taken = kw_gather_take(gather, stream->index, stream->head, &kept);
    if (taken != KW_TAKE_DONE)
        return taken == KW_TAKE_LATER ? KW_STEP_ROW : KW_STEP_FAILED;
    stream->kept |= kept;
    group->moved = true;
    kw_stream_step(stream);
    return KW_STEP_ROW;
}

static kw_step
next_of_groups(kw_gather *gather)
{
    for (;;) {
        if (!gather->groups)
            open_groups(gather);
        kw_group *group = gather->groups;
        if (!group)
            return KW_STEP_END;
        kw_stream *stream;
        kw_step step = kw_group_next(group, &stream);
        if (step == KW_STEP_ROW)
            return take_head(gather, group, stream);
        if (step == KW_STEP_FAILED)
            kw_gather_fail(gather, stream->error);
        if (step != KW_STEP_END)
            return step;
        kw_group_finish(gather);
        open_groups(gather);
    }
}

/* True if it is known, without another read, that no rows follow. */
static bool
known_end(const kw_gather *gather)
{
    if (gather->points)
        return kw_points_known_end(gather->points);
    if (gather->next_group < gather->spec.plan->groups_count)
        return false;
    for (const kw_group *group = gather->groups; group; group = group->next)
        for (uint32_t i = 0; i < group->count; i++)
            if (!group->streams[i].end || group->streams[i].head)
                return false;
    return true;
}

/* --- the page -------------------------------------------------------------------------------------- */

static void
complete(kw_gather *gather)
{
    gather->busy = false;
    if (gather->timed)
        kw_timer_stop(gather->timer);
    kw_gather_done done = gather->done;
    if (gather->error) {
        done(gather->user, NULL, gather->error);
        return;
    }
    kw_gathered page = {.rows = gather->spec.accept_copies ? NULL : gather->page.rows,
                        .count = gather->flow.page_rows,
                        .end = gather->ended,
                        .position = *kw_page_position(&gather->page, gather->spec.plan),
                        .scanned = gather->scanned,
                        .bytes = gather->flow.page_bytes};
    gather->scanned = 0; /* rows that arrive from now on count for the next page */
    done(gather->user, &page, NULL);
}

static void
finish(kw_gather *gather)
{
    if (!gather->starting) {
        complete(gather);
    } else if (!gather->posted) {
        gather->posted = true;
        kw_loop_post(gather->handle->loop, &gather->task);
    }
}

/* Replaces a timeout by a short page if rows were found, or by an empty page if rows were skipped or groups
 * were finished. */
static void
forgive_timeout(kw_gather *gather)
{
    bool progress = gather->finished_groups > gather->finished_before || gather->flow.page_skipped > 0;
    if (!gather->error || gather->error->code != KW_TIMEOUT || (gather->flow.page_rows == 0 && !progress))
        return;
    g_clear_pointer(&gather->error, g_free);
    if (gather->flow.page_rows == 0 && gather->groups)
        kw_page_pass_group(&gather->page, gather->spec.plan, (uint32_t)gather->groups->number);
}

/* A row that the store cannot return ends the page; the next page reports it. */
static void
postpone_limit(kw_gather *gather)
{
    if (gather->error && gather->error->code == KW_LIMIT && gather->flow.page_rows > 0)
        gather->later_error = g_steal_pointer(&gather->error);
}

static kw_step
fill(kw_gather *gather)
{
    for (gather->slice = 0; !page_full(gather); gather->slice++) {
        if (gather->slice == SLICE_ROWS)
            return KW_STEP_YIELD;
        kw_step step = gather->points ? kw_points_next(gather->points) : next_of_groups(gather);
        if (step != KW_STEP_ROW)
            return step;
    }
    return KW_STEP_ROW;
}

/* Fails the page if the client has disconnected or memory is used up. If only memory is used up and the
 * page has rows, ends the page with these rows instead. */
static void
give_up(kw_gather *gather)
{
    kw_error error;
    const kw_account *account = gather->spec.account;
    if (gather->error)
        return;
    if (gather->flow.page_rows > 0 && !kw_account_client_is_gone(account))
        gather->page_over = gather->page_over || kw_budget_pressure(account) == KW_PRESSURE_FULL;
    else if (!kw_shortage_check(account, &error))
        kw_gather_fail(gather, &error);
}

static void
deadline_passed(void *user)
{
    kw_gather_continue(user);
}

/* Starts a timer for the deadline. The store also ends its reads at the deadline, but late if its threads
 * are busy with other calls. */
static void
watch_deadline(kw_gather *gather)
{
    if (gather->timed || gather->deadline == KW_DEADLINE_NONE)
        return;
    gather->timed = true;
    if (!gather->timer)
        gather->timer = kw_timer_new(gather->handle->loop, deadline_passed, gather);
    kw_timer_start_ms(gather->timer, (uint64_t)kw_deadline_left_ms(gather->deadline) + GRACE_MS);
}

void
kw_gather_continue(kw_gather *gather)
{
    if (!gather->busy || gather->posted || kw_work_waits(&gather->work))
        return;
    kw_stall_set_call(gather->spec.call);
    give_up(gather);
    kw_step step = gather->error ? KW_STEP_FAILED : fill(gather);
    if (step == KW_STEP_YIELD) {
        kw_loop_work(gather->handle->loop, &gather->work);
        return;
    }
    if (step == KW_STEP_WAIT && kw_deadline_passed(gather->deadline)) {
        kw_error error;
        kw_error_set(&error, KW_TIMEOUT, "the deadline passed before a row was found");
        kw_gather_fail(gather, &error);
        step = KW_STEP_FAILED;
    }
    if (step == KW_STEP_WAIT) {
        watch_deadline(gather);
        return;
    }
    if (step == KW_STEP_FAILED) {
        forgive_timeout(gather);
        postpone_limit(gather);
    }
    gather->ended = step == KW_STEP_END ||
                    (step == KW_STEP_ROW && (kw_flow_limit_reached(&gather->flow) || known_end(gather)));
    finish(gather);
}

void
kw_gather_continue_after(kw_gather *gather, size_t rows)
{
    if (rows < SLICE_ROWS)
        kw_gather_continue(gather);
    else if (gather->busy && !gather->posted && !kw_work_waits(&gather->work))
        kw_loop_work(gather->handle->loop, &gather->work);
}

void
kw_gather_page(kw_gather *gather, uint32_t max_rows, size_t max_bytes, kw_deadline deadline,
               kw_gather_done done, void *user)
{
    g_assert(!gather->busy && done);
    kw_page_hold_position(&gather->page, gather->spec.plan);
    kw_page_begin(&gather->page);
    kw_flow_begin_page(&gather->flow, max_rows, max_bytes);
    gather->done = done;
    gather->user = user;
    gather->deadline = deadline;
    gather->page_over = false;
    gather->finished_before = gather->finished_groups;
    if (gather->later_error)
        kw_gather_fail(gather, gather->later_error);
    gather->busy = true;
    gather->timed = false;
    gather->starting = true;
    kw_gather_continue(gather);
    gather->starting = false;
}
