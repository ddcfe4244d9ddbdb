#include "gateway/memory_trim.h"

#include "base/budget.h"
#include "base/log.h"

#include <glib.h>

/* How often freed memory can be returned to the system: at rest, and while callers use memory. */
#define TRIM_REST_MS 500
#define TRIM_BUSY_MS 100

/* Returns freed memory to the system. */
static void
on_trim(void *user)
{
    kw_gateway *gateway = user;
    if (kw_trim_memory(&gateway->trimmed))
        kw_log(KW_LOG_DEBUG, "gateway", "freed memory was returned to the system",
               KW_LOG_FACT("used", kw_budget_used()));
    bool busy = kw_budget_used() - kw_metrics_read(KW_METRIC_memory_caches) >= KW_TRIM_LEAST;
    kw_timer_start_ms(gateway->trim, busy ? TRIM_BUSY_MS : TRIM_REST_MS);
}

void
kw_memory_trim_start(kw_gateway *gateway)
{
    gateway->trim = kw_timer_new(gateway->loop, on_trim, gateway);
    kw_timer_start_ms(gateway->trim, TRIM_REST_MS);
}
