/* Scans of hint paths: a page is gathered in batches of hints (hinted.h).
 *
 *   read a batch of hints --> read their rows --> judge each hint --> the page is full, or the window was read
 *     ^                                                |                 '--> kw_scan_gathered
 *     '------------------------------------------------'
 *
 * If the page ends between two hints of a batch, or the rows of a batch do not fit into memory together, the
 * gather is opened again after the last hint that was judged.
 */
#include "verb/scan_internal.h"

#include "base/container.h"
#include "base/guard.h"
#include "gather/bounds.h"
#include "verb/hinted.h"

#include <glib.h>

/* Hints judged before the loop runs other work. */
#define SLICE_HINTS 128
/* A batch has at most this many times as many hints as the page needs records. */
#define STALE_MOST 4
/* About this many bytes of hints in a batch. */
#define BATCH_BYTES ((size_t)1024 * 1024)
/* Hints of a batch while memory is short. */
#define SHORT_BATCH 64

/* A position with memory of its own. */
typedef struct kept_position {
    kw_position position;
    kw_buffer suffix;
} kept_position;

struct kw_scan_hints {
    kw_hinted *hinted;
    kw_work work; /* judges more hints */
    kw_scan *scan;
    kept_position reached; /* after the last hint that was judged */
    kept_position batch;   /* after the batch */
    kept_position opened;  /* where the gather was opened */
    bool batch_is_last;    /* of the window */
    bool lost;             /* the gather is not where the next page begins, or has failed */
    bool page_over;
    bool progress;                     /* this page has judged hints */
    size_t judged;                     /* hints of the batch */
    uint64_t page_hints, page_records; /* judged, and returned */
};

static void
keep_position(kept_position *to, const kw_position *from, kw_bytes suffix)
{
    g_auto(kw_buffer) copy = KW_BUFFER_EMPTY; /* the suffix can be a slice of the old one */
    kw_buffer_append(&copy, suffix);
    to->suffix.size = 0;
    kw_buffer_append(&to->suffix, kw_buffer_bytes(&copy));
    to->position = *from;
    to->position.suffix = kw_buffer_bytes(&to->suffix);
}

static void run_work(kw_work *work);

kw_scan_hints *
kw_scan_hints_new(kw_scan *scan, const kw_position *position)
{
    kw_scan_hints *hints = g_new0(kw_scan_hints, 1);
    size_t buffer = (size_t)kw_limits_scan_buffer_bytes(&kw_policy_model(scan->call.policy)->limits);
    kw_hinted_spec spec = {.call = &scan->call,
                           .placement = scan->plan->placements[0],
                           .reader = scan->reader,
                           .query = &scan->request.hints,
                           .row_bytes = kw_scan_max_row_bytes(scan),
                           .batch_bytes = buffer};
    hints->hinted = kw_hinted_new(&spec);
    hints->scan = scan;
    hints->work.run = run_work;
    keep_position(&hints->reached, position, position->suffix);
    hints->lost = true;
    return hints;
}

void
kw_scan_hints_free(kw_scan_hints *hints)
{
    if (!hints)
        return;
    if (kw_work_waits(&hints->work))
        kw_loop_cancel_work(hints->scan->call.loop, &hints->work);
    kw_hinted_free(hints->hinted);
    kw_buffer_clear(&hints->reached.suffix);
    kw_buffer_clear(&hints->batch.suffix);
    kw_buffer_clear(&hints->opened.suffix);
    g_free(hints);
}

/* --- ends of a page -------------------------------------------------------------------------------- */

/* The position after a part of the page. */
static kw_gathered
gathered_so_far(const kw_scan *scan)
{
    return (kw_gathered){.position = scan->hints->reached.position};
}

/* Answers with what the page has, if there is no time or memory for more. */
static void
fail(kw_scan *scan, const kw_error *error)
{
    kw_scan_hints *hints = scan->hints;
    bool has_rows = scan->records->len > 0;
    bool advanced = hints->progress || scan->in_later_window;
    bool short_page =
        (error->code == KW_TIMEOUT && (has_rows || (advanced && !scan->request.waits_for_row))) ||
        (has_rows && (error->code == KW_BUSY || error->code == KW_LIMIT));
    kw_error copy = *error;
    kw_gathered all = gathered_so_far(scan);
    hints->lost = true;
    if (short_page)
        kw_scan_answer(scan, &all, false);
    else
        scan->done(scan->user, NULL, &copy);
}

static void
end_batch(kw_scan *scan)
{
    kw_scan_hints *hints = scan->hints;
    kw_gathered all = gathered_so_far(scan);
    all.end = (hints->batch_is_last && !hints->lost) || kw_scan_has_enough(scan);
    if (all.end || hints->page_over || kw_scan_page_is_full(scan))
        kw_scan_gathered(scan, &all);
    else
        kw_scan_hints_read(scan);
}

