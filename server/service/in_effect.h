/* Internal to service: the text of a policy version with the store table, the layout, the order of writes and
 * the setting atomics that its tables have in effect.
 *
 * After a change of a key rule, the text still names the placement from before the change. The catalog knows
 * where the rows are, so the text can be applied again. As a policy file, or after the catalog was lost, it
 * must name the present placement. */
#pragma once

#include "base/effort.h"
#include "schema/policy.h"

/* True if the text of a version can differ from what is in effect. */
bool kw_in_effect_differs(const kw_policy *serving);

/* Returns the text with the settings in effect in the served policy, for those paths whose key rule it
 * serves. A comment names the tables with a change under way; these stay as they are. Caller frees. NULL with
 * the error: INVALID, with the settings to add, if they cannot be written into this text. Any thread. */
char *kw_in_effect_text(const kw_policy *serving, kw_bytes text, kw_effort *effort, kw_error *ret_error);
