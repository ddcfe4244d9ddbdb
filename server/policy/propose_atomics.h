/* Private to the files that propose changes (propose.h): atomic operations (increments and conditional
 * writes) that a policy allows or forbids on a table with order: stamp, while several gateways serve it. With
 * order: store they work without a change: the store orders them itself. Pure. */
#pragma once

#include "policy/propose.h"

/* True if the policy and the table's rows differ in whether atomic operations are allowed. */
bool kw_change_turns_atomics(const kw_change_proposal *proposal, const kw_table *table);
/* True if the policy can begin the change now. */
bool kw_change_can_turn_atomics(const kw_change_proposal *proposal, const kw_table *table);

/* Replaces or appends the record of the primary path. False: the policy does not allow or forbid atomic
 * operations, or it cannot now. */
bool kw_change_propose_atomics(const kw_change_proposal *proposal, const kw_table *table,
                               kw_change_record *records, size_t *count);

/* Explains why the policy cannot allow or forbid atomic operations, or why it cannot be applied while a
 * change of another policy allows or forbids them. False: neither is the reason. */
bool kw_change_explain_atomics(const kw_change_proposal *proposal, const kw_table *table,
                               kw_error *ret_reason);

/* Defined in propose.c. Returns a text that says that store.late is not set; NULL if it is set, or is
 * not needed. */
const char *kw_change_missing_late(const kw_change_proposal *proposal);
