/* Compares the fields of two kw_facts; see compare.h. */
#pragma once

#include "catalog/facts.h"

/* Fills merged->fields: the wanted fields, then those that only the catalog contains and whose cells no
 * wanted field has, marked as removed. Sets *ret_exclusive if a column changes its meaning, or if a field
 * becomes a counter or is one no longer; otherwise leaves it as it is. REFUSED if rows would be decoded as
 * another type. */
bool kw_facts_compare_fields(const kw_facts *recorded, const kw_facts *wanted, bool has_rows, kw_arena *arena,
                             kw_facts *merged, bool *ret_exclusive, kw_error *ret_error);
