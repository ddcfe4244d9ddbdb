/* The write-ahead logs, looked through before RocksDB opens them, and the manifest that names its files.
 *
 * What was acknowledged is whole in a log. So a log may end inside a record only when its writer died in the
 * middle of writing it; such an end is cut off. Anything else that is not as it was written is damage: the
 * store does not start, since RocksDB could only drop what is damaged with all that follows. The operator may
 * do that (kw_wal_repair).
 *
 *   records of all logs, in order:   [ whole ][ whole ][ cut          cut off: it was never acknowledged
 *                                    [ whole ][ damaged ][ whole ]    refused, with file and offset
 *
 * Also when the damage is in the last record, and when it is the damaged length that reaches beyond the
 * file's end: then the record is there, whole. Records carry RocksDB's sequence numbers, which leave no gap,
 * so that a log that is missing between others is noticed.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"

/* rows: RocksDB's folder; one that is missing or empty is fine. CORRUPT: damage, with file, offset and what
 * to do. */
bool kw_wal_check(const char *rows, kw_error *ret_error);

/* Drops the damaged record of the logs and all that follow, after copies of the logs were put into `copies`,
 * a folder that it makes. `report` says what went, for the operator. UNAVAILABLE, CORRUPT: it cannot be done,
 * also when the damage is not in the logs. */
bool kw_wal_repair(const char *rows, const char *copies, kw_buffer *report, kw_error *ret_error);
