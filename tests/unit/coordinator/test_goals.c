/* Commands of the operator for a change with several writers: which of them a record allows, and which the
 * state shows. */
#include "coordinator/request.h"

#include <glib.h>
#include <string.h>

static kw_change_record
record_at(kw_change_place place, kw_change_place goal)
{
    return (kw_change_record){.table = "t",
                              .path = "p",
                              .under_way = true,
                              .old_version = {1, "0123456789abcdef0123456789abcdef"},
                              .new_version = 2,
                              .place = place,
                              .writers = KW_CHANGE_SEVERAL_WRITERS,
                              .step = 7,
                              .goal = goal,
                              .holder = "a",
                              .example = "",
                              .started_ms = 1};
}

static bool
run_command(kw_change_action action, int64_t current, kw_change_record *record, kw_arena *arena,
            kw_error *ret_error)
{
    kw_change_command given = {.action = action, .table = "t", .author = ""};
    return kw_change_goal_edit(&given, current, record, arena, ret_error);
}

/* The end of a cancelled change would make the text before version 2 current, and version 3 would be lost. */
KW_TEST(test_cancel_after_other_version, "/coordinator/goals/cancel after other version")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_change_record record = record_at(KW_OLD(BOTH), KW_OLD(BOTH));
    kw_error error;
    g_assert_false(run_command(KW_CHANGE_CANCEL, 3, &record, arena, &error));
    g_assert_cmpint(error.code, ==, KW_REFUSED);
    g_assert_cmpstr(error.text, ==,
                    "table t: policy version 3 was applied after version 2, which began the change. Complete "
                    "the change, then change the key rule again");
    g_assert_cmpint(record.goal, ==, KW_OLD(BOTH));
    g_assert_true(run_command(KW_CHANGE_CANCEL, 2, &record, arena, &error));
    g_assert_cmpint(record.goal, ==, KW_OLD(ALONE));
}

/* From version 0 on, removals do not reach the new rows. */
KW_TEST(test_withdraw, "/coordinator/goals/withdraw")
{
    static const kw_change_place late[] = {KW_OLD(ALONE), KW_OLD(STAMPED), KW_OLD(RAISED), KW_OLD(HELD)};
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error;
    for (size_t i = 0; i < G_N_ELEMENTS(late); i++) {
        kw_change_record record = record_at(late[i], KW_OLD(ALONE));
        g_assert_false(run_command(KW_CHANGE_REVERSE, 2, &record, arena, &error));
        g_assert_cmpint(error.code, ==, KW_REFUSED);
        g_assert_cmpint(record.goal, ==, KW_OLD(ALONE));
    }
    kw_change_record record = record_at(KW_OLD(OPENING), KW_OLD(ALONE));
    g_assert_true(run_command(KW_CHANGE_REVERSE, 2, &record, arena, &error));
    g_assert_cmpint(record.goal, ==, KW_OLD(BOTH));
}

static void
assert_next(kw_change_place version, kw_change_place goal, const char *next)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_change_record record = record_at(version, goal);
    g_assert_cmpstr(kw_change_next_of(&record, arena), ==, next);
    record.paused = true;
    const char *paused = kw_change_next_of(&record, arena);
    g_assert_true(g_str_has_prefix(paused, "resume"));
    g_assert_cmpstr(paused + strlen("resume"), ==, next[0] ? kw_arena_printf(arena, ", %s", next) : "");
}

static void
assert_refused(kw_change_action action, kw_change_record record, const char *part)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_change_place goal = record.goal;
    kw_error error;
    g_assert_false(run_command(action, 2, &record, arena, &error));
    g_assert_cmpint(error.code, ==, KW_REFUSED);
    if (!strstr(error.text, part))
        g_error("%s", error.text);
    g_assert_cmpint(record.goal, ==, goal);
}

/* Rows without a key under either rule stop a switch. */
KW_TEST(test_undecodable, "/coordinator/goals/undecodable")
{
    kw_change_record record = record_at(KW_OLD(BOTH), KW_OLD(BOTH));
    record.copied = record.compared = true;
    record.undecodable = 1;
    assert_refused(KW_CHANGE_SWITCH, record, "or their records have no key under the new one");
}

/* A change that is paused can be resumed in each version, on its way forward and back. */
KW_TEST(test_next, "/coordinator/goals/next")
{
    assert_next(KW_OLD(BOTH), KW_OLD(BOTH), "cancel");
    assert_next(KW_OLD(GET_BOTH), KW_NEW(BOTH), "reverse, cancel");
    assert_next(KW_NEW(BOTH), KW_NEW(BOTH), "complete, reverse");
    assert_next(KW_NEW(GET_BOTH), KW_OLD(BOTH), "");
    assert_next(KW_OLD(LAST_PASS), KW_OLD(BOTH), "cancel");
    assert_next(KW_OLD(OPENING), KW_OLD(ALONE), "reverse");
    assert_next(KW_OLD(ALONE), KW_OLD(ALONE), "");
    assert_next(KW_NEW(RAISED), KW_NEW(ALONE), "");
}

/* --- added paths -----------------------------------------------------------------------------------------
 */

static kw_change_record
added_at(kw_change_place version, kw_change_place goal)
{
    kw_change_record record = record_at(version, goal);
    record.adds = true;
    record.copied = record.compared = true;
    return record;
}

