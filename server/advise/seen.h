/* Compares how two versions of a table answer the queries that a gateway has seen. Pure. */
#pragma once

#include "base/effort.h"
#include "schema/policy.h"

typedef struct kw_seen_query {
    uint64_t shape; /* see service/seen_queries.h */
    kw_bytes
        encoded;    /* kw_record_query_encode: one of the queries, with at most the first 8 values of lists */
    uint64_t count; /* how many were seen; 0 is not allowed */
} kw_seen_query;

/* Appends a line with counts, and then a line for each of the first 20 queries that `fresh` rejects or
 * answers from another number of row ranges: rejected ones first, then those with the most ranges. If there
 * are more than 20, a last line says how many more. Ignores queries that `old` rejects. limits: those
 * of the new policy, from which the limit of a plan's ranges follows. Returns how many queries were
 * compared; appends nothing if there are none. If the effort is used up, appends one line that says so, and
 * returns 0. */
size_t kw_seen_queries_compare(const kw_table *old, const kw_table *fresh, const kw_seen_query *queries,
                               size_t count, const kw_model_limits *limits, kw_effort *effort,
                               kw_buffer *out);
