/* Conditions of a question on stored fields as a filter: SingleColumnValueFilter on the cells' bytes.
 *
 *   status = new        SingleColumnValueFilter ('d', 'status', =, 'binary:new', true, true)
 *   -5 <= level <= 7    (... >= -5 OR ... <= 7)   Java's longs: negative ones sort behind the others
 *
 *   -1 <= real <= 2     (... <= -1.0 AND (... <= 2.0 OR ... >= 0x80...))   doubles below 0: backward, behind
 *
 * Only where equal values have equal bytes: not numbers as text.
 */
#pragma once

#include "filter/filter.h"
#include "plan/plan.h"

/* Does the question have a condition on this field that only its column can meet? Rows without it match
 * nothing. */
bool kw_condition_needs_column(const kw_plan *plan, size_t field);

/* All that a filter can say, joined; NULL: nothing. Lets every row through that kw_plan_matches would. */
const kw_filter *kw_conditions_filter(const kw_plan *plan, kw_arena *arena);
