#include "change/planner.h"

#include <glib.h>

/* A place is set at least a millisecond after all have reported the one before (change/ladder.h). This is
 * more, because clocks drift. */
#define GAP_NS (UINT64_C(2) * 1000 * 1000)
#define WORK (KW_CHANGE_NEEDS_COPY | KW_CHANGE_NEEDS_PASS | KW_CHANGE_NEEDS_SWEEP)
/* While the change waits for the operator, a pass is made again after this time, so that a switch finds few
 * records to visit. */
#define REFRESH_MS 60000
/* A pass or sweep that ended within this time after its place was set leaves little for the next one. */
#define SHORT_ROUND_MS 2000
/* If a pass or sweep takes more than this share of the time of the one before, further ones will not be
 * short. */
#define SHRINKS 0.75
#define ROUNDS_MAX 10

/* --- reports ----------------------------------------------------------------------------------------- */

void
kw_change_planner_init(kw_change_planner *planner, const kw_change_record *record, uint64_t now_ns)
{
    *planner = (kw_change_planner){.started_ms = record->started_ms,
                                   .step = record->step,
                                   .present = g_ptr_array_new_with_free_func(g_free),
                                   .dead = g_ptr_array_new_with_free_func(g_free),
                                   .unreported = g_ptr_array_new_with_free_func(g_free),
                                   .lost_ns = now_ns};
}

void
kw_change_planner_clear(kw_change_planner *planner)
{
    if (planner->present)
        g_ptr_array_unref(planner->present);
    if (planner->dead)
        g_ptr_array_unref(planner->dead);
    if (planner->unreported)
        g_ptr_array_unref(planner->unreported);
    *planner = (kw_change_planner){0};
}

static bool
is_alive(const char *instance, const kw_change_follower *followers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (g_str_equal(followers[i].instance, instance))
            return !followers[i].dead;
    return false;
}

static bool
has_name(const GPtrArray *names, const char *name)
{
    for (guint i = 0; i < names->len; i++)
        if (g_str_equal(names->pdata[i], name))
            return true;
    return false;
}

/* Also counts a gateway that has registered and died since the last read. */
static bool
any_disappeared(const kw_change_planner *planner, const kw_change_follower *followers, size_t count)
{
    for (guint i = 0; i < planner->present->len; i++)
        if (!is_alive(planner->present->pdata[i], followers, count))
            return true;
    for (size_t i = 0; i < count; i++)
        if (followers[i].dead && !has_name(planner->dead, followers[i].instance))
            return true;
    return false;
}

/* A gateway without a report serves the place before, or nothing yet. */
static bool
has_reported(const kw_change_follower *follower, const kw_change_record *record)
{
    return follower->step == record->step;
}

void
kw_change_planner_note(kw_change_planner *planner, const kw_change_record *record,
                       const kw_change_follower *followers, size_t count, uint64_t now_ns)
{
    g_assert(planner->present && planner->started_ms == record->started_ms);
    if (any_disappeared(planner, followers, count))
        planner->lost_ns = now_ns;
    if (planner->step != record->step)
        planner->reported_ns = 0;
    planner->step = record->step;
    g_ptr_array_set_size(planner->present, 0);
    g_ptr_array_set_size(planner->dead, 0);
    g_ptr_array_set_size(planner->unreported, 0);
    for (size_t i = 0; i < count; i++) {
        g_ptr_array_add(followers[i].dead ? planner->dead : planner->present,
                        g_strdup(followers[i].instance));
        if (!followers[i].dead && !has_reported(&followers[i], record))
            g_ptr_array_add(planner->unreported, g_strdup(followers[i].id));
    }
    if (planner->unreported->len > 0 || planner->present->len == 0)
        planner->reported_ns = 0;
    else if (planner->reported_ns == 0)
        planner->reported_ns = now_ns;
}

/* --- steps -----------------------------------------------------------------------------------------------
 */

static kw_change_direction
direction_of(const kw_change_record *record)
{
    return kw_change_goes_back(record) ? KW_CHANGE_BACK : KW_CHANGE_FORWARD;
}

/* True if the change ends at its goal. */
static bool
goal_ends(kw_change_place goal)
{
    return goal <= KW_OLD(ALONE) || goal >= KW_NEW(ALONE) || goal == KW_OLD(FILLED);
}

/* What must be true before a change ends that has reached its goal. A change that is cancelled at its first
 * place, unstamped-old, needs nothing: its writes leave no control cells. A cancelled change that was to
 * allow atomic operations needs nothing either, because none has run. Otherwise, a change of atomics needs a
 * grace: an atomic operation does not notice the writes without kw:w. Hints are harmless when they stay. */
