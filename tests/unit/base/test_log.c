/* An event is one line, regardless of its details: values from outside cannot forge a line or break the
 * JSON. */
#include "base/log.h"

#include "base/clock.h"
#include "base/thread.h"
#include "support/log_capture.h"

#include <glib.h>
#include <string.h>
#include <unistd.h>

static int64_t
fixed_wall(void)
{
    return 1612551884712;
}

static uint64_t mono_ns = UINT64_C(5000000000);

static uint64_t
fixed_mono(void)
{
    return mono_ns;
}

KW_TEST(a_line_of_logfmt, "/base/log/logfmt")
{
    kw_clock_inject(fixed_wall, NULL);
    kw_log_configure(KW_LOG_INFO, false);
    log_capture_begin();
    kw_log(KW_LOG_WARN, "hbase", "channel lost", KW_LOG_FACT("server", "h1"), KW_LOG_FACT("left", -2),
           KW_LOG_FACT("reason", "it said \"no=\\\""), KW_LOG_FACT("empty", ""));
    g_autofree char *text = log_capture_end();
    kw_clock_inject(NULL, NULL);
    g_assert_cmpstr(
        text, ==,
        "time=2021-02-05T19:04:44.712Z level=warn module=hbase event=\"channel lost\" server=h1 left=-2 "
        "reason=\"it said \\\"no=\\\\\\\"\" empty=\"\"\n");
}

KW_TEST(a_line_of_json, "/base/log/json")
{
    kw_clock_inject(fixed_wall, NULL);
    kw_log_configure(KW_LOG_INFO, true);
    log_capture_begin();
    kw_log(KW_LOG_ERROR, "net", "gone", KW_LOG_FACT("why", "a\\b\""),
           KW_LOG_FACT("bytes", KW_BYTES_LITERAL("x\0")), KW_LOG_FACT("least", INT64_MIN),
           KW_LOG_FACT("most", UINT64_MAX));
    g_autofree char *text = log_capture_end();
    kw_clock_inject(NULL, NULL);
    kw_log_configure(KW_LOG_INFO, false);
    g_assert_cmpstr(
        text, ==,
        "{\"time\":\"2021-02-05T19:04:44.712Z\",\"level\":\"error\",\"module\":\"net\",\"event\":\"gone\","
        "\"why\":\"a\\\\b\\\"\",\"bytes\":\"x\\u0000\",\"least\":-9223372036854775808,"
        "\"most\":18446744073709551615}\n");
}

KW_TEST(levels, "/base/log/levels")
{
    kw_log_configure(KW_LOG_WARN, false);
    g_assert_false(kw_log_enabled(KW_LOG_INFO));
    g_assert_true(kw_log_enabled(KW_LOG_WARN));
    log_capture_begin();
    g_assert_false(kw_log(KW_LOG_INFO, "test", "left out", KW_LOG_FACT("x", 1)));
    g_assert_true(kw_log(KW_LOG_ERROR, "test", "shown", KW_LOG_FACT("x", 1)));
    g_autofree char *text = log_capture_end();
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

KW_TEST(values_from_outside_stay_on_their_line, "/base/log/hostile")
{
    for (int json = 0; json < 2; json++) {
        kw_log_configure(KW_LOG_INFO, json);
        log_capture_begin();
        kw_log(KW_LOG_INFO, "test", "value", KW_LOG_FACT("v", hostile), KW_LOG_FACT("w", 1));
        g_autofree char *text = log_capture_end();
        kw_log_configure(KW_LOG_INFO, false);
        g_assert_cmpuint(line_count(text), ==, 1);
        g_assert_true(g_utf8_validate(text, -1, NULL));
        for (const char *at = text; *at && *at != '\n'; at++)
            g_assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
        g_assert_null(strstr(text, "\xc2\x85"));
        g_assert_null(strstr(text, "\xe2\x80\xa8"));
        g_assert_nonnull(strstr(text, " \xe8\xae\xa2"));
        g_assert_nonnull(strstr(text, "a\\u000alevel"));
        g_assert_nonnull(strstr(text, "\\\\xff"));
        g_assert_nonnull(strstr(text, json ? "\",\"w\":1}\n" : "\" w=1\n"));
    }
}

/* Ten events are logged each second; the next second reports how many were not. */
KW_TEST(a_limit_per_second, "/base/log/limit")
{
    kw_log_limit limit = {.second = UINT64_MAX};
    uint64_t unlogged = 77;
    kw_clock_inject(NULL, fixed_mono);
    for (int i = 0; i < 10; i++) {
        g_assert_true(kw_log_limit_allows(&limit, 10, &unlogged));
        g_assert_cmpuint(unlogged, ==, 0);
    }
    for (int i = 0; i < 3; i++)
        g_assert_false(kw_log_limit_allows(&limit, 10, &unlogged));
    mono_ns += UINT64_C(1000000000);
    g_assert_true(kw_log_limit_allows(&limit, 10, &unlogged));
    g_assert_cmpuint(unlogged, ==, 3);
    g_assert_true(kw_log_limit_allows(&limit, 10, &unlogged));
    g_assert_cmpuint(unlogged, ==, 0);
    kw_clock_inject(NULL, NULL);
}

static void
log_many(void *user)
{
    for (int i = 0; i < 500; i++)
        kw_log(KW_LOG_INFO, "test", "many", KW_LOG_FACT("who", (const char *)user), KW_LOG_FACT("number", i),
               KW_LOG_FACT("last", "end"));
}

KW_TEST(lines_of_threads_are_not_mixed, "/base/log/threads")
{
    static const char *const names[] = {"aaaaaaaaaaaaaaaa", "bbbbbbbb", "cccccccccccccccccccccccc"};
    log_capture_begin();
    kw_thread threads[G_N_ELEMENTS(names)];
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        kw_thread_start(&threads[i], "log", log_many, (void *)names[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        kw_thread_join(&threads[i]);
    g_autofree char *text = log_capture_end();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 1501);
    for (size_t i = 0; i < 1500; i++) {
        g_assert_true(g_str_has_prefix(lines[i], "time="));
        g_assert_true(g_str_has_suffix(lines[i], " last=end"));
    }
}