/* --- judging --------------------------------------------------------------------------------------- */

typedef enum dealt {
    DEALT,
    DEALT_NOT,   /* the next batch begins with the hint */
    DEALT_LATER, /* the next page begins with it */
    DEALT_FAILED
} dealt;

static dealt
dealt_as(kw_acceptance accepted)
{
    return accepted == KW_ROW_NEXT_PAGE ? DEALT_LATER : DEALT;
}

static dealt
deal_returned(kw_scan *scan, size_t index, const kw_hinted_row *found, kw_error *ret_error)
{
    kw_acceptance accepted;
    kw_scan_hints *hints = scan->hints;
    if (kw_scan_has_enough(scan) || !kw_scan_has_space(scan))
        return DEALT_LATER;
    if (!kw_scan_accept_record(scan, found->placement, found->row, kw_hinted_key(hints->hinted, index),
                               &accepted, ret_error))
        return DEALT_FAILED;
    if (accepted != KW_ROW_ACCEPTED)
        return DEALT_LATER;
    kw_hinted_returned(hints->hinted, index);
    scan->bytes += kw_row_bytes(found->row);
    hints->page_records++;
    return DEALT;
}

static dealt
deal(kw_scan *scan, size_t index, kw_error *ret_error)
{
    kw_acceptance accepted;
    kw_hinted_row found;
    kw_error why;
    kw_hinted *hinted = scan->hints->hinted;
    kw_hinted_end end = {scan->gather, &scan->hints->batch.position, scan->hints->batch_is_last};
    switch (kw_hinted_judge(hinted, index, &end, &found, &why)) {
    case KW_HINTED_DROPPED:
        return DEALT;
    case KW_HINTED_RETURNED:
        return deal_returned(scan, index, &found, ret_error);
    case KW_HINTED_NOT_READ:
        return DEALT_NOT;
    case KW_HINTED_LARGE:
        return kw_scan_accept_large(scan, found.placement, found.row, &accepted, ret_error)
                   ? dealt_as(accepted)
                   : DEALT_FAILED;
    case KW_HINTED_UNDECODABLE:
        return kw_scan_accept_undecodable(scan, found.row, &why, &accepted, ret_error) ? dealt_as(accepted)
                                                                                       : DEALT_FAILED;
    }
    g_assert_not_reached();
}

/* Moves `reached` to the last hint that was judged. */
static void
note_reached(kw_scan *scan)
{
    kw_scan_hints *hints = scan->hints;
    bool whole = hints->judged == kw_hinted_count(hints->hinted);
    hints->lost = !whole || kw_hinted_must_reopen(hints->hinted);
    if (whole) {
        keep_position(&hints->reached, &hints->batch.position, hints->batch.position.suffix);
        return;
    }
    if (hints->judged == 0)
        return;
    size_t number = kw_hinted_range(hints->hinted, hints->judged - 1);
    const kw_range *range = &scan->plan->ranges[number];
    kw_position position = {.started = true, .group = range->group, .range = (uint32_t)number};
    keep_position(&hints->reached, &position,
                  kw_range_suffix(range, kw_hinted_key(hints->hinted, hints->judged - 1)));
}

typedef struct slice {
    kw_scan *scan;
    dealt last;
    kw_error *error;
} slice;

static void
judge_slice(void *user)
{
    slice *what = user;
    kw_scan_hints *hints = what->scan->hints;
    size_t end = MIN(hints->judged + SLICE_HINTS, kw_hinted_count(hints->hinted));
    while (hints->judged < end) {
        what->last = deal(what->scan, hints->judged, what->error);
        if (what->last != DEALT)
            return;
        hints->judged++;
        hints->page_hints++;
        hints->progress = true;
    }
}

static void
judge(kw_scan *scan)
{
    kw_error error;
    kw_scan_hints *hints = scan->hints;
    slice what = {.scan = scan, .last = DEALT, .error = &error};
    if (!kw_guard_run(scan->page_call->arena, judge_slice, &what, &error)) {
        scan->done(scan->user, NULL, &error);
        return;
    }
    if (what.last == DEALT && hints->judged < kw_hinted_count(hints->hinted)) {
        hints->work.item = (kw_fair_item){.account = scan->call.account, .call = scan->page_call->number};
        kw_loop_work(scan->call.loop, &hints->work);
        return;
    }
    note_reached(scan);
    hints->page_over = hints->page_over || what.last == DEALT_LATER;
    if (what.last == DEALT_FAILED)
        fail(scan, &error);
    else
        end_batch(scan);
}

static void
run_work(kw_work *work)
{
    judge(KW_CONTAINER(work, kw_scan_hints, work)->scan);
}

/* --- reading --------------------------------------------------------------------------------------- */

