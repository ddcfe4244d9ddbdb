/* A change of a key rule, explored exhaustively: right with the server's table of versions. */
#include "several_writers_test.h"

#define PUT CALL_BIT(PUT)
#define BOTH CALL_BIT(PUT_BOTH)
#define PUT_OWN CALL_BIT(PUT_OWN)
#define REMOVE CALL_BIT(REMOVE)
#define REMOVE_A CALL_BIT(REMOVE_FIELD)
#define GET CALL_BIT(GET)
#define SCAN CALL_BIT(SCAN)
#define ATOMIC CALL_BIT(ATOMIC)

/* With KW_EXPLORE one call more. */
static several_writers_model
model_of(unsigned kinds, int calls)
{
    several_writers_model model = several_writers_model_new();
    model.kinds = kinds;
    model.calls = (int)explore_bound((uint64_t)calls, (uint64_t)calls + 1);
    model.callers = 2;
    model.spread = 2;
    return model;
}

KW_TEST(test_forward, "/change/several-writers/forward")
{
    several_writers_model model = model_of(PUT | REMOVE | GET, 4);
    model_is_right("forward", &model);
    model = model_of(PUT | REMOVE | GET | SCAN, 3);
    model.unknown = 1;
    model_is_right("forward, with scans, one call given up", &model);
    model.unknown = 0;
    model.callers = model.spread = 3;
    model_is_right("forward, three calls at the same time", &model);
}

KW_TEST(test_late_calls, "/change/several-writers/late-calls")
{
    several_writers_model model = model_of(PUT | REMOVE | GET, 2);
    model.unknown = 2;
    model.purges = 1;
    model_is_right("two calls given up, one compaction", &model);
}

KW_TEST(test_parts, "/change/several-writers/parts-of-a-record")
{
    several_writers_model model = model_of(PUT | BOTH | REMOVE | REMOVE_A | GET, 2);
    model.unknown = 1;
    model.purges = 2;
    model_is_right("parts of a record, one call given up, two compactions", &model);
}

KW_TEST(test_back, "/change/several-writers/back")
{
    several_writers_model model = model_of(PUT | REMOVE | GET | SCAN, 3);
    model.turns = 1;
    model.last = KW_NEW(CLOSING);
    model_is_right("reversed at any version", &model);
    model = model_of(PUT | REMOVE | GET | ATOMIC, 2);
    model.unknown = 1;
    model.turns = 2;
    model_is_right("reversed, then forward again, one call given up", &model);
    model = model_of(PUT | REMOVE | GET, 2);
    model.turns = 2;
    model.gone_expires = model.gone_can_miss = true;
    model_is_right("reversed, then forward again, gone cells of version 0 expire", &model);
}

/* Passes are repeated before the operator gives the command, and after it until the last one was short. */
KW_TEST(test_rounds, "/change/several-writers/rounds")
{
    several_writers_model model = model_of(PUT | REMOVE | GET, 2),
                          back = model_of(PUT | REMOVE | GET | SCAN, 2);
    model.rounds = back.rounds = model.unknown = back.unknown = back.turns = 1;
    model.first = KW_OLD(BOTH);
    back.first = KW_NEW(LAST_PASS); /* where the way back ends */
    back.last = KW_NEW(CLOSING);
    model_is_right("a pass more, one call given up", &model);
    model_is_right("a pass more, reversed", &back);
}

KW_TEST(test_own_timestamps, "/change/several-writers/own-timestamps")
{
    several_writers_model model = model_of(PUT | PUT_OWN | REMOVE | GET, 2);
    model.unknown = model.turns = 1;
    model.first = KW_OLD(BOTH);
    model.last = KW_NEW(CLOSING);
    model_is_right("a put with an old timestamp, one call given up, reversed", &model);
}

/* Writes of one millisecond that run at the same time can end in another order in each placement. */
KW_TEST(test_ties, "/change/several-writers/ties")
{
    several_writers_model model = model_of(PUT | REMOVE | GET, 3);
    model.ties = true;
    model.unknown = 1;
    model_is_right("equal stamps", &model);
}

/* If the first attempt is applied after a later write of the same millisecond, a put replaces its value. */
KW_TEST(test_sent_again, "/change/several-writers/sent-again")
{
    several_writers_model removals = model_of(REMOVE | GET, 3), puts = model_of(PUT | GET, 3);
    removals.resends = puts.resends = true;
    removals.unknown = puts.unknown = 1;
    model_is_right("removals are sent again", &removals);
    model_is_wrong("puts are sent again", &puts);
    puts.distinct = true;
    model_is_right("puts are sent again, distinct stamps", &puts);
}

KW_TEST(test_atomics, "/change/several-writers/atomics")
{
    several_writers_model model = model_of(PUT | REMOVE | GET | ATOMIC, 3);
    model_is_right("atomic operations", &model);
    model = model_of(GET | ATOMIC, 3);
    model.unknown = 1;
    model_is_right("atomic operations alone, one given up", &model);
}

/* Passes beside atomic operations: under 2 and 2-spaced, and on the way back under 6 and 6-pass. A pass can
 * bring the write of a gateway that has died between the placements, or is slow, to the placement that atomic
 * operations compare. */
KW_TEST(test_atomics_beside_passes, "/change/several-writers/atomics-beside-passes")
{
    several_writers_model removals = model_of(REMOVE | ATOMIC, 3), puts = model_of(PUT | GET | ATOMIC, 3),
                          back;
    removals.unwritten = puts.notices = true;
    removals.unknown = puts.unknown = 1;
    removals.first = puts.first = KW_OLD(BOTH);
    removals.last = puts.last = KW_OLD(LAST_PASS);
    model_is_right("removals, a pass, one call given up, no kw:w before", &removals);
    model_is_right("puts, a pass, one call given up", &puts);
    back = removals;
    back.first = KW_NEW(LAST_PASS);
    back.last = KW_NEW(BOTH);
    back.turns = 1;
    back.unknown = (int)explore_bound(0, 1);
    model_is_right("removals, reversed", &back);
    back = puts;
    back.first = KW_NEW(LAST_PASS);
    back.last = KW_NEW(BOTH);
    back.turns = 1;
    back.kinds = PUT | GET | ATOMIC;
    model_is_right("puts, reversed, one call given up", &back);
}

KW_TEST(test_sweep, "/change/several-writers/sweep")
{
    several_writers_model model = model_of(PUT | REMOVE | GET, 3);
    model.first = KW_NEW(BOTH);
    model.unknown = model.purges = model.sweeps = model.rounds = 1;
    model_is_right("a sweep of control cells", &model);
}

/* The pass visits every record, so a copy only makes it short. After a reverse, none is needed. */
KW_TEST(test_no_copy, "/change/several-writers/no-copy")
{
    several_writers_model model = model_of(PUT | REMOVE | GET | SCAN, 2);
    model.unknown = model.purges = model.turns = 1;
    model.no_copy = true;
    model.last = KW_NEW(CLOSING);
    model_is_right("no copy before the pass, the direction changes", &model);
}
