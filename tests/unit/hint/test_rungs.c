/* A hint path is added, dropped, or gets another key rule while callers write, explored exhaustively: right
 * with all safeguards, wrong without any one of them. */
#include "write_test.h"

#define DEEP ((int)explore_bound(2, 3))

/* Path 0 has the old rule, path 1 the new one. An added path is path 1, and path 0 is not used. */
static write_model
base(kw_write_order order, kw_hint_place from, kw_hint_place to)
{
    write_model model = write_model_new(order, A);
    model.tuples[1] = AB;
    model.paths = 2;
    model.first[0] = model.first[1] = 1;
    model.puts = GIVES(AB) | GIVES(A) | GIVES(B);
    model.calls = 2;
    model.unknown = 1;
    write_model_walk(&model, from, to);
    return model;
}

/* Removes one place of the walk. */
static void
skip(write_model *model, int place)
{
    for (int i = place; i + 1 < model->places; i++) {
        model->walk[i] = model->walk[i + 1];
        model->needs[i] = model->needs[i + 1];
    }
    model->places--;
}

static write_model
adding(kw_write_order order)
{
    write_model model = base(order, KW_HINT_UNHINTED, KW_HINT_HINTED);
    model.first_unmarked = true;
    return model;
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
    write_model marked = adding(KW_WRITE_ORDER_STORE), grace, late, copy, all, drain, hinting;
    marked.calls = 3;
    grace = copy = all = drain = hinting = marked;
    skip(&marked, KW_HINT_MARKED);
    is_wrong("adding without `marked`", marked);
    late = grace;
    grace.needs[KW_HINT_MARKED] = 0;
    is_wrong("adding without the grace before `hinting`", grace);
    late.needs[KW_HINT_HINTING] = KW_HINT_NEEDS_COPY;
    is_wrong("adding without the grace before the copy", late);
    copy.needs[KW_HINT_HINTING] = KW_HINT_NEEDS_GRACE;
    is_wrong("adding without the copy", copy);
    all.copies_first = true;
    is_wrong("adding, the copy before all gateways write hints", all);
    drain.no_drain = true;
    is_wrong("adding without drain", drain);
    hinting.needs[KW_HINT_MARKED] |= KW_HINT_NEEDS_GRACE | KW_HINT_NEEDS_COPY;
    skip(&hinting, KW_HINT_HINTING);
    is_wrong("adding without `hinting`", hinting);
}

KW_TEST(test_adding_full_only, "/hint/rungs/adding-full-only")
{
    write_model model = adding(KW_WRITE_ORDER_STORE);
    model.puts = GIVES(AB);
    skip(&model, KW_HINT_MARKED);
    is_right("adding without `marked`, full puts only", model);
    model.needs[1] &= ~(unsigned)KW_HINT_NEEDS_GRACE;
    is_wrong("the same without the grace", model);
}

KW_TEST(test_dropping, "/hint/rungs/dropping")
{
    write_model model = base(KW_WRITE_ORDER_STORE, KW_HINT_HINTED, KW_HINT_UNHINTED), grace, at_once;
    model.calls = 3;
    grace = at_once = model;
    model.calls = DEEP;
    model.unknown = 0;
    is_right("dropping", model);
    model.calls = 2;
    model.unknown = 1;
    is_right("dropping, a call is given up", model);
    grace.needs[2] = 0;
    is_wrong("dropping without the grace", grace);
    skip(&at_once, 1);
    is_wrong("dropping: reads and hints end at once", at_once);
}

KW_TEST(test_changing, "/hint/rungs/changing")
{
    write_model model = base(KW_WRITE_ORDER_STORE, KW_HINT_HINTED_OLD, KW_HINT_HINTED_NEW), grace, copy,
                reads, ends;
    is_right("changing", model);
    grace = copy = reads = ends = model;
    model.calls = 3;
    model.unknown = 0;
    model.puts = DEEP == 2 ? GIVES(B) : GIVES(AB) | GIVES(B);
    is_right("changing, three puts", model);
    grace.copies_before_grace = true;
    is_wrong("changing, the copy before the grace", grace);
    copy.needs[1] = KW_HINT_NEEDS_GRACE;
    is_wrong("changing without the copy", copy);
    reads.walk[1] = kw_hint_rules_at(KW_HINT_HINTING_NEW);
    is_wrong("changing: reads move together with the first writes", reads);
    skip(&ends, 2);
    is_wrong("changing: writes of the old hints end together with their reads", ends);
    write_model back = base(KW_WRITE_ORDER_STORE, KW_HINT_HINTING_NEW, KW_HINT_HINTED_OLD);
    is_right("changing back", back);
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
        clock.needs[i] &= ~(unsigned)KW_HINT_NEEDS_CLOCK;
    is_wrong("adding, order: stamp, without the clock", clock);
    second.needs[KW_HINT_HINTING] |= KW_HINT_NEEDS_COPY;
    skip(&second, KW_HINT_SETTLED);
    is_wrong("adding, order: stamp, without `settled`", second);
}

KW_TEST(test_stamp_others, "/hint/rungs/stamp-others")
{
    write_model drop = base(KW_WRITE_ORDER_STAMP, KW_HINT_HINTED, KW_HINT_UNHINTED);
    write_model change = base(KW_WRITE_ORDER_STAMP, KW_HINT_HINTED_OLD, KW_HINT_HINTED_NEW), clock = change;
    drop.unknown = change.unknown = 0;
    drop.spread = change.spread = DEEP - 2;
    change.puts = drop.puts = GIVES(AB) | GIVES(B);
    is_right("dropping, order: stamp", drop);
    is_right("changing, order: stamp", change);
    for (int i = 0; i < clock.places; i++)
        clock.needs[i] &= ~(unsigned)KW_HINT_NEEDS_CLOCK;
    is_wrong("changing, order: stamp, without the clock", clock);
}
