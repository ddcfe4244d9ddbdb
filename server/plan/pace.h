/* The pace of a scan that can read its time interval in exact or in wide windows (kw_window_form). Which of
 * them is cheaper depends on the data, so the scan measures it:
 *
 *   wide, small --> cheap: wide, four times as large --> ...
 *              \--> not cheap: KW_PACE_EXACT_WINDOWS exact ones --> wide, small
 *
 * A wide window is cheap if it examines at most KW_PACE_ROWS_PER_RANGE rows for each exact range that it
 * replaces, in at most KW_PACE_US_PER_RANGE. The time counts because some stores do not report rows that a
 * filter drops. Windows that take longer than KW_PACE_LONG_US do not become larger. Pure.
 */
#pragma once

#include "plan/plan.h"

#define KW_PACE_ROWS_PER_RANGE 10
#define KW_PACE_US_PER_RANGE 100
#define KW_PACE_LONG_US 100000
#define KW_PACE_EXACT_WINDOWS 16

/* Zeroed at first. */
typedef struct kw_pace {
    unsigned exact_left; /* exact windows before the next wide one */
    size_t wide_ranges;  /* kw_record_query.wide_ranges of the next wide window */
} kw_pace;

/* What a window cost. */
typedef struct kw_pace_cost {
    bool partial; /* another call read the beginning of the window */
    uint64_t rows;
    uint64_t us; /* without the time between the pages of a scan */
} kw_pace_cost;

/* Call it when the window of a plan was read. Sets the query to read plan->rest. */
void kw_pace_next(kw_pace *pace, const kw_plan *plan, const kw_pace_cost *cost, kw_record_query *query);

/* The window with which a later call can begin again at the start of the plan's window. */
kw_window kw_pace_again(const kw_plan *plan);
