/* The way of a change along its ladder: from every place, with every goal, it ends where it must, and
 * no step is made before what change/ladder.h demands for it. Gateways, time and work are made up. */
#include "change/planner.h"

#include <glib.h>

#define MS UINT64_C(1000000)
#define LATE_NS (40 * 1000 * MS)
#define SKEW_NS (20 * MS)
#define WIDTH_NS (300 * MS)
#define STEPS_MAX 300
/* The first pass or sweep of a version takes this time, and each further one a tenth of the one before. */
#define FIRST_ROUND_MS 100000

typedef struct scene {
    kw_change_planner planner;
    kw_change_record record;
    kw_change_times times;
    kw_change_follower followers[2];
    size_t count;
    bool ended;
    kw_change_place left; /* the version before the end */
    bool undecodable;     /* the copy finds a row that it cannot copy */
    /* what has happened since the version was set */
    uint64_t reported_ns, lost_ns;
    int64_t round_ms;   /* of the last pass or sweep */
    unsigned repeated;  /* how often a version was set again */
    bool began_hold;    /* a step has led to a version that holds atomic operations */
    int64_t settled_ms; /* of the record, when the last pass began */
    bool copied, compared, passed, swept, expired;
} scene;

/* GOALS are those of a table with order: stamp. */
static kw_change_place
goal_of(kw_change_place goal, bool store_order)
{
    return goal == KW_OLD(ALONE)   ? kw_change_first_place(store_order)
           : goal == KW_NEW(ALONE) ? kw_change_last_place(store_order)
                                   : goal;
}

static kw_change_record
record_at(kw_change_place place, kw_change_place goal, bool store_order)
{
    return (kw_change_record){.table = "t",
                              .path = "p",
                              .under_way = true,
                              .place = place,
                              .writers = KW_CHANGE_SEVERAL_WRITERS,
                              .step = 7,
                              .goal = goal_of(goal, store_order),
                              .holder = "a",
                              .store_order = store_order,
                              .completing = true,
                              .example = "",
                              .set_at_ms = 1,
                              .started_ms = 1};
}

static scene
scene_new(kw_change_place place, kw_change_place goal, bool store_order)
{
    scene self = {.record = record_at(place, goal, store_order),
                  .times = {.now_ns = 1000 * MS,
                            .late_ns = LATE_NS,
                            .skew_ns = SKEW_NS,
                            .width_ns = WIDTH_NS,
                            .can_select_by_time = true},
                  .followers = {{.instance = "a", .id = "A", .itself = true}, {.instance = "b", .id = "B"}},
                  .count = 2,
                  .lost_ns = 1000 * MS};
    kw_change_planner_init(&self.planner, &self.record, self.times.now_ns);
    return self;
}

static kw_change_next
next_of(scene *self)
{
    self->times.store_ms = (int64_t)(self->times.now_ns / MS);
    kw_change_planner_note(&self->planner, &self->record, self->followers, self->count, self->times.now_ns);
    return kw_change_planner_next(&self->planner, &self->record, &self->times);
}

/* --- what a step needs --------------------------------------------------------------------------------- */

static void
check_needs(const scene *self, unsigned needs)
{
    uint64_t now_ns = self->times.now_ns;
    g_assert_cmpuint(self->reported_ns, >, 0);
    g_assert_cmpuint(now_ns - self->reported_ns, >, 1 * MS);
    if (needs & KW_CHANGE_NEEDS_GRACE)
        g_assert_cmpuint(now_ns, >=, self->lost_ns + LATE_NS);
    if (needs & KW_CHANGE_NEEDS_SKEW)
        g_assert_cmpuint(now_ns, >=, self->reported_ns + SKEW_NS);
    if (needs & KW_CHANGE_NEEDS_COPY)
        g_assert_true(self->record.copied && self->record.compared);
    if (needs & KW_CHANGE_NEEDS_PASS)
        g_assert_true(self->passed);
    if (needs & KW_CHANGE_NEEDS_SWEEP)
        g_assert_true(self->swept);
    if (needs & KW_CHANGE_NEEDS_CURSOR_EXPIRY)
        g_assert_true(self->expired || !self->record.completing);
}

