/* What must hold for every version of a change (server/change/version.h), and for every two neighbors. */
#include "change/version.h"

#include <glib.h>

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

/* Versions between STORE and STORE_NEW for one writer. */
static bool
is_of_one_writer(unsigned id)
{
    return id >= KW_CHANGE_VERSION_BOTH_OLD && id <= KW_CHANGE_VERSION_FILLED;
}

/* Puts write one placement after the other only around the versions in which gets read both: then a put that
 * one reader has seen in the first placement must be in the other one. */
static bool
puts_at_once(unsigned id)
{
    return id != KW_CHANGE_VERSION_3 && id != KW_CHANGE_VERSION_4 && id != KW_CHANGE_VERSION_5 &&
           id != KW_CHANGE_VERSION_4_BACK;
}

static void
test_each_version(void)
{
    for (unsigned id = 0; id < KW_CHANGE_VERSION_COUNT; id++) {
        const kw_change_version *version = kw_change_version_of((kw_change_version_id)id);
        kw_role old = version->old_role, new = version->new_role;
        kw_change_version_id found;
        g_test_message("%s", version->name);
        bool together = is_of_one_writer(id) || id == KW_CHANGE_VERSION_FILLED_STAMPED;
        g_assert_true(is_order(old.put, new.put, together || puts_at_once(id)));
        g_assert_true(is_order(old.remove, new.remove, together));
        g_assert_true(old.get || new.get);
        g_assert_true(old.scan != new.scan || id == KW_CHANGE_VERSION_FILLED ||
                      id == KW_CHANGE_VERSION_FILLED_STAMPED);
        g_assert_cmpint(version->control, ==, version->stamp == KW_CHANGE_STAMPED);
        g_assert_true(!version->both_complete || (is_used(old) && is_used(new)));
        g_assert_true(kw_change_version_find(version->name, &found) && found == id);
        g_assert_true((kw_change_version_write_order(version) == KW_WRITE_ORDER_STAMP) == version->control);
    }
}

/* Puts and removals of both versions reach every placement that one of them reads. */
static void
check_neighbors(const kw_change_version *a, const kw_change_version *b)
{
    const kw_role *roles[][2] = {{&a->old_role, &b->old_role}, {&a->new_role, &b->new_role}};
    g_test_message("%s and %s", a->name, b->name);
    for (size_t i = 0; i < G_N_ELEMENTS(roles); i++) {
        const kw_role *one = roles[i][0], *other = roles[i][1];
        if (!one->get && !one->scan && !other->get && !other->scan)
            continue;
        g_assert_true(one->put && other->put);
        g_assert_true(one->remove && other->remove);
    }
}

static void
test_neighbors(void)
{
    for (unsigned id = 0; id < KW_CHANGE_VERSION_COUNT; id++) {
        for (int direction = KW_CHANGE_FORWARD; direction <= KW_CHANGE_BACK; direction++) {
            kw_change_version_step step =
                kw_change_version_next((kw_change_version_id)id, (kw_change_direction)direction);
            if (step.to != KW_CHANGE_VERSION_COUNT)
                check_neighbors(kw_change_version_of((kw_change_version_id)id),
                                kw_change_version_of(step.to));
        }
    }
}

/* Where atomic operations decide: 0 where they are held. */
static int
decides_in(const kw_change_version *version)
{
    switch (version->atomics) {
    case KW_CHANGE_ATOMICS_HELD:
        return 0;
    case KW_CHANGE_ATOMICS_NATIVE:
        return 1;
    case KW_CHANGE_ATOMICS_CAS_OLD:
    case KW_CHANGE_ATOMICS_CAS_OLD_NEW:
        return 2;
    case KW_CHANGE_ATOMICS_CAS_NEW_OLD:
    case KW_CHANGE_ATOMICS_CAS_NEW:
        return 3;
    }
    g_assert_not_reached();
}

/* Atomic operations of two neighbors do not decide in different places, unless both are native: these write
 * both placements in one commit, so both have the same values when the other one is read. */
static void
test_atomics_are_held_between(void)
{
    for (unsigned id = 0; id < KW_CHANGE_VERSION_COUNT; id++) {
        int mine = decides_in(kw_change_version_of((kw_change_version_id)id));
        for (int direction = KW_CHANGE_FORWARD; direction <= KW_CHANGE_BACK; direction++) {
            kw_change_version_step step =
                kw_change_version_next((kw_change_version_id)id, (kw_change_direction)direction);
            int other = step.to == KW_CHANGE_VERSION_COUNT ? 0 : decides_in(kw_change_version_of(step.to));
            g_assert_true(mine == 0 || other == 0 || mine == other);
        }
    }
}

