#include "policy/memory.h"

#include "base/budget.h"
#include "base/log.h"
#include "base/machine.h"

#include <inttypes.h>

#define MIB ((int64_t)1024 * 1024)
/* The memory that the default limits and the default cache need together. */
#define DEFAULTS_NEED (168 * MIB)

bool
kw_memory_budget(const kw_model *model, int64_t machine_bytes, kw_diagnostics *diagnostics,
                 int64_t *ret_bytes)
{
    int64_t given = model->limits.memory_bytes, needed = kw_model_memory_needed(model);
    int64_t half = machine_bytes / 2;
    if (given > 0 || machine_bytes <= 0 || needed <= half) {
        *ret_bytes = given > 0 ? given : half;
        return true;
    }
    if (needed > DEFAULTS_NEED || needed > machine_bytes)
        return kw_diagnostics_add(
            diagnostics, (kw_mark){0, 0}, "set limits.memory, or lower limits.frame or store.cache",
            "limits.memory is not set, so its default is half of this machine's memory, %" PRId64
            "MiB; one call at "
            "its limits and the cache (6 x frame + read-ahead + store.cache) need %" PRId64 "MiB",
            half / MIB, (needed + MIB - 1) / MIB);
    *ret_bytes = needed;
    return true;
}

void
kw_memory_configure(const kw_model *model)
{
    g_autoptr(kw_diagnostics) ignored = kw_diagnostics_new("");
    int64_t bytes = 0;
    if (!kw_memory_budget(model, kw_machine_memory(), ignored, &bytes))
        return;
    if (bytes != kw_budget_limit())
        kw_log(KW_LOG_INFO, "gateway", "memory budget", KW_LOG_FACT("bytes", bytes));
    kw_budget_configure(bytes);
}
