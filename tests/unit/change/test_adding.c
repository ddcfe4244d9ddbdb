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

KW_TEST(test_forward, "/change/adding/forward")
{
    several_writers_model three = adding(PUT | REMOVE | SCAN, 3, 0);
    is_right("added", adding(PUT | REMOVE | GET | SCAN, 3, 1));
    three.callers = three.spread = 3;
    is_right("added, three calls at the same time", three);
}

KW_TEST(test_late_calls, "/change/adding/late-calls")
{
    several_writers_model model = adding(PUT | REMOVE | GET | SCAN, 2, 2);
    model.purges = 1;
    is_right("two calls given up, one compaction", model);
}

KW_TEST(test_parts, "/change/adding/parts-of-a-record")
{
    several_writers_model model = adding(PUT | BOTH | REMOVE | REMOVE_A | SCAN, 2, 1);
    model.purges = 2;
    is_right("parts of a record, one call given up, two compactions", model);
}

KW_TEST(test_ties, "/change/adding/ties")
{
    several_writers_model model = adding(PUT | REMOVE | SCAN, 3, 1);
    model.ties = true;
    is_right("equal stamps", model);
}

/* A cancellation can be taken back until calls no longer write the path. */
KW_TEST(test_back, "/change/adding/back")
{
    several_writers_model model = adding(PUT | REMOVE | SCAN, 2, 1);
    model.turns = 3;
    is_right("cancelled or dropped at any version, and forward again", model);
    model = adding(PUT | REMOVE | SCAN, 3, 0);
    model.turns = 2;
    model.gone_expires = model.gone_can_miss = true;
    is_right("the same, gone cells expire in version 0", model);
}

KW_TEST(test_drop, "/change/adding/drop")
{
    several_writers_model model = dropping(PUT | REMOVE | GET | SCAN, 3, 1);
    is_right("dropped", model);
    model = dropping(PUT | BOTH | REMOVE_A | SCAN, 2, 1);
    model.purges = 2;
    is_right("dropped, parts of a record, one call given up, two compactions", model);
}

/* As in versions 0 to 2 of a change of a key rule: in the primary path, then in the added one. */
KW_TEST(test_atomics, "/change/adding/atomics")
{
    is_right("added, atomic operations", adding(PUT | REMOVE | SCAN | ATOMIC, 3, 0));
    is_right("added, atomic operations, one call given up", adding(PUT | GET | SCAN | ATOMIC, 2, 1));
    is_right("dropped, atomic operations, one call given up", dropping(PUT | GET | SCAN | ATOMIC, 2, 1));
}

KW_TEST(test_sweep, "/change/adding/sweep")
{
    several_writers_model model = adding(PUT | REMOVE | SCAN, 2, 0);
    model.purges = model.sweeps = 1;
    is_right("a sweep of control cells of either path", model);
    model.sweeps_no_marker = true;
    is_wrong("a sweep does not delete what gone cells hide", model);
}

/* Calls that were given up before puts reached the path. */
KW_TEST(test_same, "/change/adding/same")
{
    several_writers_model model = adding(PUT | REMOVE | SCAN, 3, 1);
    model.alone = true;
    is_right("both paths show the same", model);
    model.calls = 1;
    drop_need(&model, KW_OLD(SPACED), KW_CHANGE_NEEDS_GRACE);
    is_wrong("no grace before the copy", model);
}

/* --- without one of them ---------------------------------------------------------------------- */

KW_TEST(test_versions, "/change/adding/versions")
{
    several_writers_model copied = adding(SCAN, 1, 0), at_once = adding(PUT | SCAN, 2, 0);
    drop_need(&copied, KW_OLD(SPACED), KW_CHANGE_NEEDS_COPY);
    is_wrong("the path is read before it is copied", copied);
    at_once.places[KW_OLD(ALONE)].forward.to = KW_OLD(SPACED);
    is_wrong("from 0 to filling-2 at once", at_once);
}

/* A copy could otherwise hide a later write of the same millisecond. */
KW_TEST(test_spaced, "/change/adding/spaced")
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

KW_TEST(test_roles, "/change/adding/roles")
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
KW_TEST(test_removals, "/change/adding/removals")
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
KW_TEST(test_order_of_writes, "/change/adding/order-of-writes")
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

KW_TEST(test_gateways, "/change/adding/gateways")
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

KW_TEST(test_drop_without, "/change/adding/drop-without")
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
KW_TEST(test_back_without, "/change/adding/back-without")
{
    several_writers_model model = adding(PUT | REMOVE | SCAN, 3, 0);
    model.turns = 2;
    model.gone_expires = model.gone_can_miss = model.turns_late = true;
    is_wrong("a cancellation is taken back in version 0", model);
}