static unsigned
steps_until(kw_change_version_id from, kw_change_direction direction, kw_change_version_id until)
{
    unsigned steps = 0;
    while (from != until && steps <= KW_CHANGE_VERSION_COUNT) {
        from = kw_change_version_next(from, direction).to;
        g_assert_cmpint(from, !=, KW_CHANGE_VERSION_COUNT);
        steps++;
    }
    return steps;
}

/* Passes also copy cells to the placement that get operations read. So puts wait for the next millisecond
 * under the version of a pass, or the pass is limited to older cells (gateway/change_planner.h), and another
 * one beside puts that wait follows. A version under which atomic operations are held has only one pass,
 * which an earlier pass has made short. */
static void
check_pass(kw_change_version_id id, kw_change_direction direction)
{
    kw_change_version_step step = kw_change_version_next(id, direction);
    if (!(step.needs & KW_CHANGE_NEEDS_PASS))
        return;
    g_test_message("%s", kw_change_version_of(id)->name);
    g_assert_true(step.needs & KW_CHANGE_NEEDS_GRACE);
    if (!kw_change_version_of(id)->waits_for_next_ms)
        g_assert_true(kw_change_version_of(step.to)->waits_for_next_ms);
    if (kw_change_version_of(id)->atomics != KW_CHANGE_ATOMICS_HELD)
        return;
    unsigned before = 0;
    for (unsigned from = 0; from < KW_CHANGE_VERSION_COUNT; from++) {
        kw_change_version_step to = kw_change_version_next((kw_change_version_id)from, direction);
        before += to.to == id && to.needs & KW_CHANGE_NEEDS_PASS;
    }
    g_assert_cmpuint(before, ==, 1);
}

static void
test_passes(void)
{
    for (unsigned id = 0; id < KW_CHANGE_VERSION_COUNT; id++) {
        check_pass((kw_change_version_id)id, KW_CHANGE_FORWARD);
        check_pass((kw_change_version_id)id, KW_CHANGE_BACK);
    }
}

static void
test_ways(void)
{
    kw_change_version_id none;
    g_assert_cmpuint(steps_until(KW_CHANGE_VERSION_STORE, KW_CHANGE_FORWARD, KW_CHANGE_VERSION_0), ==, 4);
    g_assert_cmpuint(steps_until(KW_CHANGE_VERSION_0, KW_CHANGE_FORWARD, KW_CHANGE_VERSION_8), ==, 9);
    g_assert_cmpuint(steps_until(KW_CHANGE_VERSION_8, KW_CHANGE_FORWARD, KW_CHANGE_VERSION_STORE_NEW), ==, 4);
    g_assert_cmpuint(steps_until(KW_CHANGE_VERSION_6, KW_CHANGE_BACK, KW_CHANGE_VERSION_0), ==, 9);
    g_assert_cmpuint(steps_until(KW_CHANGE_VERSION_4, KW_CHANGE_BACK, KW_CHANGE_VERSION_0), ==, 5);
    g_assert_cmpuint(steps_until(KW_CHANGE_VERSION_0, KW_CHANGE_BACK, KW_CHANGE_VERSION_STORE), ==, 4);
    g_assert_cmpint(kw_change_version_next(KW_CHANGE_VERSION_7, KW_CHANGE_BACK).to, ==,
                    KW_CHANGE_VERSION_COUNT);
    g_assert_false(kw_change_version_find("9", &none));
}

/* Both placements get every write, under the store's timestamps, so that each can be read in turn. Cursors of
 * the old placement are valid under BOTH_NEW only. */
static void
test_one_writer(void)
{
    for (unsigned id = KW_CHANGE_VERSION_BOTH_OLD; id <= KW_CHANGE_VERSION_BOTH_LAST; id++) {
        const kw_change_version *version = kw_change_version_of((kw_change_version_id)id);
        g_assert_true(version->old_role.put && version->old_role.remove);
        g_assert_true(version->new_role.put && version->new_role.remove);
        g_assert_true(version->old_role.get == version->old_role.scan);
        g_assert_cmpint(version->stamp, ==, KW_CHANGE_UNSTAMPED);
        g_assert_cmpint(version->atomics, ==, KW_CHANGE_ATOMICS_NATIVE);
        g_assert_cmpint(version->both_complete, ==, id == KW_CHANGE_VERSION_BOTH_NEW);
    }
    check_neighbors(kw_change_version_of(KW_CHANGE_VERSION_STORE),
                    kw_change_version_of(KW_CHANGE_VERSION_ONE_WRITER_FIRST));
    g_assert_cmpuint(
        steps_until(KW_CHANGE_VERSION_ONE_WRITER_FIRST, KW_CHANGE_FORWARD, KW_CHANGE_VERSION_STORE_NEW), ==,
        3);
    g_assert_cmpuint(steps_until(KW_CHANGE_VERSION_BOTH_NEW, KW_CHANGE_BACK, KW_CHANGE_VERSION_STORE), ==, 2);
    g_assert_cmpint(kw_change_version_next(KW_CHANGE_VERSION_BOTH_LAST, KW_CHANGE_BACK).to, ==,
                    KW_CHANGE_VERSION_COUNT);
    g_assert_true(kw_change_version_next(KW_CHANGE_VERSION_BOTH_OLD, KW_CHANGE_FORWARD).needs &
                  KW_CHANGE_NEEDS_COPY);
    g_assert_true(kw_change_version_next(KW_CHANGE_VERSION_BOTH_NEW, KW_CHANGE_FORWARD).needs &
                  KW_CHANGE_NEEDS_CURSOR_EXPIRY);
}

