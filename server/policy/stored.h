/* The policy of a gateway whose tables and sequences the catalog keeps (policy.source:
 * store).
 *
 *   which version is current, which changes of key rules are recorded -> the texts with the old key rules
 *     -> the text of the version, unless it is in service -> together with the settings of the file
 */
#pragma once

#include "policy/control.h"

/* The receiver owns a reference to the policy, which is NULL exactly if error is set. */
typedef void (*kw_stored_policy_loaded)(void *user, kw_policy *policy, const kw_error *error);

/* Loads the current version, with the settings `own`, and sets control->changes. If the version, the settings
 * and the versions of changes are all in service, returns the policy in service. UNAVAILABLE, with the
 * command to use, if nothing was imported yet. INVALID if this gateway cannot read the version. done can be
 * called before this returns. */
void kw_stored_policy_load(kw_control *control, kw_model *own, kw_stored_policy_loaded done, void *user);
