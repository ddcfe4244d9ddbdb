/* Checks, before a change of a key rule begins, or paths are added, that the new store
 * table can hold whatever the old one holds. Otherwise each write of the table would fail, since it goes to
 * both, or the rows of the two could never be equal. The new store table can exist already, without rows.
 *
 * If it does not exist, and the store is shared with other programs (kw_store_is_shared), it is created like
 * the old one.
 */
#pragma once

#include "catalog/changes.h"
#include "policy/control.h"
#include "verb/verb.h"

/* advice: lines for the plan about old store tables, in the arena; "": none. */
typedef void (*kw_change_target_checked)(void *user, const char *advice, const kw_error *error);

/* Checks the changes that the step begins. `policy` is the policy after the step. The error REFUSED names the
 * family. The advice names families of HBase that do not keep their delete markers long enough
 * (kw_hbase_markers_ms), or have no setting for in-memory compaction. The arguments must live until done,
 * which can be called before this returns. */
void kw_change_check_targets(kw_control *control, const kw_policy *policy, const kw_change_step *step,
                             kw_arena *arena, kw_change_target_checked done, void *user);

/* A path whose change begins with the step, and the store tables from which and to which its rows are copied.
 */
typedef struct kw_change_target {
    const kw_path *path;
    kw_bytes from, to;
} kw_change_target;

/* The targets of a step. Zero: before the first one. */
typedef struct kw_change_targets {
    size_t record, path; /* of the next one */
} kw_change_targets;

/* False: there are no more. */
bool kw_change_next_target(kw_change_targets *targets, const kw_policy *policy, const kw_change_step *step,
                           kw_change_target *ret_target);

/* Creates the new store tables of the changes that the step begins, with the families of the old ones and
 * those that only the policy has. A table is split as the policy says; otherwise, if the old one has several
 * regions, into about as many by the new key rule. The call's policy is that of the step. The arguments must
 * live until done. `tables`: those that did not exist and were created. */
typedef void (*kw_change_targets_created)(void *user, const kw_created_table *tables, size_t count,
                                          const kw_error *error);
void kw_change_create_targets(kw_call *call, const kw_change_step *step, kw_change_targets_created done,
                              void *user);
