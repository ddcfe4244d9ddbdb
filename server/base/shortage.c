#include "base/shortage.h"

#include "base/counters.h"

#define RETRY_AFTER_MS 100

bool
kw_shortage_refuse(kw_error *ret_error)
{
    kw_counters_add(KW_FIGURE_memory_refusals, 1);
    kw_error_set(ret_error, KW_BUSY, "the gateway is short of memory (limits.memory)");
    ret_error->retry_after_ms = RETRY_AFTER_MS;
    return false;
}
