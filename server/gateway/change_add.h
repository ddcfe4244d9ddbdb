/* Private to the proposals of changes: a path that a policy adds to a table with rows. Pure. */
#pragma once

#include "gateway/change_begin.h"

/* The only path of the table that the catalog does not have, if the policy leaves the key rules of the others
 * as they are; NULL: there is none, or several. */
const kw_path *kw_change_find_added(const kw_change_proposal *proposal, const kw_table *table);

/* Appends the record of a change that adds the path, or replaces the record of an earlier change of a path
 * with this name. False: the table cannot get a path now. */
bool kw_change_propose_path(const kw_change_proposal *proposal, const kw_table *table,
                            kw_change_record *records, size_t *count);

/* Why the table cannot get the paths that the policy adds, or other ones while a path is added. False: there
 * are other reasons. */
bool kw_change_explain_path(const kw_change_proposal *proposal, const kw_table *table, kw_error *ret_reason);