static unsigned
needs_of_end(const kw_change_record *record)
{
    bool undone = kw_change_is_cancelled(record) && !record->drops;
    if (record->hints || record->place == KW_OLD(UNSTAMPED) || (record->atomics && undone))
        return 0;
    return KW_CHANGE_NEEDS_GRACE | (record->drops || record->atomics ? 0 : KW_CHANGE_NEEDS_SWEEP);
}

/* While atomic operations are held, time is short. If the step after the one that holds them needs a grace,
 * the grace ends before: without a fault it is over when the place is reached. */
static unsigned
needs_before_hold(const kw_change_record *record, kw_change_place to)
{
    kw_change_record next = *record;
    next.place = to;
    bool begins = kw_change_atomics_are_held(&next) && !kw_change_atomics_are_held(record);
    return begins ? kw_change_next_move(&next, direction_of(record)).needs & KW_CHANGE_NEEDS_GRACE : 0;
}

/* Finds the next step. *ret_ends: true if the change ends with it. If the change has reached the goal at
 * which it ends, there is no next place (KW_PLACE_NONE). Then only a grace and a sweep of the
 * control cells are left; a drop does not need the sweep. */
static kw_change_move
step_of(const kw_change_record *record, bool *ret_ends)
{
    kw_change_place goal = kw_change_goal_place(record);
    bool ends = goal_ends(goal), arrived = record->place == goal;
    kw_change_move step = arrived && ends ? (kw_change_move){KW_PLACE_NONE, needs_of_end(record)}
                                          : kw_change_next_move(record, direction_of(record));
    if (step.to != KW_PLACE_NONE)
        step.needs |= needs_before_hold(record, step.to);
    bool unstamped = goal == KW_OLD(UNSTAMPED) || goal == KW_NEW(UNSTAMPED);
    g_assert(step.to != KW_PLACE_NONE || (arrived && ends));
    *ret_ends = ends && (arrived || (unstamped && step.to == goal));
    return step;
}

/* --- what a step waits for ---------------------------------------------------------------------------- */

static kw_change_next
wait_for(kw_change_wait wait, uint64_t until_ns)
{
    return (kw_change_next){.act = KW_CHANGE_ACT_WAIT, .wait = wait, .until_ns = until_ns};
}

/* Waits for the reports of all gateways, and for the times that the step needs. */
static kw_change_next
check_times(const kw_change_planner *planner, uint64_t number, unsigned needs, const kw_change_times *times)
{
    uint64_t gap_ns = needs & KW_CHANGE_NEEDS_CLOCK  ? MAX(times->width_ns, GAP_NS)
                      : needs & KW_CHANGE_NEEDS_SKEW ? MAX(times->skew_ns, GAP_NS)
                                                     : GAP_NS;
    if (planner->reported_ns == 0 || planner->step != number)
        return wait_for(KW_CHANGE_WAIT_REPORTS, 0);
    if (times->now_ns < planner->reported_ns + gap_ns)
        return wait_for(KW_CHANGE_WAIT_TIME, planner->reported_ns + gap_ns);
    if (needs & KW_CHANGE_NEEDS_GRACE && times->now_ns < planner->lost_ns + times->late_ns)
        return wait_for(KW_CHANGE_WAIT_GRACE, planner->lost_ns + times->late_ns);
    return wait_for(KW_CHANGE_WAIT_NONE, 0);
}

/* Waits until writes that the work gave up can no longer be applied. */
static kw_change_next
check_work(const kw_change_planner *planner, const kw_change_times *times)
{
    bool over = planner->doubt_ns == 0 || times->now_ns >= planner->doubt_ns + times->late_ns;
    return over ? wait_for(KW_CHANGE_WAIT_NONE, 0)
                : wait_for(KW_CHANGE_WAIT_GRACE, planner->doubt_ns + times->late_ns);
}

/* The work that is left; WAIT: none. */
static kw_change_act
find_work(const kw_change_record *record, unsigned needs)
{
    if (needs & KW_CHANGE_NEEDS_COPY && !record->copied)
        return KW_CHANGE_ACT_COPY;
    if (needs & KW_CHANGE_NEEDS_COPY && !record->compared)
        return KW_CHANGE_ACT_COMPARE;
    if (record->pass == KW_CHANGE_PASS_ENDED)
        return KW_CHANGE_ACT_WAIT;
    if (needs & KW_CHANGE_NEEDS_PASS)
        return KW_CHANGE_ACT_PASS;
    return needs & KW_CHANGE_NEEDS_SWEEP ? KW_CHANGE_ACT_SWEEP : KW_CHANGE_ACT_WAIT;
}

/* True if the change waits for the operator, or makes a further pass meanwhile. The operator need not wait
 * for such a pass. */
static bool
is_first_pass_made(const kw_change_record *record)
{
    return kw_change_waits_for_switch(record) && record->settled_ms > 0;
}

