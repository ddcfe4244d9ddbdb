/* A hint path is added, dropped, or gets another key rule while callers write, explored exhaustively: right
 * with all safeguards, wrong without any one of them. */
#include "write_test.h"

#define DEEP ((int)explore_bound(2, 3))

/* The places of an addition, of a drop, and of a change of the key rule, in this order. */
enum { UNHINTED, MARKED, ADDED_BOTH };
enum { DROPPED_BOTH = 1, DROPPED_MARKED };
enum { OLD_ALONE, OLD_BOTH, NEW_BOTH, NEW_CLOSING };
/* With order: stamp. */
enum { HINTING = 1, STAMP_BOTH };

/* Path 0 has the old rule, path 1 the new one. An added path is path 1, and path 0 is not used. */
static write_model
base(kw_write_order order)
{
    write_model model = write_model_new(order, A);
    model.tuples[1] = AB;
    model.paths = 2;
    model.first[0] = model.first[1] = 1;
    model.puts = GIVES(AB) | GIVES(A) | GIVES(B);
    model.calls = 2;
    model.unknown = 1;
    return model;
}

static write_model
adding_or_dropping(kw_write_order order, bool drops)
{
    write_model model = base(order);
    bool stamp = order == KW_WRITE_ORDER_STAMP;
    kw_change_place low = kw_change_first_place(!stamp), high = KW_OLD(FILLED);
    write_model_walk(&model, stamp ? KW_LADDER_ADD_HINTS_STAMP : KW_LADDER_ADD_HINTS, drops ? high : low,
                     drops ? low : high);
    return model;
}

static write_model
adding(kw_write_order order)
{
    write_model model = adding_or_dropping(order, false);
    model.first_unmarked = true;
    return model;
}

static write_model
dropping(kw_write_order order)
{
    return adding_or_dropping(order, true);
}

static write_model
changing(kw_write_order order, kw_change_place from, kw_change_place to)
{
    write_model model = base(order);
    bool stamp = order == KW_WRITE_ORDER_STAMP;
    write_model_walk(&model, stamp ? KW_LADDER_MOVE_HINTS_STAMP : KW_LADDER_MOVE_HINTS, from, to);
    return model;
}

/* Removes one place of the walk. */
static void
skip(write_model *model, int place)
{
    for (int i = place; i + 1 < model->places; i++)
        model->walk[i] = model->walk[i + 1];
    model->places--;
}

KW_TEST(test_adding, "/hint/rungs/adding")
{
    write_model model = adding(KW_WRITE_ORDER_STORE);
    is_right("adding", model);
    model.calls = DEEP;
    model.unknown = 0;
    is_right("adding, three puts", model);
    model.calls = 2;
    model.unknown = 1;
    model.removals = GIVES(ABC) | GIVES(A);
    model.ticks = 2;
    is_right("adding, and removals", model);
}

KW_TEST(test_adding_without_safeguards, "/hint/rungs/adding-without-safeguards")
{
    write_model marked = adding(KW_WRITE_ORDER_STORE), grace, late, copy, all, drain, both;
    marked.calls = 3;
    grace = copy = all = drain = both = marked;
    skip(&marked, MARKED);
    is_wrong("adding without `marked`", marked);
    late = grace;
    grace.walk[MARKED].needs = 0;
    is_wrong("adding without the grace before `both`", grace);
    late.walk[ADDED_BOTH].needs = KW_CHANGE_NEEDS_COPY;
    is_wrong("adding without the grace before the copy", late);
    copy.walk[ADDED_BOTH].needs = KW_CHANGE_NEEDS_GRACE;
    is_wrong("adding without the copy", copy);
    all.copies_first = true;
    is_wrong("adding, the copy before all gateways write hints", all);
    drain.no_drain = true;
    is_wrong("adding without drain", drain);
    both.walk[MARKED].needs |= KW_CHANGE_NEEDS_GRACE | KW_CHANGE_NEEDS_COPY;
    skip(&both, ADDED_BOTH);
    is_wrong("adding without `both`", both);
}