static void
assert_goal(kw_change_action action, kw_change_record record, kw_change_place goal)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error;
    g_assert_true(run_command(action, 2, &record, arena, &error));
    g_assert_cmpint(record.goal, ==, goal);
}

KW_TEST(test_added, "/coordinator/goals/added")
{
    const kw_change_record copied = added_at(KW_OLD(SPACED), KW_OLD(SPACED)),
                           cancelled = added_at(KW_OLD(SPACED), KW_OLD(ALONE)),
                           filled = added_at(KW_OLD(FILLED), KW_OLD(SPACED));
    kw_change_record undecodable = copied, copying = copied;
    undecodable.undecodable = 1;
    copying.compared = false;
    assert_goal(KW_CHANGE_SWITCH, copied, KW_OLD(FILLED));
    assert_goal(KW_CHANGE_COMPLETE, copied, KW_OLD(FILLED));
    assert_goal(KW_CHANGE_CANCEL, copied, KW_OLD(ALONE));
    assert_goal(KW_CHANGE_REVERSE, cancelled, KW_OLD(SPACED));
    assert_goal(KW_CHANGE_SWITCH, filled, KW_OLD(SPACED));
    assert_goal(KW_CHANGE_COMPARE, copied, KW_OLD(SPACED));
    assert_refused(KW_CHANGE_SWITCH, undecodable, "cannot have a key in the added path");
    assert_refused(KW_CHANGE_SWITCH, copying, "are still being compared");
    assert_refused(KW_CHANGE_SWITCH, cancelled, "is being cancelled");
    assert_refused(KW_CHANGE_SWITCH, added_at(KW_OLD(OPENING), KW_OLD(SPACED)), "have not been copied yet");
    assert_refused(KW_CHANGE_REVERSE, copied, "to end it, run keyway change cancel");
    assert_refused(KW_CHANGE_REVERSE, filled, "apply a policy without it");
    assert_refused(KW_CHANGE_REVERSE, added_at(KW_OLD(ALONE), KW_OLD(ALONE)), "no longer reach the new rows");
    assert_refused(KW_CHANGE_CANCEL, filled, "apply a policy without it");
    assert_refused(KW_CHANGE_COMPARE, cancelled, "before queries use the path");
    assert_refused(KW_CHANGE_COMPARE, filled, "before queries use the path");
    assert_refused(KW_CHANGE_REVERSE, record_at(KW_OLD(ALONE), KW_OLD(ALONE)),
                   "no longer reach the new rows");
}

KW_TEST(test_dropped, "/coordinator/goals/dropped")
{
    kw_change_record record = added_at(KW_OLD(SPACED), KW_OLD(ALONE));
    record.drops = true;
    for (kw_change_action action = KW_CHANGE_SWITCH; action <= KW_CHANGE_COMPARE; action++)
        if (action != KW_CHANGE_SHOW)
            assert_refused(action, record, "one of its paths is being dropped; this change ends by itself");
}

static void
assert_next_of_added(kw_change_record record, const char *next)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_assert_cmpstr(kw_change_next_of(&record, arena), ==, next);
}

KW_TEST(test_next_of_added, "/coordinator/goals/next of added")
{
    kw_change_record undecodable = added_at(KW_OLD(SPACED), KW_OLD(SPACED));
    undecodable.undecodable = 1;
    assert_next_of_added(undecodable, "switch, cancel");
    undecodable.different = 1;
    assert_next_of_added(undecodable, "compare, cancel");
    assert_next_of_added(added_at(KW_OLD(SPACED), KW_OLD(SPACED)), "cancel");
    assert_next_of_added(added_at(KW_OLD(SPACED), KW_OLD(FILLED)), "cancel");
    assert_next_of_added(added_at(KW_OLD(OPENING), KW_OLD(ALONE)), "reverse");
    assert_next_of_added(added_at(KW_OLD(ALONE), KW_OLD(ALONE)), "");
    assert_next_of_added(added_at(KW_OLD(FILLED), KW_OLD(SPACED)), "");
    kw_change_record dropped = added_at(KW_OLD(SPACED), KW_OLD(ALONE));
    dropped.drops = true;
    assert_next_of_added(dropped, "");
}

/* --- atomic operations that become allowed or forbidden ---------------------------------------------------
 */

KW_TEST(test_atomics, "/coordinator/goals/atomics")
{
    kw_change_record record = record_at(KW_OLD(STAMPED), KW_NEW(ALONE));
    record.atomics = true;
    for (kw_change_action action = KW_CHANGE_SWITCH; action <= KW_CHANGE_COMPARE; action++)
        if (action != KW_CHANGE_SHOW && action != KW_CHANGE_CANCEL)
            assert_refused(action, record, "only cancel is possible");
    assert_goal(KW_CHANGE_CANCEL, record, KW_OLD(ALONE));
    assert_next_of_added(record, "cancel");
    record.goal = KW_OLD(ALONE);
    assert_goal(KW_CHANGE_CANCEL, record, KW_OLD(ALONE));
    assert_next_of_added(record, "");
    record.drops = true;
    assert_next_of_added(record, "");
    for (kw_change_action action = KW_CHANGE_SWITCH; action <= KW_CHANGE_COMPARE; action++)
        if (action != KW_CHANGE_SHOW)
            assert_refused(action, record, "are being set to false; that ends by itself");
}
