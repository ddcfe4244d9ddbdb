/* Private to the files that propose changes (propose.h): paths that a policy adds to a table with rows.
 * Pure. */
#pragma once

#include "policy/propose.h"

/* Lists the paths of the table that the catalog does not have, and returns their number. 0: there are none,
 * or the policy changes the key rule of another path. ret_paths has space for all paths of the table. */
size_t kw_change_list_added(const kw_change_proposal *proposal, const kw_table *table,
                            const kw_path **ret_paths);
size_t kw_change_count_added(const kw_change_proposal *proposal, const kw_table *table);

/* Appends the record of a change that adds the paths, in place of the records of earlier changes of paths
 * with these names. False: the table cannot get the paths now, or gets none. */
bool kw_change_propose_paths(const kw_change_proposal *proposal, const kw_table *table,
                             kw_change_record *records, size_t *count, kw_arena *arena);

/* Explains why the table cannot get the paths that the policy adds, or why another change cannot begin while
 * paths are being added. False: the refusal has another reason, and ret_reason is not set. */
bool kw_change_explain_paths(const kw_change_proposal *proposal, const kw_table *table, kw_error *ret_reason);

/* propose.c: what a change in a store with several writers still needs; NULL: nothing. */
const char *kw_change_missing_statement(const kw_change_proposal *proposal);

/* propose.c: false if the path cannot be added or dropped, nor get another key rule, because a path of the
 * table has fields in its key that can change (catalog/compare.h). path: NULL: one that the policy does not
 * have. */
bool kw_change_is_free(const kw_change_proposal *proposal, const kw_table *table, const kw_path *path);

/* Appends the record, in place of those of earlier changes of its paths. */
void kw_change_append(const kw_change_record *record, kw_change_record *records, size_t *count);
/* The change of the table that is under way; NULL: none. */
const kw_change_record *kw_change_find_under_way(const kw_change_proposal *proposal, const kw_table *table);
