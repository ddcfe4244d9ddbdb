/* What the engine's failures become in the log: a full disk is one line when it begins and one when it ends.
 */
#include "store/embedded/engine.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* Standard error goes to a file meanwhile; what was written to it. */
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
lines(const char *text)
{
    size_t count = 0;
    for (; (text = strchr(text, '\n')); text++)
        count++;
    return count;
}

static void
fail(const char *message, const char *said)
{
    kw_error error;
    g_assert_false(kw_engine_failed(strdup(message), "writing", &error));
    g_assert_nonnull(strstr(error.text, said));
}

static void
fill_the_disk(void)
{
    for (int i = 0; i < 1000; i++)
        fail("IO error: No space left on device: While appending to file", "the disk is full");
}

static void
find_room(void)
{
    for (int i = 0; i < 1000; i++)
        kw_engine_worked();
}

static void
break_it(void)
{
    for (int i = 0; i < 1000; i++)
        fail("IO error: something else", "failed while writing");
}

static void
a_full_disk_is_logged_once(void)
{
    for (int round = 0; round < 2; round++) {
        g_autofree char *full = logged_by(fill_the_disk), *room = logged_by(find_room);
        g_assert_cmpuint(lines(full), ==, 1);
        g_assert_nonnull(strstr(full, "the disk is full"));
        g_assert_cmpuint(lines(room), ==, 1);
        g_assert_nonnull(strstr(room, "failures_not_logged=999"));
    }
    g_autofree char *nothing = logged_by(find_room);
    g_assert_cmpstr(nothing, ==, "");
}

/* A thousand failures in less than a minute. */
static void
other_failures_are_logged_now_and_then(void)
{
    g_autofree char *text = logged_by(break_it);
    g_assert_cmpuint(lines(text), >=, 1);
    g_assert_cmpuint(lines(text), <, 60);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/embedded/engine/full-disk", a_full_disk_is_logged_once);
    g_test_add_func("/embedded/engine/other-failures", other_failures_are_logged_now_and_then);
    return g_test_run();
}