/* The step that the table has: forward or back; or the same version again, for another pass or sweep. */
static unsigned
needs_of(const kw_change_record *record, kw_change_place to)
{
    kw_change_place from = record->place;
    kw_change_move forward = kw_change_next_move(record, KW_CHANGE_FORWARD),
                   back = kw_change_next_move(record, KW_CHANGE_BACK);
    unsigned work = KW_CHANGE_NEEDS_PASS | KW_CHANGE_NEEDS_SWEEP;
    g_assert_true(to == forward.to || to == back.to || to == from);
    if (to == KW_OLD(FILLED) && to == from)
        return KW_CHANGE_NEEDS_SWEEP;
    if (to == from)
        return forward.needs & work ? forward.needs & work : back.needs & work;
    return to == forward.to ? forward.needs : back.needs;
}

static void
check_work(const scene *self)
{
    g_assert_cmpuint(self->reported_ns, >, 0);
    g_assert_cmpuint(self->times.now_ns, >=, self->lost_ns + LATE_NS);
    g_assert_false(self->record.paused);
}

/* Under 2 and 6, the version is set again only because a pass under it leaves out too much. */
static bool
is_set_for_limit(const scene *self, kw_change_place to)
{
    return to == self->record.place && (to == KW_OLD(BOTH) || to == KW_NEW(BOTH));
}

static void
check_limit(const scene *self)
{
    int64_t from_ms = self->passed ? self->record.settled_ms : self->record.set_at_ms;
    g_assert_cmpint(self->times.store_ms - from_ms, >, 60000);
    g_assert_true(self->passed ? self->times.can_select_by_time : self->record.pass == KW_CHANGE_PASS_FIRST);
}

/* The last sweep of a change that ends under its version removes the control cells of the version before. */
static void
check_round(const scene *self)
{
    bool end = self->record.place == KW_OLD(FILLED) ||
               (!self->record.store_order &&
                (self->record.place == KW_OLD(ALONE) || self->record.place == KW_NEW(ALONE)));
    g_assert_false(kw_change_atomics_are_held(&self->record));
    g_assert_true(self->passed || self->swept);
    if (end)
        g_assert_cmpuint(self->times.now_ns, >=, self->reported_ns + WIDTH_NS);
    else
        g_assert_cmpint(self->round_ms, >, 2000);
}

static void
step(scene *self, const kw_change_next *next)
{
    bool for_limit = is_set_for_limit(self, next->to);
    if (for_limit)
        check_limit(self);
    else if (next->to == self->record.place)
        check_round(self);
    self->repeated += next->to == self->record.place;
    self->round_ms = next->to == self->record.place ? self->round_ms : 0;
    self->left = self->record.place;
    self->ended = next->act == KW_CHANGE_ACT_END;
    if (next->to == KW_PLACE_NONE && self->record.place == KW_OLD(UNSTAMPED))
        return;
    if (next->to == KW_PLACE_NONE) {
        g_assert_true(self->record.drops || self->record.rounds > 0);
        check_needs(self, KW_CHANGE_NEEDS_GRACE | (self->record.drops ? 0 : KW_CHANGE_NEEDS_SWEEP));
        return;
    }
    check_needs(self, for_limit ? KW_CHANGE_NEEDS_GRACE : needs_of(&self->record, next->to));
    bool held = kw_change_atomics_are_held(&self->record);
    kw_change_set_place(&self->record, next->to, 1, (int64_t)(self->times.now_ns / MS));
    self->began_hold = kw_change_atomics_are_held(&self->record) && (self->began_hold || !held);
    self->reported_ns = 0;
    self->copied = self->compared = self->passed = self->swept = false;
}

/* The gateways report one after the other. */
static void
report(scene *self)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->followers[i].step != self->record.step) {
            self->followers[i].step = self->record.step;
            self->reported_ns = i + 1 == self->count ? self->times.now_ns : 0;
            return;
        }
    g_assert_not_reached();
}

static void
end_round(scene *self, kw_change_act act)
{
    int64_t took_ms = self->round_ms ? self->round_ms / 10 : FIRST_ROUND_MS;
    self->settled_ms = self->record.settled_ms;
    kw_change_end_round(&self->record, act, took_ms, self->round_ms);
    self->round_ms = took_ms;
}

