/* Atomic operations with order: stamp, explored exhaustively: right with all safeguards and any error of the
 * clock, wrong without any one of them. */
#include "cas_model.h"

#include <glib.h>
#include <string.h>

#define STATES_MAX 400000000

static explored
search(const cas_model *model)
{
    explored found = cas_model_explore(model, STATES_MAX);
    g_test_message("%" G_GUINT64_FORMAT " states: %s", found.states, found.wrong ? found.wrong : "right");
    return found;
}

static void
is_right(cas_model model)
{
    model.calls = (int)explore_bound((uint64_t)model.calls, (uint64_t)model.calls + 1);
    explored found = search(&model);
    g_assert_true(found.complete);
    g_assert_null(found.wrong);
}

static void
is_wrong(cas_model model)
{
    explored found = search(&model);
    g_assert_nonnull(found.wrong);
    g_free(found.wrong);
}

static const cas_model one = {.kinds = CAS_PUT | CAS_REMOVE | CAS_GET | CAS_PUT_IF | CAS_INCREMENT,
                              .calls = 3,
                              .callers = 2,
                              .ticks = 2,
                              .placements = 1,
                              .error = 1};

static cas_model
with_kinds(unsigned kinds, int calls)
{
    cas_model model = one;
    model.kinds = kinds;
    model.calls = calls;
    return model;
}

KW_TEST(test_one_placement, "/order/cas/one-placement")
{
    for (int error = 0; error <= 2; error++) {
        cas_model model = one;
        model.error = error;
        model.callers = (int)explore_bound(2, 3);
        is_right(model);
    }
    is_right(with_kinds(CAS_PUT | CAS_PUT_IF | CAS_REMOVE, 4));
}

KW_TEST(test_two_placements, "/order/cas/two-placements")
{
    for (int error = 0; error <= (int)explore_bound(1, 2); error++) {
        cas_model model = one;
        model.error = error;
        model.placements = 2;
        model.ticks = (int)explore_bound(1, 2);
        is_right(model);
    }
}

KW_TEST(test_two_columns, "/order/cas/two-columns")
{
    cas_model parts =
        with_kinds(CAS_PUT_BOTH | CAS_REMOVE_FIELD | CAS_REMOVE | CAS_PUT_IF | CAS_INCREMENT | CAS_GET, 3);
    parts.placements = 2;
    parts.ticks = 1;
    is_right(parts);
    cas_model whole = with_kinds(CAS_PUT | CAS_PUT_IF | CAS_PUT_IF_OTHER | CAS_INCREMENT | CAS_GET, 3);
    whole.whole = true;
    is_right(whole);
}

KW_TEST(test_unknown_outcomes, "/order/cas/unknown-outcomes")
{
    cas_model late = one, died = with_kinds(CAS_PUT | CAS_PUT_IF | CAS_GET, 3);
    late.unknown = late.ticks = 1;
    late.fails = true;
    is_right(late);
    died.unknown = died.ticks = 1; /* between the placements, too */
    died.placements = 2;
    is_right(died);
    died.kinds = CAS_REMOVE | CAS_INCREMENT | CAS_GET;
    is_right(died);
}

/* One placement: a stamp that is equal to the newest in the row, and lower than the clock. */
KW_TEST(test_low_stamps, "/order/cas/low-stamps")
{
    cas_model low = one, late;
    low.equal = true;
    low.below = 1;
    is_right(low);
    late = low;
    late.unknown = late.purges = late.expiries = late.ticks = 1;
    late.kinds = CAS_PUT | CAS_REMOVE | CAS_PUT_IF;
    is_right(late);
    low.placements = 2;
    low.equal = false;
    is_wrong(low);
}

KW_TEST(test_repeated_compares, "/order/cas/repeated-compares")
{
    cas_model again = one;
    again.repeats = again.slow = again.ticks = 1;
    is_right(again);
    again.placements = 2;
    is_right(again);
    again.unknown = 1;
    again.placements = 1;
    again.kinds = CAS_REMOVE | CAS_INCREMENT | CAS_PUT_IF;
    is_right(again);
}

KW_TEST(test_asking_again, "/order/cas/asking-again")
{
    cas_model again = with_kinds(CAS_PUT | CAS_REMOVE | CAS_PUT_IF | CAS_INCREMENT, 3);
    again.asks = again.ticks = 1;
    is_right(again);
    again.placements = 2;
    is_right(again);
    again.placements = 1;
    again.purges = again.expiries = 1;
    again.kinds = CAS_REMOVE | CAS_PUT_IF;
    is_right(again);
    again.believes_refusals = true;
    is_wrong(again);
}

/* If writes in progress have equal stamps, the first attempt can replace a value that was read. */
KW_TEST(test_sending_again, "/order/cas/sending-again")
{
    cas_model again = with_kinds(CAS_PUT | CAS_PUT_IF | CAS_INCREMENT | CAS_GET, 3);
    again.placements = 2;
    again.resends = again.ticks = 1;
    is_wrong(again);
    again.no_ties = true;
    is_right(again);
    again.eager_resends = true;
    is_wrong(again);
}

KW_TEST(test_compactions, "/order/cas/compactions")
{
    cas_model dropped = one;
    dropped.unknown = dropped.purges = dropped.expiries = dropped.ticks = 1;
    dropped.kinds = CAS_PUT | CAS_REMOVE | CAS_INCREMENT | CAS_PUT_IF;
    is_right(dropped);
}

