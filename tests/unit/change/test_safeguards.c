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
    model.last = KW_CHANGE_VERSION_6;
    model.turns = 1;
    return model;
}

static void
put_at_once(kw_change_version *of)
{
    of->old_role.put = of->new_role.put = 1;
}

static void
swap_puts(kw_change_version *of)
{
    uint8_t old = of->old_role.put;
    of->old_role.put = of->new_role.put;
    of->new_role.put = old;
}

static void
swap_removals(kw_change_version *of)
{
    uint8_t old = of->old_role.remove;
    of->old_role.remove = of->new_role.remove;
    of->new_role.remove = old;
}

static void
drop_need(several_writers_model *from, kw_change_version_id before, unsigned need)
{
    kw_change_version *version = &from->versions[before];
    g_assert_true((version->forward.needs | version->back.needs) & need);
    version->forward.needs &= ~need;
    version->back.needs &= ~need;
}

/* --- roles ------------------------------------------------------------------------------------ */

static void
test_get_of_both(void)
{
    several_writers_model old = plain(3, 0), new = plain(3, 0), write_back = plain(3, 0);
    old.versions[KW_CHANGE_VERSION_4].new_role.get = false;
    model_is_wrong("4 reads only O", &old);
    new.versions[KW_CHANGE_VERSION_4].old_role.get = false;
    model_is_wrong("4 reads only N", &new);
    write_back.no_write_back = true;
    model_is_wrong("no write-back", &write_back);
}

static void
test_scan_too_early(void)
{
    several_writers_model model = model_of(CALL_BIT(PUT), 2);
    model.versions[KW_CHANGE_VERSION_3].old_role.scan = false;
    model.versions[KW_CHANGE_VERSION_3].new_role.scan = true;
    model_is_wrong("3 scans N", &model);
}

/* The placement that scans read is written last, so that what a reader has seen in it is in the other one. */
static void
test_order_of_writes(void)
{
    several_writers_model swapped = plain(2, 0), removals = plain(2, 0), late = plain(2, 1),
                          back = reversed(2);
    swap_puts(&swapped.versions[KW_CHANGE_VERSION_4]);
    model_is_wrong("puts write O first", &swapped);
    swap_removals(&removals.versions[KW_CHANGE_VERSION_4]);
    model_is_wrong("removals write O first", &removals);
    late.kinds |= CALL_BIT(SCAN);
    put_at_once(&late.versions[KW_CHANGE_VERSION_3]);
    model_is_wrong("a put that was given up beside the last pass is in O only", &late);
    swap_puts(&back.versions[KW_CHANGE_VERSION_4_BACK]);
    model_is_wrong("on the way back, gets of both beside puts in the order of the way forward", &back);
}

static void
test_puts_at_once(void)
{
    several_writers_model forward = plain(2, 0), back = reversed(2), again = reversed(2);
    put_at_once(&forward.versions[KW_CHANGE_VERSION_4]);
    model_is_wrong("puts write both at once in 4", &forward);
    put_at_once(&back.versions[KW_CHANGE_VERSION_4_BACK]);
    model_is_wrong("puts write both at once in 4-back", &back);
    again.unknown = 1;
    again.turns = 2;
    put_at_once(&again.versions[KW_CHANGE_VERSION_5]);
    model_is_wrong("a put that was given up in 5 is in N only", &again);
}

/* --- copy and pass ---------------------------------------------------------------------------- */

static void
test_pass(void)
{
    several_writers_model none = plain(2, 0), late = plain(2, 1), back = reversed(2);
    drop_need(&none, KW_CHANGE_VERSION_3, KW_CHANGE_NEEDS_PASS);
    model_is_wrong("no pass", &none);
    drop_need(&late, KW_CHANGE_VERSION_3, KW_CHANGE_NEEDS_GRACE);
    model_is_wrong("no grace before the pass", &late);
    back.kinds = ATOMIC;
    back.unknown = 1;
    drop_need(&back, KW_CHANGE_VERSION_5, KW_CHANGE_NEEDS_PASS);
    model_is_wrong("no pass on the way back", &back);
    several_writers_model one = plain(2, 1);
    one.kinds = ATOMIC | CALL_BIT(GET);
    one.passes_one_side = true;
    model_is_wrong("a pass scans the rows of one placement only", &one);
}

