/* A change of a key rule without one of its safeguards: each time the search must find a counterexample. Most
 * safeguards are columns of the server's table of versions; a test changes its own copy. */
#include "several_writers_test.h"

#define PLAIN (CALL_BIT(PUT) | CALL_BIT(REMOVE) | CALL_BIT(GET))
#define ATOMIC (CALL_BIT(PUT) | CALL_BIT(GET) | CALL_BIT(ATOMIC))

static several_writers_model
model_of(unsigned kinds, int calls)
{
    several_writers_model model = several_writers_model_new();
    model.kinds = kinds;
    model.calls = calls;
    model.callers = 2;
    model.spread = 2;
    model.gone_can_miss = true;
    return model;
}

static several_writers_model
plain(int calls, int unknown)
{
    several_writers_model model = model_of(PLAIN, calls);
    model.unknown = unknown;
    return model;
}

/* Goes back from version 6 or earlier. */
static several_writers_model
reversed(int calls)
{
    several_writers_model model = plain(calls, 0);
    model.last = KW_NEW(BOTH);
    model.turns = 1;
    return model;
}

static void
put_at_once(place_copy *of)
{
    of->rules.old_role.put = of->rules.new_role.put = 1;
}

static void
swap_puts(place_copy *of)
{
    uint8_t old = of->rules.old_role.put;
    of->rules.old_role.put = of->rules.new_role.put;
    of->rules.new_role.put = old;
}

static void
swap_removals(place_copy *of)
{
    uint8_t old = of->rules.old_role.remove;
    of->rules.old_role.remove = of->rules.new_role.remove;
    of->rules.new_role.remove = old;
}

static void
drop_need(several_writers_model *from, kw_change_place before, unsigned need)
{
    place_copy *version = &from->places[before];
    g_assert_true((version->forward.needs | version->back.needs) & need);
    version->forward.needs &= ~need;
    version->back.needs &= ~need;
}

/* --- roles ------------------------------------------------------------------------------------ */

KW_TEST(test_get_of_both, "/change/safeguards/get-of-both")
{
    several_writers_model old = plain(3, 0), new = plain(3, 0), write_back = plain(3, 0);
    old.places[KW_OLD(GET_BOTH)].rules.new_role.get = false;
    model_is_wrong("4 reads only O", &old);
    new.places[KW_OLD(GET_BOTH)].rules.old_role.get = false;
    model_is_wrong("4 reads only N", &new);
    write_back.no_write_back = true;
    model_is_wrong("no write-back", &write_back);
}

KW_TEST(test_scan_too_early, "/change/safeguards/scan-too-early")
{
    several_writers_model model = model_of(CALL_BIT(PUT), 2);
    model.places[KW_OLD(SPACED)].rules.old_role.scan = false;
    model.places[KW_OLD(SPACED)].rules.new_role.scan = true;
    model_is_wrong("spaced-old scans N", &model);
}

/* The placement that scans read is written last, so that what a reader has seen in it is in the other one. */
KW_TEST(test_order_of_writes, "/change/safeguards/order-of-writes")
{
    several_writers_model swapped = plain(2, 0), removals = plain(2, 0), late = plain(2, 1),
                          back = reversed(2);
    swap_puts(&swapped.places[KW_OLD(GET_BOTH)]);
    model_is_wrong("puts write O first", &swapped);
    swap_removals(&removals.places[KW_OLD(GET_BOTH)]);
    model_is_wrong("removals write O first", &removals);
    late.kinds |= CALL_BIT(SCAN);
    put_at_once(&late.places[KW_OLD(LAST_PASS)]);
    model_is_wrong("a put that was given up beside the last pass is in O only", &late);
    swap_puts(&back.places[KW_NEW(GET_BOTH)]);
    model_is_wrong("on the way back, gets of both beside puts in the order of the way forward", &back);
}

KW_TEST(test_puts_at_once, "/change/safeguards/puts-at-once")
{
    several_writers_model forward = plain(2, 0), back = reversed(2), again = reversed(2);
    put_at_once(&forward.places[KW_OLD(GET_BOTH)]);
    model_is_wrong("puts write both at once in 4", &forward);
    put_at_once(&back.places[KW_NEW(GET_BOTH)]);
    model_is_wrong("puts write both at once in 4-back", &back);
    again.unknown = 1;
    again.turns = 2;
    put_at_once(&again.places[KW_NEW(LAST_PASS)]);
    model_is_wrong("a put that was given up in 5 is in N only", &again);
}

