/* Unique paths, explored exhaustively: right with all safeguards, wrong without any one of them. */
#include "claim_model.h"

#include <glib.h>

#define STATES_MAX 400000000

static explored
search_model(const char *what, const claim_model *model)
{
    explored found = claim_model_explore(model, STATES_MAX);
    g_test_message("%s: %" G_GUINT64_FORMAT " states: %s", what, found.states,
                   found.wrong ? found.wrong : "right");
    return found;
}

static void
is_right(const char *what, claim_model model)
{
    explored found = search_model(what, &model);
    g_assert_null(found.wrong);
    g_assert_true(found.complete);
}

static void
is_wrong(const char *what, claim_model model)
{
    explored found = search_model(what, &model);
    g_assert_nonnull(found.wrong);
    g_free(found.wrong);
}

KW_TEST(test_puts, "/hint/claims/puts")
{
    claim_model model = claim_model_new();
    is_right("puts", model);
    model.first_holds = true;
    is_right("puts of a value that is held", model);
    model.unknown = 1;
    is_right("puts that are given up", model);
    model.unknown = 0;
    model.callers = 3;
    is_right("three callers", model);
    model.callers = 2;
    model.calls = (int)explore_bound(3, 4);
    model.retries = 3;
    is_right("four calls", model);
}

KW_TEST(test_without_safeguards, "/hint/claims/without-safeguards")
{
    claim_model fence = claim_model_new(), reads = claim_model_new(), renewal = claim_model_new(), row;
    row = renewal;
    fence.no_fence = true;
    is_wrong("no fence", fence);
    reads.reads_late = true;
    is_wrong("the own kw:w is read after the claim was written", reads);
    row.row_first = true;
    is_wrong("the row before its claim", row);
    renewal.first_holds = true;
    renewal.calls = 4;
    renewal.removes = false;
    renewal.same_id = true;
    is_wrong("a claim that is written again with the same id", renewal);
    renewal.same_id = false;
    renewal.no_renewal = true;
    is_wrong("a claim of one's own is not written again", renewal);
}

static claim_model
with_cleaner(void)
{
    claim_model model = claim_model_new();
    model.calls = 2;
    model.cleans = 1;
    model.ticks = 5;
    model.unknown = (int)explore_bound(0, 1);
    model.moves = 1;
    model.removes = false;
    return model;
}

KW_TEST(test_cleaner, "/hint/claims/cleaner")
{
    claim_model model = with_cleaner(), age, window, any, clocks;
    is_right("the cleaner", model);
    age = window = any = clocks = model;
    any.first_holds = true;
    is_right("the cleaner of a value that is held", any);
    age.no_age = true;
    is_wrong("claims of any age are deleted", age);
    clocks.limits.clock_difference_ms = 0;
    is_wrong("a grace without the difference of clocks", clocks);
    window.no_window = true;
    is_wrong("a row that is written long after its claim", window);
    any.calls = 3;
    any.deletes_any = true;
    is_wrong("a delete that does not compare", any);
}

KW_TEST(test_without_atomics, "/hint/claims/without-atomics")
{
    claim_model model = with_cleaner(), young, after, window, held;
    model.atomics = false;
    is_right("atomics: false", model);
    young = after = window = held = model;
    held.first_holds = true;
    is_right("atomics: false, a value that is held", held);
    young.takes_young = true;
    is_wrong("a young claim is taken over", young);
    after.age_after_look = true;
    after.calls = 3;
    after.ticks = 6;
    is_wrong("the age is judged after the other row was read", after);
    window.no_window = true;
    window.calls = 3;
    is_wrong("a row that is written long after its claim", window);
}

KW_TEST(test_filling, "/hint/claims/filling")
{
    claim_model model = claim_model_new(), conflicts, early;
    model.unfilled = true;
    model.removes = false;
    is_right("filling", model);
    conflicts = early = model;
    conflicts.ignores_conflicts = true;
    is_wrong("a path that is filled with a conflict", conflicts);
    early.fills_early = true;
    is_wrong("a path that is filled while puts write no claims", early);
}
