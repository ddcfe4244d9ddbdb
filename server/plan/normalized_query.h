/* A query in the planner's normal form: lists are sorted and without duplicates, ends of number ranges are
 * inclusive, and a range on a bound field filters the bound values. Private to this module. */
#pragma once

#include "base/effort.h"
#include "plan/plan.h"
#include "rule/component.h"

typedef struct kw_normalized_query {
    const kw_table *table;
    const kw_bound *bounds; /* per field */
    kw_value_span span;
    kw_value_span also; /* a range on a bound field that keys store less precisely: each row is checked; field
                     -1: none */
    const struct kw_coarse *coarse; /* per field: its bound values as keys store them; NULL: none */
    bool empty;                     /* no record can match */
    size_t range_limit; /* that of the query or of its window, lowered if keys are long; 0: no limit */
    size_t key_bytes;   /* if it was lowered: the average bytes of the query's values in a key; otherwise 0 */
    kw_effort *effort;  /* while a plan is made; NULL: no limit */
    size_t held; /* bytes charged to the effort minus bytes used in the arena, both when planning began */
} kw_normalized_query;

/* True if the query gives the field values, or a range with an end. */
bool kw_record_query_has_condition(const kw_record_query *query, size_t field);

/* INVALID if a value does not have its field's type. */
bool kw_normalized_query_make(const kw_record_query *query, kw_effort *effort, kw_arena *arena,
                              const kw_normalized_query **ret_normalized, kw_error *ret_error);

/* The same query with the range cut to the window. `empty` if nothing remains. */
const kw_normalized_query *kw_normalized_query_within(const kw_normalized_query *normalized,
                                                      const kw_window *window, kw_arena *arena);

#define KW_LIMIT_REASON_MAX 100

/* Why range_limit is lower than that of the query, to follow the number; empty if it is not. Returns `text`.
 */
const char *kw_normalized_query_limit_reason(const kw_normalized_query *normalized,
                                             char text[KW_LIMIT_REASON_MAX]);

/* Approximate cost of a range, in units of an effort. */
#define KW_NORMALIZED_QUERY_RANGE_COST 200

/* Call it before making each range. False if the effort is used up. */
static inline bool
kw_normalized_query_can_continue(const kw_normalized_query *normalized, const kw_arena *arena)
{
    return !normalized->effort ||
           (kw_effort_hold(normalized->effort, normalized->held + kw_arena_used(arena)) &&
            kw_effort_spend(normalized->effort, KW_NORMALIZED_QUERY_RANGE_COST));
}

/* Call it before allocating an array. False if the array is larger than the effort allows. */
static inline bool
kw_normalized_query_can_hold(const kw_normalized_query *normalized, const kw_arena *arena, size_t bytes)
{
    return !normalized->effort ||
           kw_effort_hold(normalized->effort, normalized->held + kw_arena_used(arena) + bytes);
}

/* Sets the error of a plan whose effort is used up. Returns false. */
bool kw_normalized_query_fail(const kw_normalized_query *normalized, kw_error *ret_error);

/* True if every field that the piece encodes is bound. */
bool kw_normalized_query_binds(const kw_normalized_query *normalized, const kw_component *component);

/* True if a record meets every condition. layout: `values` has only the fields in its keys, and the
 * conditions on other fields count as met; NULL: `values` has all fields. */
bool kw_normalized_query_match(const kw_normalized_query *normalized, const kw_layout *layout,
                               const kw_value *values);
