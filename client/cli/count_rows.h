/* Counts records by reading their keys. */
#pragma once

#include "cli/cli.h"

/* Counts the records of a table that match the query, with a progress line, until there are no more, a signal
 * was recorded (interrupt.h), or the monotonic time `end_us` has passed (0: no such time). Calls that fail
 * temporarily are repeated. False: a call failed for good. *ret_count is correct even then; *ret_complete is
 * true if all records were counted. */
bool kw_count_rows(const kw_cli *cli, kw_query *query, const kw_table_info *table, gint64 end_us,
                   guint64 *ret_count, bool *ret_complete, GError **error);
