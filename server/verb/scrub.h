/* Scrub: do all paths of a table hold the same records? Compares one slice of a path's rows with the other
 * paths' rows, and rewrites from the primary path where it is asked to.
 *
 *   scrub.c         a slice: scan rows of one path, look their records up in the others
 *   scrub_judge.c   pairs of rows that differ: read them again until they are settled, repair, verify
 *   scrub_rows.c    two rows: do they differ, how, and what makes them alike. Pure
 *   scrub_cursor.c  where the next slice begins. Pure
 *
 *   stage 0:  primary path -> every other path    finds MISSING and DIFFERENT rows
 *   stage n:  path n       -> primary path        finds ORPHAN rows, whose records were removed
 *
 * Why a repair hides no acknowledged write: it writes with timestamps that rows already have, or with the
 * horizon, which lies further in the past than a write can be under way. The horizon is taken before the
 * rows are read. So every acknowledged write up to the horizon is in what was read, and later ones get
 * greater timestamps than the repair, however late the repair arrives. Repeating a repair, or running two at
 * once, writes the same cells.
 */
#pragma once

#include "verb/verb.h"

#include <glib.h>

/* One record: its row under the primary path, and its row under another one. */
typedef struct kw_scrub_pair {
    kw_record key; /* identity fields */
    kw_bytes primary_key;
    kw_bytes other_key;
    uint64_t state;    /* of what differed when the rows were read last */
    size_t at;         /* of the pair's rows among those that were read last */
    bool stable;       /* the same differed the time before */
    size_t difference; /* index among the listed ones; SIZE_MAX: it is not listed */
} kw_scrub_pair;

/* --- scrub_rows.c -------------------------------------------------------------------------------- */

/* A hash of the cells that differ, with values and timestamps: columns that are written all the time do not
 * hide that others have differed for long. */
uint64_t kw_scrub_state(const kw_row *primary, const kw_row *other);

/* True if both rows have the same columns with the same values, or both have none. Timestamps may differ. */
bool kw_scrub_alike(const kw_row *primary, const kw_row *other);

/* How rows that are not alike differ. */
kw_scrub_kind kw_scrub_kind_of(const kw_row *primary, const kw_row *other);

/* True if a cell that differs has a timestamp above `horizon_ms` that a clock can have given by `now_ms`: the
 * write may be under way. */
bool kw_scrub_is_young(const kw_row *primary, const kw_row *other, int64_t horizon_ms, int64_t now_ms);

/* "amount differs, note is missing": for people; in the arena, of bounded length. */
const char *kw_scrub_text(const kw_table *table, const kw_row *primary, const kw_row *other, kw_arena *arena);

/* Writes that make the other row like the primary one: with the primary cells' own timestamps, or where the
 * other row's cell is newer, with that cell's. `raise`: with the horizon instead, which gets above a delete
 * marker that hides what the first try wrote. Nothing above the horizon is deleted or overwritten. Appends
 * `kw_write *` to `writes`; everything in the arena but the cells' bytes. */
typedef struct kw_scrub_repair {
    const kw_path *other;
    kw_bytes row;
    int64_t horizon_ms;
    bool raise;
    kw_deadline deadline;
} kw_scrub_repair;
void kw_scrub_repair_row(const kw_scrub_repair *repair, const kw_row *primary, const kw_row *other,
                         kw_arena *arena, GPtrArray *writes);

/* --- scrub_cursor.c ------------------------------------------------------------------------------ */

/* Where a slice begins. */
typedef struct kw_scrub_position {
    size_t stage;   /* the path whose rows are scanned */
    kw_bytes first; /* its first and last row key when the stage began, for the progress; empty: not known */
    kw_bytes last;
    kw_bytes after; /* the last row that was compared; empty: none */
} kw_scrub_position;

/* In the call's arena. */
kw_bytes kw_scrub_cursor(kw_call *call, const kw_table *table, const kw_scrub_position *position);
/* INVALID: it was made for other tables, paths or rules. Slices of the cursor. */
bool kw_scrub_open_cursor(const kw_table *table, kw_bytes cursor, kw_scrub_position *ret_position,
                          kw_error *ret_error);
/* How much of all stages lies before the position, 0 to 1. */
double kw_scrub_progress(const kw_table *table, const kw_scrub_position *position);

/* --- scrub_judge.c ------------------------------------------------------------------------------- */

typedef struct kw_scrub_job {
    kw_call *call;
    const kw_scrub_request *request;
    size_t max_bytes; /* of the rows that are read at once */
    int64_t grace_ms; /* an acknowledged write is no longer under way */
    kw_scrub_result result;
    kw_scrub_difference *differences; /* max_differences of them */
} kw_scrub_job;

/* Lists a difference if there is space; its index, or SIZE_MAX. */
size_t kw_scrub_list(kw_scrub_job *job, const kw_scrub_difference *difference);

typedef void (*kw_scrub_judged)(void *user, const kw_error *error);
/* Pairs that differed when they were read first: counts what they are, and repairs. done is called later. */
void kw_scrub_judge(kw_scrub_job *job, const kw_path *other, kw_scrub_pair **pairs, size_t count,
                    kw_scrub_judged done, void *user);
