/* The cleaner of stale hints beside writes, in both orders: right with all safeguards, wrong without any one
 * of them. */
#include "write_test.h"

#define DEEP ((int)explore_bound(2, 3))

/* The grace G of the model: 1 tick each for the window, late calls and the difference of clocks. */
static write_model
base(kw_write_order order)
{
    write_model model = write_model_new(order, A);
    model.first[0] = 1;
    model.puts = GIVES(A);
    model.calls = 2;
    model.spread = 0;
    model.ticks = 5;
    model.cleans = 1;
    model.unknown = 1;
    model.moves = 1;
    return model;
}

static void
are_right(const char *what, write_model model)
{
    is_right(what, model);
    for (kw_hint_operation i = 0; i < KW_HINT_OPERATIONS; i++)
        model.programs[i] = kw_hint_program_of(KW_WRITE_ORDER_STAMP, i, true);
    model.order = KW_WRITE_ORDER_STAMP;
    is_right(what, model);
}

KW_TEST(test_puts, "/hint/cleaner/puts")
{
    write_model model = base(KW_WRITE_ORDER_STORE), removals;
    model.ticks = DEEP + 2;
    are_right("puts", model);
    model.calls = DEEP;
    model.unknown = model.moves = 0;
    are_right("puts that are not given up", model);
    model.calls = 2;
    model.tuples[0] = AB;
    model.first[1] = 1;
    model.puts = GIVES(AB) | GIVES(A);
    model.unknown = model.moves = DEEP - 2;
    model.ticks = DEEP + 1;
    removals = model;
    are_right("full and partial puts", model);
    removals.puts = GIVES(A);
    removals.removals = GIVES(ABC);
    are_right("partial puts and removals", removals);
}

KW_TEST(test_reads, "/hint/cleaner/reads")
{
    write_model model = base(KW_WRITE_ORDER_STORE);
    model.finds = true;
    model.unknown = model.moves = 0;
    model.calls = DEEP;
    are_right("puts and reads", model);
}

KW_TEST(test_two_cleans, "/hint/cleaner/two-cleans")
{
    write_model model = base(KW_WRITE_ORDER_STORE);
    model.cleans = 2;
    model.unknown = 0;
    model.moves = DEEP - 2;
    are_right("two cleanings", model);
}

KW_TEST(test_age, "/hint/cleaner/age")
{
    write_model model = base(KW_WRITE_ORDER_STORE), late, window;
    model.no_age = true;
    is_wrong("hints of any age", model);
    model.no_age = false;
    late = window = model;
    model.moves = 0;
    model.limits.clock_difference_ms = 0;
    is_right("a smaller grace, while clocks agree", model);
    model.moves = 1;
    is_wrong("a grace without the difference of clocks", model);
    late.limits.late_ms = 0;
    is_wrong("a grace 1 ms short", late);
    window.no_window = true;
    is_wrong("a row that is sent long after its hint", window);
}

KW_TEST(test_order_of_reads, "/hint/cleaner/order-of-reads")
{
    write_model model = base(KW_WRITE_ORDER_STORE);
    model.ticks = 6;
    model.age_after_read = true;
    is_wrong("the age is judged after the row was read", model);
    model.age_after_read = false;
    model.row_before_hint = true;
    is_wrong("the row is read before the hint", model);
    model.row_before_hint = false;
    model.calls = 3;
    model.moves = model.unknown = 0;
    model.delete_unstamped = true;
    is_wrong("an unstamped delete", model);
}

/* The cleaner must not delete a hint because of a row that the clock has not passed: a put of another gateway
 * can still go below it. */
KW_TEST(test_clock, "/hint/cleaner/clock")
{
    write_model model = base(KW_WRITE_ORDER_STAMP);
    model.window = model.late = 0;
    model.limits = (kw_hint_limits){.keep_ms = -100};
    model.unknown = model.moves = 0;
    model.finds = true;
    model.spread = 2;
    model.ticks = 2;
    model.calls = 3;
    is_right("stamps in the future", model);
    model.cleaner_no_wait = true;
    is_wrong("a cleaner that does not wait for the clock", model);
}

KW_TEST(test_expiry, "/hint/cleaner/expiry")
{
    write_model model = base(KW_WRITE_ORDER_STORE);
    model.tuples[0] = AB;
    model.first[1] = 1;
    model.puts = GIVES(AB) | GIVES(A) | GIVES(B);
    model.unknown = model.moves = model.cleans = 0;
    model.ticks = 5;
    model.ttl = 2;
    model.hint_ttl = 5; /* longer by the window, the time of a late call and 1 */
    model.hints_only = true;
    is_right("hints that expire after the row", model);
    model.same_no_hint = true;
    is_wrong("a tuple that is written again without a hint", model);
    model.same_no_hint = false;
    model.hint_ttl = 2;
    is_wrong("hints with the TTL of the row", model);
}
