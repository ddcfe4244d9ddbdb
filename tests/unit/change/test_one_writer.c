/* A change of a key rule in a store with one writer, and a path that is added, explored exhaustively: right
 * with the server's table of versions, wrong without any one of the safeguards. */
#include "one_writer_model.h"

#include <glib.h>

#define STATES_MAX 400000000
#define PUT ONE_WRITER_BIT(PUT)
#define BOTH ONE_WRITER_BIT(PUT_BOTH)
#define OTHER ONE_WRITER_BIT(PUT_OTHER)
#define REMOVE ONE_WRITER_BIT(REMOVE)
#define REMOVE_A ONE_WRITER_BIT(REMOVE_FIELD)
#define GET ONE_WRITER_BIT(GET)
#define SCAN (ONE_WRITER_BIT(SCAN) | ONE_WRITER_BIT(CURSOR))
#define ATOMIC ONE_WRITER_BIT(ATOMIC)

static void
set_size(one_writer_model *model, unsigned kinds, int calls)
{
    model->kinds = kinds;
    model->calls = calls;
    model->callers = 2;
    model->ticks = 1;
}

static one_writer_model
model_of(unsigned kinds, int calls)
{
    one_writer_model model = one_writer_model_new();
    set_size(&model, kinds, calls);
    return model;
}

static explored
search(const char *what, const one_writer_model *model)
{
    explored found = one_writer_model_explore(model, STATES_MAX);
    g_test_message("%s: %" G_GUINT64_FORMAT " states: %s", what, found.states,
                   found.wrong ? found.wrong : "right");
    return found;
}

/* With KW_EXPLORE one call more. */
static void
is_right(const char *what, one_writer_model model)
{
    model.calls = (int)explore_bound((uint64_t)model.calls, (uint64_t)model.calls + 1);
    explored found = search(what, &model);
    g_assert_null(found.wrong);
    g_assert_true(found.complete);
}

static void
is_wrong(const char *what, one_writer_model model)
{
    explored found = search(what, &model);
    g_assert_nonnull(found.wrong);
    g_free(found.wrong);
}

static void
drop_need(one_writer_model *from, kw_change_place before, unsigned need)
{
    g_assert_true(from->places[before].forward.needs & need);
    from->places[before].forward.needs &= ~need;
}

/* --- all safeguards --------------------------------------------------------------------------- */

KW_TEST(test_forward, "/change/one-writer/forward")
{
    one_writer_model model = model_of(PUT | REMOVE | GET, 4), three = model_of(PUT | OTHER | GET, 3);
    model.copies = 1;
    is_right("forward", model);
    three.callers = 3;
    is_right("forward, three calls at the same time", three);
}

KW_TEST(test_parts, "/change/one-writer/parts-of-a-record")
{
    one_writer_model model = model_of(PUT | BOTH | OTHER | REMOVE | REMOVE_A | GET, 3);
    model.purges = 1;
    is_right("parts of a record, one compaction", model);
}

KW_TEST(test_cursors, "/change/one-writer/cursors")
{
    one_writer_model model = model_of(PUT | REMOVE | SCAN, 4), back = model_of(PUT | SCAN, 4);
    is_right("cursors", model);
    back.turns = 1;
    is_right("cursors, reversed at any version", back);
}

KW_TEST(test_back, "/change/one-writer/back")
{
    one_writer_model model = model_of(PUT | REMOVE | GET, 3);
    model.copies = 1;
    model.turns = 1;
    is_right("reversed or cancelled at any version", model);
    model = model_of(PUT | REMOVE | GET, 2);
    model.turns = 3;
    model.purges = 1;
    is_right("reversed, forward again, reversed", model);
}

KW_TEST(test_kill, "/change/one-writer/kill")
{
    one_writer_model model = model_of(PUT | REMOVE | GET | ATOMIC, 3);
    model.kills = 1;
    model.turns = 1;
    is_right("the gateway is killed", model);
}

KW_TEST(test_atomics, "/change/one-writer/atomics")
{
    one_writer_model model = model_of(PUT | REMOVE | GET | ATOMIC, 3);
    model.turns = 1;
    model.callers = 3;
    is_right("atomic operations", model);
    model = model_of(PUT | REMOVE_A | ATOMIC, 3);
    model.copies = 1;
    model.purges = 1;
    is_right("atomic operations, removals of a field, copies, one compaction", model);
    model = model_of(BOTH | OTHER | REMOVE | GET | ATOMIC, 3);
    model.turns = 1;
    is_right("atomic operations on a part of a record", model);
    model = model_of(REMOVE | ATOMIC, 4);
    model.turns = 1;
    is_right("atomic operations and removals", model);
    model = model_of(ATOMIC | SCAN, 4);
    model.turns = 1;
    is_right("atomic operations and scans", model);
}

/* --- without one of them ---------------------------------------------------------------------- */

KW_TEST(test_copy_before_drained, "/change/one-writer/copy-before-drained")
{
    one_writer_model model = model_of(PUT | GET, 2);
    model.copies_early = true;
    is_wrong("the copier runs beside calls of the version before", model);
}