kw_change_act
kw_change_work_left(const kw_change_record *record)
{
    bool ends;
    kw_change_act work = find_work(record, step_of(record, &ends).needs);
    return is_first_pass_made(record) && work == KW_CHANGE_ACT_PASS ? KW_CHANGE_ACT_WAIT : work;
}

/* The next step needs a command. */
bool
kw_change_waits_for_command(const kw_change_record *record)
{
    bool ends, arrived = record->place == kw_change_goal_place(record);
    kw_change_move step = step_of(record, &ends);
    if (is_first_pass_made(record))
        return record->copied && record->compared;
    return arrived && !ends && find_work(record, step.needs) == KW_CHANGE_ACT_WAIT;
}

bool
kw_change_atomics_are_held(const kw_change_record *record)
{
    return kw_change_rules_of(record).regime.atomics == KW_ATOMICS_HELD;
}

/* --- rounds ------------------------------------------------------------------------------------------- */

static bool
is_old(int64_t time_ms, const kw_change_times *times)
{
    return times->can_select_by_time && times->store_ms - time_ms > REFRESH_MS;
}

/* True if the place must be set again before the pass at it begins: it was set so long ago that the pass
 * would leave out too much. At most once: if the reports take long each time, it would not help. */
static bool
is_limit_old(const kw_change_record *record, const kw_change_times *times)
{
    bool begins = record->pass == KW_CHANGE_PASS_FIRST && record->copied_to.size == 0;
    bool old = times->store_ms - record->set_at_ms > REFRESH_MS;
    return kw_change_pass_is_limited(record) && begins && record->rounds == 0 && old;
}

/* True if the step needs another pass or sweep at this place, after one that has ended. */
static bool
needs_round(const kw_change_record *record, kw_change_move step, const kw_change_times *times)
{
    if (!(step.needs & (KW_CHANGE_NEEDS_PASS | KW_CHANGE_NEEDS_SWEEP)))
        return false;
    if (step.needs & KW_CHANGE_NEEDS_PASS && kw_change_pass_is_limited(record))
        return kw_change_waits_for_switch(record) && is_old(record->settled_ms, times);
    if (step.to == KW_PLACE_NONE)
        return record->rounds == 0;
    bool shortens = times->can_select_by_time || step.needs & KW_CHANGE_NEEDS_SWEEP;
    return shortens && !kw_change_atomics_are_held(record) && !record->short_round &&
           record->rounds < ROUNDS_MAX;
}

static kw_change_next
next_round(const kw_change_planner *planner, const kw_change_record *record, kw_change_move step,
           const kw_change_times *times)
{
    uint64_t until_ns = planner->reported_ns + times->width_ns;
    if (step.to == KW_PLACE_NONE && times->now_ns < until_ns)
        return wait_for(KW_CHANGE_WAIT_SWEEP, until_ns);
    return (kw_change_next){.act = KW_CHANGE_ACT_STEP, .to = record->place};
}

/* --- the next act ------------------------------------------------------------------------------------- */

static kw_change_next
next_work(const kw_change_record *record, kw_change_act work)
{
    return record->paused ? wait_for(KW_CHANGE_WAIT_RESUME, 0) : (kw_change_next){.act = work};
}

/* True if the change waits for the operator, and no pass is due: passes are made now and then meanwhile. */
static bool
rests(const kw_change_record *record, const kw_change_times *times)
{
    bool due = record->pass != KW_CHANGE_PASS_ENDED || is_old(record->settled_ms, times);
    bool passes = kw_change_waits_for_switch(record) && !record->paused && due;
    return kw_change_waits_for_command(record) && !passes;
}

/* The pass can begin, unless its place must be set again first. A write of the copy that was given up must
 * not replace cells that the pass then counts as equal. */
static kw_change_next
next_pass(const kw_change_planner *planner, const kw_change_record *record, const kw_change_times *times)
{
    if (record->paused || !is_limit_old(record, times))
        return next_work(record, KW_CHANGE_ACT_PASS);
    kw_change_next next = check_work(planner, times);
    return next.wait == KW_CHANGE_WAIT_NONE ? (kw_change_next){.act = KW_CHANGE_ACT_STEP, .to = record->place}
                                            : next;
}

