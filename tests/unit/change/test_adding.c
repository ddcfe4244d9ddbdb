/* A path that is added to a table with rows, and dropped, in a store with several writers, explored
 * exhaustively: right with the server's table of versions, wrong without any one of the safeguards. */
#include "several_writers_test.h"

#define PUT CALL_BIT(PUT)
#define BOTH CALL_BIT(PUT_BOTH)
#define REMOVE CALL_BIT(REMOVE)
#define REMOVE_A CALL_BIT(REMOVE_FIELD)
#define GET CALL_BIT(GET)
#define SCAN CALL_BIT(SCAN)
#define ATOMIC CALL_BIT(ATOMIC)

static several_writers_model
adding(unsigned kinds, int calls, int unknown)
{
    several_writers_model model = several_writers_model_adding();
    model.kinds = kinds;
    model.calls = calls;
    model.callers = 2;
    model.spread = 2;
    model.unknown = unknown;
    return model;
}

static several_writers_model
dropping(unsigned kinds, int calls, int unknown)
{
    several_writers_model model = adding(kinds, calls, unknown);
    model.drops = true;
    return model;
}

/* With KW_EXPLORE one call more. */
static void
is_right(const char *what, several_writers_model model)
{
    model.calls = (int)explore_bound((uint64_t)model.calls, (uint64_t)model.calls + 1);
    model_is_right(what, &model);
}

static void
is_wrong(const char *what, several_writers_model model)
{
    model_is_wrong(what, &model);
}

static void
drop_need(several_writers_model *from, kw_change_place before, unsigned need)
{
    g_assert_true(from->places[before].forward.needs & need);
    from->places[before].forward.needs &= ~need;
}

/* --- all safeguards --------------------------------------------------------------------------- */

static void
test_forward(void)
{
    several_writers_model three = adding(PUT | REMOVE | SCAN, 3, 0);
    is_right("added", adding(PUT | REMOVE | GET | SCAN, 3, 1));
    three.callers = three.spread = 3;
    is_right("added, three calls at the same time", three);
}

static void
test_late_calls(void)
{
    several_writers_model model = adding(PUT | REMOVE | GET | SCAN, 2, 2);
    model.purges = 1;
    is_right("two calls given up, one compaction", model);
}

static void
test_parts(void)
{
    several_writers_model model = adding(PUT | BOTH | REMOVE | REMOVE_A | SCAN, 2, 1);
    model.purges = 2;
    is_right("parts of a record, one call given up, two compactions", model);
}

static void
test_ties(void)
{
    several_writers_model model = adding(PUT | REMOVE | SCAN, 3, 1);
    model.ties = true;
    is_right("equal stamps", model);
}

/* A cancellation can be taken back until calls no longer write the path. */
static void
test_back(void)
{
    several_writers_model model = adding(PUT | REMOVE | SCAN, 2, 1);
    model.turns = 3;
    is_right("cancelled or dropped at any version, and forward again", model);
    model = adding(PUT | REMOVE | SCAN, 3, 0);
    model.turns = 2;
    model.gone_expires = model.gone_can_miss = true;
    is_right("the same, gone cells expire in version 0", model);
}

static void
test_drop(void)
{
    several_writers_model model = dropping(PUT | REMOVE | GET | SCAN, 3, 1);
    is_right("dropped", model);
    model = dropping(PUT | BOTH | REMOVE_A | SCAN, 2, 1);
    model.purges = 2;
    is_right("dropped, parts of a record, one call given up, two compactions", model);
}

/* As in versions 0 to 2 of a change of a key rule: in the primary path, then in the added one. */
static void
test_atomics(void)
{
    is_right("added, atomic operations", adding(PUT | REMOVE | SCAN | ATOMIC, 3, 0));
    is_right("added, atomic operations, one call given up", adding(PUT | GET | SCAN | ATOMIC, 2, 1));
    is_right("dropped, atomic operations, one call given up", dropping(PUT | GET | SCAN | ATOMIC, 2, 1));
}

static void
test_sweep(void)
{
    several_writers_model model = adding(PUT | REMOVE | SCAN, 2, 0);
    model.purges = model.sweeps = 1;
    is_right("a sweep of control cells of either path", model);
    model.sweeps_no_marker = true;
    is_wrong("a sweep does not delete what gone cells hide", model);
}

/* Calls that were given up before puts reached the path. */
static void
test_same(void)
{
    several_writers_model model = adding(PUT | REMOVE | SCAN, 3, 1);
    model.alone = true;
    is_right("both paths show the same", model);
    model.calls = 1;
    drop_need(&model, KW_OLD(SPACED), KW_CHANGE_NEEDS_GRACE);
    is_wrong("no grace before the copy", model);
}

/* --- without one of them ---------------------------------------------------------------------- */

static void
test_versions(void)
{
    several_writers_model copied = adding(SCAN, 1, 0), at_once = adding(PUT | SCAN, 2, 0);
    drop_need(&copied, KW_OLD(SPACED), KW_CHANGE_NEEDS_COPY);
    is_wrong("the path is read before it is copied", copied);
    at_once.places[KW_OLD(ALONE)].forward.to = KW_OLD(SPACED);
    is_wrong("from 0 to filling-2 at once", at_once);
}

