/* Do the values that the gateway makes (generate) fit what they are made for? Inside of the module. */
#pragma once

#include "schema/hazards.h"

/* Adds a hazard for each component, and each column, that cannot hold some of the values. */
void kw_made_check(kw_hazards *hazards, const kw_table *table);

/* Is it one that a sequence without a last number (`to`) grows beyond? The text says what the piece holds. */
bool kw_made_outgrows(const kw_component *component, size_t field, kw_error *ret_error);
