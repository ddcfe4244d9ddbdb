/* The fields' part of compare.h. */
#pragma once

#include "catalog/facts.h"

/* Fills merged->fields: the wanted fields, then those that only the catalog knows, marked as removed. Sets
 * *ret_exclusive where a column gets another meaning. REFUSED if rows would be read as something else. */
bool kw_facts_compare_fields(const kw_facts *recorded, const kw_facts *wanted, bool has_rows, kw_arena *arena,
                             kw_facts *merged, bool *ret_exclusive, kw_error *ret_error);
