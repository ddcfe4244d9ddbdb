/* Freed memory goes back to the system soon, because callers decide how much is freed: a burst of large scans
 * can free 125 MiB in pieces of 16 KiB, and other threads allocate as much again elsewhere. jemalloc returns
 * memory by time. Time alone is no bound, so it is also returned after a number of freed bytes. */
#include "gateway/memory_trim.h"

#include "base/budget.h"
#include "base/clock.h"
#include "base/thread.h"

#include <glib.h>

#ifdef KW_HAVE_JEMALLOC
#include <jemalloc/jemalloc.h>
#include <unistd.h>

/* jemalloc reads this when the process starts. One arena per CPU, because memory freed in one arena does not
 * serve another. With 0 ms instead of 10, a scan of 1,000 rows needs 1.36 times as much CPU time. */
const char *malloc_conf __attribute__((visibility("default"))) =
    "percpu_arena:percpu,dirty_decay_ms:10,muzzy_decay_ms:0";

/* Whenever CHECK_BYTES were freed, all free memory is returned if it is more than FREE_BYTES. With these, a
 * scan of 1,000 rows needs as much CPU time as without any check. If the thread that returns it is late, and
 * there are more than MOST_BYTES, the thread that frees returns them itself. */
#define CHECK_BYTES ((int64_t)4 * 1024 * 1024)
#define FREE_BYTES ((size_t)8 * 1024 * 1024)
#define MOST_BYTES ((size_t)32 * 1024 * 1024)

/* Memory that is not charged to callers, such as the store's, is returned at these intervals: the short one
 * for BUSY_ROUNDS after CHECK_BYTES were freed. */
#define BUSY_NS (UINT64_C(10) * 1000 * 1000)
#define IDLE_NS (UINT64_C(1000) * 1000 * 1000)
#define BUSY_ROUNDS 100

#define ALL_ARENAS G_STRINGIFY(MALLCTL_ARENAS_ALL)

static size_t
free_bytes(void)
{
    uint64_t epoch = 1;
    size_t pages = 0, length = sizeof pages;
    mallctl("epoch", NULL, NULL, &epoch, sizeof epoch); /* updates the counts */
    mallctl("stats.arenas." ALL_ARENAS ".pdirty", &pages, &length, NULL, 0);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A thread of its own returns the memory: for 16 MiB in small pieces, the system needs milliseconds, in which
 * an event loop would serve nobody. */
static struct {
    kw_thread thread;
    kw_mutex lock; /* guards the rest */
    kw_condition changed;
    bool freed, ended;
} trim;

static void
return_above(size_t most)
{
    if (free_bytes() > most)
        mallctl("arena." ALL_ARENAS ".purge", NULL, NULL, NULL, 0);
}

static void
on_freed(void)
{
    kw_mutex_lock(&trim.lock);
    trim.freed = true;
    kw_condition_signal(&trim.changed);
    kw_mutex_unlock(&trim.lock);
    return_above(MOST_BYTES);
}

static void
run(void *unused)
{
    (void)unused;
    unsigned busy = 0;
    kw_mutex_lock(&trim.lock);
    while (!trim.ended) {
        if (!trim.freed)
            kw_condition_wait_until(&trim.changed, &trim.lock,
                                    kw_clock_mono_ns() + (busy > 0 ? BUSY_NS : IDLE_NS));
        busy = trim.freed ? BUSY_ROUNDS : busy - (busy > 0);
        trim.freed = false;
        kw_mutex_unlock(&trim.lock);
        return_above(FREE_BYTES);
        mallctl("arena." ALL_ARENAS ".decay", NULL, NULL, NULL, 0);
        kw_mutex_lock(&trim.lock);
    }
    kw_mutex_unlock(&trim.lock);
}

void
kw_memory_trim_start(void)
{
    kw_mutex_init(&trim.lock);
    kw_condition_init(&trim.changed);
    trim.freed = trim.ended = false;
    kw_thread_start(&trim.thread, "memory", run, NULL);
    kw_budget_on_freed(CHECK_BYTES, on_freed);
}

void
kw_memory_trim_stop(void)
{
    kw_budget_on_freed(CHECK_BYTES, NULL);
    kw_mutex_lock(&trim.lock);
    trim.ended = true;
    kw_condition_signal(&trim.changed);
    kw_mutex_unlock(&trim.lock);
    kw_thread_join(&trim.thread);
    kw_condition_clear(&trim.changed);
    kw_mutex_clear(&trim.lock);
}
#else
void
kw_memory_trim_start(void)
{
}

void
kw_memory_trim_stop(void)
{
}
#endif
