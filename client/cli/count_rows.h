/* Counts records by reading their keys. */
#pragma once

#include "cli/cli.h"

typedef struct kw_record_count {
    guint64 records;
    guint64 undecodable; /* rows that were skipped */
    bool complete;       /* all records were counted */
} kw_record_count;

/* Counts the records of a table that match the query, with a progress line, until there are no more, a signal
 * was recorded (interrupt.h), or the monotonic time `end_us` has passed (0: no such time). Calls that fail
 * temporarily are repeated. False: a call failed for good. *ret_counted is correct even then. */
bool kw_count_rows(const kw_cli *cli, kw_query *query, const kw_table_info *table, gint64 end_us,
                   kw_record_count *ret_counted, GError **error);