/* Nobody reads a path before it has all rows; then gets still read the primary path. */
static void
test_added_path(void)
{
    const kw_change_version *filling = kw_change_version_of(KW_CHANGE_VERSION_FILLING);
    const kw_change_version *filled = kw_change_version_of(KW_CHANGE_VERSION_FILLED);
    g_assert_true(filling->new_role.put && filling->new_role.remove);
    g_assert_false(filling->new_role.get || filling->new_role.scan);
    g_assert_true(filled->old_role.get && filled->old_role.scan && filled->new_role.scan);
    g_assert_true(filling->forward.needs & KW_CHANGE_NEEDS_COPY &&
                  filling->forward.to == KW_CHANGE_VERSION_FILLED);
    g_assert_cmpint(filling->back.to, ==, KW_CHANGE_VERSION_STORE);
    for (unsigned id = 0; id < KW_CHANGE_VERSION_COUNT; id++)
        g_assert_cmpint(kw_change_version_adds_path((kw_change_version_id)id), ==,
                        id == KW_CHANGE_VERSION_FILLING || id == KW_CHANGE_VERSION_FILLED);
}

/* The same in a store with several writers: every write reaches the path before the copy begins, and writes
 * have had timestamps of their own since the version before. */
static void
test_path_added_by_several(void)
{
    kw_change_version_id from[] = {KW_CHANGE_VERSION_0, KW_CHANGE_VERSION_FILLING_1,
                                   KW_CHANGE_VERSION_FILLING_2, KW_CHANGE_VERSION_FILLED_STAMPED};
    for (size_t i = 0; i + 1 < G_N_ELEMENTS(from); i++) {
        g_assert_cmpint(kw_change_version_next_adding(from[i], KW_CHANGE_FORWARD).to, ==, from[i + 1]);
        g_assert_cmpint(kw_change_version_next_adding(from[i + 1], KW_CHANGE_BACK).to, ==, from[i]);
        check_neighbors(kw_change_version_of(from[i]), kw_change_version_of(from[i + 1]));
    }
    for (kw_change_version_id id = KW_CHANGE_VERSION_FILLING_1; id <= KW_CHANGE_VERSION_FILLED_STAMPED;
         id++) {
        const kw_change_version *version = kw_change_version_of(id);
        g_assert_true(version->old_role.get && version->old_role.scan && !version->new_role.get);
        g_assert_true(version->new_role.remove > 0);
        g_assert_cmpint(version->new_role.put > 0, ==, id != KW_CHANGE_VERSION_FILLING_1);
        g_assert_cmpint(version->new_role.scan, ==, id == KW_CHANGE_VERSION_FILLED_STAMPED);
        g_assert_cmpint(version->waits_for_next_ms, ==, id != KW_CHANGE_VERSION_FILLED_STAMPED);
        g_assert_cmpint(version->forward.needs & KW_CHANGE_NEEDS_COPY, ==,
                        id == KW_CHANGE_VERSION_FILLING_2 ? KW_CHANGE_NEEDS_COPY : 0);
    }
    g_assert_cmpint(kw_change_version_next_adding(KW_CHANGE_VERSION_STORE, KW_CHANGE_FORWARD).to, ==,
                    KW_CHANGE_VERSION_ENTER_HELD);
    g_assert_cmpint(kw_change_version_next_adding(KW_CHANGE_VERSION_0, KW_CHANGE_BACK).to, ==,
                    KW_CHANGE_VERSION_ENTER_STAMPED);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/change/table/each-version", test_each_version);
    g_test_add_func("/change/table/neighbors", test_neighbors);
    g_test_add_func("/change/table/atomics-are-held-between", test_atomics_are_held_between);
    g_test_add_func("/change/table/passes", test_passes);
    g_test_add_func("/change/table/ways", test_ways);
    g_test_add_func("/change/table/one-writer", test_one_writer);
    g_test_add_func("/change/table/added-path", test_added_path);
    g_test_add_func("/change/table/added-path-several-writers", test_path_added_by_several);
    return g_test_run();
}
