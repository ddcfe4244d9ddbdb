/* Inside of the room: from a policy file (or none) to a compiled policy. */
#pragma once

#include "rule/policy.h"

/* NULL and problems in diagnostics when the file is refused. file NULL: the built-in policy. The policy can
 * have hazards. */
kw_policy *kw_policy_file_load(const char *file, kw_diagnostics *diagnostics);

/* The same, for an offline use: every hazard is an error. */
kw_policy *kw_policy_file_load_strict(const char *file, kw_diagnostics *diagnostics);

/* Every problem goes to the log; the error is INVALID with the first one. Returns false. */
bool kw_policy_file_refuse(const kw_diagnostics *problems, kw_error *ret_error);