static void
rows_read(void *user, const kw_error *error)
{
    kw_scan *scan = user;
    if (error) {
        fail(scan, error);
        return;
    }
    scan->scanned += kw_hinted_rows_found(scan->hints->hinted);
    scan->hints->judged = 0;
    judge(scan);
}

static void
hints_gathered(void *user, const kw_gathered *gathered, const kw_error *error)
{
    kw_scan *scan = user;
    kw_scan_hints *hints = scan->hints;
    if (error) {
        fail(scan, error);
        return;
    }
    scan->scanned += gathered->scanned;
    scan->cost.rows += gathered->scanned;
    keep_position(&hints->batch, &gathered->position, gathered->position.suffix);
    hints->batch_is_last = gathered->end;
    hints->judged = 0;
    if (kw_hinted_count(hints->hinted) > 0) {
        kw_hinted_read(hints->hinted, rows_read, scan);
        return;
    }
    note_reached(scan);
    hints->progress = true;
    end_batch(scan);
}

/* So many hints that they probably fill the page. */
static uint32_t
batch_size(const kw_scan *scan)
{
    const kw_scan_hints *hints = scan->hints;
    uint64_t need = scan->limits.rows - kw_scan_rows_of_page(scan), wanted = need;
    if (scan->request.limit)
        wanted = need = MIN(need, scan->request.limit - scan->records->len);
    if (hints->page_hints > 0)
        wanted = MIN(need * hints->page_hints / MAX(hints->page_records, 1), STALE_MOST * need);
    if (kw_budget_pressure(scan->call.account) != KW_PRESSURE_NONE)
        wanted = MIN(wanted, SHORT_BATCH);
    return (uint32_t)CLAMP(wanted, 1, KW_HINTED_MOST);
}

void
kw_scan_hints_read(kw_scan *scan)
{
    kw_scan_hints *hints = scan->hints;
    uint32_t most = batch_size(scan);
    if (hints->lost) {
        kw_gather_free(scan->gather);
        keep_position(&hints->opened, &hints->reached.position, hints->reached.position.suffix);
        kw_scan_gather(scan, &hints->opened.position);
        hints->lost = false;
    }
    kw_hinted_begin_batch(hints->hinted, scan->plan, most);
    /* Time is left for the rows of the hints. */
    kw_deadline until = scan->request.waits_for_row ? scan->page_call->deadline : scan->stop_by;
    kw_gather_page(scan->gather, most, BATCH_BYTES, until, hints_gathered, scan);
}

bool
kw_scan_hints_accept(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error)
{
    kw_scan *scan = user;
    kw_error error;
    size_t range = kw_gather_range(scan->gather);
    if (row->omitted) {
        scan->hints->page_over = true;
        return kw_scan_accept_large(scan, scan->plan->ranges[range].placement, row, ret_accepted, ret_error);
    }
    switch (kw_hinted_add(scan->hints->hinted, range, row, &error)) {
    case KW_HINTED_ADDED:
        *ret_accepted = KW_ROW_ACCEPTED;
        return true;
    case KW_HINTED_SKIPPED:
        *ret_accepted = KW_ROW_DROPPED;
        return true;
    case KW_HINTED_FULL:
        *ret_accepted = KW_ROW_NEXT_PAGE;
        return true;
    case KW_HINTED_FOREIGN:
        return kw_scan_accept_undecodable(scan, NULL, &error, ret_accepted, ret_error);
    }
    g_assert_not_reached();
}

/* --- beginnings ------------------------------------------------------------------------------------ */

void
kw_scan_hints_begin_page(kw_scan *scan)
{
    kw_scan_hints *hints = scan->hints;
    kw_hinted_begin_page(hints->hinted, scan->page_call);
    hints->page_over = hints->progress = false;
    hints->page_hints = hints->page_records = 0;
}

void
kw_scan_hints_end_page(kw_scan *scan)
{
    kw_hinted_end_page(scan->hints->hinted);
}

void
kw_scan_hints_begin_window(kw_scan *scan)
{
    static const kw_position from_the_start;
    keep_position(&scan->hints->reached, &from_the_start, KW_BYTES_NONE);
    scan->hints->lost = false;
}

static void
query_begun(void *user, const kw_error *error)
{
    kw_scan *scan = user;
    kw_error named;
    if (!error) {
        kw_scan_hints_read(scan);
        return;
    }
    named = *error;
    kw_error_prefix(&named, "table %s", scan->plan->query->table->name);
    scan->done(scan->user, NULL, &named);
}

void
kw_scan_hints_begin_query(kw_scan *scan)
{
    scan->reading_ns = kw_clock_mono_ns();
    if (scan->request.hints.begun)
        kw_scan_hints_read(scan);
    else
        kw_hinted_begin_query(scan->hints->hinted, scan->page_call->deadline, query_begun, scan);
}
