/* Internal to gateway: when the gateway serves, and which policy.
 *
 *   begin -> (load the policy that the catalog keeps) -> prepare -> serve
 *                   ^                                       |
 *                   +--- wait RETRY_MS, calls fail <--------+ the store cannot be reached
 *
 * A gateway that loses its registration in the catalog does not serve until the same steps have admitted it
 * again. A policy that was prepared elsewhere (reload.c, policy/follower.c, policy/apply.c) begins to serve
 * with kw_serving_serve. Main thread only. */
#pragma once

#include "gateway/gateway_internal.h"

/* Prepares the policy, and waits for the store for a limited time before the gateway listens without it. */
void kw_serving_begin(kw_gateway *gateway);

/* Begins to serve a policy that was prepared. `control` is the gateway's. */
void kw_serving_serve(kw_control *control, kw_policy *policy, kw_keyring *keyring);
/* The same for a version of the policy that was applied here; also ends WAITING. */
void kw_serving_serve_version(kw_control *control, kw_policy *policy);

/* Callback of the gateway's timer. STARTING: the store has not answered in time. WAITING, FENCED:
 * the next attempt. */
void kw_serving_on_timer(void *gateway);

/* Callback of the row checks: a check has ended, so a table can probably be served. */
void kw_serving_rows_checked(void *control);

/* Callback of the catalog, when the registration was lost: the policy must be admitted again. */
void kw_serving_registration_lost(void *gateway);
