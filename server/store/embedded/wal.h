/* Checks the write-ahead logs before RocksDB opens them.
 *
 * An acknowledged commit is completely in a log. A log can end inside a record if its writer died while it
 * wrote the record; such an incomplete record is removed. Anything else that differs from what was written
 * is damage. Then the store does not start, because RocksDB could only drop the damaged record and all later
 * ones. The operator can decide to do that (kw_wal_repair).
 *
 *   records of all logs, in order:   [ whole ][ whole ][ incomplete   removed: it was never acknowledged
 *                                    [ whole ][ damaged ][ whole ]    error with file and offset
 *
 * The last record can be damaged, too. If its length is damaged and reaches beyond the end of the file, the
 * record is recognized by its checksum. Records contain RocksDB's sequence numbers, which have no gaps. So a
 * missing log is detected: the first commit must follow the last one in the table files (manifest.h), and the
 * last commit must not be older than the last acknowledged one (acknowledged.h).
 */
#pragma once

#include "store/embedded/files.h"

/* Checks the logs, and removes incomplete records if there is no damage. CORRUPT: there is damage; the text
 * contains the file and what to do, and nothing was changed. UNAVAILABLE: a file cannot be read or
 * written. */
bool kw_wal_check(const kw_files *files, kw_error *ret_error);

/* Creates the folder `copies`, keeps the affected files in it (as hard links), and drops the first damaged
 * record and all later ones, or the commits after missing ones. `report` lists for the operator what was
 * dropped. Afterwards, the caller must remove DIR/acknowledged. UNAVAILABLE: the repair is not possible. */
bool kw_wal_repair(const kw_files *files, const char *copies, kw_buffer *report, kw_error *ret_error);
