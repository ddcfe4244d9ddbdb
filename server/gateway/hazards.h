/* Inside of the module: rules that this version refuses in new layouts (kw_policy_hazard). A layout that the
 * catalog knows can have rows, so it is served with a warning; any other one is refused. */
#pragma once

#include "gateway/gateway_internal.h"

/* INVALID with the first problem when a hazard concerns a layout that the catalog does not know; all of them
 * go to the log. Else ret_warnings has a text for each hazard (caller unrefs). admission NULL: a store
 * without catalog. */
bool kw_hazards_check(const kw_policy *policy, const kw_admission *admission, GPtrArray **ret_warnings,
                      kw_error *ret_error);

/* The policy serves: its warnings go to the log, to /readyz and to the metrics, in place of those before. */
void kw_hazards_serve(kw_gateway *gateway, GPtrArray *warnings);
