/* Time zones whose data in the system differ from those in the catalog, with which the
 * row keys are made (catalog/zones.h). */
#pragma once

#include "policy/control.h"

/* Compiles a policy from a file again, with the data of time zones that the catalog has. The caller owns the
 * new policy. NULL: INVALID, it has problems with these data. */
kw_policy *kw_zones_compile_again(kw_policy *policy, kw_error *ret_error);

/* Call this when a policy begins to serve: logs each difference that is new, and replaces those of /readyz
 * and of the metric. */
void kw_zone_warnings_serve(kw_control *control, const kw_policy *policy);
