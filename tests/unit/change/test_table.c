/* What must hold at every place of a change (server/change/ladder.h), and for every two neighbors. */
#include "change/ladder.h"

#include <glib.h>

static bool
has_one_writer(kw_change_ladder ladder)
{
    return ladder == KW_LADDER_MOVE_ONE_WRITER || ladder == KW_LADDER_ADD_ONE_WRITER;
}

/* test_hints checks these. */
static bool
is_of_hints(kw_change_ladder ladder)
{
    return ladder >= KW_LADDER_ADD_HINTS && ladder <= KW_LADDER_MOVE_HINTS_STAMP;
}

/* Calls `check` for every place of every ladder whose placements have records. */
static void
at_each_place(void (*check)(kw_change_ladder ladder, kw_change_place place))
{
    for (kw_change_ladder ladder = 0; ladder < KW_LADDERS; ladder++)
        for (kw_change_place place = 0; place < KW_PLACES; place++)
            if (!is_of_hints(ladder) && kw_change_ladder_has(ladder, place)) {
                g_test_message("ladder %d, %s", (int)ladder, kw_change_place_name(place));
                check(ladder, place);
            }
}

static bool
is_used(kw_role role)
{
    return role.put || role.remove || role.get || role.scan;
}

/* Writes reach each placement in the order 1, 2; or both at the same time, as those of one writer do. */
static bool
is_order(unsigned old, unsigned new, bool together)
{
    if (together && old && new)
        return old == 1 && new == 1;
    return old + new == 1 || (old + new == 3 && old &&new);
}

/* Puts write one placement after the other only around the rung on which gets read both: then a put that one
 * reader has seen in the first placement must be in the other one. */
static bool
puts_at_once(kw_change_place place)
{
    return place < KW_OLD(LAST_PASS) || place > KW_NEW(LAST_PASS);
}

static void
check_place(kw_change_ladder ladder, kw_change_place place)
{
    const kw_change_rules rules = kw_change_rules_at(ladder, place);
    kw_role old = rules.old_role, new = rules.new_role;
    bool filled = place == KW_OLD(FILLED), together = has_one_writer(ladder) || filled;
    g_assert_true(is_order(old.put, new.put, together || puts_at_once(place)));
    g_assert_true(is_order(old.remove, new.remove, together));
    g_assert_true(old.get || new.get);
    g_assert_true(old.scan != new.scan || filled);
    g_assert_true(old.scan == (place <= KW_OLD(FILLED)));
    g_assert_true(!rules.both_complete || (is_used(old) && is_used(new)));
    if (has_one_writer(ladder))
        g_assert_true(rules.regime.order == KW_WRITE_ORDER_STORE &&
                      rules.regime.atomics == KW_ATOMICS_NATIVE && !rules.regime.waits_for_next_ms);
}

KW_TEST(test_each_place, "/change/table/each-place")
{
    at_each_place(check_place);
}

/* Puts and removals at both places reach every placement that is read at one of them. */
static void
check_reached(const kw_role *one, const kw_role *other)
{
    if (!one->get && !one->scan && !other->get && !other->scan)
        return;
    g_assert_true(one->put && other->put);
    g_assert_true(one->remove && other->remove);
}

/* Where atomic operations decide. */
typedef enum { NOWHERE, IN_BOTH, IN_OLD, IN_NEW } deciding;

static deciding
decides_in(const kw_change_rules *rules)
{
    if (rules->regime.atomics == KW_ATOMICS_CAS)
        return rules->old_role.get ? IN_OLD : IN_NEW;
    return rules->regime.atomics == KW_ATOMICS_HELD ? NOWHERE : IN_BOTH;
}

/* Atomic operations at two neighbors do not decide in different placements, unless both are native: these
 * write both placements in one commit, so both have the same values when the other one is read. */
static void
check_neighbors(kw_change_ladder ladder, kw_change_place place)
{
    for (int direction = KW_CHANGE_FORWARD; direction <= KW_CHANGE_BACK; direction++) {
        kw_change_move move = kw_change_move_from(ladder, place, (kw_change_direction)direction);
        if (move.to == KW_PLACE_NONE || (ladder == KW_LADDER_ADD_ONE_WRITER && place == KW_OLD(FILLED)))
            continue; /* one writer drops a path while no call runs */
        const kw_change_rules one = kw_change_rules_at(ladder, place),
                              other = kw_change_rules_at(ladder, move.to);
        check_reached(&one.old_role, &other.old_role);
        check_reached(&one.new_role, &other.new_role);
        deciding mine = decides_in(&one), theirs = decides_in(&other);
        g_assert_true(mine == NOWHERE || theirs == NOWHERE || mine == theirs);
    }
}

KW_TEST(test_neighbors, "/change/table/neighbors")
{
    at_each_place(check_neighbors);
}

