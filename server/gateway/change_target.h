/* Internal to gateway: checks, before a change of a key rule begins, that the new store table can hold what
 * the old one holds. Otherwise writes, which go to both, would fail, or the rows of the two could never be
 * equal. The new store table can already exist if it has no rows.
 *
 * If it does not exist, and the store is shared with other programs (kw_store_is_shared), it is created like
 * the old one.
 */
#pragma once

#include "catalog/changes.h"
#include "gateway/gateway_internal.h"
#include "verb/verb.h"

typedef void (*kw_change_target_checked)(void *user, const kw_error *error);

/* Checks the changes that the step begins. `policy` is the policy after the step. The error REFUSED names the
 * family. The arguments must live until done, which can be called before this returns. */
void kw_change_check_targets(kw_gateway *gateway, const kw_policy *policy, const kw_change_step *step,
                             kw_arena *arena, kw_change_target_checked done, void *user);

/* The path whose change begins with this record of the step; NULL: none. */
const kw_path *kw_change_find_beginning(const kw_policy *policy, const kw_change_step *step,
                                        const kw_change_record *record);

/* Creates the new store tables of the changes that the step begins, with the families of the old ones and
 * those that only the policy has. A table is split as the policy says; otherwise, if the old one has several
 * regions, into about as many by the new key rule. The call's policy is that of the step. The arguments must
 * live until done. `tables`: those that did not exist and were created. */
typedef void (*kw_change_targets_created)(void *user, const kw_created_table *tables, size_t count,
                                          const kw_error *error);
void kw_change_create_targets(kw_call *call, const kw_change_step *step, kw_change_targets_created done,
                              void *user);