/* A copy in two steps is wrong in two cases: if timestamps can be equal, and if a compaction drops delete
 * markers between the steps. The second case has no comparison, which would repair the row in N. */
KW_TEST(test_torn_copy, "/change/one-writer/torn-copy")
{
    one_writer_model puts = model_of(PUT, 2), removals = model_of(REMOVE, 1), fields = model_of(REMOVE_A, 1);
    puts.copies_torn = removals.copies_torn = fields.copies_torn = true;
    is_wrong("a copy in two steps, equal timestamps", puts);
    removals.no_comparison = fields.no_comparison = true;
    is_right("a copy in two steps, a removal, no compaction", removals);
    removals.purges = fields.purges = 1;
    is_wrong("a copy in two steps, a removal of the record, one compaction", removals);
    is_wrong("a copy in two steps, a removal of a field, one compaction", fields);
    removals.copies_torn = fields.copies_torn = false;
    is_right("a removal of the record, one compaction, no comparison", removals);
    is_right("a removal of a field, one compaction, no comparison", fields);
}

/* A put after a removal of the same millisecond gets a timestamp that the clock has not reached. */
KW_TEST(test_copy_without_floor, "/change/one-writer/copy-without-floor")
{
    one_writer_model model = model_of(PUT | REMOVE, 3);
    model.copies_no_floor = true;
    is_wrong("the copied row does not have the least timestamp of the next write", model);
}

/* A removal under the version before can follow a put of both, and have an equal timestamp. */
KW_TEST(test_comparison, "/change/one-writer/comparison")
{
    one_writer_model none = model_of(PUT | REMOVE, 2), blind = model_of(PUT | REMOVE, 3);
    none.no_comparison = blind.repairs_blind = true;
    is_wrong("no comparison", none);
    is_wrong("the comparison removes newer cells", blind);
}

KW_TEST(test_torn_write, "/change/one-writer/torn-write")
{
    one_writer_model puts = model_of(PUT | GET, 3), killed = model_of(PUT | GET, 2),
                     removals = model_of(REMOVE | GET, 2);
    puts.writes_torn = killed.writes_torn = removals.writes_torn = true;
    is_wrong("a put in two steps", puts);
    killed.callers = 1;
    killed.kills = 1;
    is_wrong("a put in two steps, the gateway is killed", killed);
    is_wrong("a removal in two steps", removals);
}

KW_TEST(test_switch_before_copied, "/change/one-writer/switch-before-copied")
{
    one_writer_model model = model_of(GET, 1);
    drop_need(&model, KW_OLD(BOTH), KW_CHANGE_NEEDS_COPY);
    is_wrong("the switch does not wait for the copy", model);
}

KW_TEST(test_no_drain, "/change/one-writer/no-drain")
{
    one_writer_model begin = model_of(PUT | GET, 2), complete = model_of(PUT | GET, 2);
    begin.no_drain = complete.no_drain = true;
    is_wrong("no drain", begin);
    complete.kinds = GET;
    complete.calls = 1;
    is_wrong("no drain before retired rows are dropped", complete);
}

/* An operator can let cursors expire at once: BOTH_LAST rejects them. */
KW_TEST(test_stale_cursors, "/change/one-writer/stale-cursors")
{
    one_writer_model complete = model_of(PUT | SCAN, 3), cancel = model_of(PUT | SCAN, 3);
    drop_need(&complete, KW_NEW(BOTH), KW_CHANGE_NEEDS_CURSOR_EXPIRY);
    is_right("both-last does not wait for cursors of O", complete);
    one_writer_model accepted = complete;
    accepted.places[KW_NEW(CLOSING)].rules.both_complete = true;
    is_wrong("both-last accepts cursors of O", accepted);
    complete.places[KW_NEW(BOTH)].forward.to = KW_NEW(UNSTAMPED);
    is_wrong("no both-last", complete);
    cancel.turns = 1;
    cancel.stale_cursors = true;
    is_wrong("both-old accepts cursors of N", cancel);
}

/* The comparison removes what the copy leaves. */
KW_TEST(test_reused_rows, "/change/one-writer/reused-rows")
{
    one_writer_model model = model_of(REMOVE | GET, 2);
    model.turns = 2;
    model.reuses_rows = true;
    is_right("a second change uses the rows of the first", model);
    model.no_comparison = true;
    is_wrong("a second change uses the rows of the first, no comparison", model);
    model.reuses_rows = false;
    is_right("a second change begins without rows, no comparison", model);
}

KW_TEST(test_atomics_in_one_row, "/change/one-writer/atomics-in-one-row")
{
    static const kw_change_place both[] = {KW_OLD(BOTH), KW_NEW(BOTH), KW_NEW(CLOSING)};
    for (size_t i = 0; i < G_N_ELEMENTS(both); i++) {
        one_writer_model model = model_of(GET | ATOMIC, 2);
        model.one_row_in = 1u << both[i];
        model.turns = 1;
        is_wrong(kw_change_place_name(both[i]), model);
    }
}

