/* What becomes known about the tables of a policy while it is in service: which are served, what the catalog
 * says about their paths, and how many rows of a new path are copied. The snapshot is immutable: it has only
 * pointers to these structs, one for each table and path. The main thread changes them while other threads
 * read them. */
#pragma once

#include "schema/policy.h"

#include <stdatomic.h>

typedef struct kw_path_progress {
    /* The state that the catalog reports for the path, for example "complete"; NULL: the catalog was not
     * read. */
    _Atomic(const char *) state;
    _Atomic bool verified; /* the rows were compared with the primary path's, or written under the catalog */
    _Atomic int64_t checked_rows, checked_at_ms; /* of kw_path_state */
    _Atomic(const char *) differences; /* of its store table from the policy, as text; NULL: none are known */
    _Atomic unsigned filled; /* while the path is being filled: percent of the rows that are copied, then 100
                                plus percent of those that are compared */
} kw_path_progress;

typedef struct kw_table_progress {
    _Atomic(const kw_error *) why_not_served; /* use kw_table_why_not_served */
} kw_table_progress;

/* --- paths --- */

/* What the catalog says about a path. */
typedef struct kw_path_state {
    const char *name; /* a constant text */
    bool verified;
    int64_t checked_rows;  /* so many rows were checked when the catalog recorded the path; 0: none were */
    int64_t checked_at_ms; /* when */
} kw_path_state;
void kw_policy_set_path_state(kw_policy *policy, size_t table, size_t path, const kw_path_state *state);

/* See kw_path_progress.filled. Nothing happens if the policy does not have the path. */
void kw_policy_set_path_filled(kw_policy *policy, const char *table, const char *path, unsigned filled);
/* For messages: "42 % of the rows are copied", in the arena. */
const char *kw_path_filled_text(const kw_path *path, kw_arena *arena);

/* --- tables that are not served --- */

/* A gateway can serve a policy without some of its tables, for example because their rows contradict the
 * policy. Calls that read or write rows of such a table fail with UNAVAILABLE, the text and the
 * retry_after_ms of `why_not`. NULL: the table is served, as all tables of a new policy are. Main thread
 * only; the calls of other threads notice it at their next check. */
void kw_policy_set_served(kw_policy *policy, size_t table, const kw_error *why_not);
/* Sets kw_path_progress.differences. Main thread only. */
void kw_policy_set_path_differences(kw_policy *policy, size_t table, size_t path, const char *differences);
/* NULL: the table is served. Lives as long as the policy. Any thread. */
const kw_error *kw_table_why_not_served(const kw_table *table);
size_t kw_policy_count_unserved(const kw_policy *policy);
/* False with the error for the caller if the policy has the table and does not serve it. Any thread. */
bool kw_policy_check_served(const kw_policy *policy, kw_bytes table, kw_error *ret_error);