KW_TEST(test_adding_full_only, "/hint/rungs/adding-full-only")
{
    write_model model = adding(KW_WRITE_ORDER_STORE);
    model.puts = GIVES(AB);
    skip(&model, MARKED);
    is_right("adding without `marked`, full puts only", model);
    model.walk[MARKED].needs &= ~(unsigned)KW_CHANGE_NEEDS_GRACE;
    is_wrong("the same without the grace", model);
}

KW_TEST(test_dropping, "/hint/rungs/dropping")
{
    write_model model = dropping(KW_WRITE_ORDER_STORE), grace, at_once;
    model.calls = 3;
    grace = at_once = model;
    model.calls = DEEP;
    model.unknown = 0;
    is_right("dropping", model);
    model.calls = 2;
    model.unknown = 1;
    is_right("dropping, a call is given up", model);
    grace.walk[DROPPED_MARKED].needs = 0;
    is_wrong("dropping without the grace", grace);
    skip(&at_once, DROPPED_BOTH);
    is_wrong("dropping: reads and hints end at once", at_once);
}

/* Cursors of the old rule are accepted until `closing`. */
KW_TEST(test_changing, "/hint/rungs/changing")
{
    write_model model = changing(KW_WRITE_ORDER_STORE, KW_OLD(UNSTAMPED), KW_NEW(UNSTAMPED)), grace, copy,
                reads, ends, closes;
    is_right("changing", model);
    grace = copy = reads = ends = closes = model;
    model.calls = 3;
    model.unknown = 0;
    model.puts = DEEP == 2 ? GIVES(B) : GIVES(AB) | GIVES(B);
    is_right("changing, three puts", model);
    grace.copies_before_grace = true;
    is_wrong("changing, the copy before the grace", grace);
    copy.walk[OLD_BOTH].needs = KW_CHANGE_NEEDS_GRACE;
    is_wrong("changing without the copy", copy);
    reads.walk[OLD_BOTH].reads_new = true;
    is_wrong("changing: reads of the new hints, or their cursors, with the first writes", reads);
    skip(&closes, NEW_CLOSING);
    is_wrong("changing: writes of the old hints end while others accept cursors of the old rule", closes);
    skip(&ends, NEW_BOTH);
    skip(&ends, NEW_BOTH);
    is_wrong("changing: writes of the old hints end together with their reads", ends);
    is_right("changing back", changing(KW_WRITE_ORDER_STORE, KW_NEW(BOTH), KW_OLD(UNSTAMPED)));
}

/* --- order: stamp ------------------------------------------------------------------------------------- */

KW_TEST(test_stamp, "/hint/rungs/stamp")
{
    write_model model = adding(KW_WRITE_ORDER_STAMP), clock, second;
    clock = second = model;
    model.spread = DEEP - 2;
    model.puts = DEEP == 2 ? GIVES(AB) | GIVES(B) : model.puts;
    is_right("adding, order: stamp, a call is given up", model);
    model.unknown = 0;
    model.spread = 1;
    is_right("adding, order: stamp", model);
    for (int i = 0; i < clock.places; i++)
        clock.walk[i].needs &= ~(unsigned)KW_CHANGE_NEEDS_CLOCK;
    is_wrong("adding, order: stamp, without the clock", clock);
    second.walk[HINTING].needs |= KW_CHANGE_NEEDS_COPY;
    skip(&second, STAMP_BOTH);
    is_wrong("adding, order: stamp, hints are copied on `hinting`", second);
}

KW_TEST(test_stamp_others, "/hint/rungs/stamp-others")
{
    write_model drop = dropping(KW_WRITE_ORDER_STAMP), clock;
    write_model change = changing(KW_WRITE_ORDER_STAMP, KW_OLD(ALONE), KW_NEW(ALONE));
    clock = change;
    drop.unknown = change.unknown = 0;
    drop.spread = change.spread = DEEP - 2;
    change.puts = drop.puts = GIVES(AB) | GIVES(B);
    is_right("dropping, order: stamp", drop);
    is_right("changing, order: stamp", change);
    for (int i = 0; i < clock.places; i++)
        clock.walk[i].needs &= ~(unsigned)KW_CHANGE_NEEDS_CLOCK;
    is_wrong("changing, order: stamp, without the clock", clock);
}
