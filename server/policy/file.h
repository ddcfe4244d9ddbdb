/* Compiles a policy file, or the built-in policy. */
#pragma once

#include "schema/policy.h"

/* Loads a policy to serve. NULL with problems in diagnostics if it is rejected. The file must be a regular
 * one, because others cannot be read again. file NULL: the built-in policy. The policy can have hazards. */
kw_policy *kw_policy_file_load(const char *file, kw_diagnostics *diagnostics);

/* Loads a policy only to check it, from any kind of file; waits for the writer of a FIFO. */
kw_policy *kw_policy_file_check(const char *file, kw_diagnostics *diagnostics);

/* The same, but every hazard is an error. */
kw_policy *kw_policy_file_check_strict(const char *file, kw_diagnostics *diagnostics);

/* Logs every problem and sets INVALID with the first one. Returns false. */
bool kw_policy_file_report(const kw_diagnostics *problems, kw_error *ret_error);