/* Does what the planner says. False: the change waits for the operator. */
static bool
act(scene *self, const kw_change_next *next)
{
    switch (next->act) {
    case KW_CHANGE_ACT_COPY:
        check_work(self);
        g_assert_true(self->record.place == KW_OLD(SPACED) ||
                      (!self->record.adds && self->record.place == KW_OLD(BOTH)));
        g_assert_false(self->record.copied);
        self->copied = self->record.copied = true;
        self->record.undecodable = self->undecodable;
        return true;
    case KW_CHANGE_ACT_COMPARE:
        check_work(self);
        g_assert_true(self->record.copied);
        self->compared = self->record.compared = true;
        return true;
    case KW_CHANGE_ACT_PASS:
        check_work(self);
        g_assert_true(kw_change_rules_of(&self->record).regime.waits_for_next_ms ||
                      kw_change_pass_is_limited(&self->record));
        self->record.pass++;
        self->passed = self->record.pass == KW_CHANGE_PASS_ENDED;
        if (self->passed)
            end_round(self, next->act);
        return true;
    case KW_CHANGE_ACT_SWEEP:
        check_work(self);
        self->swept = true;
        end_round(self, next->act);
        return true;
    case KW_CHANGE_ACT_STEP:
    case KW_CHANGE_ACT_END:
        step(self, next);
        return true;
    case KW_CHANGE_ACT_WAIT:
        break;
    }
    switch (next->wait) {
    case KW_CHANGE_WAIT_REPORTS:
        report(self);
        return true;
    case KW_CHANGE_WAIT_GRACE:
        g_assert_false(self->began_hold); /* without a fault, graces end before atomic operations are held */
        G_GNUC_FALLTHROUGH;
    case KW_CHANGE_WAIT_TIME:
    case KW_CHANGE_WAIT_SWEEP:
        g_assert_cmpuint(next->until_ns, >, self->times.now_ns);
        self->times.now_ns = next->until_ns;
        return true;
    case KW_CHANGE_WAIT_CURSORS:
        g_assert_cmpint(self->record.place, ==, KW_NEW(BOTH));
        self->expired = self->times.cursors_expired = true;
        return true;
    case KW_CHANGE_WAIT_COMMAND:
        return false;
    case KW_CHANGE_WAIT_RESUME:
    case KW_CHANGE_WAIT_NONE:
        break;
    }
    g_assert_not_reached();
}

/* Runs until the change ends or waits for the operator. */
static void
run(scene *self)
{
    unsigned steps = 0;
    for (kw_change_next next = next_of(self); !self->ended && act(self, &next); next = next_of(self))
        g_assert_cmpuint(++steps, <, STEPS_MAX);
}

/* Returns what the change waits for after the event. */
static kw_change_wait
wait_of(scene *self)
{
    kw_change_next next = next_of(self);
    g_assert_cmpint(next.act, ==, KW_CHANGE_ACT_WAIT);
    return next.wait;
}

static void
advance_to(scene *self, kw_change_act wanted)
{
    unsigned steps = 0;
    for (kw_change_next next = next_of(self); next.act != wanted; next = next_of(self)) {
        g_assert_true(act(self, &next));
        g_assert_cmpuint(++steps, <, STEPS_MAX);
    }
}

/* --- every version with every goal ---------------------------------------------------------------------- */

/* Places that only tables with order: store have. */
static bool
is_of_store_order(kw_change_place place)
{
    return place <= KW_OLD(STAMPED) || place >= KW_NEW(STAMPED);
}

/* A change that is cancelled before it has left unstamped-old ends there. */
static kw_change_place
last_before_store(kw_change_place cancelled_at)
{
    return cancelled_at == KW_OLD(UNSTAMPED) ? cancelled_at : KW_OLD(HELD);
}

static const kw_change_place goals[] = {KW_OLD(ALONE), KW_OLD(BOTH), KW_NEW(BOTH), KW_NEW(ALONE)};

static void
check_end(const scene *self, kw_change_place from)
{
    bool store = self->record.store_order, cancelled = kw_change_is_cancelled(&self->record);
    bool completed = self->record.goal >= KW_NEW(ALONE);
    g_assert_cmpint(self->ended, ==, completed || cancelled);
    g_assert_cmpuint(self->record.place, ==, self->record.goal);
    if (!self->ended && self->record.place == KW_OLD(BOTH))
        g_assert_true(self->record.copied && self->record.compared && self->record.settled_ms > 0);
    if (self->ended && store)
        g_assert_cmpint(self->left, ==, completed ? KW_NEW(HELD) : last_before_store(from));
}

