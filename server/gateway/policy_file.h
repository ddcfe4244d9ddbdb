/* Inside of the room: from a policy file (or none) to a compiled policy. */
#pragma once

#include "schema/policy.h"

/* A policy to serve: NULL and problems in diagnostics when it is refused, also when the file is no regular
 * one, which could not be read again. file NULL: the built-in policy. The policy can have hazards. */
kw_policy *kw_policy_file_load(const char *file, kw_diagnostics *diagnostics);

/* A policy to look at once, from anything that can be read; waits for a FIFO. */
kw_policy *kw_policy_file_look(const char *file, kw_diagnostics *diagnostics);

/* The same, but every hazard is an error. */
kw_policy *kw_policy_file_look_strict(const char *file, kw_diagnostics *diagnostics);

/* Every problem goes to the log; the error is INVALID with the first one. Returns false. */
bool kw_policy_file_refuse(const kw_diagnostics *problems, kw_error *ret_error);