/* Passes also copy cells to the placement that get operations read. So puts wait for the next millisecond at
 * the place of a pass and before, or the pass is limited to older cells (change/planner.h), and
 * another one beside puts that wait follows. A rung on which atomic operations are held has only one pass,
 * which an earlier pass has made short. */
static void
check_pass(kw_change_ladder ladder, kw_change_place place)
{
    for (int direction = KW_CHANGE_FORWARD; direction <= KW_CHANGE_BACK; direction++) {
        kw_change_move move = kw_change_move_from(ladder, place, (kw_change_direction)direction);
        if (!(move.needs & KW_CHANGE_NEEDS_PASS))
            continue;
        g_assert_true(move.needs & KW_CHANGE_NEEDS_GRACE);
        kw_change_place before = direction == KW_CHANGE_FORWARD ? place - 1 : place + 1;
        bool limited = !kw_change_rules_at(ladder, place).regime.waits_for_next_ms;
        if (limited)
            g_assert_true(kw_change_rules_at(ladder, move.to).regime.waits_for_next_ms);
        else
            g_assert_true(kw_change_rules_at(ladder, before).regime.waits_for_next_ms);
        if (kw_change_rules_at(ladder, place).regime.atomics == KW_ATOMICS_HELD)
            g_assert_true(kw_change_move_from(ladder, before, (kw_change_direction)direction).needs &
                          KW_CHANGE_NEEDS_PASS);
    }
}

KW_TEST(test_passes, "/change/table/passes")
{
    at_each_place(check_pass);
}

/* The same rung does the same on both sides, with the placements exchanged. */
KW_TEST(test_sides, "/change/table/sides")
{
    for (unsigned rung = 0; rung < KW_RUNGS; rung++) {
        kw_change_place old = rung, new = KW_PLACES - 1 - rung;
        if (!kw_change_ladder_has(KW_LADDER_MOVE, old) || !kw_change_ladder_has(KW_LADDER_MOVE, new))
            continue;
        const kw_change_rules of_old = kw_change_rules_at(KW_LADDER_MOVE, old),
                              of_new = kw_change_rules_at(KW_LADDER_MOVE, new);
        g_assert_true(of_old.old_role.put == of_new.new_role.put &&
                      of_old.new_role.put == of_new.old_role.put);
        g_assert_true(of_old.regime.atomics == of_new.regime.atomics &&
                      of_old.regime.order == of_new.regime.order &&
                      of_old.regime.waits_for_next_ms == of_new.regime.waits_for_next_ms);
    }
    g_assert_false(kw_change_ladder_has(KW_LADDER_MOVE, KW_OLD(CLOSING)));
    g_assert_false(kw_change_ladder_has(KW_LADDER_MOVE, KW_NEW(OPENING)));
}

/* --- ways --------------------------------------------------------------------------------------------- */

static void
check_way(kw_change_ladder ladder, kw_change_direction direction, const kw_change_place *places, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++)
        g_assert_cmpuint(kw_change_move_from(ladder, places[i], direction).to, ==, places[i + 1]);
}

#define WAY(ladder, direction, ...)                                                                          \
    check_way(ladder, direction, (const kw_change_place[]){__VA_ARGS__},                                     \
              sizeof((const kw_change_place[]){__VA_ARGS__}) / sizeof(kw_change_place))