KW_TEST(test_every_goal, "/change/planner/every-goal")
{
    for (kw_change_place from = 0; from < KW_PLACES; from++)
        for (size_t goal = 0; goal < G_N_ELEMENTS(goals); goal++)
            for (int store = 0; store <= 1; store++) {
                bool can =
                    from < KW_NEW(CLOSING) || (goals[goal] == KW_NEW(ALONE) && from < KW_NEW(UNSTAMPED));
                if (!kw_change_ladder_has(KW_LADDER_MOVE, from) || (is_of_store_order(from) && !store) ||
                    !can)
                    continue;
                g_test_message("%s, goal %s, store %d", kw_change_place_name(from),
                               kw_change_place_name(goals[goal]), store);
                scene self = scene_new(from, goals[goal], store);
                run(&self);
                check_end(&self, from);
                kw_change_planner_clear(&self.planner);
            }
}

/* The operator changes the goal after a number of acts. No step relies on a pass or sweep that the new goal
 * has reset. */
static void
turn_after(unsigned acts, kw_change_place first, kw_change_place second, bool store)
{
    scene self = scene_new(store ? KW_OLD(UNSTAMPED) : KW_OLD(ALONE), first, store);
    kw_change_next next = next_of(&self);
    while (acts-- > 0 && !self.ended && act(&self, &next))
        next = next_of(&self);
    kw_change_place at = self.record.place;
    if (!self.ended && at < KW_NEW(CLOSING)) {
        kw_change_set_goal(&self.record, goal_of(second, store));
        if (self.record.pass == KW_CHANGE_PASS_FIRST)
            self.passed = self.swept = false;
        run(&self);
        check_end(&self, at);
    }
    kw_change_planner_clear(&self.planner);
}

KW_TEST(test_turns, "/change/planner/turns")
{
    for (unsigned acts = 0; acts < 90; acts++)
        for (size_t first = 0; first < G_N_ELEMENTS(goals); first++)
            for (size_t second = 0; second < G_N_ELEMENTS(goals); second++)
                for (int store = 0; store <= 1; store++)
                    turn_after(acts, goals[first], goals[second], store);
}

/* --- added paths -----------------------------------------------------------------------------------------
 */

static const kw_change_place of_added[] = {KW_OLD(UNSTAMPED), KW_OLD(HELD),  KW_OLD(RAISED),
                                           KW_OLD(STAMPED),   KW_OLD(ALONE), KW_OLD(OPENING),
                                           KW_OLD(SPACED),    KW_OLD(FILLED)};

/* undecodable: a row could not be copied. */
static void
check_end_of_added(const scene *self, kw_change_place from, bool undecodable)
{
    bool cancelled = kw_change_is_cancelled(&self->record);
    bool filled =
        self->record.goal == KW_OLD(FILLED) || from == KW_OLD(FILLED) || (!cancelled && !undecodable);
    bool store = self->record.store_order;
    g_assert_cmpint(self->ended, ==, filled || cancelled);
    if (filled)
        g_assert_cmpint(self->record.place, ==, KW_OLD(FILLED));
    else if (cancelled)
        g_assert_cmpint(self->record.place, ==, store ? KW_OLD(UNSTAMPED) : KW_OLD(ALONE));
    else
        g_assert_cmpint(self->record.place, ==, KW_OLD(SPACED));
    if (filled && from != KW_OLD(FILLED))
        g_assert_true(self->record.copied && self->record.compared);
    if (self->ended)
        g_assert_cmpint(self->left, ==, cancelled && store ? last_before_store(from) : self->record.place);
}

static void
run_added(kw_change_place from, kw_change_place goal, bool store, bool undecodable)
{
    scene self = scene_new(from, goal, store);
    self.record.adds = true;
    self.undecodable = undecodable;
    if (from == KW_OLD(FILLED))
        self.record.copied = self.record.compared = true;
    run(&self);
    check_end_of_added(&self, from, undecodable);
    kw_change_planner_clear(&self.planner);
}

