/* Internal to gateway: key rules that this release rejects in new layouts (kw_policy_hazard). A layout in the
 * catalog can have rows, so it is served with a warning; other layouts with hazards are rejected. */
#pragma once

#include "gateway/gateway_internal.h"

/* INVALID with the first problem if a hazard is in a layout that the catalog does not contain; logs all such
 * problems. Otherwise *ret_warnings has a text for each hazard (the caller unrefs it). admission is NULL for
 * a store without catalog. */
bool kw_hazards_check(const kw_policy *policy, const kw_admission *admission, GPtrArray **ret_warnings,
                      kw_error *ret_error);

/* Call this when a policy begins to serve: logs its warnings, and replaces those of /readyz and the
 * metrics. */
void kw_hazards_serve(kw_gateway *gateway, GPtrArray *warnings);
