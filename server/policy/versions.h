/* Reads the versions of the policy that the catalog keeps, for Admin calls. Any thread; the signatures are
 * those of kw_service_settings, and `user` is the kw_control. */
#pragma once

#include "policy/control.h"

void kw_policy_versions_list(void *user, int64_t before, size_t limit, kw_loop *loop, kw_versions_done done,
                             void *done_user);
/* number 0: the current version. */
void kw_policy_versions_read(void *user, int64_t number, kw_loop *loop, kw_versions_done done,
                             void *done_user);
