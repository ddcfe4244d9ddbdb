/* Lists what changes between two versions of a table, one line each, for the plan of an apply. Pure.
 *
 * diff.h says more about key rules, and takes longer. */
#pragma once

#include "schema/policy.h"

/* Appends "  field note: new (string)" and the like. Appends nothing if the tables do not differ. */
void kw_table_changes(const kw_table *old, const kw_table *fresh, kw_buffer *out);
