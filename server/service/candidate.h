/* Inside of the room: policies that came in a call and are compiled, but not served. Any thread. */
#pragma once

#include "base/effort.h"
#include "config/diagnostic.h"
#include "service/question.h"

/* Makes the effort bound what reading and compiling a text costs. */
void kw_candidate_bound(kw_diagnostics *diagnostics, kw_effort *effort);

/* INVALID "NAME:line:column: message (hint)" with the first problem; a hazard is one. No file that it names
 * is opened. */
kw_policy *kw_candidate_compile(kw_bytes name, kw_bytes text, kw_effort *effort, kw_error *ret_error);

/* The same for the policy that another one replaces: it can have hazards. */
kw_policy *kw_candidate_compile_old(kw_bytes name, kw_bytes text, kw_effort *effort, kw_error *ret_error);

/* The table with this name; with an empty name, the only one. */
const kw_table *kw_candidate_table(const kw_policy *policy, kw_bytes candidate, kw_bytes name,
                                   kw_error *ret_error);