/* An operator can let cursors expire at once. Then gateways still accept them in both-new. So each write must
 * reach O until all gateways reject them: this is why closing is not opening with the sides exchanged. */
KW_TEST(test_cursors, "/change/safeguards/cursors")
{
    several_writers_model none = model_of(CALL_BIT(PUT) | CALL_BIT(SCAN), 2), mirrored = none,
                          accepted = none;
    none.places[KW_NEW(BOTH)].forward = none.places[KW_NEW(CLOSING)].forward;
    model_is_wrong("from both-new to alone-new at once", &none);
    mirrored.places[KW_NEW(CLOSING)].rules.old_role = (kw_role){0, 1, false, false};
    mirrored.places[KW_NEW(CLOSING)].rules.new_role = (kw_role){1, 2, true, true};
    model_is_wrong("closing-new does the same as opening-old", &mirrored);
    accepted.places[KW_NEW(CLOSING)].rules.both_complete = true;
    model_is_wrong("closing-new accepts cursors of O", &accepted);
}

/* --- copy and pass ---------------------------------------------------------------------------- */

KW_TEST(test_pass, "/change/safeguards/pass")
{
    several_writers_model none = plain(2, 1), late = plain(2, 1), back = reversed(2);
    drop_need(&none, KW_OLD(LAST_PASS), KW_CHANGE_NEEDS_PASS);
    model_is_wrong("no pass", &none);
    drop_need(&late, KW_OLD(LAST_PASS), KW_CHANGE_NEEDS_GRACE);
    model_is_wrong("no grace before the pass", &late);
    back.kinds = ATOMIC;
    back.unknown = 1;
    drop_need(&back, KW_NEW(LAST_PASS), KW_CHANGE_NEEDS_PASS);
    model_is_wrong("no pass on the way back", &back);
    several_writers_model one = plain(2, 1);
    one.kinds = ATOMIC | CALL_BIT(GET);
    one.passes_one_side = true;
    model_is_wrong("a pass scans the rows of one placement only", &one);
}

/* Earlier passes make the passes under 3 and 5 short. An earlier pass counts only for the writes that it has
 * seen. */
KW_TEST(test_early_passes, "/change/safeguards/early-passes")
{
    several_writers_model late = plain(2, 1), begin = plain(2, 0), back = reversed(2), none = plain(2, 0);
    begin.settles_at_begin = true;
    model_is_wrong("the next pass leaves out writes in progress when the one before began", &begin);
    drop_need(&late, KW_OLD(SPACED), KW_CHANGE_NEEDS_GRACE);
    model_is_wrong("no grace before the first pass", &late);
    back.places[KW_NEW(SPACING)].back = back.places[KW_NEW(SPACED)].back;
    model_is_wrong("on the way back, a pass beside writes of both-new", &back);
    none.no_whole_pass = none.no_copy = true;
    model_is_wrong("no pass visits all records, and no copy", &none);
}

/* A pass under 2 or 6 reads only cells that no put in progress can have the timestamp of. */
KW_TEST(test_early_passes_of_young_cells, "/change/safeguards/early-passes-of-young-cells")
{
    several_writers_model old = plain(2, 0), back = reversed(2);
    old.passes_young = back.passes_young = true;
    old.last = KW_OLD(SPACING);
    back.first = KW_NEW(LAST_PASS);
    model_is_wrong("a pass under 2 also copies young cells", &old);
    model_is_wrong("a pass under 6 also copies young cells", &back);
    several_writers_model late = plain(3, 1), late_back = reversed(3);
    drop_need(&late, KW_OLD(BOTH), KW_CHANGE_NEEDS_GRACE);
    late.no_copy = true;
    model_is_wrong("no grace before the pass under 2", &late);
    late_back.unknown = 1;
    late_back.first = KW_OLD(BOTH);
    late_back.no_copy = true;
    drop_need(&late_back, KW_NEW(BOTH), KW_CHANGE_NEEDS_GRACE);
    model_is_wrong("no grace before the pass under 6", &late_back);
}

/* A pass does not find what is written with an old timestamp, unless it leaves a trace. */
KW_TEST(test_own_timestamps, "/change/safeguards/own-timestamps")
{
    several_writers_model model = model_of(CALL_BIT(PUT_OWN) | CALL_BIT(GET), 2);
    model.unknown = model.turns = 1;
    model.last = KW_NEW(BOTH);
    model_is_right("a put with an old timestamp leaves a trace", &model);
    model.no_trace = true;
    model_is_wrong("a put with an old timestamp leaves no trace", &model);
}

