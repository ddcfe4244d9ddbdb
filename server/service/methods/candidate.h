/* Internal to service: compiles policies that callers send, without serving them. Any thread. */
#pragma once

#include "base/effort.h"
#include "config/diagnostic.h"
#include "service/methods/query.h"

/* Uses the effort to limit the cost of reading and compiling a text. */
void kw_candidate_bound(kw_diagnostics *diagnostics, kw_effort *effort);

/* Compiles a policy. INVALID with "NAME:line:column: message / hint: hint" for the first problem; hazards are
 * problems, too. Opens no files. */
kw_policy *kw_candidate_compile(kw_bytes name, kw_bytes text, kw_effort *effort, kw_error *ret_error);

/* The same for the policy that another one would replace. It can have hazards. */
kw_policy *kw_candidate_compile_old(kw_bytes name, kw_bytes text, kw_effort *effort, kw_error *ret_error);

/* Compiles a text with tables and sequences, together with the gateway's own settings. `name` is for later
 * messages; errors name the text "policy". The result can have hazards. Opens no files. */
kw_policy *kw_candidate_compile_shared(kw_model *own, const char *name, kw_bytes text, kw_effort *effort,
                                       kw_error *ret_error);

/* Returns the part of the text of a policy file that has the tables and sequences. Caller frees. */
char *kw_candidate_cut_shared(kw_bytes text, kw_effort *effort, kw_error *ret_error);

/* Finds the table with this name, or the only table if the name is empty. */
const kw_table *kw_candidate_table(const kw_policy *policy, kw_bytes candidate, kw_bytes name,
                                   kw_error *ret_error);
