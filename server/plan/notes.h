/* What explain says about a plan, and what the plan is expected to cost. Inside of the room. */
#pragma once

#include "plan/ranges.h"

typedef struct kw_notes {
    const char **texts;
    size_t count;
    size_t room;
    kw_arena *arena;
} kw_notes;

/* Is the question met by the ranges alone? If not, notes say what is checked on the way out. Also
 * estimates rows scanned per row returned. */
bool kw_notes_residual(kw_notes *notes, const kw_sketch *sketch, const kw_terms *terms, bool loose,
                       double *ret_efficiency);

/* That the ranges are of the first window of so many. */
void kw_notes_windows(kw_notes *notes, const kw_terms *terms, const kw_window *window, uint64_t windows,
                      bool exact);

/* What fanned out and why, and what was pruned; how ranges come together, and in which order rows come. */
void kw_notes_ranges(kw_notes *notes, const kw_sketch *sketch, const kw_terms *terms,
                     const kw_ranges *ranges);
