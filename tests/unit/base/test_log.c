/* An event is one line, regardless of its details: values from outside cannot forge a line or break the
 * JSON. */
#include "base/log.h"

#include "base/clock.h"
#include "base/thread.h"

#include <glib.h>
#include <string.h>
#include <unistd.h>

static int saved = -1;
static char *path;

static void
capture(void)
{
    int file = g_file_open_tmp("keyway-log-XXXXXX", &path, NULL);
    g_assert_cmpint(file, >=, 0);
    saved = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    close(file);
}

/* The lines logged since capture. The caller frees the text. */
static char *
captured(void)
{
    dup2(saved, STDERR_FILENO);
    close(saved);
    char *text = NULL;
    gboolean read = g_file_get_contents(path, &text, NULL, NULL);
    unlink(path);
    g_free(path);
    g_assert_true(read);
    return text;
}

static int64_t
fixed_wall(void)
{
    return 1612551884712;
}

static void
a_line_of_logfmt(void)
{
    kw_clock_inject(fixed_wall, NULL);
    kw_log_configure(KW_LOG_INFO, false);
    capture();
    kw_log(KW_LOG_WARN, "hbase", "channel lost", "server=%s left=%d", "h1", 2);
    g_autofree char *text = captured();
    kw_clock_inject(NULL, NULL);
    g_assert_cmpstr(
        text, ==,
        "time=2021-02-05T19:04:44.712Z level=warn module=hbase event=\"channel lost\" server=h1 left=2\n");
}

static void
a_line_of_json(void)
{
    kw_clock_inject(fixed_wall, NULL);
    kw_log_configure(KW_LOG_INFO, true);
    capture();
    kw_log(KW_LOG_ERROR, "net", "gone", "why=\"a\\b\"");
    g_autofree char *text = captured();
    kw_clock_inject(NULL, NULL);
    kw_log_configure(KW_LOG_INFO, false);
    g_assert_cmpstr(
        text, ==,
        "{\"time\":\"2021-02-05T19:04:44.712Z\",\"level\":\"error\",\"module\":\"net\",\"event\":\"gone\","
        "\"details\":\"why=\\\"a\\\\b\\\"\"}\n");
}

static void
levels(void)
{
    kw_log_configure(KW_LOG_WARN, false);
    g_assert_false(kw_log_enabled(KW_LOG_INFO));
    g_assert_true(kw_log_enabled(KW_LOG_WARN));
    capture();
    kw_log(KW_LOG_INFO, "test", "left out", "x=1");
    kw_log(KW_LOG_ERROR, "test", "shown", "x=1");
    g_autofree char *text = captured();
    kw_log_configure(KW_LOG_INFO, false);
    g_assert_null(strstr(text, "left out"));
    g_assert_nonnull(strstr(text, "shown"));
}

static size_t
line_count(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static const char hostile[] =
    "a\nlevel=error event=forged\r\n\x1b[31m\x7f\x01\xff\xc2\x85\xe2\x80\xa8\xed\xa0\x80 \xe8\xae\xa2";

static void
values_from_outside_stay_on_their_line(void)
{
    for (int json = 0; json < 2; json++) {
        kw_log_configure(KW_LOG_INFO, json);
        capture();
        kw_log(KW_LOG_INFO, "test", "value", "v=%s", hostile);
        g_autofree char *text = captured();
        kw_log_configure(KW_LOG_INFO, false);
        g_assert_cmpuint(line_count(text), ==, 1);
        g_assert_true(g_utf8_validate(text, -1, NULL));
        for (const char *at = text; *at && *at != '\n'; at++)
            g_assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
        g_assert_null(strstr(text, "\xc2\x85"));
        g_assert_null(strstr(text, "\xe2\x80\xa8"));
        g_assert_nonnull(strstr(text, " \xe8\xae\xa2"));
        g_assert_nonnull(strstr(text, json ? "a\\u000alevel" : "a\\x0alevel"));
        g_assert_nonnull(strstr(text, json ? "\\\\xff" : "\\xff"));
    }
}

static void
log_many(void *user)
{
    for (int i = 0; i < 500; i++)
        kw_log(KW_LOG_INFO, "test", "many", "who=%s number=%d end", (const char *)user, i);
}

static void
lines_of_threads_are_not_mixed(void)
{
    static const char *const names[] = {"aaaaaaaaaaaaaaaa", "bbbbbbbb", "cccccccccccccccccccccccc"};
    capture();
    kw_thread threads[G_N_ELEMENTS(names)];
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        kw_thread_start(&threads[i], "log", log_many, (void *)names[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        kw_thread_join(&threads[i]);
    g_autofree char *text = captured();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 1501);
    for (size_t i = 0; i < 1500; i++) {
        g_assert_true(g_str_has_prefix(lines[i], "time="));
        g_assert_true(g_str_has_suffix(lines[i], " end"));
    }
}

int
main(int count, char **arguments)
{
    g_test_init(&count, &arguments, NULL);
    g_test_add_func("/base/log/logfmt", a_line_of_logfmt);
    g_test_add_func("/base/log/json", a_line_of_json);
    g_test_add_func("/base/log/levels", levels);
    g_test_add_func("/base/log/hostile", values_from_outside_stay_on_their_line);
    g_test_add_func("/base/log/threads", lines_of_threads_are_not_mixed);
    return g_test_run();
}