/* A copy could otherwise hide a later write of the same millisecond. */
static void
test_spaced(void)
{
    for (kw_change_place id = KW_OLD(OPENING); id <= KW_OLD(SPACED);
         id = id == KW_OLD(OPENING) ? KW_OLD(SPACED) : KW_PLACES) {
        several_writers_model model = adding(PUT | SCAN, 3, 0);
        model.places[id].rules.regime.waits_for_next_ms = false;
        is_wrong(kw_change_place_name(id), model);
    }
    several_writers_model gap = adding(PUT | SCAN, 2, 0), again = adding(PUT | SCAN, 2, 0);
    gap.no_gap = true;
    is_wrong("two versions in one millisecond", gap);
    again.turns = 2;
    is_right("forward again after a part of a drop", again);
    again.copies_again = true;
    is_wrong("forward again after a part of a drop, with another copy", again);
}

static void
test_roles(void)
{
    several_writers_model scan = adding(SCAN, 1, 0), put = adding(PUT | SCAN, 2, 0),
                          remove = adding(REMOVE | SCAN, 2, 0);
    scan.places[KW_OLD(SPACED)].rules.new_role.scan = true;
    is_wrong("scans read a path that is being filled", scan);
    put.places[KW_OLD(SPACED)].rules.new_role.put = 0;
    is_wrong("puts do not write a path that is being filled", put);
    remove.places[KW_OLD(SPACED)].rules.new_role.remove = 0;
    is_wrong("removals do not reach a path that is being filled", remove);
}

/* Two safeguards protect against a removal that reaches the primary path alone: the copier takes its gone
 * cell along, and removals reach the path before the first put does. With order: stamp gone cells expire. */
static void
test_removals(void)
{
    several_writers_model early = adding(PUT | REMOVE | SCAN, 2, 0), none = adding(PUT | REMOVE | SCAN, 2, 1);
    early.places[KW_OLD(OPENING)].rules.old_role.remove = 1;
    early.places[KW_OLD(OPENING)].rules.new_role.remove = 0;
    is_right("removals reach the path no sooner than puts", early);
    early.copies_no_gone = early.gone_can_miss = true;
    is_wrong("removals reach the path no sooner than puts, and are not copied", early);
    none.no_gone = none.gone_can_miss = true;
    none.purges = 1;
    is_wrong("no gone cells", none);
}

/* Readers of the primary path do not depend on the order of writes. */
static void
test_order_of_writes(void)
{
    several_writers_model together = adding(PUT | REMOVE | SCAN, 2, 1),
                          turned = adding(PUT | REMOVE | SCAN, 2, 1);
    place_copy *version = &together.places[KW_OLD(SPACED)];
    version->rules.old_role.remove = 1;
    is_right("removals, too, write both paths at the same time", together);
    version = &turned.places[KW_OLD(SPACED)];
    version->rules.old_role.put = version->rules.old_role.remove = 1;
    version->rules.new_role.put = version->rules.new_role.remove = 2;
    is_right("writes reach the primary path first", turned);
}

static void
test_gateways(void)
{
    several_writers_model drain = adding(PUT | SCAN, 2, 0), apart = adding(PUT | SCAN, 2, 0),
                          failed = adding(PUT | SCAN, 2, 1), acks = adding(PUT | SCAN, 2, 1);
    drain.no_drain = true;
    is_wrong("no drain", drain);
    apart.far_apart = true;
    is_wrong("versions more than one apart", apart);
    failed.fails_late = true;
    is_wrong("FAILED after one path has the write", failed);
    acks.acks_after_lease = true;
    is_wrong("answers after the lease", acks);
}

static void
test_drop_without(void)
{
    several_writers_model at_once = dropping(PUT | SCAN, 3, 0), apart = dropping(PUT | SCAN, 3, 0),
                          removals = dropping(PUT | SCAN, 3, 0);
    at_once.places[KW_OLD(FILLED)].back.to = KW_OLD(ALONE);
    is_wrong("scans of the path beside puts that do not write it", at_once);
    removals.places[KW_OLD(FILLED)].back.to = KW_OLD(OPENING);
    is_wrong("the same, removals still reach it", removals);
    apart.far_apart = true;
    is_wrong("a drop does not wait for reports", apart);
}

/* Removals do not reach the path in version 0, and their gone cells expire. */
static void
test_back_without(void)
{
    several_writers_model model = adding(PUT | REMOVE | SCAN, 3, 0);
    model.turns = 2;
    model.gone_expires = model.gone_can_miss = model.turns_late = true;
    is_wrong("a cancellation is taken back in version 0", model);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/change/adding/forward", test_forward);
    g_test_add_func("/change/adding/late-calls", test_late_calls);
    g_test_add_func("/change/adding/parts-of-a-record", test_parts);
    g_test_add_func("/change/adding/ties", test_ties);
    g_test_add_func("/change/adding/back", test_back);
    g_test_add_func("/change/adding/drop", test_drop);
    g_test_add_func("/change/adding/atomics", test_atomics);
    g_test_add_func("/change/adding/sweep", test_sweep);
    g_test_add_func("/change/adding/same", test_same);
    g_test_add_func("/change/adding/versions", test_versions);
    g_test_add_func("/change/adding/spaced", test_spaced);
    g_test_add_func("/change/adding/roles", test_roles);
    g_test_add_func("/change/adding/removals", test_removals);
    g_test_add_func("/change/adding/order-of-writes", test_order_of_writes);
    g_test_add_func("/change/adding/gateways", test_gateways);
    g_test_add_func("/change/adding/drop-without", test_drop_without);
    g_test_add_func("/change/adding/back-without", test_back_without);
    return g_test_run();
}