/* Earlier passes make the passes under 3 and 5 short. An earlier pass counts only for the writes that it has
 * seen. */
static void
test_early_passes(void)
{
    several_writers_model late = plain(2, 1), begin = plain(2, 0), back = reversed(2), none = plain(2, 0);
    begin.settles_at_begin = true;
    model_is_wrong("the next pass leaves out writes in progress when the one before began", &begin);
    drop_need(&late, KW_CHANGE_VERSION_2_SPACED, KW_CHANGE_NEEDS_GRACE);
    model_is_wrong("no grace before the first pass", &late);
    back.versions[KW_CHANGE_VERSION_6_SPACED].back = back.versions[KW_CHANGE_VERSION_6_PASS].back;
    model_is_wrong("on the way back, a pass directly after 6", &back);
    none.no_whole_pass = none.no_copy = true;
    model_is_wrong("no pass visits all records, and no copy", &none);
}

/* A pass under 2 or 6 reads only cells that no put in progress can have the timestamp of. */
static void
test_early_passes_of_young_cells(void)
{
    several_writers_model old = plain(2, 0), back = reversed(2);
    old.passes_young = back.passes_young = true;
    old.last = KW_CHANGE_VERSION_2_SPACED;
    back.first = KW_CHANGE_VERSION_5;
    model_is_wrong("a pass under 2 also copies young cells", &old);
    model_is_wrong("a pass under 6 also copies young cells", &back);
    several_writers_model late = plain(3, 1), late_back = reversed(3);
    drop_need(&late, KW_CHANGE_VERSION_2, KW_CHANGE_NEEDS_GRACE);
    late.no_copy = true;
    model_is_wrong("no grace before the pass under 2", &late);
    late_back.unknown = 1;
    late_back.first = KW_CHANGE_VERSION_2;
    late_back.no_copy = true;
    drop_need(&late_back, KW_CHANGE_VERSION_6, KW_CHANGE_NEEDS_GRACE);
    model_is_wrong("no grace before the pass under 6", &late_back);
}

/* A pass does not find what is written with an old timestamp, unless it leaves a trace. */
static void
test_own_timestamps(void)
{
    several_writers_model model = model_of(CALL_BIT(PUT_OWN) | CALL_BIT(GET), 2);
    model.unknown = model.turns = 1;
    model.last = KW_CHANGE_VERSION_6;
    model_is_right("a put with an old timestamp leaves a trace", &model);
    model.no_trace = true;
    model_is_wrong("a put with an old timestamp leaves no trace", &model);
}

/* Safeguards of the copy. A pass would repair what is lost without them, so these models have no pass. Stamps
 * are distinct, and puts write N first, so that plain writes alone do not need one. Two safeguards protect
 * against a removal that reaches O alone: the copier copies the gone cell of the removal, and removals reach
 * N before the first put does. */
static void
test_copy(void)
{
    several_writers_model without_pass = plain(2, 1);
    without_pass.distinct = true;
    without_pass.versions[KW_CHANGE_VERSION_2].old_role.put = 2;
    without_pass.versions[KW_CHANGE_VERSION_2_SPACED].old_role.put = 2;
    drop_need(&without_pass, KW_CHANGE_VERSION_2, KW_CHANGE_NEEDS_PASS);
    drop_need(&without_pass, KW_CHANGE_VERSION_2_SPACED, KW_CHANGE_NEEDS_PASS);
    drop_need(&without_pass, KW_CHANGE_VERSION_2_SPACED, KW_CHANGE_NEEDS_GRACE);
    drop_need(&without_pass, KW_CHANGE_VERSION_3, KW_CHANGE_NEEDS_PASS);
    model_is_right("no pass, plain writes, distinct stamps", &without_pass);

    several_writers_model late = without_pass, removals = without_pass;
    drop_need(&late, KW_CHANGE_VERSION_2, KW_CHANGE_NEEDS_GRACE);
    model_is_wrong("no grace before the copy", &late);
    removals.versions[KW_CHANGE_VERSION_1].old_role.remove = 1;
    removals.versions[KW_CHANGE_VERSION_1].new_role.remove = 0;
    model_is_right("removals reach N no sooner than puts", &removals);
    removals.copies_no_gone = true;
    model_is_wrong("removals reach N no sooner than puts, and are not copied", &removals);
}