KW_TEST(test_added, "/change/planner/added")
{
    const kw_change_place goals_of_added[] = {KW_OLD(SPACED), KW_OLD(FILLED), KW_OLD(ALONE)};
    for (size_t i = 0; i < G_N_ELEMENTS(of_added); i++)
        for (size_t goal = 0; goal < G_N_ELEMENTS(goals_of_added); goal++)
            for (int store = 0; store <= 1; store++)
                for (int undecodable = 0; undecodable <= 1; undecodable++)
                    if ((store || !is_of_store_order(of_added[i])) &&
                        (of_added[i] != KW_OLD(FILLED) || goals_of_added[goal] != KW_OLD(ALONE)))
                        run_added(of_added[i], goals_of_added[goal], store, undecodable);
}

/* A drop goes back without any work. */
KW_TEST(test_dropped, "/change/planner/dropped")
{
    scene self = scene_new(KW_OLD(SPACED), KW_OLD(ALONE), false);
    self.record.adds = self.record.drops = true;
    run(&self);
    g_assert_true(self.ended);
    g_assert_cmpint(self.record.place, ==, KW_OLD(ALONE));
    g_assert_cmpuint(self.record.step, ==, 9);
    g_assert_false(self.copied || self.compared || self.passed || self.swept);
    kw_change_planner_clear(&self.planner);
}

/* Atomic operations become allowed or forbidden: no work, and a grace, unless no atomic operation can have
 * run since the change began, and none will run after it. */
static void
check_atomics(kw_change_place goal, bool drops, bool grace)
{
    scene self = scene_new(KW_OLD(STAMPED), goal, false);
    self.record.atomics = true;
    self.record.drops = drops;
    g_assert_cmpint(next_of(&self).wait, ==, KW_CHANGE_WAIT_REPORTS);
    report(&self);
    g_assert_cmpint(next_of(&self).wait, ==, KW_CHANGE_WAIT_REPORTS);
    report(&self);
    g_assert_cmpint(next_of(&self).wait, ==, KW_CHANGE_WAIT_TIME);
    self.times.now_ns += 3 * MS;
    g_assert_false(kw_change_waits_for_command(&self.record));
    if (grace) {
        g_assert_cmpint(next_of(&self).wait, ==, KW_CHANGE_WAIT_GRACE);
        self.times.now_ns = self.lost_ns + LATE_NS - 1;
        g_assert_cmpint(next_of(&self).wait, ==, KW_CHANGE_WAIT_GRACE);
        self.followers[1].dead = true; /* its calls can be late, too */
        g_assert_cmpint(next_of(&self).wait, ==, KW_CHANGE_WAIT_GRACE);
        self.times.now_ns += LATE_NS;
    }
    g_assert_cmpint(next_of(&self).act, ==, KW_CHANGE_ACT_END);
    g_assert_true(kw_change_ends_as_before(&self.record) == (goal == KW_OLD(ALONE)));
    kw_change_planner_clear(&self.planner);
}

KW_TEST(test_atomics, "/change/planner/atomics")
{
    check_atomics(KW_NEW(ALONE), false, true);
    check_atomics(KW_OLD(ALONE), true, true);
    check_atomics(KW_OLD(ALONE), false, false);
}

/* Rows that could not be copied are lost with version FILLING_1, where puts do not reach the path. */
KW_TEST(test_added_forgets, "/change/planner/added-forgets")
{
    scene self = scene_new(KW_OLD(SPACED), KW_OLD(SPACED), false);
    self.record.adds = true;
    self.undecodable = true;
    run(&self);
    g_assert_true(kw_change_waits_for_command(&self.record));
    kw_change_set_goal(&self.record, KW_OLD(ALONE));
    advance_to(&self, KW_CHANGE_ACT_STEP);
    kw_change_next next = next_of(&self);
    g_assert_cmpint(next.to, ==, KW_OLD(OPENING));
    act(&self, &next);
    g_assert_false(self.record.copied || self.record.compared);
    g_assert_cmpuint(self.record.undecodable, ==, 0);
    kw_change_planner_clear(&self.planner);
}

/* A pass that one direction began does not count for the other one. */
KW_TEST(test_turn_forgets_pass, "/change/planner/turn-forgets-pass")
{
    kw_change_record record = record_at(KW_OLD(LAST_PASS), KW_NEW(BOTH), false);
    record.pass = KW_CHANGE_PASS_ENDED;
    kw_change_set_goal(&record, KW_NEW(ALONE));
    g_assert_cmpint(record.pass, ==, KW_CHANGE_PASS_ENDED);
    kw_change_set_goal(&record, KW_OLD(ALONE));
    g_assert_cmpint(record.pass, ==, KW_CHANGE_PASS_FIRST);
}

