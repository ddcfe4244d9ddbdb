/* Compares the placements of a table for tests, one slice at a time. */
#pragma once

#include "unit/verb/desk.h"

/* Compares the rows of one slice. The result is valid until desk_clear. False on an error. */
bool comparison_slice(desk *on, const kw_scrub_request *request, kw_scrub_result *ret_slice,
                      kw_error *ret_error);

/* Adds the counts of a slice to the sum, and a line for each of its differences to the text: "KIND path key:
 * text[, repaired]", without the path if it is changing. */
void comparison_add(desk *on, const kw_scrub_request *request, const kw_scrub_result *slice,
                    kw_scrub_result *sum, GString *text);
