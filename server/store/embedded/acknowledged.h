/* The file DIR/acknowledged: how far the store had acknowledged writes, and which files RocksDB had then.
 *
 * RocksDB cannot notice that the end of its manifest or of its last log is missing, or a whole log: what is
 * left is an earlier state of the store. So after each synced commit, the committer writes the sequence
 * number of its last entry to this file. At the next start, the files must contain all entries up to it.
 *
 * The file is written, but not synced, so it costs no wait for the disk. If the process dies, it is right. If
 * the machine dies, it can be older than the last commit, but never newer: it is written after the commit was
 * synced. So it never prevents a start without reason. The numbers of the manifest and of the last log only
 * tell which file to name in an error: a flush in the background can change them at any time. A log before
 * the last one must exist, unless the manifest no longer needs it.
 *
 *   file:  "kwacked1" | sequence | manifest | its size | 8 logs, 0: none | XXH3 of all before      big-endian
 *
 * Used by one thread at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"

#define KW_ACKNOWLEDGED_LOGS 8

typedef struct kw_acknowledged_state {
    uint64_t sequence;                   /* all entries up to it were acknowledged; 0: unknown */
    uint64_t manifest;                   /* the manifest had this number; 0: unknown */
    uint64_t manifest_bytes;             /* and at least this size */
    uint64_t logs[KW_ACKNOWLEDGED_LOGS]; /* the newest logs, in order; 0: none */
} kw_acknowledged_state;

typedef struct kw_acknowledged {
    char *rows; /* RocksDB's folder */
    int file, manifest, folder;
    uint64_t look_at_ns; /* the files are looked at again at this time */
    int64_t changed_ns;  /* mtime of the folder when its files were listed */
    bool failed;         /* a failure was logged */
    kw_acknowledged_state state;
} kw_acknowledged;

/* Reads the file in the store's folder. The state is unknown if there is no file, or if it is damaged, which
 * is logged: it protects against further damage only. */
void kw_acknowledged_read(const char *path, kw_acknowledged_state *ret_state);
/* Removes the file, because a repair has dropped acknowledged commits. */
bool kw_acknowledged_forget(const char *path, kw_error *ret_error);

/* Begins to write the file, when RocksDB was opened and has synced everything up to this sequence number. */
bool kw_acknowledged_open(kw_acknowledged *self, const char *path, uint64_t sequence, kw_error *ret_error);
/* Syncs the file. Allowed if it was not opened and zeroed. */
void kw_acknowledged_close(kw_acknowledged *self);

/* All entries up to the sequence number are synced. Call it before a commit is acknowledged. */
void kw_acknowledged_note(kw_acknowledged *self, uint64_t sequence);
/* Updates the numbers of the files. Call it about once per second while there are no commits. */
void kw_acknowledged_look(kw_acknowledged *self);