/* The copy counts after a reverse, because writes went to both placements all the time; not after version 1.
 */
KW_TEST(test_copy_counts, "/change/planner/copy-counts")
{
    scene self = scene_new(KW_OLD(BOTH), KW_OLD(BOTH), false);
    run(&self);
    kw_change_set_goal(&self.record, KW_NEW(BOTH));
    run(&self);
    kw_change_set_goal(&self.record, KW_OLD(BOTH));
    self.copied = false;
    run(&self);
    g_assert_cmpint(self.record.place, ==, KW_OLD(BOTH));
    g_assert_true(self.record.copied && self.record.compared && !self.copied);
    kw_change_set_place(&self.record, KW_OLD(OPENING), 1, 1);
    g_assert_false(self.record.copied || self.record.compared || self.record.settled_ms);
    kw_change_planner_clear(&self.planner);
}

/* --- passes ----------------------------------------------------------------------------------------------
 */

#define MINUTE_NS (61 * 1000 * MS)

/* The first pass visits all records. While the change waits for a command, each later pass visits the records
 * that the pass before it can have missed: those written since the version was set for that pass. */
KW_TEST(test_passes_while_waiting, "/change/planner/passes-while-waiting")
{
    scene self = scene_new(KW_OLD(OPENING), KW_OLD(BOTH), false);
    run(&self);
    g_assert_cmpint(self.settled_ms, ==, 0);
    int64_t settled_ms = self.record.settled_ms;
    g_assert_cmpint(settled_ms, >, 0);
    g_assert_cmpint(settled_ms, <, self.times.store_ms);
    g_assert_cmpuint(self.repeated, ==, 0);
    self.times.now_ns += MINUTE_NS;
    g_assert_true(kw_change_waits_for_command(&self.record));
    run(&self);
    g_assert_cmpint(self.settled_ms, ==, settled_ms);
    g_assert_cmpint(self.record.settled_ms, >=, settled_ms + (int64_t)(MINUTE_NS / MS));
    g_assert_cmpint(self.record.place, ==, KW_OLD(BOTH));
    self.times.can_select_by_time = false; /* it would visit all records */
    self.times.now_ns += MINUTE_NS;
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_COMMAND);
    kw_change_planner_clear(&self.planner);
}

static void
advance_to_place(scene *self, kw_change_place place)
{
    unsigned steps = 0;
    while (self->record.place != place) {
        kw_change_next next = next_of(self);
        g_assert_true(act(self, &next));
        g_assert_cmpuint(++steps, <, STEPS_MAX);
    }
}

/* A pass under 2 or 6 leaves out what was written since the version was set. If that was long ago, the
 * version is set again before the pass: after a long copy, and for a reverse. */
KW_TEST(test_limit_of_pass, "/change/planner/limit-of-pass")
{
    scene self = scene_new(KW_OLD(BOTH), KW_OLD(BOTH), false);
    self.record.copied = self.record.compared = true;
    advance_to(&self, KW_CHANGE_ACT_PASS);
    self.times.now_ns += MINUTE_NS;
    self.planner.doubt_ns = self.times.now_ns; /* a write of the copy had no answer */
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_GRACE);
    advance_to(&self, KW_CHANGE_ACT_PASS);
    g_assert_cmpuint(self.repeated, ==, 1);
    g_assert_cmpint(self.record.set_at_ms, >=, (int64_t)(self.planner.doubt_ns + LATE_NS) / (int64_t)MS);
    self.times.now_ns += MINUTE_NS; /* once is enough, even if the pass has not begun yet */
    g_assert_cmpint(next_of(&self).act, ==, KW_CHANGE_ACT_PASS);
    run(&self);
    kw_change_set_goal(&self.record, KW_NEW(BOTH));
    run(&self);
    int64_t set_at_ms = self.record.set_at_ms;
    report(&self);
    report(&self);
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_COMMAND);
    self.times.now_ns += MINUTE_NS;
    kw_change_set_goal(&self.record, KW_OLD(BOTH));
    self.repeated = 0;
    advance_to_place(&self, KW_NEW(SPACED));
    g_assert_cmpuint(self.repeated, ==, 1);
    g_assert_cmpint(self.record.settled_ms, >=, set_at_ms + (int64_t)(MINUTE_NS / MS));
    kw_change_planner_clear(&self.planner);
}

