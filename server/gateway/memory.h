/* The memory budget that a policy gives: limits.memory, or half of what the machine gives. */
#pragma once

#include "config/model.h"

/* False and a problem: the caches and one call at its limits do not fit into the default. Where the machine
 * is so small that the default limits do not fit, the budget is what they need, as far as the machine has it.
 */
bool kw_memory_budget(const kw_model *model, int64_t machine_bytes, kw_diagnostics *diagnostics,
                      int64_t *ret_bytes);

/* Takes it into service; the budget of a policy that kw_memory_budget has passed. */
void kw_memory_configure(const kw_model *model);