/* --- equal stamps ----------------------------------------------------------------------------- */

static void
test_spaced(void)
{
    static const kw_change_version_id forward[] = {KW_CHANGE_VERSION_2_SPACED, KW_CHANGE_VERSION_3,
                                                   KW_CHANGE_VERSION_4, KW_CHANGE_VERSION_5};
    static const kw_change_version_id back[] = {KW_CHANGE_VERSION_6_SPACED, KW_CHANGE_VERSION_6_PASS,
                                                KW_CHANGE_VERSION_5, KW_CHANGE_VERSION_4_BACK};
    for (size_t i = 0; i < G_N_ELEMENTS(forward); i++) {
        several_writers_model model = plain(3, 0);
        model.versions[forward[i]].waits_for_next_ms = false;
        model_is_wrong(model.versions[forward[i]].name, &model);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(back); i++) {
        several_writers_model model = reversed(back[i] == KW_CHANGE_VERSION_4_BACK ? 3 : 2);
        model.versions[back[i]].waits_for_next_ms = false;
        model_is_wrong(model.versions[back[i]].name, &model);
    }
}

static void
test_spaced_versions(void)
{
    several_writers_model forward = plain(3, 0), back = reversed(2), gap = plain(2, 0);
    forward.versions[KW_CHANGE_VERSION_2].forward.to = KW_CHANGE_VERSION_3;
    model_is_wrong("from 2 to 3 at once", &forward);
    back.versions[KW_CHANGE_VERSION_6].back.to = KW_CHANGE_VERSION_5;
    model_is_wrong("from 6 to 5 at once", &back);
    gap.no_gap = true;
    model_is_wrong("two versions in one millisecond", &gap);
}

/* --- control cells ---------------------------------------------------------------------------- */

static void
test_gone_cells(void)
{
    several_writers_model none = plain(2, 0), low = plain(2, 0), dropped = plain(2, 0), sweep = plain(2, 1),
                          young = plain(3, 0);
    none.no_gone = low.gone_too_low = dropped.compaction_drops_control = true;
    none.purges = low.purges = 1;
    dropped.purges = 2;
    model_is_wrong("no gone cells", &none);
    model_is_wrong("gone cells with the stamp of the removal", &low);
    model_is_wrong("compactions drop gone cells", &dropped);
    sweep.first = KW_CHANGE_VERSION_6;
    sweep.sweeps = sweep.purges = 1;
    sweep.sweeps_no_marker = true;
    model_is_wrong("a sweep does not delete what gone cells hide", &sweep);
    young.first = KW_CHANGE_VERSION_7;
    young.sweeps = young.purges = 1;
    young.sweeps_young = true;
    model_is_wrong("a sweep removes gone cells that calls with lower stamps can follow", &young);
}

/* N keeps what was copied to it. A removal that reaches O alone, and leaves no gone cell for the copy, would
 * be undone by the pass. */
static void
test_forward_again(void)
{
    several_writers_model model = plain(2, 0);
    model.turns = 2;
    model.gone_expires = model.turns_late = true;
    model_is_wrong("forward again from a version in which removals do not write N", &model);
}

/* --- gateways --------------------------------------------------------------------------------- */

static void
test_gateways(void)
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