/* After the command, passes are repeated until one was short. Under 3, where atomic operations are held,
 * there is one. */
static void
check_rounds(kw_change_place from, kw_change_place goal, bool can_select_by_time, unsigned repeated)
{
    scene self = scene_new(from, goal, false);
    self.record.copied = self.record.compared = true;
    self.record.settled_ms = 1;
    self.times.can_select_by_time = can_select_by_time;
    run(&self);
    check_end(&self, from);
    g_assert_cmpuint(self.repeated, ==, repeated);
    kw_change_planner_clear(&self.planner);
}

KW_TEST(test_rounds, "/change/planner/rounds")
{
    check_rounds(KW_OLD(BOTH), KW_NEW(BOTH), true, 2); /* 100, 10 and 1 s */
    check_rounds(KW_NEW(BOTH), KW_OLD(BOTH), true, 2);
    check_rounds(KW_OLD(BOTH), KW_NEW(BOTH), false, 0);
    check_rounds(KW_NEW(CLOSING), KW_NEW(ALONE), true, 1);
}

static kw_change_record
record_of_round(uint64_t rounds, int64_t took_ms, int64_t before_ms)
{
    kw_change_record record = record_at(KW_OLD(SPACED), KW_NEW(BOTH), false);
    record.rounds = rounds;
    record.set_at_ms = 77;
    kw_change_end_round(&record, KW_CHANGE_ACT_PASS, took_ms, before_ms);
    g_assert_cmpint(record.settled_ms, ==, 77);
    g_assert_cmpint(record.pass, ==, KW_CHANGE_PASS_ENDED);
    return record;
}

/* Passes that do not get shorter end, too. */
KW_TEST(test_short_rounds, "/change/planner/short-rounds")
{
    g_assert_true(record_of_round(0, 2000, 0).short_round);
    g_assert_false(record_of_round(0, 2001, 0).short_round);
    g_assert_false(record_of_round(0, 90000, 100000).short_round); /* of an earlier version */
    g_assert_false(record_of_round(1, 70000, 100000).short_round);
    g_assert_true(record_of_round(1, 80000, 100000).short_round);
    g_assert_false(record_of_round(1, 80000, 0).short_round); /* another gateway made the one before */
    g_assert_false(record_of_round(0, -5, 0).short_round);    /* the wall clock was set back */
}

/* --- single needs ----------------------------------------------------------------------------------------
 */

/* A gateway that has the table and has not reported stops the steps and the work; a dead one does not, but
 * the next grace counts from the moment at which that was seen. */
KW_TEST(test_gateways, "/change/planner/gateways")
{
    scene self = scene_new(KW_OLD(BOTH), KW_OLD(BOTH), false);
    advance_to(&self, KW_CHANGE_ACT_COPY);
    self.followers[1].step--;
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_REPORTS);
    g_assert_cmpuint(self.planner.unreported->len, ==, 1);
    g_assert_cmpstr(self.planner.unreported->pdata[0], ==, "B");
    self.followers[1].dead = true;
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_TIME);
    uint64_t dead_ns = self.times.now_ns;
    self.times.now_ns += 100 * MS;
    kw_change_next next = next_of(&self);
    g_assert_cmpint(next.wait, ==, KW_CHANGE_WAIT_GRACE);
    g_assert_cmpuint(next.until_ns, ==, dead_ns + LATE_NS);
    self.times.now_ns = next.until_ns;
    g_assert_cmpint(next_of(&self).act, ==, KW_CHANGE_ACT_COPY);
    self.count = 1; /* the registration of the dead gateway was removed: nothing new */
    g_assert_cmpint(next_of(&self).act, ==, KW_CHANGE_ACT_COPY);
    self.count = 0; /* this gateway has lost its own */
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_REPORTS);
    kw_change_planner_clear(&self.planner);
}

