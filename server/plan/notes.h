/* The notes that explain prints about a plan, and the plan's estimated cost. Private to this module. */
#pragma once

#include "plan/ranges.h"

typedef struct kw_notes {
    const char **texts;
    size_t count;
    size_t capacity;
    kw_arena *arena;
} kw_notes;

/* True if rows of the ranges must be checked against the query; the notes then say which conditions. Also
 * estimates rows scanned per row returned. */
bool kw_notes_residual(kw_notes *notes, const kw_path_analysis *analysis,
                       const kw_normalized_query *normalized, bool loose, double *ret_reads_per_row);

/* Notes that the ranges belong to the first of `windows` windows. */
void kw_notes_windows(kw_notes *notes, const kw_normalized_query *normalized, const kw_window *window,
                      uint64_t windows, bool exact);

/* Notes that wide ranges replace the ranges of a listed clock. window: the first one, if others follow;
 * otherwise NULL. */
void kw_notes_wide(kw_notes *notes, const kw_path_analysis *exact, const kw_normalized_query *normalized,
                   const kw_window *window);

/* Notes that the ranges were widened by key. */
void kw_notes_widened(kw_notes *notes, const kw_path_analysis *exact, const kw_normalized_query *normalized);

/* Notes what fanned out and why, what was pruned, how ranges are combined, and the order of the rows. */
void kw_notes_ranges(kw_notes *notes, const kw_path_analysis *analysis, const kw_normalized_query *normalized,
                     const kw_ranges *ranges);
