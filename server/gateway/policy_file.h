/* Inside of the room: from a policy file (or none) to a compiled policy. */
#pragma once

#include "rule/policy.h"

/* NULL and problems in diagnostics when the file is refused. file NULL: the built-in policy. */
kw_policy *kw_policy_file_load(const char *file, kw_diagnostics *diagnostics);