/* A gateway that registered and died between two reads is a loss, once. */
KW_TEST(test_gateway_first_seen_dead, "/change/planner/gateway-first-seen-dead")
{
    scene self = scene_new(KW_OLD(HELD), KW_OLD(BOTH), true);
    self.count = 1;
    advance_to(&self, KW_CHANGE_ACT_STEP);
    self.count = 2;
    self.followers[1].dead = true;
    uint64_t dead_ns = self.times.now_ns;
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_GRACE);
    self.times.now_ns = dead_ns + LATE_NS;
    g_assert_cmpint(next_of(&self).act, ==, KW_CHANGE_ACT_STEP);
    kw_change_planner_clear(&self.planner);
}

/* A registration that was removed is a loss, too: the gateway has stopped, and its calls can be late. */
KW_TEST(test_gateway_leaves, "/change/planner/gateway-leaves")
{
    scene self = scene_new(KW_OLD(HELD), KW_OLD(BOTH), true);
    advance_to(&self, KW_CHANGE_ACT_STEP);
    self.count = 1;
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_GRACE);
    kw_change_planner_clear(&self.planner);
}

/* A gateway that has not disappeared costs no grace: only a new holder waits. */
KW_TEST(test_grace_once, "/change/planner/grace-once")
{
    scene self = scene_new(KW_OLD(HELD), KW_OLD(BOTH), true);
    run(&self);
    g_assert_cmpuint(self.times.now_ns, <, self.lost_ns + LATE_NS + 1000 * MS);
    kw_change_planner_clear(&self.planner);
}

/* A copy without an answer can be applied late, too. */
KW_TEST(test_grace_after_work, "/change/planner/grace-after-work")
{
    scene self = scene_new(KW_OLD(LAST_PASS), KW_NEW(BOTH), false);
    advance_to(&self, KW_CHANGE_ACT_PASS);
    self.planner.doubt_ns = self.times.now_ns;
    g_assert_cmpint(next_of(&self).act, ==, KW_CHANGE_ACT_PASS);
    self.record.pass = KW_CHANGE_PASS_ENDED;
    kw_change_next next = next_of(&self);
    g_assert_cmpint(next.wait, ==, KW_CHANGE_WAIT_GRACE);
    g_assert_cmpuint(next.until_ns, ==, self.planner.doubt_ns + LATE_NS);
    self.times.now_ns = next.until_ns;
    g_assert_cmpint(next_of(&self).act, ==, KW_CHANGE_ACT_STEP);
    kw_change_planner_clear(&self.planner);
}

KW_TEST(test_report_of_older_step, "/change/planner/report-of-older-step")
{
    scene self = scene_new(KW_OLD(SPACED), KW_NEW(BOTH), false);
    advance_to(&self, KW_CHANGE_ACT_STEP);
    kw_change_set_place(&self.record, KW_OLD(LAST_PASS), 1, 1);
    g_assert_cmpint(kw_change_planner_next(&self.planner, &self.record, &self.times).wait, ==,
                    KW_CHANGE_WAIT_REPORTS);
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_REPORTS);
    kw_change_set_place(&self.record, KW_OLD(GET_BOTH), 1, 1);
    report(&self);
    report(&self); /* before the registrations are read again */
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_TIME);
    kw_change_planner_clear(&self.planner);
}

KW_TEST(test_pause, "/change/planner/pause")
{
    scene self = scene_new(KW_OLD(BOTH), KW_OLD(BOTH), false);
    advance_to(&self, KW_CHANGE_ACT_COPY);
    self.record.paused = true;
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_RESUME);
    self.record.copied = self.record.compared = true;
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_RESUME); /* the first pass */
    self.record.settled_ms = 1;
    self.record.pass = KW_CHANGE_PASS_ENDED;
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_COMMAND);
    self.times.now_ns += MINUTE_NS;
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_COMMAND);
    kw_change_planner_clear(&self.planner);
}

KW_TEST(test_cursors, "/change/planner/cursors")
{
    scene self = scene_new(KW_NEW(BOTH), KW_NEW(ALONE), false);
    self.record.completing = false; /* the operator lets them expire */
    advance_to(&self, KW_CHANGE_ACT_STEP);
    g_assert_false(self.expired);
    self.record.completing = true;
    g_assert_cmpint(wait_of(&self), ==, KW_CHANGE_WAIT_CURSORS);
    kw_change_planner_clear(&self.planner);
}
