/* Writes of a record with hint paths and `order: store`, explored exhaustively: right with all safeguards,
 * wrong without any one of them. */
#include "write_test.h"

#define DEEP ((int)explore_bound(2, 3))

static write_model
base(void)
{
    write_model model = write_model_new(KW_WRITE_ORDER_STORE, AB);
    model.first[0] = model.first[1] = 1;
    model.puts = GIVES(AB) | GIVES(A) | GIVES(B);
    model.finds = model.gets = true;
    model.calls = 3;
    return model;
}

/* Replaces the steps of one operation. */
static write_model
with_steps(write_model model, kw_hint_operation operation, kw_hint_program program)
{
    program.leaves_writer = model.programs[operation].leaves_writer;
    program.leaves_generation = model.programs[operation].leaves_generation;
    model.programs[operation] = program;
    return model;
}

KW_TEST(test_puts, "/hint/store/puts")
{
    write_model model = base(), removals = base(), from_nothing = base(), late = base(), outside = base();
    is_right("puts", model);
    removals.removals = GIVES(ABC) | GIVES(A);
    removals.ticks = 2;
    removals.calls = DEEP;
    is_right("puts and removals", removals);
    from_nothing.first[0] = from_nothing.first[1] = 0;
    from_nothing.removals = GIVES(ABC);
    is_right("puts of a record that does not exist", from_nothing);
    late.unknown = 1;
    late.calls = DEEP;
    is_right("puts that are given up", late);
    outside.puts |= GIVES(C) | GIVES(A | C);
    outside.finds = false;
    is_right("puts of other fields", outside);
}

KW_TEST(test_conditions, "/hint/store/conditions")
{
    write_model model = base();
    model.puts = GIVES(AB);
    model.put_ifs = GIVES(AB) | GIVES(B);
    is_right("putIf", model);
    model.gets = false;
    model.removals = GIVES(ABC);
    model.ticks = 2;
    model.calls = DEEP;
    is_right("putIf and removals", model);
}

KW_TEST(test_order_of_steps, "/hint/store/order-of-steps")
{
    write_model model = base();
    is_wrong("the row before its hint",
             with_steps(model, KW_HINT_PUT_FULL,
                        (kw_hint_program){.steps = {KW_HINT_STEP_PUT, KW_HINT_STEP_HINTS}}));
    model.not_awaited = true;
    is_wrong("the row together with its hint", model);
    model = base();
    model.put_ifs = GIVES(AB);
    is_wrong("putIf: the row before its hint",
             with_steps(model, KW_HINT_PUT_IF_FULL,
                        (kw_hint_program){.steps = {KW_HINT_STEP_NATIVE, KW_HINT_STEP_HINTS}}));
}

KW_TEST(test_partial_puts, "/hint/store/partial-puts")
{
    write_model model = base();
    const kw_hint_program blind = {.steps = {KW_HINT_STEP_PUT}};
    const kw_hint_program plain = {.steps = {KW_HINT_STEP_READ, KW_HINT_STEP_HINTS, KW_HINT_STEP_PUT}};
    const kw_hint_program late_hint = {
        .steps = {KW_HINT_STEP_READ, KW_HINT_STEP_COMPARE, KW_HINT_STEP_HINTS}};
    is_wrong("a partial put without read and hint", with_steps(model, KW_HINT_PUT_PARTIAL, blind));
    is_wrong("a plain put of the given field", with_steps(model, KW_HINT_PUT_PARTIAL, plain));
    is_wrong("a compare before its hint", with_steps(model, KW_HINT_PUT_PARTIAL, late_hint));
    model.plain_fields = true;
    is_wrong("a plain put of all fields", with_steps(model, KW_HINT_PUT_PARTIAL, plain));
    model.plain_fields = false;
    model.no_writer = true;
    is_wrong("full puts without kw:w", model);
    model.no_writer = false;
    model.given_alone = true;
    is_right("a compare of the given field alone, while clocks behave", model);
}

/* The row's region moves to a slow clock: a put can stay hidden, but a tuple shows whole or not at all. */
KW_TEST(test_slow_clock, "/hint/store/slow-clock")
{
    write_model model = base(), incomplete;
    model.row_moves = 1;
    model.ticks = 2;
    model.hints_only = true;
    model.finds = model.gets = false;
    model.calls = DEEP;
    is_right("a slow clock", model);
    model.calls = 3;
    incomplete = model;
    model.given_alone = true;
    is_wrong("a slow clock, a compare of the given field alone", model);
    incomplete.first[0] = 0;
    is_wrong("a slow clock, and a tuple that is not complete", incomplete);
}

KW_TEST(test_removals, "/hint/store/removals")
{
    write_model model = base(), outside = base(), unmarked;
    model.removals = GIVES(ABC) | GIVES(A);
    model.ticks = 2;
    unmarked = model;
    unmarked.first_unmarked = true;
    unmarked.calls = DEEP;
    is_right("a record without kw:w", unmarked);
    outside.puts = GIVES(A) | GIVES(C);
    outside.removals = GIVES(ABC);
    outside.ticks = 2;
    outside.finds = outside.gets = false;
    is_right("removals beside puts of other fields", outside);
    outside.record_unmarked = true;
    is_wrong("a removal of the record that leaves no kw:w", outside);
    model.field_unmarked = true;
    is_wrong("a removal of a field that leaves no kw:w", model);
    model.field_unmarked = false;
    model.no_generation = true;
    is_wrong("a removal that does not notice a compare", model);
}

KW_TEST(test_three_fields, "/hint/store/three-fields")
{
    write_model model = base();
    model.tuples[0] = ABC;
    model.first[2] = 1;
    model.puts = GIVES(ABC) | GIVES(A) | GIVES(B | C);
    model.gets = false;
    model.calls = DEEP;
    is_right("three fields", model);
    model.calls = 3;
    model.finds = false;
    is_right("three fields, three puts", model);
    model.puts = GIVES(A) | GIVES(B) | GIVES(C);
    is_wrong(
        "three fields, plain puts",
        with_steps(model, KW_HINT_PUT_PARTIAL,
                   (kw_hint_program){.steps = {KW_HINT_STEP_READ, KW_HINT_STEP_HINTS, KW_HINT_STEP_PUT}}));
}

static write_model
two_paths(kw_hint_fields one, kw_hint_fields other)
{
    write_model model = base();
    model.tuples[0] = one;
    model.tuples[1] = other;
    model.paths = 2;
    model.first[2] = 1;
    model.calls = 2;
    model.puts = GIVES(ABC) | GIVES(A) | GIVES(B | C);
    return model;
}

KW_TEST(test_two_paths, "/hint/store/two-paths")
{
    write_model shared = two_paths(AB, B | C), apart = two_paths(A, B | C), moved;
    is_right("two paths", apart);
    is_right("two paths that share a field", shared);
    shared.removals = GIVES(ABC) | GIVES(B);
    is_right("two paths that share a field, and removals", shared);
    shared.removals = 0;
    shared.calls = DEEP;
    shared.gets = shared.finds = false;
    is_right("two paths that share a field, three puts", shared);
    moved = shared;
    moved.hints_only = true;
    moved.row_moves = 1;
    moved.ticks = 2;
    moved.puts = GIVES(A) | GIVES(B | C);
    is_right("two paths that share a field, a slow clock", moved);
    moved.calls = 3;
    moved.no_closure = true;
    is_wrong("two paths that share a field, each written alone, a slow clock", moved);
}
