/* Internal to gateway: checks, before a change of a key rule begins, that the new store table can hold
 * whatever the old one holds. Otherwise each write of the table would fail, since it goes to both, or the
 * rows of the two could never be equal. The new store table can exist already, without rows. */
#pragma once

#include "catalog/changes.h"
#include "gateway/gateway_internal.h"

typedef void (*kw_change_target_checked)(void *user, const kw_error *error);

/* Checks the changes that the step begins. The policy is compiled for the step. REFUSED names the family. The
 * arguments must live until done, which can be called before this returns. */
void kw_change_check_targets(kw_gateway *gateway, const kw_policy *policy, const kw_change_step *step,
                             kw_arena *arena, kw_change_target_checked done, void *user);