/* Safeguards of the copy. A pass would repair what is lost without them, so these models have no pass. Stamps
 * are distinct, and puts write N first, so that plain writes alone do not need one. Two safeguards protect
 * against a removal that reaches O alone: the copier copies the gone cell of the removal, and removals reach
 * N before the first put does. */
KW_TEST(test_copy, "/change/safeguards/copy")
{
    several_writers_model without_pass = plain(2, 1);
    without_pass.distinct = true;
    without_pass.places[KW_OLD(BOTH)].rules.old_role.put = 2;
    without_pass.places[KW_OLD(SPACING)].rules.old_role.put = 2;
    without_pass.places[KW_OLD(SPACED)].rules.old_role.put = 2;
    drop_need(&without_pass, KW_OLD(BOTH), KW_CHANGE_NEEDS_PASS);
    drop_need(&without_pass, KW_OLD(SPACED), KW_CHANGE_NEEDS_PASS);
    drop_need(&without_pass, KW_OLD(SPACED), KW_CHANGE_NEEDS_GRACE);
    drop_need(&without_pass, KW_OLD(LAST_PASS), KW_CHANGE_NEEDS_PASS);
    model_is_right("no pass, plain writes, distinct stamps", &without_pass);

    several_writers_model late = without_pass, removals = without_pass;
    drop_need(&late, KW_OLD(BOTH), KW_CHANGE_NEEDS_GRACE);
    model_is_wrong("no grace before the copy", &late);
    removals.places[KW_OLD(OPENING)].rules.old_role.remove = 1;
    removals.places[KW_OLD(OPENING)].rules.new_role.remove = 0;
    model_is_right("removals reach N no sooner than puts", &removals);
    removals.copies_no_gone = true;
    model_is_wrong("removals reach N no sooner than puts, and are not copied", &removals);
}

/* --- equal stamps ----------------------------------------------------------------------------- */

KW_TEST(test_spaced, "/change/safeguards/spaced")
{
    static const kw_change_place forward[] = {KW_OLD(SPACED), KW_OLD(LAST_PASS), KW_OLD(GET_BOTH),
                                              KW_NEW(LAST_PASS)};
    static const kw_change_place back[] = {KW_NEW(SPACING), KW_NEW(SPACED), KW_NEW(LAST_PASS),
                                           KW_NEW(GET_BOTH)};
    for (size_t i = 0; i < G_N_ELEMENTS(forward); i++) {
        several_writers_model model = plain(3, 0);
        model.places[forward[i]].rules.regime.waits_for_next_ms = false;
        model_is_wrong(kw_change_place_name(forward[i]), &model);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(back); i++) {
        several_writers_model model = reversed(back[i] == KW_NEW(GET_BOTH) ? 3 : 2);
        model.places[back[i]].rules.regime.waits_for_next_ms = false;
        model_is_wrong(kw_change_place_name(back[i]), &model);
    }
}

KW_TEST(test_spaced_versions, "/change/safeguards/spaced-versions")
{
    several_writers_model forward = plain(3, 0), back = reversed(2), gap = plain(2, 0);
    forward.places[KW_OLD(BOTH)].forward.to = KW_OLD(LAST_PASS);
    model_is_wrong("from 2 to 3 at once", &forward);
    back.places[KW_NEW(BOTH)].back.to = KW_NEW(LAST_PASS);
    model_is_wrong("from 6 to 5 at once", &back);
    gap.no_gap = true;
    model_is_wrong("two versions in one millisecond", &gap);
}

/* --- control cells ---------------------------------------------------------------------------- */

KW_TEST(test_gone_cells, "/change/safeguards/gone-cells")
{
    several_writers_model none = plain(2, 0), low = plain(2, 0), dropped = plain(2, 0), sweep = plain(2, 1),
                          young = plain(3, 0);
    none.no_gone = low.gone_too_low = dropped.compaction_drops_control = true;
    none.purges = low.purges = 1;
    dropped.purges = 2;
    model_is_wrong("no gone cells", &none);
    model_is_wrong("gone cells with the stamp of the removal", &low);
    model_is_wrong("compactions drop gone cells", &dropped);
    sweep.first = KW_NEW(BOTH);
    sweep.sweeps = sweep.purges = 1;
    sweep.sweeps_no_marker = true;
    model_is_wrong("a sweep does not delete what gone cells hide", &sweep);
    young.first = KW_NEW(CLOSING);
    young.sweeps = young.purges = 1;
    young.sweeps_young = true;
    model_is_wrong("a sweep removes gone cells that calls with lower stamps can follow", &young);
}