KW_TEST(test_no_writer, "/order/cas/without-kw-w-is-wrong")
{
    cas_model puts = with_kinds(CAS_PUT | CAS_PUT_IF, 3),
              removals = with_kinds(CAS_REMOVE | CAS_INCREMENT, 4);
    puts.no_writer = true;
    is_wrong(puts);
    removals.no_removal_writer = true;
    is_wrong(removals);
    removals.no_removal_writer = false;
    removals.writer_too_low = true;
    is_wrong(removals);
}

KW_TEST(test_no_compare, "/order/cas/without-the-compare-is-wrong")
{
    cas_model none = one, low = with_kinds(CAS_INCREMENT, 3), same = low;
    none.no_compare = true;
    is_wrong(none);
    low.low_stamps = true;
    is_wrong(low);
    same.repeats = same.slow = 1;
    same.believes_refusals = true;
    is_wrong(same);
}

KW_TEST(test_not_waiting, "/order/cas/not-waiting-is-wrong")
{
    cas_model answers = one, refusals = with_kinds(CAS_PUT | CAS_PUT_IF | CAS_GET, 4);
    answers.eager_answers = true;
    is_wrong(answers);
    refusals.eager_refusals = true;
    is_wrong(refusals);
}

KW_TEST(test_followers, "/order/cas/without-followers-is-wrong")
{
    cas_model first = one, skipped = one, failed = one;
    first.placements = skipped.placements = failed.placements = 2;
    first.follower_first = true;
    is_wrong(first);
    skipped.skips_follower = true;
    is_wrong(skipped);
    failed.fails_late = true;
    is_wrong(failed);
}

KW_TEST(test_attempts, "/order/cas/attempts")
{
    cas_model again = one, early = with_kinds(CAS_PUT | CAS_REMOVE | CAS_PUT_IF, 4);
    again.unknown = 1;
    again.begins_again = true;
    is_wrong(again);
    early.expiries = 1;
    is_right(early);
    early.expires_early = true;
    is_wrong(early);
}

/* --- atomic operations are turned on and off ----------------------------------------------------------- */

static cas_model
turning(unsigned kinds, int calls, size_t count, const cas_turn *turns)
{
    cas_model model = with_kinds(kinds, calls);
    model.ticks = 1;
    model.turns_count = (int)count;
    memcpy(model.turns, turns, count * sizeof *turns);
    return model;
}

static const cas_turn turns_on[] = {CAS_FORBIDDEN, CAS_HELD, CAS_ALLOWED},
                      turns_off[] = {CAS_ALLOWED, CAS_HELD, CAS_FORBIDDEN},
                      cancelled[] = {CAS_FORBIDDEN, CAS_HELD, CAS_FORBIDDEN, CAS_HELD, CAS_ALLOWED},
                      off_and_on[] = {CAS_ALLOWED, CAS_HELD, CAS_FORBIDDEN, CAS_HELD, CAS_ALLOWED},
                      at_once_on[] = {CAS_FORBIDDEN, CAS_ALLOWED},
                      at_once_off[] = {CAS_ALLOWED, CAS_FORBIDDEN};

#define TURNING(kinds, calls, turns) turning(kinds, calls, G_N_ELEMENTS(turns), turns)
#define EVERY (CAS_PUT | CAS_REMOVE | CAS_GET | CAS_PUT_IF | CAS_INCREMENT)

KW_TEST(test_turning, "/order/cas/turning-on-and-off")
{
    is_right(TURNING(EVERY, 3, turns_on));
    is_right(TURNING(EVERY, 3, turns_off));
    is_right(TURNING(CAS_PUT | CAS_PUT_IF | CAS_GET, 3, cancelled));
    is_right(TURNING(CAS_PUT | CAS_PUT_IF | CAS_GET, 3, off_and_on));
    cas_model places = TURNING(CAS_PUT | CAS_PUT_IF | CAS_GET, 3, turns_on);
    places.placements = 2;
    is_right(places);
}

KW_TEST(test_turning_with_late_calls, "/order/cas/turning-with-late-calls")
{
    cas_model late = TURNING(EVERY, 3, turns_on), off = TURNING(EVERY, 3, turns_off);
    late.unknown = off.unknown = 1;
    late.fails = off.fails = true;
    is_right(late);
    is_right(off);
    late = TURNING(CAS_PUT | CAS_PUT_IF_OTHER | CAS_INCREMENT | CAS_GET, 3, off_and_on);
    late.unknown = 1;
    late.whole = true;
    is_right(late);
}

KW_TEST(test_turning_at_once, "/order/cas/turning-at-once-is-wrong")
{
    is_wrong(TURNING(CAS_PUT | CAS_PUT_IF | CAS_GET, 3, at_once_on));
    is_wrong(TURNING(CAS_PUT | CAS_PUT_IF | CAS_GET, 3, at_once_off));
}

KW_TEST(test_turning_without_drain, "/order/cas/turning-without-drain-is-wrong")
{
    cas_model on = TURNING(CAS_PUT | CAS_PUT_IF | CAS_GET, 3, turns_on), early = on;
    on.no_drain = true;
    is_wrong(on);
    early.no_reports = true;
    is_wrong(early);
    cas_model off = TURNING(CAS_PUT | CAS_PUT_IF | CAS_GET, 3, turns_off);
    off.no_drain = true;
    is_wrong(off);
}

KW_TEST(test_turning_without_grace, "/order/cas/turning-without-grace-is-wrong")
{
    cas_model on = TURNING(CAS_PUT | CAS_PUT_IF | CAS_GET, 3, turns_on);
    on.unknown = 1;
    on.no_grace = true;
    is_wrong(on);
    cas_model off = TURNING(CAS_PUT | CAS_PUT_IF_OTHER | CAS_GET, 3, turns_off);
    off.unknown = 1;
    off.whole = off.no_grace = true;
    is_wrong(off);
}
