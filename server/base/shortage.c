#include "base/shortage.h"

#include <inttypes.h>

#define RETRY_AFTER_MS 100

bool
kw_shortage_refuse(kw_error *ret_error)
{
    kw_metrics_add(KW_METRIC_memory_refusals, 1);
    kw_error_set(ret_error, KW_BUSY, "the gateway is short of memory (limits.memory)");
    ret_error->retry_after_ms = RETRY_AFTER_MS;
    return false;
}

bool
kw_shortage_fail(kw_shortage shortage, kw_error *ret_error)
{
    if (shortage == KW_SHORTAGE_OF_MEMORY)
        return kw_shortage_refuse(ret_error);
    return kw_error_set(ret_error, KW_LIMIT,
                        "the call needs more than %" PRId64
                        " bytes of memory, the most that one call can use (half of limits.memory without "
                        "the cache); make the call smaller",
                        kw_budget_call_share());
}

bool
kw_shortage_check(const kw_account *account, kw_error *ret_error)
{
    if (kw_account_client_is_gone(account))
        return kw_error_set(ret_error, KW_UNAVAILABLE, "the client has disconnected");
    return kw_budget_pressure(account) != KW_PRESSURE_FULL || kw_shortage_refuse(ret_error);
}