KW_TEST(test_torn_atomics, "/change/one-writer/torn-atomics")
{
    one_writer_model write = model_of(GET | ATOMIC, 3), copy = model_of(ATOMIC, 2);
    write.writes_torn = true;
    is_wrong("an atomic operation in two steps", write);
    copy.copies_torn = true;
    is_wrong("a copy in two steps, atomic operations", copy);
    copy.copies_torn = false;
    copy.copies_early = true;
    is_wrong("the copier runs beside atomic operations of the version before", copy);
}

/* The other placement is not yet copied. */
KW_TEST(test_atomics_read_authority, "/change/one-writer/atomics-read-authority")
{
    one_writer_model model = model_of(GET | ATOMIC, 2);
    model.compares_new = true;
    is_wrong("both-old compares in N", model);
}

KW_TEST(test_roles, "/change/one-writer/roles")
{
    one_writer_model put = model_of(PUT | GET, 2), remove = model_of(REMOVE | GET, 2),
                     back = model_of(PUT | GET, 2);
    put.places[KW_OLD(BOTH)].rules.new_role.put = 0;
    is_wrong("both-old puts only in O", put);
    remove.places[KW_OLD(BOTH)].rules.new_role.remove = 0;
    is_wrong("both-old removes only from O", remove);
    back.turns = 1;
    back.places[KW_NEW(BOTH)].rules.old_role.put = 0;
    is_wrong("both-new puts only in N", back);
}

/* --- a path is added ---------------------------------------------------------------------------- */

static one_writer_model
adding(unsigned kinds, int calls)
{
    one_writer_model model = one_writer_model_adding();
    set_size(&model, kinds, calls);
    return model;
}

KW_TEST(test_add, "/change/one-writer/add")
{
    one_writer_model model = adding(PUT | REMOVE | SCAN, 4),
                     parts = adding(PUT | BOTH | OTHER | REMOVE_A | SCAN, 3);
    model.copies = 1;
    is_right("a path is added", model);
    parts.purges = 1;
    is_right("a path is added, parts of a record, one compaction", parts);
    parts = adding(PUT | OTHER | GET | SCAN, 3);
    parts.callers = 3;
    is_right("a path is added, three calls at the same time", parts);
}

KW_TEST(test_add_back, "/change/one-writer/add-back")
{
    one_writer_model model = adding(PUT | REMOVE | SCAN, 3);
    model.turns = 3;
    is_right("a path is added, cancelled or dropped, and added again", model);
    model = adding(PUT | REMOVE | SCAN | ATOMIC, 3);
    model.turns = 1;
    model.kills = 1;
    is_right("a path is added or dropped, the gateway is killed", model);
}

KW_TEST(test_add_without, "/change/one-writer/add-without")
{
    one_writer_model model = adding(PUT | SCAN, 3);
    model.copies_early = true;
    is_wrong("the copier of an added path runs beside calls that do not write it", model);
    model = adding(PUT | REMOVE | SCAN, 3);
    model.no_comparison = true;
    is_wrong("an added path is not compared", model);
    model = adding(SCAN, 1);
    drop_need(&model, KW_OLD(BOTH), KW_CHANGE_NEEDS_COPY);
    is_wrong("an added path is read before it is copied", model);
    model = adding(SCAN, 1);
    model.places[KW_OLD(BOTH)].rules.new_role.scan = true;
    is_wrong("scans read a path that is being filled", model);
    model = adding(PUT | SCAN, 2);
    model.places[KW_OLD(BOTH)].rules.new_role.put = 0;
    is_wrong("puts do not write a path that is being filled", model);
    model = adding(REMOVE | SCAN, 2);
    model.places[KW_OLD(BOTH)].rules.new_role.remove = 0;
    is_wrong("removals do not reach a path that is being filled", model);
    model = adding(PUT, 2);
    model.copies_torn = true;
    is_wrong("rows of an added path are copied in two steps", model);
    model = adding(PUT | SCAN, 2);
    model.writes_torn = true;
    is_wrong("a put writes an added path in a second step", model);
    model = adding(PUT | SCAN, 2);
    model.no_drain = true;
    is_wrong("no drain before an added path is copied", model);
    model = adding(ATOMIC | SCAN, 2);
    model.one_row_in = UINT64_C(1) << KW_OLD(BOTH);
    is_wrong("atomic operations do not write a path that is being filled", model);
}

KW_TEST(test_drop_without, "/change/one-writer/drop-without")
{
    one_writer_model model = adding(PUT | SCAN, 3);
    model.turns = 1;
    is_right("a path is dropped while no call runs", model);
    model.drops_beside = true;
    is_wrong("a path is dropped beside scans of it", model);
    model.drops_beside = false;
    model.turns = 2;
    model.stale_cursors = true;
    is_wrong("cursors of a dropped path are accepted while it is filled again", model);
}