KW_TEST(test_ways, "/change/table/ways")
{
    WAY(KW_LADDER_MOVE, KW_CHANGE_FORWARD, KW_OLD(UNSTAMPED), KW_OLD(HELD), KW_OLD(RAISED), KW_OLD(STAMPED),
        KW_OLD(ALONE), KW_OLD(OPENING), KW_OLD(BOTH), KW_OLD(SPACING), KW_OLD(SPACED), KW_OLD(LAST_PASS),
        KW_OLD(GET_BOTH), KW_NEW(LAST_PASS), KW_NEW(SPACED), KW_NEW(SPACING), KW_NEW(BOTH), KW_NEW(CLOSING),
        KW_NEW(ALONE), KW_NEW(STAMPED), KW_NEW(RAISED), KW_NEW(HELD), KW_NEW(UNSTAMPED), KW_PLACE_NONE);
    WAY(KW_LADDER_MOVE, KW_CHANGE_BACK, KW_NEW(BOTH), KW_NEW(SPACING), KW_NEW(SPACED), KW_NEW(LAST_PASS),
        KW_NEW(GET_BOTH), KW_OLD(LAST_PASS), KW_OLD(SPACED), KW_OLD(SPACING), KW_OLD(BOTH), KW_OLD(OPENING),
        KW_OLD(ALONE), KW_OLD(STAMPED), KW_OLD(RAISED), KW_OLD(HELD), KW_OLD(UNSTAMPED), KW_PLACE_NONE);
    WAY(KW_LADDER_MOVE, KW_CHANGE_BACK, KW_OLD(GET_BOTH), KW_OLD(LAST_PASS));
    WAY(KW_LADDER_MOVE, KW_CHANGE_FORWARD, KW_NEW(GET_BOTH), KW_NEW(LAST_PASS));
    WAY(KW_LADDER_MOVE, KW_CHANGE_BACK, KW_NEW(CLOSING), KW_PLACE_NONE);
    WAY(KW_LADDER_ADD, KW_CHANGE_FORWARD, KW_OLD(STAMPED), KW_OLD(ALONE), KW_OLD(OPENING), KW_OLD(SPACED),
        KW_OLD(FILLED), KW_PLACE_NONE);
    WAY(KW_LADDER_ADD, KW_CHANGE_BACK, KW_OLD(FILLED), KW_OLD(SPACED), KW_OLD(OPENING), KW_OLD(ALONE));
    WAY(KW_LADDER_MOVE_ONE_WRITER, KW_CHANGE_FORWARD, KW_OLD(UNSTAMPED), KW_OLD(BOTH), KW_NEW(BOTH),
        KW_NEW(CLOSING), KW_NEW(UNSTAMPED), KW_PLACE_NONE);
    WAY(KW_LADDER_MOVE_ONE_WRITER, KW_CHANGE_BACK, KW_NEW(BOTH), KW_OLD(BOTH), KW_OLD(UNSTAMPED));
    WAY(KW_LADDER_ADD_HINTS, KW_CHANGE_FORWARD, KW_OLD(UNSTAMPED), KW_OLD(MARKED), KW_OLD(BOTH),
        KW_OLD(FILLED), KW_PLACE_NONE);
    WAY(KW_LADDER_ADD_HINTS, KW_CHANGE_BACK, KW_OLD(FILLED), KW_OLD(BOTH), KW_OLD(MARKED), KW_OLD(UNSTAMPED),
        KW_PLACE_NONE);
    WAY(KW_LADDER_ADD_HINTS_STAMP, KW_CHANGE_FORWARD, KW_OLD(ALONE), KW_OLD(HINTING), KW_OLD(BOTH),
        KW_OLD(FILLED), KW_PLACE_NONE);
    WAY(KW_LADDER_ADD_HINTS_STAMP, KW_CHANGE_BACK, KW_OLD(FILLED), KW_OLD(BOTH), KW_OLD(HINTING),
        KW_OLD(ALONE), KW_PLACE_NONE);
    WAY(KW_LADDER_MOVE_HINTS, KW_CHANGE_FORWARD, KW_OLD(UNSTAMPED), KW_OLD(BOTH), KW_NEW(BOTH),
        KW_NEW(CLOSING), KW_NEW(UNSTAMPED), KW_PLACE_NONE);
    WAY(KW_LADDER_MOVE_HINTS_STAMP, KW_CHANGE_FORWARD, KW_OLD(ALONE), KW_OLD(HINTING), KW_OLD(BOTH),
        KW_NEW(BOTH), KW_NEW(CLOSING), KW_NEW(ALONE), KW_PLACE_NONE);
    WAY(KW_LADDER_MOVE_HINTS_STAMP, KW_CHANGE_BACK, KW_NEW(BOTH), KW_OLD(BOTH), KW_OLD(HINTING),
        KW_OLD(ALONE), KW_PLACE_NONE);
    WAY(KW_LADDER_ADD_ONE_WRITER, KW_CHANGE_FORWARD, KW_OLD(UNSTAMPED), KW_OLD(BOTH), KW_OLD(FILLED),
        KW_PLACE_NONE);
}

static unsigned
needs(kw_change_ladder ladder, kw_change_place place, kw_change_direction direction)
{
    return kw_change_move_from(ladder, place, direction).needs;
}

/* Rows are copied to the new placement only, before queries can read it; and cursors of the old one expire
 * only at the end. */
