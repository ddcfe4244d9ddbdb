/* Makes a text the next version of the policy.
 *
 *   load the current version -> preview: what would change, what is refused -> a dry run ends here
 *     -> prepare, as at a reload; its put of the facts makes the version current -> serve it
 *
 * If the preview refuses a table only because a key rule, the paths or the setting atomics change, this
 * change is made online (propose.h): the policy is compiled again with the placements that the change
 * begins with, and then handled like any other. Afterwards the coordinator carries out the change. */
#pragma once

#include "policy/requests.h"

/* The job of a request with a command. It ends with kw_policy_request_finish. */
void kw_policy_apply_run(kw_policy_request *request);

/* Call it when draining has begun: ends an apply that waits. Can free the request. */
void kw_policy_apply_end(kw_policy_request *request);
