/* Counts records by reading their keys. */
#pragma once

#include "cli/cli.h"

/* The field to read for a count: one whose value is in the row key only, so that the store returns no
 * columns; otherwise a field of the key, whose column is small. NULL: there is none. */
const char *kw_count_field(const kw_table_info *table);

/* Counts the records that the query returns, with a progress line, until there are no more, a signal was
 * recorded (interrupt.h), or the monotonic time `end_us` has passed (0: no such time). Calls that fail
 * temporarily are repeated. *ret_count is right also if it fails; *ret_complete is true if all records were
 * counted. */
bool kw_count_rows(const kw_cli *cli, const kw_query *query, const char *table, gint64 end_us,
                   guint64 *ret_count, bool *ret_complete, GError **error);
