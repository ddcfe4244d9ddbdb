/* The memory budget of a policy: limits.memory, or by default half of the machine's memory. */
#pragma once

#include "config/model.h"

/* Computes the budget. False, with a problem, if the caches and one call at its limits do not fit into the
 * default budget. The default budget is half of the machine's memory. On a small machine, it is what the
 * caches and one call need, if this is more than half, but at most what the default settings need and at most
 * the machine's memory. */
bool kw_memory_budget(const kw_model *model, int64_t machine_bytes, kw_diagnostics *diagnostics,
                      int64_t *ret_bytes);

/* Applies the budget of a policy for which kw_memory_budget succeeded. */
void kw_memory_configure(const kw_model *model);
