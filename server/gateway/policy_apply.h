/* Internal to gateway: makes a text the next version of the policy.
 *
 *   load the current version -> preview: what would change, what is refused -> a dry run ends here
 *     -> prepare, as at a reload; its put of the facts makes the version current -> serve it
 *
 * A change that rows do not permit is refused by the preview. An online change of a key rule begins at that
 * place: on_preview has the refused tables. */
#pragma once

#include "gateway/policy_requests.h"

/* The job of a request with an order. It ends with kw_policy_request_finish. */
void kw_policy_apply_run(kw_policy_request *request);
