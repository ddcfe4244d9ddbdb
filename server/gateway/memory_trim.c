/* Freed memory goes back to the system soon, because callers decide how much is freed: a burst of large scans
 * can free 125 MiB in pieces of 16 KiB, and other threads allocate as much again elsewhere. jemalloc returns
 * memory by time. Time alone is no bound, so threads also return it after a number of freed bytes. */
#include "gateway/memory_trim.h"

#ifdef KW_HAVE_JEMALLOC
#include <jemalloc/jemalloc.h>
#include <unistd.h>

/* jemalloc reads this when the process starts. One arena per CPU, because memory freed in one arena does not
 * serve another. With 0 ms instead of 10, a scan of 1,000 rows needs 1.36 times as much CPU time. */
const char *malloc_conf __attribute__((visibility("default"))) =
    "percpu_arena:percpu,dirty_decay_ms:10,muzzy_decay_ms:0";

/* Whenever CHECK_BYTES were freed, all free memory is returned if it is more than FREE_BYTES. With these, a
 * scan of 1,000 rows needs as much CPU time as without any check. */
#define CHECK_BYTES ((int64_t)8 * 1024 * 1024)
#define FREE_BYTES ((size_t)16 * 1024 * 1024)

/* Memory that threads freed before they fell asleep is returned at this interval. */
#define RETURN_MS 1000

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

static void
on_freed(void)
{
    if (free_bytes() > FREE_BYTES)
        mallctl("arena." ALL_ARENAS ".purge", NULL, NULL, NULL, 0);
}

static void
on_trim(void *user)
{
    kw_gateway *gateway = user;
    mallctl("arena." ALL_ARENAS ".decay", NULL, NULL, NULL, 0);
    kw_timer_start_ms(gateway->trim, RETURN_MS);
}

void
kw_memory_trim_start(kw_gateway *gateway)
{
    kw_budget_on_freed(CHECK_BYTES, on_freed);
    gateway->trim = kw_timer_new(gateway->control.loop, on_trim, gateway);
    kw_timer_start_ms(gateway->trim, RETURN_MS);
}
#else
void
kw_memory_trim_start(kw_gateway *gateway)
{
    (void)gateway;
}
#endif
