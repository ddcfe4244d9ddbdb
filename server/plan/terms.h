/* A question as the planner works with it: lists sorted and without doubles, ends of number ranges
 * inclusive, a range on a bound field taken as a filter of its values. Inside of the room. */
#pragma once

#include "base/effort.h"
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
    kw_effort *effort;              /* while a plan is made; NULL: without a limit */
    size_t held;                    /* by the effort when the planning began, less what the arena had then */
} kw_terms;

/* INVALID when a value is not of its field's type. */
bool kw_terms_make(const kw_question *question, kw_effort *effort, kw_arena *arena,
                   const kw_terms **ret_terms, kw_error *ret_error);

/* The same terms of less time: the range cut to what the window says. `empty` when nothing is left. */
const kw_terms *kw_terms_within(const kw_terms *terms, const kw_window *window, kw_arena *arena);

/* About what a range costs, in units of an effort. */
#define KW_TERMS_RANGE_COST 200

/* Asked before each range is made: false once the effort is over. */
static inline bool
kw_terms_may_go_on(const kw_terms *terms, const kw_arena *arena)
{
    return !terms->effort || (kw_effort_hold(terms->effort, terms->held + kw_arena_used(arena)) &&
                              kw_effort_spend(terms->effort, KW_TERMS_RANGE_COST));
}

/* Asked before an array is allocated: false when it is more than the effort may hold. */
static inline bool
kw_terms_may_hold(const kw_terms *terms, const kw_arena *arena, size_t bytes)
{
    return !terms->effort || kw_effort_hold(terms->effort, terms->held + kw_arena_used(arena) + bytes);
}

/* The error of a plan whose effort is over. Returns false. */
bool kw_terms_fail(const kw_terms *terms, kw_error *ret_error);

/* Is every field bound that the piece holds? */
bool kw_terms_binds(const kw_terms *terms, const kw_component *component);

/* Does a record meet every condition? */
bool kw_terms_match(const kw_terms *terms, const kw_value *values);
