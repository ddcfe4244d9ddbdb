/* Internal to service: the queries that one loop has answered lately, one of each shape. The plan of a new
 * policy reports how that policy would execute them.
 *
 *   reply of a scan --note--> seen queries --collect--> plan of a policy (policy/plan_text.h)
 *
 * Two queries have the same shape if they differ only in their values, in the length of lists of two or
 * more values, in whether the ends of their range are inclusive, and in the value of their limit. Holds at
 * most KW_SEEN_QUERIES_MAX queries of at most KW_SEEN_QUERY_BYTES each, and replaces the one that was seen
 * longest ago.
 */
#pragma once

#include "service/service.h"

#include "plan/plan.h"

#define KW_SEEN_QUERIES_MAX 64
#define KW_SEEN_QUERY_BYTES 1024
#define KW_SEEN_QUERIES_KEEP_NS (UINT64_C(3600) * 1000000000)

typedef struct kw_seen_queries kw_seen_queries;

kw_seen_queries *kw_seen_queries_new(void);
void kw_seen_queries_free(kw_seen_queries *seen);

/* Keeps a copy of the query if its shape is new and its encoding has at most KW_SEEN_QUERY_BYTES. Counts the
 * query if its shape is kept. Any thread. */
void kw_seen_queries_note(kw_seen_queries *seen, const kw_record_query *query, uint64_t now_ns);

/* Adds the table's queries that were last seen within KW_SEEN_QUERIES_KEEP_NS to `found`, an array of
 * kw_seen_query. If it has a query of the same shape, only adds to its count. Copies into the arena. Any
 * thread. */
void kw_seen_queries_collect(kw_seen_queries *seen, const char *table, uint64_t now_ns, kw_arena *arena,
                             GArray *found);
