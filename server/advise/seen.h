/* Compares how two versions of a table answer the queries that a gateway has seen. Pure. */
#pragma once

#include "base/effort.h"
#include "schema/policy.h"

typedef struct kw_seen_query {
    uint64_t shape; /* equal for queries that differ only in their values */
    kw_bytes
        encoded;    /* kw_record_query_encode: one of the queries, with at most the first 8 values of lists */
    uint64_t count; /* how many were seen; 0 is not allowed */
} kw_seen_query;

/* Appends a line for each query that `fresh` rejects or answers from another number of row ranges, rejected
 * ones first and then those with the most ranges, and a line that counts them. list_values: the setting
 * limits.list_values, from which the limit of a plan's ranges follows. The lines say so if the effort is used
 * up. Returns the number of queries that are described. */
size_t kw_seen_queries_compare(const kw_table *old, const kw_table *fresh, const kw_seen_query *queries,
                               size_t count, uint64_t list_values, kw_effort *effort, kw_buffer *out);
