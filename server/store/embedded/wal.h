/* Checks the write-ahead logs and the manifest (RocksDB's list of its files) before RocksDB opens them.
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
 * missing log between two others is detected.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"

/* Checks RocksDB's folder `rows`, which can be missing or empty, and removes incomplete records. CORRUPT:
 * there is damage; the text contains the file, the offset and what to do. UNAVAILABLE: a file cannot be read
 * or written. */
bool kw_wal_check(const char *rows, kw_error *ret_error);

/* Creates the folder `copies`, keeps the affected logs in it (as hard links), and drops the first damaged
 * record and all later ones. `report` lists for the operator what was dropped. UNAVAILABLE or CORRUPT: the
 * repair is not possible, for example because the damage is not in the logs. */
bool kw_wal_repair(const char *rows, const char *copies, kw_buffer *report, kw_error *ret_error);
