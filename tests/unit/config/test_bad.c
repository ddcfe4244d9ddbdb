/* Golden diagnostics: every bad/NAME.yaml gives exactly the problems of bad/NAME.txt.
 *
 * KW_UPDATE_GOLDEN=1 rewrites the texts; read the difference before you commit it. */
#include "schemas.h"

#include <stdlib.h>
#include <string.h>

static char *
sibling_path(const char *name, const char *ending)
{
    size_t stem = strlen(name) - strlen(".yaml");
    return g_strdup_printf("%s/%.*s%s", KW_TEST_BAD, (int)stem, name, ending);
}

static void
one_file(const void *data)
{
    const char *name = data;
    g_autofree char *path = sibling_path(name, ".yaml");
    g_autofree char *expected_path = sibling_path(name, ".txt");
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new(name);
    kw_model *model = kw_model_read_file(path, SAMPLE_COMPONENTS, diagnostics);
    g_assert_null(model);
    g_autofree char *got = kw_diagnostics_text(diagnostics);
    if (getenv("KW_UPDATE_GOLDEN")) {
        g_assert_true(g_file_set_contents(expected_path, got, -1, NULL));
        return;
    }
    g_autofree char *expected = NULL;
    g_assert_true(g_file_get_contents(expected_path, &expected, NULL, NULL));
    g_assert_cmpstr(got, ==, expected);
}

KW_TEST_START(start)
{
    GDir *dir = g_dir_open(KW_TEST_BAD, 0, NULL);
    g_assert_nonnull(dir);
    size_t files = 0;
    const char *name;
    while ((name = g_dir_read_name(dir))) {
        if (!g_str_has_suffix(name, ".yaml"))
            continue;
        g_autofree char *test = g_strdup_printf("/config/bad/%s", name);
        g_test_add_data_func_full(test, g_strdup(name), one_file, g_free);
        files++;
    }
    g_dir_close(dir);
    g_assert_cmpuint(files, >=, 20);
}
