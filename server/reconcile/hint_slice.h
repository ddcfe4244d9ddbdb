/* Work on all hints of a hint path, one slice of rows per call. server/hint/README.md has the terms.
 *
 *   FILL    rows of the primary path --> their hints are written, whether they are there or not
 *   CHECK   rows of the primary path --> their hints are looked for --> a row without its hint is read again
 *   STALE   hints --> their rows are looked for --> hints that can be deleted are deleted
 *
 * A put writes the hint before the row. So a row that has not changed while its hint was absent is a fault,
 * and a put in progress never looks like one. To write a missing hint is always safe.
 *
 * The hints of a unique path are claims. A row whose claim is absent, or names another record, counts as a
 * row without its hint. CHECK does not write claims, because two rows can have the same values. There is no
 * FILL.
 */
#pragma once

#include "path/hint_cleaner.h"
#include "reconcile/reconcile.h"

typedef enum kw_hint_slice_mode { KW_HINTS_FILL, KW_HINTS_CHECK, KW_HINTS_STALE } kw_hint_slice_mode;

typedef struct kw_hint_slice_request {
    kw_hint_slice_mode mode;
    const kw_placement *hints; /* of a hint path */
    kw_bytes after;            /* the last row key of the previous slice; empty: begin with the first row */
    uint32_t max_rows;         /* 1 to KW_COPY_ROWS_MAX */
    bool repair; /* CHECK: writes missing hints, except claims. STALE: deletes those that are old
                    enough */
} kw_hint_slice_request;

/* A row without its hint. */
typedef struct kw_missing_hint {
    kw_bytes key;     /* of the hint */
    kw_record record; /* identity fields */
    bool repaired;
} kw_missing_hint;

typedef struct kw_hint_slice_result {
    uint64_t rows;        /* FILL, CHECK: rows of the primary path with a field of the tuple; STALE: hints */
    uint64_t stale;       /* STALE: hints whose rows have other values, or do not exist */
    uint64_t undecodable; /* rows that do not follow the rule of their path, or that the other rule cannot
                             encode */
    kw_bytes example;     /* row key of the first of them; empty: none */
    const char *why;      /* the reason */
    const kw_missing_hint *missing; /* CHECK */
    size_t missing_count;
    kw_bytes first; /* the row key of the first row; empty if there were no rows */
    kw_bytes after; /* for the next slice; empty if there were no rows */
    bool end;       /* these were the last rows */
} kw_hint_slice_result;

/* The placement whose rows or hints a slice scans. */
const kw_placement *kw_hint_slice_scanned(const kw_hint_slice_request *request);

/* An error means that the slice has to be repeated; it can be. FILL: also if one hint was not certainly
 * written. Everything in the result is in the call's arena. */
typedef void (*kw_hint_slice_done)(void *user, const kw_hint_slice_result *result, const kw_error *error);
void kw_hint_slice(kw_call *call, const kw_hint_slice_request *request, kw_hint_slice_done done, void *user);
