/* Locks exclude each other, conditions wake or time out, and threads start with all signals blocked. */
#include "base/thread.h"

#include "base/clock.h"

#include <glib.h>
#include <signal.h>
#include <string.h>

static struct {
    kw_mutex mutex;
    kw_condition condition;
    int number;
    bool ready;
} shared;

static void
add_under_the_lock(void *user)
{
    (void)user;
    for (int i = 0; i < 50000; i++) {
        kw_mutex_lock(&shared.mutex);
        shared.number++;
        kw_mutex_unlock(&shared.mutex);
    }
}

KW_TEST(locks_exclude, "/base/thread/lock")
{
    kw_mutex_init(&shared.mutex);
    kw_thread threads[4];
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_start(&threads[i], "lock", add_under_the_lock, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_join(&threads[i]);
    g_assert_cmpint(shared.number, ==, 200000);
    kw_mutex_clear(&shared.mutex);
}

static void
make_ready(void *user)
{
    (void)user;
    g_usleep(5000);
    kw_mutex_lock(&shared.mutex);
    shared.ready = true;
    kw_condition_broadcast(&shared.condition);
    kw_mutex_unlock(&shared.mutex);
}

KW_TEST(conditions_wake, "/base/thread/wake")
{
    kw_mutex_init(&shared.mutex);
    kw_condition_init(&shared.condition);
    kw_thread thread;
    kw_thread_start(&thread, "wake", make_ready, NULL);
    uint64_t deadline = kw_clock_mono_ns() + 20000000000u;
    kw_mutex_lock(&shared.mutex);
    while (!shared.ready)
        g_assert_true(kw_condition_wait_until(&shared.condition, &shared.mutex, deadline));
    kw_mutex_unlock(&shared.mutex);
    kw_thread_join(&thread);
    kw_condition_clear(&shared.condition);
    kw_mutex_clear(&shared.mutex);
}

KW_TEST(conditions_time_out, "/base/thread/time-out")
{
    kw_mutex_init(&shared.mutex);
    kw_condition_init(&shared.condition);
    uint64_t begin = kw_clock_mono_ns();
    kw_mutex_lock(&shared.mutex);
    bool woken = true;
    while (woken && kw_clock_mono_ns() < begin + 10000000)
        woken = kw_condition_wait_until(&shared.condition, &shared.mutex, begin + 10000000);
    kw_mutex_unlock(&shared.mutex);
    g_assert_cmpuint(kw_clock_mono_ns() - begin, >=, 10000000);
    kw_condition_clear(&shared.condition);
    kw_mutex_clear(&shared.mutex);
}

static void
read_own_state(void *user)
{
    sigset_t *mask = user;
    pthread_sigmask(SIG_SETMASK, NULL, mask);
}

KW_TEST(threads_block_signals, "/base/thread/signals")
{
    sigset_t here, there;
    sigemptyset(&there);
    kw_thread thread;
    kw_thread_start(&thread, "mask", read_own_state, &there);
    kw_thread_join(&thread);
    g_assert_cmpint(sigismember(&there, SIGTERM), ==, 1);
    g_assert_cmpint(sigismember(&there, SIGHUP), ==, 1);
    pthread_sigmask(SIG_SETMASK, NULL, &here);
    g_assert_cmpint(sigismember(&here, SIGTERM), ==, 0);
}
