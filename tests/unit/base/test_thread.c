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

static void
locks_exclude(void)
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

static void
conditions_wake(void)
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

static void
conditions_time_out(void)
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

static void
threads_block_signals(void)
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

int
main(int count, char **arguments)
{
    g_test_init(&count, &arguments, NULL);
    g_test_add_func("/base/thread/lock", locks_exclude);
    g_test_add_func("/base/thread/wake", conditions_wake);
    g_test_add_func("/base/thread/time-out", conditions_time_out);
    g_test_add_func("/base/thread/signals", threads_block_signals);
    return g_test_run();
}
