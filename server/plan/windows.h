/* Windows: the parts of a time interval that are planned one after the other. Private to this module. */
#pragma once

#include "plan/notes.h"

/* Sets the plan's query, with the window that the plan covers, `rest` and `replaces`. Returns the query cut
 * to that window, and in *ret_wide whether it is read in wide ranges. wide: the analysis for them; NULL:
 * there is none. */
const kw_normalized_query *kw_windows_take(const kw_path_analysis *exact, const kw_path_analysis *wide,
                                           const kw_normalized_query *normalized, kw_arena *arena,
                                           kw_notes *notes, kw_plan *plan, bool *ret_wide);