static void
test_atomics(void)
{
    several_writers_model writer = model_of(CALL_BIT(REMOVE) | CALL_BIT(GET) | CALL_BIT(ATOMIC), 3),
                          low = model_of(ATOMIC, 2), forward = model_of(ATOMIC, 2),
                          late = model_of(ATOMIC, 2);
    writer.no_writer = true;
    model_is_wrong("removals without kw:w", &writer);
    low.low_atomics = true;
    model_is_wrong("stamps not above what was read", &low);
    forward.versions[KW_CHANGE_VERSION_2].atomics = KW_CHANGE_ATOMICS_CAS_NEW_OLD;
    model_is_wrong("2 decides in N", &forward);
    late.versions[KW_CHANGE_VERSION_6].atomics = KW_CHANGE_ATOMICS_CAS_OLD_NEW;
    late.unknown = 1;
    model_is_wrong("6 decides in O", &late);
}

/* If passes do not copy kw:w, atomic operations that have read the row before the pass do not notice what it
 * copies. A copied removal can hide the kw:w that another atomic operation left in between. Then the compare
 * finds the row without kw:w, as it was read, and both operations replace the same value. A copied put that a
 * get has returned is replaced by an operation that has not seen it. */
static void
test_passes(void)
{
    several_writers_model removals = model_of(CALL_BIT(REMOVE) | CALL_BIT(ATOMIC), 3), back,
                          puts = model_of(ATOMIC, 3);
    removals.unwritten = removals.passes_no_writer = true;
    removals.first = puts.first = KW_CHANGE_VERSION_2;
    removals.last = puts.last = KW_CHANGE_VERSION_3;
    back = removals;
    back.first = KW_CHANGE_VERSION_5;
    back.last = KW_CHANGE_VERSION_6;
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
static void
test_holds(void)
{
    static const kw_change_version_id held[] = {KW_CHANGE_VERSION_3, KW_CHANGE_VERSION_4,
                                                KW_CHANGE_VERSION_5};
    for (size_t i = 0; i < G_N_ELEMENTS(held); i++) {
        several_writers_model model = model_of(ATOMIC, 2);
        model.unknown = 1;
        model.versions[held[i]].atomics = KW_CHANGE_ATOMICS_CAS_OLD_NEW;
        model_is_wrong(model.versions[held[i]].name, &model);
    }
}

/* Compare-and-set decides in one place before and after 1, and before and after 7. Both are held for the sake
 * of native atomic operations under 0 and 8. */
static void
test_holds_for_native_atomics(void)
{
    several_writers_model model = model_of(ATOMIC, 2);
    model.unknown = 1;
    model.versions[KW_CHANGE_VERSION_1].atomics = KW_CHANGE_ATOMICS_CAS_OLD;
    model.versions[KW_CHANGE_VERSION_7].atomics = KW_CHANGE_ATOMICS_CAS_NEW_OLD;
    model_is_right("no holds at 1 and 7", &model);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/change/safeguards/get-of-both", test_get_of_both);
    g_test_add_func("/change/safeguards/scan-too-early", test_scan_too_early);
    g_test_add_func("/change/safeguards/order-of-writes", test_order_of_writes);
    g_test_add_func("/change/safeguards/puts-at-once", test_puts_at_once);
    g_test_add_func("/change/safeguards/pass", test_pass);
    g_test_add_func("/change/safeguards/early-passes", test_early_passes);
    g_test_add_func("/change/safeguards/early-passes-of-young-cells", test_early_passes_of_young_cells);
    g_test_add_func("/change/safeguards/own-timestamps", test_own_timestamps);
    g_test_add_func("/change/safeguards/copy", test_copy);
    g_test_add_func("/change/safeguards/spaced", test_spaced);
    g_test_add_func("/change/safeguards/spaced-versions", test_spaced_versions);
    g_test_add_func("/change/safeguards/gone-cells", test_gone_cells);
    g_test_add_func("/change/safeguards/forward-again", test_forward_again);
    g_test_add_func("/change/safeguards/gateways", test_gateways);
    g_test_add_func("/change/safeguards/atomics", test_atomics);
    g_test_add_func("/change/safeguards/passes", test_passes);
    g_test_add_func("/change/safeguards/holds", test_holds);
    g_test_add_func("/change/safeguards/holds-for-native-atomics", test_holds_for_native_atomics);
    return g_test_run();
}
