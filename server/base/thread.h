/* Threads, locks and conditions: a thin wrapper of pthread, because ThreadSanitizer reports false races for
 * GLib's GMutex. Failures are programming mistakes and are asserted. Atomics are C11's. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct kw_mutex {
    pthread_mutex_t handle;
} kw_mutex;

typedef struct kw_condition {
    pthread_cond_t handle; /* on the monotonic clock */
} kw_condition;

typedef struct kw_thread {
    pthread_t handle;
} kw_thread;

void kw_mutex_init(kw_mutex *mutex);
void kw_mutex_clear(kw_mutex *mutex);
void kw_mutex_lock(kw_mutex *mutex);
void kw_mutex_unlock(kw_mutex *mutex);

void kw_condition_init(kw_condition *condition);
void kw_condition_clear(kw_condition *condition);
void kw_condition_wait(kw_condition *condition, kw_mutex *mutex);
/* False if deadline_ns (kw_clock_mono_ns) passed first. */
bool kw_condition_wait_until(kw_condition *condition, kw_mutex *mutex, uint64_t deadline_ns);
void kw_condition_signal(kw_condition *condition);
void kw_condition_broadcast(kw_condition *condition);

/* Starts a thread with all signals blocked; name (at most 15 bytes) shows in ps and gdb. */
void kw_thread_start(kw_thread *ret_thread, const char *name, void (*run)(void *user), void *user);
void kw_thread_join(kw_thread *thread);
