/* Checks that generated values fit their keys and columns. Private to this module. */
#pragma once

#include "schema/hazards.h"

/* Adds a hazard for each component, and each column, that cannot hold some of the values. */
void kw_generated_check(kw_hazards *hazards, const kw_table *table);

/* True if a sequence without a last number (`to`) can exceed what the component holds. The text of
 * ret_error names the limit. */
bool kw_generated_outgrows(const kw_component *component, size_t field, kw_error *ret_error);
