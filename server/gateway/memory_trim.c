/* jemalloc, because its threads return freed memory by themselves. glibc's malloc returned it when a timer
 * called malloc_trim: in the 100 ms between two calls, a burst of large scans could free 125 MiB in pieces of
 * 16 KiB and allocate as much again. */
#include "gateway/memory_trim.h"

#ifdef KW_HAVE_JEMALLOC
#include <jemalloc/jemalloc.h>

/* jemalloc reads this when the process starts. Freed memory can be allocated again for 10 ms, then a thread
 * that allocates or frees returns it. With 0 ms, a scan of 1,000 rows needs 1.36 times as much CPU time;
 * with 10 ms, as much as with glibc's malloc or less. */
const char *malloc_conf __attribute__((visibility("default"))) = "dirty_decay_ms:10,muzzy_decay_ms:0";

/* Memory that threads freed before they fell asleep is returned at this interval. */
#define RETURN_MS 100

static void
on_trim(void *user)
{
    kw_gateway *gateway = user;
    mallctl("arena." G_STRINGIFY(MALLCTL_ARENAS_ALL) ".decay", NULL, NULL, NULL, 0);
    kw_timer_start_ms(gateway->trim, RETURN_MS);
}

void
kw_memory_trim_start(kw_gateway *gateway)
{
    gateway->trim = kw_timer_new(gateway->loop, on_trim, gateway);
    kw_timer_start_ms(gateway->trim, RETURN_MS);
}
#else
void
kw_memory_trim_start(kw_gateway *gateway)
{
    (void)gateway;
}
#endif