KW_TEST(test_needs, "/change/table/needs")
{
    for (kw_change_ladder ladder = 0; ladder < KW_LADDERS; ladder++)
        for (kw_change_place place = KW_NEW(GET_BOTH); place < KW_PLACES; place++)
            if (kw_change_ladder_has(ladder, place))
                for (int direction = KW_CHANGE_FORWARD; direction <= KW_CHANGE_BACK; direction++)
                    g_assert_false(needs(ladder, place, (kw_change_direction)direction) &
                                   KW_CHANGE_NEEDS_COPY);
    g_assert_true(needs(KW_LADDER_MOVE, KW_OLD(BOTH), KW_CHANGE_FORWARD) & KW_CHANGE_NEEDS_COPY);
    g_assert_cmpuint(needs(KW_LADDER_ADD, KW_OLD(SPACED), KW_CHANGE_FORWARD), ==,
                     KW_CHANGE_NEEDS_GRACE | KW_CHANGE_NEEDS_COPY);
    g_assert_cmpuint(needs(KW_LADDER_MOVE_ONE_WRITER, KW_OLD(BOTH), KW_CHANGE_FORWARD), ==,
                     KW_CHANGE_NEEDS_COPY);
    g_assert_cmpuint(needs(KW_LADDER_MOVE_ONE_WRITER, KW_NEW(BOTH), KW_CHANGE_FORWARD), ==,
                     KW_CHANGE_NEEDS_CURSOR_EXPIRY);
    g_assert_cmpuint(needs(KW_LADDER_MOVE, KW_OLD(BOTH), KW_CHANGE_BACK), ==, 0);
    g_assert_cmpuint(needs(KW_LADDER_MOVE_ONE_WRITER, KW_NEW(BOTH), KW_CHANGE_BACK), ==, 0);
    g_assert_cmpuint(needs(KW_LADDER_ADD_ONE_WRITER, KW_OLD(BOTH), KW_CHANGE_FORWARD), ==,
                     KW_CHANGE_NEEDS_COPY);
}

/* Queries of a placement, and cursors of earlier ones, find hints only if puts write them at this place and
 * at both neighbors: their calls run at once. */
static void
check_hints_reached(const kw_change_rules *here, const kw_change_rules *there, bool adds)
{
    g_assert_true(!(here->new_role.scan || here->both_complete) || there->new_role.put);
    g_assert_true(adds || !(here->old_role.scan || here->both_complete) || there->old_role.put);
}

static void
check_hints(kw_change_ladder ladder, kw_change_place place)
{
    bool adds = ladder <= KW_LADDER_ADD_HINTS_STAMP;
    const kw_change_rules rules = kw_change_rules_at(ladder, place);
    g_assert_true(adds ? rules.old_role.put && rules.old_role.remove && rules.old_role.get
                       : !rules.old_role.get && !rules.old_role.remove);
    g_assert_false(rules.new_role.get || rules.new_role.remove);
    for (int direction = KW_CHANGE_FORWARD; direction <= KW_CHANGE_BACK; direction++) {
        kw_change_move move = kw_change_move_from(ladder, place, (kw_change_direction)direction);
        if (move.to == KW_PLACE_NONE)
            continue;
        const kw_change_rules to = kw_change_rules_at(ladder, move.to);
        check_hints_reached(&rules, &to, adds);
        check_hints_reached(&to, &rules, adds);
        g_assert_false(move.needs & (KW_CHANGE_NEEDS_PASS | KW_CHANGE_NEEDS_SWEEP));
    }
}

KW_TEST(test_hints, "/change/table/hints")
{
    for (kw_change_ladder ladder = 0; ladder < KW_LADDERS; ladder++)
        for (kw_change_place place = 0; place < KW_PLACES; place++)
            if (is_of_hints(ladder) && kw_change_ladder_has(ladder, place))
                check_hints(ladder, place);
    const unsigned copies = KW_CHANGE_NEEDS_GRACE | KW_CHANGE_NEEDS_COPY;
    g_assert_cmpuint(needs(KW_LADDER_ADD_HINTS, KW_OLD(BOTH), KW_CHANGE_FORWARD), ==, copies);
    g_assert_cmpuint(needs(KW_LADDER_MOVE_HINTS, KW_OLD(BOTH), KW_CHANGE_FORWARD), ==, copies);
    g_assert_cmpuint(needs(KW_LADDER_MOVE_HINTS_STAMP, KW_OLD(BOTH), KW_CHANGE_FORWARD), ==,
                     copies | KW_CHANGE_NEEDS_CLOCK);
    g_assert_cmpuint(needs(KW_LADDER_MOVE_HINTS, KW_NEW(BOTH), KW_CHANGE_FORWARD), ==,
                     KW_CHANGE_NEEDS_CURSOR_EXPIRY);
    g_assert_cmpuint(kw_change_copy_place(KW_LADDER_ADD_HINTS), ==, KW_OLD(BOTH));
    g_assert_cmpuint(kw_change_copy_place(KW_LADDER_ADD), ==, KW_OLD(SPACED));
    g_assert_cmpuint(kw_change_copy_place(KW_LADDER_ADD_ONE_WRITER), ==, KW_OLD(BOTH));
}

KW_TEST(test_names, "/change/table/names")
{
    kw_change_place found;
    for (kw_change_place place = 0; place < KW_PLACES; place++)
        g_assert_true(kw_change_place_find(kw_change_place_name(place), &found) && found == place);
    g_assert_cmpstr(kw_change_place_name(KW_NEW(LAST_PASS)), ==, "last-pass-new");
    g_assert_false(kw_change_place_find("6", &found));
    g_assert_false(kw_change_place_find(NULL, &found));
}
