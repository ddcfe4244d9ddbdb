/* Translates a query's conditions on stored fields to a filter: SingleColumnValueFilter on the cells' bytes.
 *
 *   status = new        SingleColumnValueFilter ('d', 'status', =, 'binary:new', true, true)
 *   -5 <= level <= 7    (... >= -5 OR ... <= 7)   longs: negative numbers sort after positive ones
 *   -1 <= real <= 2     (... <= -1.0 AND (... <= 2.0 OR ... >= 0x80...))   doubles: negative numbers sort
 *                       after positive ones, in reverse order
 *
 * Only for encodings in which equal values have equal bytes, so not for numbers stored as text.
 */
#pragma once

#include "filter/filter.h"
#include "plan/plan.h"

/* True if the query has a condition on this field that only a column can satisfy. Rows without the column do
 * not match. */
bool kw_condition_needs_column(const kw_plan *plan, size_t field);

/* All conditions that a filter can express, joined by AND; NULL if there are none. Passes every row that
 * kw_plan_matches accepts. */
const kw_filter *kw_conditions_filter(const kw_plan *plan, kw_arena *arena);
