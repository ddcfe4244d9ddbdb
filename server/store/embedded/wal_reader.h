/* Reads a file of RocksDB's log format: the write-ahead logs, and the manifests, which have the same form.
 *
 *   file:      blocks of 32 KiB            record: one or more fragments, the last not before its end
 *   fragment:  checksum u32 | length u16 | type u8 | payload       in one block; little-endian
 *              type 1: a whole record, 2: its first, 3: a middle, 4: its last fragment
 *   checksum:  CRC-32C of type and payload, rotated by 15 bits, plus 0xa282ead8
 *
 * Unlike RocksDB's own reader this one says where something is wrong, and does not take a damaged length for
 * the end of the file. Pure: the file is in memory. RocksDB's description is its wiki, "Write Ahead Log File
 * Format".
 */
#pragma once

#include "base/bytes.h"

typedef enum kw_wal_step {
    KW_WAL_RECORD,
    KW_WAL_END, /* nothing follows */
    KW_WAL_CUT, /* the file ends inside a record, as when its writer died */
    KW_WAL_BROKEN
} kw_wal_step;

typedef struct kw_wal_reader {
    kw_bytes file;
    size_t at;        /* where the next fragment is looked for */
    size_t start;     /* of the present record; after CUT and BROKEN of the record that is not there */
    kw_bytes record;  /* RECORD: its bytes; CUT and BROKEN: what came before the place */
    kw_bytes rest;    /* CUT: what follows it, up to the end of the file; BROKEN: what can be read of it */
    const char *why;  /* CUT and BROKEN */
    kw_buffer joined; /* a record of several fragments */
} kw_wal_reader;

void kw_wal_reader_init(kw_wal_reader *reader, kw_bytes file);
void kw_wal_reader_clear(kw_wal_reader *reader);

/* The next record. After CUT and BROKEN only kw_wal_reader_find goes on. */
kw_wal_step kw_wal_reader_next(kw_wal_reader *reader);

/* The next whole record behind a place that is broken: true like RECORD. */
bool kw_wal_reader_find(kw_wal_reader *reader);
