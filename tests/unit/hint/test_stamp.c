/* Writes of a record with hint paths and `order: stamp`, explored exhaustively: right with all safeguards,
 * wrong without any one of them. A plain write in progress beside a compare can be lost in all touched
 * fields; the model excludes just that. */
#include "write_test.h"

#define DEEP ((int)explore_bound(2, 3))

static write_model
base(void)
{
    write_model model = write_model_new(KW_WRITE_ORDER_STAMP, AB);
    model.first[0] = model.first[1] = 1;
    model.puts = GIVES(AB) | GIVES(A) | GIVES(B);
    model.calls = 2;
    return model;
}

/* The stamps are exact, and callers' puts have other values than the record: fewer states. */
static write_model
small(void)
{
    write_model model = base();
    model.spread = 0;
    model.calls = 3;
    return model;
}

KW_TEST(test_puts, "/hint/stamp/puts")
{
    write_model model = base(), late, outside;
    model.gets = model.finds = true;
    late = outside = model;
    model.calls = DEEP;
    is_right("puts", model);
    model.calls = 2;
    model.removals = GIVES(ABC) | GIVES(A);
    is_right("puts and removals", model);
    model.first[0] = model.first[1] = 0;
    is_right("puts of a record that does not exist", model);
    late.unknown = 1;
    is_right("puts that are given up", late);
    outside.puts |= GIVES(C) | GIVES(A | C);
    outside.finds = false;
    is_right("puts of other fields", outside);
}

KW_TEST(test_three_calls, "/hint/stamp/three-calls")
{
    write_model model = small();
    model.gets = true;
    is_right("three puts", model);
    model.gets = false;
    model.puts = GIVES(AB) | GIVES(B);
    model.removals = GIVES(ABC) | GIVES(A);
    is_right("three puts and removals", model);
    model.removals = 0;
    model.put_ifs = GIVES(AB) | GIVES(B);
    model.calls = DEEP;
    is_right("putIf", model);
}

KW_TEST(test_order_of_steps, "/hint/stamp/order-of-steps")
{
    write_model model = base();
    model.programs[KW_HINT_PUT_FULL] = (kw_hint_program){
        .steps = {KW_HINT_STEP_STAMP, KW_HINT_STEP_PUT, KW_HINT_STEP_HINTS}, .leaves_writer = true};
    is_wrong("the row before its hint", model);
    model = base();
    model.not_awaited = true;
    is_wrong("the row together with its hint", model);
}

KW_TEST(test_partial_puts, "/hint/stamp/partial-puts")
{
    write_model model = base(), fields = base();
    model.programs[KW_HINT_PUT_PARTIAL] = (kw_hint_program){
        .steps = {KW_HINT_STEP_READ, KW_HINT_STEP_HINTS, KW_HINT_STEP_STAMP, KW_HINT_STEP_PUT},
        .leaves_writer = true};
    is_wrong("a plain put of the given field", model);
    model.plain_fields = true;
    model.calls = 3;
    model.gets = true;
    is_wrong("a plain put of all fields", model);
    fields.given_alone = true;
    is_wrong("a compare of the given field alone", fields);
    fields.given_alone = false;
    fields.no_writer = true;
    fields.gets = true;
    fields.calls = 3;
    is_wrong("full puts without kw:w", fields);
}

/* A field of the tuple that is absent, beside a full put with a lower or equal stamp. */
KW_TEST(test_absent_fields, "/hint/stamp/absent-fields")
{
    write_model model = base();
    model.first[0] = 0;
    is_right("an absent field", model);
    model.no_gone = true;
    is_wrong("an absent field that is left as it is", model);
    model.no_gone = false;
    model.gone_short = true;
    is_wrong("an absent field that is removed up to too low a stamp", model);
    model.gone_short = false;
    model.gone_up_to = true;
    model.gets = true;
    model.calls = 3;
    is_wrong("an absent field that is removed up to the stamp itself", model);
}

KW_TEST(test_three_fields, "/hint/stamp/three-fields")
{
    write_model model = base();
    model.tuples[0] = ABC;
    model.first[2] = 1;
    model.puts = GIVES(ABC) | GIVES(A) | GIVES(B | C);
    is_right("three fields", model);
    model.first[0] = 0;
    is_right("three fields, one of them absent", model);
    model.no_gone = true;
    is_wrong("three fields, an absent one is left as it is", model);
    model = small();
    model.tuples[0] = ABC;
    model.first[2] = 1;
    model.puts = GIVES(ABC) | GIVES(A) | GIVES(B | C);
    model.calls = DEEP;
    is_right("three fields, three puts", model);
}

KW_TEST(test_two_paths, "/hint/stamp/two-paths")
{
    write_model model = base();
    model.tuples[0] = AB;
    model.tuples[1] = B | C;
    model.paths = 2;
    model.first[2] = 1;
    model.puts = GIVES(ABC) | GIVES(A) | GIVES(B | C);
    is_right("two paths that share a field", model);
    model.no_closure = true;
    is_wrong("two paths that share a field, each written alone", model);
    model.no_closure = false;
    model.tuples[0] = A;
    is_right("two paths", model);
}
