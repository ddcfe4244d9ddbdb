/* Stalls: work that uses a thread for too long is counted with the name of its call; waiting is not. */
#include "base/metrics.h"
#include "base/stall.h"
#include "support/log_capture.h"
#include "support/slow_build.h"

#include <glib.h>
#include <string.h>
#include <time.h>

#define LIMIT_MS (KW_SLOW_BUILD ? 10 * KW_STALL_LIMIT_MS : KW_STALL_LIMIT_MS)

static uint64_t
cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void
work_for(uint64_t ms)
{
    for (uint64_t end = cpu_ms() + ms; cpu_ms() <= end;)
        continue;
}

static void
name_call(void *user, uint64_t call, char name[KW_STALL_NAME_MAX])
{
    g_snprintf(name, KW_STALL_NAME_MAX, "%s %u", (const char *)user, (unsigned)call);
}

static int64_t
stalls(void)
{
    return kw_metrics_read(KW_METRIC_loop_stalls);
}

KW_TEST(test_work, "/base/stall/work")
{
    int64_t before = stalls();
    kw_stall_watch(name_call, (void *)"call");
    work_for(2 * LIMIT_MS);
    kw_stall_step();
    g_assert_cmpint(stalls() - before, ==, 1);
    for (unsigned piece = 0; piece < 4; piece++) {
        work_for(LIMIT_MS / 2);
        kw_stall_step();
    }
    g_assert_cmpint(stalls() - before, ==, 1);
    work_for(2 * LIMIT_MS);
    kw_stall_set_call(3);
    kw_stall_step();
    g_assert_cmpint(stalls() - before, ==, 2);
}

KW_TEST(test_waiting, "/base/stall/waiting")
{
    int64_t before = stalls();
    kw_stall_watch(NULL, NULL);
    for (unsigned piece = 0; piece < 3; piece++) {
        work_for(LIMIT_MS / 2);
        g_usleep((gulong)(2 * LIMIT_MS) * 1000);
        kw_stall_step();
    }
    g_assert_cmpint(stalls(), ==, before);
}

static gpointer
work_unwatched(gpointer user)
{
    (void)user;
    kw_stall_step();
    work_for(2 * LIMIT_MS);
    kw_stall_step();
    return NULL;
}

KW_TEST(test_other_threads, "/base/stall/other_threads")
{
    int64_t before = stalls();
    g_thread_join(g_thread_new("unwatched", work_unwatched, NULL));
    g_assert_cmpint(stalls(), ==, before);
}

KW_TEST(test_log, "/base/stall/log")
{
    kw_stall_watch(name_call, (void *)"scan of call");
    kw_stall_set_call(7);
    work_for(2 * LIMIT_MS);
    log_capture_begin();
    kw_stall_step();
    g_autofree char *text = log_capture_end();
    g_assert_nonnull(strstr(text, "event=\"stall\""));
    g_assert_nonnull(strstr(text, "call=\"scan of call 7\""));
}
