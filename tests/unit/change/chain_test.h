/* For the tests of chain_model: whether a model is right, with the number of states. */
#pragma once

#include "chain_model.h"

#include <glib.h>

#define CHAIN_STATES_MAX 400000000

static inline explored
chain_search(const char *what, const chain_model *model)
{
    explored found = chain_model_explore(model, CHAIN_STATES_MAX);
    g_test_message("%s: %" G_GUINT64_FORMAT " states: %s", what, found.states,
                   found.wrong ? found.wrong : "right");
    return found;
}

static inline void
chain_is_right(const char *what, const chain_model *model)
{
    explored found = chain_search(what, model);
    g_assert_null(found.wrong);
    g_assert_true(found.complete);
}

static inline void
chain_is_wrong(const char *what, const chain_model *model)
{
    explored found = chain_search(what, model);
    g_assert_nonnull(found.wrong);
    g_free(found.wrong);
}
