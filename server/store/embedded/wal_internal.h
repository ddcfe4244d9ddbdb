/* Internal to wal.c and wal_repair.c: the result of scanning the logs. */
#pragma once

#include "store/embedded/wal.h"

#include <glib.h>

typedef struct kw_log_file {
    uint64_t number; /* in its name; the logs are sorted by it */
    char *path;
    bool is_truncated; /* it ends inside a record */
    size_t end;        /* offset of the incomplete record */
} kw_log_file;

typedef struct kw_wal_loss {
    uint64_t commits, rows, tables;
} kw_wal_loss;

/* Where acknowledged commits are missing. */
typedef enum kw_wal_missing {
    KW_WAL_MISSING_NONE,
    KW_WAL_MISSING_FIRST,   /* between the tables and the first commit in the logs */
    KW_WAL_MISSING_BETWEEN, /* between two commits in the logs */
    KW_WAL_MISSING_LAST     /* after the last commit */
} kw_wal_missing;

typedef struct kw_wal_findings {
    const kw_files *files; /* borrowed */
    GArray *logs;          /* kw_log_file: those with commits that are not in tables */
    uint64_t sequence;     /* the sequence number that the next commit must have; 0: there is none yet */
    guint truncated_log;   /* the last log that ends inside a record; logs->len: none, or a later log
                              continues the sequence */

    kw_wal_missing missing;
    uint64_t missing_entries; /* LAST */
    guint next_log;           /* FIRST, BETWEEN: the log with the commit after the missing ones */

    bool is_damaged;   /* also if FIRST or BETWEEN commits are missing */
    guint damaged_log; /* the log with the first damaged record */
    size_t offset;     /* of that record */
    const char *why;
    kw_wal_loss in_damaged;   /* the readable part of the damaged commit */
    kw_wal_loss after_damage; /* the whole commits after it */
} kw_wal_findings;

/* False if the folder or a file cannot be read. */
bool kw_wal_scan(const kw_files *files, kw_wal_findings *ret_findings, kw_error *ret_error);
void kw_wal_findings_clear(kw_wal_findings *findings);