/* N keeps what was copied to it. A removal that reaches O alone, and leaves no gone cell for the copy, would
 * be undone by the pass. */
KW_TEST(test_forward_again, "/change/safeguards/forward-again")
{
    several_writers_model model = plain(2, 0);
    model.turns = 2;
    model.gone_expires = model.turns_late = true;
    model_is_wrong("forward again from a version in which removals do not write N", &model);
}

/* --- gateways --------------------------------------------------------------------------------- */

KW_TEST(test_gateways, "/change/safeguards/gateways")
{
    several_writers_model drain = plain(2, 0), apart = plain(2, 0), failed = plain(2, 1), acks = plain(2, 1),
                          sends = plain(2, 1);
    drain.no_drain = true;
    model_is_wrong("no drain", &drain);
    apart.far_apart = true;
    model_is_wrong("versions more than one apart", &apart);
    failed.fails_late = true;
    model_is_wrong("FAILED after one placement has the write", &failed);
    acks.acks_after_lease = true;
    model_is_wrong("answers after the lease", &acks);
    sends.sends_after_lease = true;
    model_is_wrong("sends after the lease", &sends);
}

/* --- atomic operations ------------------------------------------------------------------------ */

KW_TEST(test_atomics, "/change/safeguards/atomics")
{
    several_writers_model writer = model_of(CALL_BIT(REMOVE) | CALL_BIT(GET) | CALL_BIT(ATOMIC), 3),
                          low = model_of(ATOMIC, 2), forward = model_of(ATOMIC, 2),
                          late = model_of(ATOMIC, 2);
    writer.no_writer = true;
    model_is_wrong("removals without kw:w", &writer);
    low.low_atomics = true;
    model_is_wrong("stamps not above what was read", &low);
    forward.places[KW_OLD(BOTH)].decides_in_other = true;
    model_is_wrong("2 decides in N", &forward);
    late.places[KW_NEW(BOTH)].decides_in_other = true;
    late.unknown = 1;
    model_is_wrong("6 decides in O", &late);
}

/* If passes do not copy kw:w, atomic operations that have read the row before the pass do not notice what it
 * copies. A copied removal can hide the kw:w that another atomic operation left in between. Then the compare
 * finds the row without kw:w, as it was read, and both operations replace the same value. A copied put that a
 * get has returned is replaced by an operation that has not seen it. */
KW_TEST(test_passes, "/change/safeguards/passes")
{
    several_writers_model removals = model_of(CALL_BIT(REMOVE) | CALL_BIT(ATOMIC), 3), back,
                          puts = model_of(ATOMIC, 3);
    removals.unwritten = removals.passes_no_writer = true;
    removals.first = puts.first = KW_OLD(BOTH);
    removals.last = puts.last = KW_OLD(LAST_PASS);
    back = removals;
    back.first = KW_NEW(LAST_PASS);
    back.last = KW_NEW(BOTH);
    back.turns = 1;
    model_is_wrong("a pass copies a removal without kw:w", &removals);
    model_is_wrong("the same on the way back", &back);
    removals.unwritten = false;
    model_is_right("the row has had kw:w before", &removals);
    puts.unknown = 1;
    puts.notices = puts.passes_no_writer = true;
    model_is_wrong("a pass copies a put of a gateway that has died without kw:w", &puts);
}

/* Atomic operations that go on as under 2. */
KW_TEST(test_holds, "/change/safeguards/holds")
{
    static const kw_change_place held[] = {KW_OLD(LAST_PASS), KW_OLD(GET_BOTH), KW_NEW(LAST_PASS)};
    for (size_t i = 0; i < G_N_ELEMENTS(held); i++) {
        several_writers_model model = model_of(ATOMIC, 2);
        model.unknown = 1;
        model.places[held[i]].rules.regime.atomics = KW_ATOMICS_CAS;
        model.places[held[i]].decides_in_other = held[i] == KW_NEW(LAST_PASS);
        model_is_wrong(kw_change_place_name(held[i]), &model);
    }
}

/* Compare-and-set decides in one place before and after 1, and before and after 7. Both are held for the sake
 * of native atomic operations under 0 and 8. */
KW_TEST(test_holds_for_native_atomics, "/change/safeguards/holds-for-native-atomics")
{
    several_writers_model model = model_of(ATOMIC, 2);
    model.unknown = 1;
    model.places[KW_OLD(OPENING)].rules.regime.atomics = KW_ATOMICS_CAS;
    model.places[KW_NEW(CLOSING)].rules.regime.atomics = KW_ATOMICS_CAS;
    model_is_right("no holds at 1 and 7", &model);
}
