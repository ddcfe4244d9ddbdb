/* Compares the fields of two kw_facts; see compare.h. */
#pragma once

#include "catalog/facts.h"

/* Fills merged->fields: the wanted fields, then those that only the catalog contains and whose cells no
 * wanted field has, marked as removed.
 *
 * A field is changed if its type, encoding or column differs from the catalog's, or if it is new and its
 * column can hold values of another type or encoding. REFUSED if a field is changed and the table has rows.
 * Sets *ret_exclusive if a field is changed, becomes a counter or is one no longer; otherwise leaves it as it
 * is. */
bool kw_facts_compare_fields(const kw_facts *recorded, const kw_facts *wanted, bool has_rows, kw_arena *arena,
                             kw_facts *merged, bool *ret_exclusive, kw_error *ret_error);
