/* Tables whose key rules can lose records (kw_policy_hazard) are not served. */
#pragma once

#include "catalog/catalog.h"
#include "schema/policy.h"

/* Leaves out the optional tables with hazards (kw_table_states_optional), with the first hazard as the
 * reason. INVALID with the first problem if another table has a hazard; logs all such problems. */
bool kw_hazards_check(const kw_policy *policy, kw_admission *admission, const bool *optional,
                      kw_error *ret_error);
