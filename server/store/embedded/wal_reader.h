/* Reads a file in RocksDB's log format: a write-ahead log or a manifest.
 *
 *   file:      blocks of 32 KiB, which contain fragments
 *   record:    one whole fragment, or a first, any number of middle, and a last fragment
 *   fragment:  checksum u32 | length u16 | type u8 | payload       within one block; little-endian
 *              type 1: a whole record, 2: the first, 3: a middle, 4: the last fragment of a record
 *   checksum:  CRC-32C of type and payload, rotated by 15 bits, plus 0xa282ead8
 *
 * Unlike RocksDB's own reader, this one reports where the file is damaged, and does not mistake a damaged
 * length for the end of the file. Pure: the file is in memory. The format is described in RocksDB's wiki,
 * "Write Ahead Log File Format".
 */
#pragma once

#include "base/bytes.h"

typedef enum kw_wal_step {
    KW_WAL_RECORD,
    KW_WAL_END,       /* the end of the file */
    KW_WAL_TRUNCATED, /* the file ends inside a record, as when its writer died */
    KW_WAL_BROKEN     /* the file is damaged */
} kw_wal_step;

typedef struct kw_wal_reader {
    kw_bytes file;
    size_t at;        /* offset of the next fragment */
    size_t start;     /* offset of the current record */
    kw_bytes record;  /* RECORD: the record; TRUNCATED, BROKEN: its fragments before the damage */
    kw_bytes rest;    /* TRUNCATED: the part of the incomplete fragment's payload that is in the file; BROKEN:
                       * the payload of the bad fragment, or empty if the fragment's head is invalid */
    const char *why;  /* TRUNCATED, BROKEN: the reason */
    kw_buffer joined; /* the memory of a record with several fragments */
} kw_wal_reader;

void kw_wal_reader_init(kw_wal_reader *reader, kw_bytes file);
void kw_wal_reader_clear(kw_wal_reader *reader);

/* Reads the next record. After TRUNCATED and BROKEN only kw_wal_reader_find can continue. */
kw_wal_step kw_wal_reader_next(kw_wal_reader *reader);

/* Searches for the next whole record after a broken place. True: `record` is this record, as if _next had
 * returned RECORD. False: there is none. */
bool kw_wal_reader_find(kw_wal_reader *reader);