kw_change_next
kw_change_planner_next(const kw_change_planner *planner, const kw_change_record *record,
                       const kw_change_times *times)
{
    g_assert(record->under_way && record->writers == KW_CHANGE_SEVERAL_WRITERS);
    bool ends;
    kw_change_move step = step_of(record, &ends);
    kw_change_act work = find_work(record, step.needs);
    if (rests(record, times))
        return wait_for(KW_CHANGE_WAIT_COMMAND, 0);
    kw_change_next next = check_times(planner, record->step, step.needs, times);
    if (next.wait == KW_CHANGE_WAIT_NONE && step.needs & WORK && work == KW_CHANGE_ACT_WAIT)
        next = check_work(planner, times);
    if (next.wait != KW_CHANGE_WAIT_NONE)
        return next;
    if (work == KW_CHANGE_ACT_PASS)
        return next_pass(planner, record, times);
    if (work != KW_CHANGE_ACT_WAIT)
        return next_work(record, work);
    if (step.needs & KW_CHANGE_NEEDS_CURSOR_EXPIRY && record->completing && !times->cursors_expired)
        return wait_for(KW_CHANGE_WAIT_CURSORS, 0);
    if (needs_round(record, step, times))
        return next_round(planner, record, step, times);
    return (kw_change_next){.act = ends ? KW_CHANGE_ACT_END : KW_CHANGE_ACT_STEP, .to = step.to};
}

/* --- the record --------------------------------------------------------------------------------------- */

void
kw_change_forget_rates(kw_change_record *record)
{
    record->work_ppm = record->work_rows_per_second = record->work_left_ms = 0;
}

static void
forget_pass(kw_change_record *record)
{
    kw_change_forget_rates(record);
    record->pass = KW_CHANGE_PASS_FIRST;
    record->short_round = false;
    record->part = 0;
    record->copied_to = KW_BYTES_NONE;
}

static void
forget_copy(kw_change_record *record)
{
    record->copied = record->compared = false;
    record->copied_to = record->compare_cursor = KW_BYTES_NONE;
    record->rows_copied = record->rows_compared = record->undecodable = 0;
    record->missing = record->different = record->extra = record->repaired = 0;
    record->example = "";
}

/* A row that could not be copied can have been removed since. Only another copy can tell how many are left.
 */
static void
copy_again(kw_change_record *record)
{
    record->copied = false;
    record->copied_to = KW_BYTES_NONE;
    record->rows_copied = record->undecodable = 0;
    record->example = "";
}

void
kw_change_compare_again(kw_change_record *record, bool copies)
{
    kw_change_forget_rates(record);
    record->part = 0;
    if (record->pass != KW_CHANGE_PASS_ENDED)
        forget_pass(record); /* it begins again after the comparison */
    record->compared = false;
    record->compare_cursor = KW_BYTES_NONE;
    record->rows_compared = record->missing = record->different = record->extra = record->repaired = 0;
    if (record->undecodable > 0 && copies)
        copy_again(record);
}

/* A copy stays valid while writes go to both placements: after a reverse, but not at opening-old.
 * A pass copies what a copy has missed, so a copy before a pass only saves time (tests/unit/change,
 * "no-copy").
 */
void
kw_change_set_place(kw_change_record *record, kw_change_place place, int64_t now_ms, int64_t set_at_ms)
{
    record->rounds = record->place == place ? record->rounds + 1 : 0;
    record->place = place;
    record->place_at_ms = now_ms;
    record->set_at_ms = set_at_ms;
    record->step++;
    forget_pass(record);
    if (place == KW_OLD(OPENING) || place == KW_OLD(MARKED))
        forget_copy(record);
    if (place <= KW_OLD(OPENING))
        record->settled_ms = 0;
    if (place > KW_OLD(ALONE) && place < KW_NEW(ALONE) && place != KW_OLD(FILLED))
        record->swept_ms = 0;
}

bool
kw_change_pass_is_limited(const kw_change_record *record)
{
    return !kw_change_rules_of(record).regime.waits_for_next_ms;
}

bool
kw_change_needs_set_at(kw_change_ladder ladder, kw_change_place place)
{
    return kw_change_rules_at(ladder, place).regime.order == KW_WRITE_ORDER_STAMP;
}

/* All cells with timestamps lower than `set_at_ms` have been visited. */
void
kw_change_end_round(kw_change_record *record, kw_change_act act, int64_t took_ms, int64_t before_ms)
{
    bool shrinks = record->rounds == 0 || before_ms == 0 || (double)took_ms < SHRINKS * (double)before_ms;
    record->pass = KW_CHANGE_PASS_ENDED;
    record->short_round = (took_ms >= 0 && took_ms <= SHORT_ROUND_MS) || !shrinks;
    if (act == KW_CHANGE_ACT_PASS)
        record->settled_ms = MAX(record->settled_ms, record->set_at_ms);
    else
        record->swept_ms = MAX(record->swept_ms, record->set_at_ms);
}

void
kw_change_set_goal(kw_change_record *record, kw_change_place goal)
{
    bool back = kw_change_goes_back(record);
    record->goal = goal;
    bool copies = record->place == kw_change_copy_place(kw_change_ladder_of(record));
    if (kw_change_goes_back(record) != back && !copies)
        forget_pass(record);
}
