/* The log lines for RocksDB's failures: one when the disk becomes full, one when it has free space again,
 * and at most one a second for other failures. */
#include "store/embedded/engine.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* Calls `act` with standard error redirected to a file. Returns the text in the file. */
static char *
logged_by(void (*act)(void))
{
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "keyway-engine-XXXXXX", NULL);
    int file = g_mkstemp(path), before = dup(STDERR_FILENO);
    char *text = NULL;
    dup2(file, STDERR_FILENO);
    act();
    dup2(before, STDERR_FILENO);
    close(before);
    close(file);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_unlink(path);
    return text;
}

static size_t
count_lines(const char *text)
{
    size_t count = 0;
    for (; (text = strchr(text, '\n')); text++)
        count++;
    return count;
}

static void
fail(const char *message, const char *expected)
{
    kw_error error;
    g_assert_false(kw_engine_failed(strdup(message), "writing", &error));
    g_assert_nonnull(strstr(error.text, expected));
}

static void
report_disk_full(void)
{
    for (int i = 0; i < 1000; i++)
        fail("IO error: No space left on device: While appending to file", "the disk is full");
}

static void
report_success(void)
{
    for (int i = 0; i < 1000; i++)
        kw_engine_write_succeeded();
}

static void
report_other_failure(void)
{
    for (int i = 0; i < 1000; i++)
        fail("IO error: something else", "failed while writing");
}

KW_TEST(a_full_disk_is_logged_once, "/embedded/engine/full-disk")
{
    for (int round = 0; round < 2; round++) {
        g_autofree char *full = logged_by(report_disk_full), *recovered = logged_by(report_success);
        g_assert_cmpuint(count_lines(full), ==, 1);
        g_assert_nonnull(strstr(full, "the disk is full"));
        g_assert_cmpuint(count_lines(recovered), ==, 1);
        g_assert_nonnull(strstr(recovered, "failures_not_logged=999"));
    }
    g_autofree char *nothing = logged_by(report_success);
    g_assert_cmpstr(nothing, ==, "");
}

/* The thousand failures take less than a minute. */
KW_TEST(other_failures_are_logged_now_and_then, "/embedded/engine/other-failures")
{
    g_autofree char *text = logged_by(report_other_failure);
    g_assert_cmpuint(count_lines(text), >=, 1);
    g_assert_cmpuint(count_lines(text), <, 60);
}
