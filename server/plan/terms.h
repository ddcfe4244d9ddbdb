/* A question as the planner works with it: lists sorted and without doubles, ends of number ranges
 * inclusive, a range on a bound field taken as a filter of its values. Inside of the room. */
#pragma once

#include "plan/plan.h"
#include "rule/component.h"

typedef struct kw_terms {
    const kw_table *table;
    const kw_bound *bounds; /* per field */
    kw_span span;
    kw_span
        also; /* a range of a bound field that keys hold coarsely: rows are checked for it; field -1: none */
    const struct kw_coarse *coarse; /* per field: its bound as the keys hold it; NULL: none */
    bool empty;                     /* no record can meet it */
    size_t range_limit;             /* the question's, or its window's; 0: none */
} kw_terms;

/* INVALID when a value is not of its field's type. */
bool kw_terms_make(const kw_question *question, kw_arena *arena, const kw_terms **ret_terms,
                   kw_error *ret_error);

/* The same terms of less time: the range cut to what the window says. `empty` when nothing is left. */
const kw_terms *kw_terms_within(const kw_terms *terms, const kw_window *window, kw_arena *arena);

/* Is every field bound that the piece holds? */
bool kw_terms_binds(const kw_terms *terms, const kw_component *component);

/* Does a record meet every condition? */
bool kw_terms_match(const kw_terms *terms, const kw_value *values);
