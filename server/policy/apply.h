/* Makes a text the next version of the policy.
 *
 *   load the current version -> preview: what would change, what is refused -> a dry run ends here
 *     -> prepare, as at a reload; its put of the facts makes the version current -> serve it
 *
 * If the preview refuses a table only because a key rule, the paths or the setting atomics change, this
 * change is made online (propose.h): the policy is compiled again with the placements that the change
 * begins with, and then handled like any other. Afterwards the coordinator carries out the change. */
#pragma once

#include "policy/control.h"

/* Any thread; the signature is that of kw_service_settings, and `user` is the kw_control. */
void kw_policy_apply(void *user, const kw_apply_command *command, kw_loop *loop, kw_apply_done done,
                     void *done_user);
