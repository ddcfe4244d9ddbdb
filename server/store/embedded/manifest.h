/* Reads a manifest: RocksDB's record of the changes of its set of files, in its log format (wal_reader.h).
 * Pure: the file is in memory.
 *
 *   record:  entries: tag (varint), then what the tag requires
 *   tags:    1 comparator | 2 log number | 3 next file number | 4 last sequence | 6 file removed | 7, 100, 102,
 *            103 file added | 10 log number to keep | others are skipped
 *
 * The first records describe the state in which the manifest was created, and each further record one change.
 * A prefix of the records is an earlier state, so a truncated manifest alone does not show that it is
 * truncated. It does show other damage: the changes must fit together. A manifest whose records have an
 * unknown form is that of another version of RocksDB, because every record has a checksum.
 */
#pragma once

#include "base/bytes.h"

#include <glib.h>

typedef enum kw_manifest_state {
    KW_MANIFEST_WHOLE,
    KW_MANIFEST_DAMAGED,
    KW_MANIFEST_UNKNOWN
} kw_manifest_state;

/* A file with the sorted entries of flushed commits: NUMBER.sst. */
typedef struct kw_manifest_table {
    gint64 number;
    uint64_t size;
} kw_manifest_table;

typedef struct kw_manifest {
    GHashTable *tables;     /* of kw_manifest_table: those in use */
    uint64_t log_number;    /* the commits of logs with lower numbers are in tables */
    uint64_t last_sequence; /* commits with higher sequence numbers are only in logs */
    uint64_t next_file;     /* no file has this number or a higher one */
    bool has_log_number, has_last_sequence, has_next_file, has_comparator;
    size_t offset;   /* DAMAGED: of the record that is damaged or does not fit */
    const char *why; /* DAMAGED */
} kw_manifest;

/* Clear the manifest in every case. A record at the end that was not written completely is ignored. */
kw_manifest_state kw_manifest_read(kw_bytes file, kw_manifest *ret_manifest);
void kw_manifest_clear(kw_manifest *manifest);
