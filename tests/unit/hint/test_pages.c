/* Queries by a hint path beside writes that move a record, and the cleaner: right with all safeguards, wrong
 * without any one of them. */
#include "page_model.h"

#include <glib.h>

#define STATES_MAX 400000000

static explored
search_model(const char *what, const page_model *model)
{
    explored found = page_model_explore(model, STATES_MAX);
    g_test_message("%s: %" G_GUINT64_FORMAT " states: %s", what, found.states,
                   found.wrong ? found.wrong : "right");
    return found;
}

static void
is_right(const char *what, page_model model)
{
    explored found = search_model(what, &model);
    g_assert_null(found.wrong);
    g_assert_true(found.complete);
}

static void
is_wrong(const char *what, page_model model)
{
    explored found = search_model(what, &model);
    g_assert_nonnull(found.wrong);
    g_free(found.wrong);
}

/* With each size of batches, and a record that was written long before the query or just before it. */
static void
are_right(const char *what, page_model model)
{
    for (model.batch = 1; model.batch <= 3; model.batch++)
        for (int variant = 0; variant < 4; variant++) {
            model.first_recent = variant & 1;
            model.first_stale = variant >> 1;
            is_right(what, model);
        }
}

static page_model
with_pages_of(int limit)
{
    page_model model = page_model_new();
    model.limit = limit;
    return model;
}

KW_TEST(test_one_page, "/hint/pages/one-page")
{
    page_model model = page_model_new();
    are_right("one page", model);
    model.leaves = true;
    is_right("one page, a record that leaves the ranges", model);
    model.leaves = false;
    model.writers = 2;
    model.lost_hints = 1;
    is_right("one page, two writers", model);
    model.moves = (int)explore_bound(2, 3);
    is_right("one page, three moves", model);
}

KW_TEST(test_pages, "/hint/pages/pages")
{
    page_model model = with_pages_of(1), two = with_pages_of(2);
    are_right("pages of one record", model);
    are_right("pages of two records", two);
    model.leaves = true;
    is_right("pages, a record that leaves the ranges", model);
    model.leaves = false;
    model.writers = 2;
    model.moves = 3;
    model.lost_hints = (int)explore_bound(0, 1);
    is_right("pages, two writers, three moves", model);
}

KW_TEST(test_snapshots, "/hint/pages/snapshots")
{
    page_model one = page_model_new(), model = with_pages_of(1), begun = page_model_new();
    one.snapshot = model.snapshot = begun.snapshot = true;
    are_right("one page, an open range scan", one);
    are_right("pages, an open range scan", model);
    model.writers = 2;
    model.moves = (int)explore_bound(2, 3);
    is_right("pages, an open range scan, two writers", model);
    begun.batch = 1;
    begun.begun_is_after = true;
    is_wrong("a place is read later by a range scan that was opened before", begun);
}

KW_TEST(test_cuts, "/hint/pages/cuts")
{
    page_model one = page_model_new(), model = with_pages_of(2);
    one.snapshot = model.snapshot = true;
    one.cuts = model.cuts = true;
    are_right("one page, batches that end early", one);
    are_right("pages that end within a batch", model);
    model.batch = 3;
    model.writers = 2;
    model.moves = (int)explore_bound(2, 3);
    is_right("pages that end within a batch, two writers", model);
    model = with_pages_of(2);
    model.snapshot = model.cuts = model.stale_before = true;
    is_right("pages that end within a batch, and a stale hint comes first", model);
    model.judged_first = true;
    is_wrong("a record is judged with its first hint of a batch that ends early", model);
}

KW_TEST(test_without_safeguards, "/hint/pages/without-safeguards")
{
    page_model hints = page_model_new(), any = with_pages_of(1), memory = with_pages_of(1);
    hints.only_hints = true;
    is_wrong("rows are returned only by their hints", hints);
    any.any_time = true;
    any.moves = 0;
    any.first_stale = true;
    is_wrong("rows that have not moved are returned again by a stale hint", any);
    memory.no_memory = true;
    memory.moves = 3;
    is_wrong("no memory", memory);
    memory.moves = 0;
    memory.first_recent = memory.first_stale = true;
    is_wrong("no memory, and a record that was written just before", memory);
}

KW_TEST(test_times, "/hint/pages/times")
{
    page_model lag = page_model_new(), keep = page_model_new(), exact = page_model_new();
    lag.starts_no_lag = true;
    is_wrong("timestamps that lag below the start of the query", lag);
    lag.starts_no_lag = false;
    lag.cleans_no_lag = true;
    is_wrong("timestamps that lag, and look older to the cleaner", lag);
    exact.starts_no_lag = exact.cleans_no_lag = true;
    exact.may_lag = false;
    is_right("timestamps that do not lag", exact);
    keep.no_keep = true;
    is_wrong("hints are not kept", keep);
    keep.no_keep = false;
    keep.ticks = 4;
    is_wrong("a query that takes longer than hints are kept", keep);
}

KW_TEST(test_batches, "/hint/pages/batches")
{
    page_model set = page_model_new(), end = page_model_new(), first = page_model_new();
    set.no_page_set = true;
    is_wrong("a record that is on the page is added again", set);
    end.end_is_last = true;
    is_wrong("the place of a record is after the last hint of all", end);
    first.rows_first = true;
    first.batch = 3;
    is_wrong("rows are read before the batch is complete", first);
}
