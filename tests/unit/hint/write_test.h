/* For the tests of write_model: whether a model is right, with the number of states. */
#pragma once

#include "write_model.h"

#include <glib.h>

#define STATES_MAX 400000000

static inline explored
search_model(const char *what, const write_model *model)
{
    explored found = write_model_explore(model, STATES_MAX);
    g_test_message("%s: %" G_GUINT64_FORMAT " states: %s", what, found.states,
                   found.wrong ? found.wrong : "right");
    return found;
}

static inline void
is_right(const char *what, write_model model)
{
    explored found = search_model(what, &model);
    g_assert_null(found.wrong);
    g_assert_true(found.complete);
}

static inline void
is_wrong(const char *what, write_model model)
{
    explored found = search_model(what, &model);
    g_assert_nonnull(found.wrong);
    g_free(found.wrong);
}
