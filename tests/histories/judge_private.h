/* Shared by the files of the judge. */
#pragma once

#include "histories/judge.h"

typedef struct bench {
    const operations *all;
    judge_paths paths;
    int expires_ms;
    bool exempt;
    bool rewrites;
    int keep_ms;       /* all of these: judge_rules */
    GHashTable *shown; /* which scans of hint paths returned which records: judge_shown_key */
    GString *wrong;    /* a line for each error */
    judgement result;
} bench;

/* of: the operation at which it shows, or NULL. */
void judge_complain(bench *at, const operation *of, const char *what);

/* The filter of a scan with `applied` matches a first text that is even. */
static inline bool
judge_matches(int64_t value)
{
    return value != OPERATION_ABSENT && value % 2 == 0;
}

/* Stands for two values with one timestamp of which only one matches (judge_untie): a scan can return the
 * record or not. The other bits are those of one of the values. */
#define JUDGE_EITHER (INT64_C(1) << 60)

/* judge_hints.c: scans of hint paths. */
static inline gpointer
judge_shown_key(uint32_t scan, uint32_t record)
{
    return GSIZE_TO_POINTER((gsize)scan << 32 | record);
}
/* The records that the scans of hint paths returned. */
GHashTable *judge_shown_new(const operations *all);
void judge_hint_scans(bench *at);

/* judge_scans.c; records: the numbers of all records. */
void judge_scans(bench *at, GHashTable *records);
/* judge_versions.c; kept: how many versions of a record the store keeps. */
void judge_versions(bench *at, int kept);
