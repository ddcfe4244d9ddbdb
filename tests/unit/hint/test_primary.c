/* A hint path while the primary path changes its key rule: the cleaner must pause. */
#include "primary_model.h"

#include <glib.h>

#define STATES_MAX 400000000

static explored
search_model(const char *what, const primary_model *model)
{
    explored found = primary_model_explore(model, STATES_MAX);
    g_test_message("%s: %" G_GUINT64_FORMAT " states: %s", what, found.states,
                   found.wrong ? found.wrong : "right");
    return found;
}

static void
is_right(const char *what, primary_model model)
{
    explored found = search_model(what, &model);
    g_assert_null(found.wrong);
    g_assert_true(found.complete);
}

static void
is_wrong(const char *what, primary_model model)
{
    explored found = search_model(what, &model);
    g_assert_nonnull(found.wrong);
    g_free(found.wrong);
}

KW_TEST(test_right, "/hint/primary/right")
{
    primary_model model = primary_model_new();
    is_right("the primary's key rule changes", model);
    model.partial = true;
    is_right("the primary's key rule changes, partial puts", model);
    model.calls = (int)explore_bound(2, 3);
    model.cleans = 2;
    is_right("the primary's key rule changes, two cleanings", model);
}

KW_TEST(test_wrong, "/hint/primary/wrong")
{
    primary_model model = primary_model_new(), row = model;
    model.cleans = 2;
    model.where = CLEANS_ALWAYS;
    is_wrong("the cleaner does not pause", model);
    model.asks_both = true;
    is_wrong("the cleaner does not pause, and asks both placements", model);
    model.asks_both = false;
    model.where = CLEANS_MIDDLE;
    is_wrong("the cleaner pauses only where puts write both placements", model);
    model.where = CLEANS_ALONE;
    model.no_drain = true;
    is_wrong("a slice of the cleaner is not a call of its place", model);
    row.row_first = true;
    is_wrong("the row before its hint", row);
}
