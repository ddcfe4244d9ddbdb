/* Private to the proposals of changes: a path that a policy adds to a table with rows. Pure. */
#pragma once

#include "gateway/change_begin.h"

/* The path that the policy adds to the table. NULL: it adds none or several, or changes the key rule of
 * another path. */
const kw_path *kw_change_find_added(const kw_change_proposal *proposal, const kw_table *table);

/* Appends the record of a change that adds the path, or replaces the record of an earlier change of a path
 * with this name. False: no path can be added to the table now. */
bool kw_change_propose_path(const kw_change_proposal *proposal, const kw_table *table,
                            kw_change_record *records, size_t *count);

/* If the policy is refused because of the paths that it adds, or because of a path that is still being added:
 * sets the reason. False: the policy is refused for another reason. */
bool kw_change_explain_path(const kw_change_proposal *proposal, const kw_table *table, kw_error *ret_reason);
