/* Reads a valid policy's text, or a file of good/, into a model. */
#pragma once

#include "schemas.h"

#include <string.h>

static kw_model *
read_good(const char *text)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    kw_model *model = kw_model_read_text("test", text, strlen(text), SAMPLE_COMPONENTS, diagnostics);
    g_autofree char *problems = kw_diagnostics_text(diagnostics);
    g_assert_cmpstr(problems, ==, "");
    g_assert_nonnull(model);
    return model;
}

static kw_model *
read_good_file(const char *name)
{
    g_autofree char *path = g_build_filename(KW_TEST_GOOD, name, NULL);
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return read_good(text);
}
