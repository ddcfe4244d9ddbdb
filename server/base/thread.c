#include "base/thread.h"

#include "base/budget.h"

#include <glib.h>
#include <signal.h>
#include <time.h>

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        int failed_ = (call);                                                                                \
        g_assert(failed_ == 0);                                                                              \
    } while (0)

typedef struct start {
    void (*run)(void *user);
    void *user;
} start;

void
kw_mutex_init(kw_mutex *mutex)
{
    MUST(pthread_mutex_init(&mutex->handle, NULL));
}

void
kw_mutex_clear(kw_mutex *mutex)
{
    MUST(pthread_mutex_destroy(&mutex->handle));
}

void
kw_mutex_lock(kw_mutex *mutex)
{
    MUST(pthread_mutex_lock(&mutex->handle));
}

void
kw_mutex_unlock(kw_mutex *mutex)
{
    MUST(pthread_mutex_unlock(&mutex->handle));
}

void
kw_condition_init(kw_condition *condition)
{
    pthread_condattr_t attributes;
    MUST(pthread_condattr_init(&attributes));
    MUST(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC));
    MUST(pthread_cond_init(&condition->handle, &attributes));
    MUST(pthread_condattr_destroy(&attributes));
}

void
kw_condition_clear(kw_condition *condition)
{
    MUST(pthread_cond_destroy(&condition->handle));
}

void
kw_condition_wait(kw_condition *condition, kw_mutex *mutex)
{
    MUST(pthread_cond_wait(&condition->handle, &mutex->handle));
}

bool
kw_condition_wait_until(kw_condition *condition, kw_mutex *mutex, uint64_t deadline_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                             .tv_nsec = (long)(deadline_ns % 1000000000)};
    return pthread_cond_timedwait(&condition->handle, &mutex->handle, &until) == 0;
}

void
kw_condition_signal(kw_condition *condition)
{
    MUST(pthread_cond_signal(&condition->handle));
}

void
kw_condition_broadcast(kw_condition *condition)
{
    MUST(pthread_cond_broadcast(&condition->handle));
}

static void *
run_thread(void *data)
{
    start begin = *(start *)data;
    g_free(data);
    begin.run(begin.user);
    kw_budget_settle();
    return NULL;
}

void
kw_thread_start(kw_thread *ret_thread, const char *name, void (*run)(void *user), void *user)
{
    start *begin = g_new(start, 1);
    *begin = (start){run, user};
    sigset_t all, old;
    sigfillset(&all);
    MUST(pthread_sigmask(SIG_SETMASK, &all, &old));
    MUST(pthread_create(&ret_thread->handle, NULL, run_thread, begin));
    MUST(pthread_sigmask(SIG_SETMASK, &old, NULL));
    pthread_setname_np(ret_thread->handle, name);
}

void
kw_thread_join(kw_thread *thread)
{
    MUST(pthread_join(thread->handle, NULL));
}
