/* Shared by the files of the copy; no other file includes it.
 *
 *   copy.c        a slice: its start and its end
 *   copy_scan.c   fetches the rows of a part of the placement
 *   copy_visit.c  copies or sweeps the rows of a fetch
 *   copy_parts.c  the parts
 *   copy_seen.c   what a pass remembers
 *   hint_copy.c   a copy to hints
 */
#pragma once

#include "path/reader.h"
#include "reconcile/copy_parts.h"
#include "reconcile/reconcile.h"

typedef struct kw_copy_slice kw_copy_slice;

/* Scans one part of the placement. While rows are copied, the next ones are fetched. */
typedef struct kw_copy_scan {
    kw_copy_slice *slice;
    kw_copy_part *part; /* NULL: it scans nothing */
    kw_range_scan *range;
    kw_bytes scanned; /* the last row key fetched in this slice; empty: none */
    bool ended;       /* there are no more rows in the part */
    bool fetching;    /* the next two are reserved for the fetch */
    size_t fetching_rows;
    size_t fetching_bytes;
    kw_rows *next; /* fetched, while the rows before are copied */
    /* copying or sweeping */
    kw_rows *rows;     /* NULL: none in progress */
    kw_bytes *visited; /* the keys of the rows */
    kw_written *written;
    size_t visited_count;
} kw_copy_scan;

struct kw_copy_slice {
    kw_call *call;
    const kw_copy_request *request;
    kw_copy_done done;
    void *user;
    int64_t since_ms; /* the request's; 0: all rows are scanned */
    kw_reader *reader;
    bool names_records; /* the row keys hold the identity fields */
    bool whole;         /* scans whole rows, with their control cells */
    kw_bytes *searched; /* &first or &last: the one that is or was last searched; NULL: none yet */
    kw_bytes first, last;
    kw_copy_parts *parts;
    kw_copy_scan *scans;
    size_t scans_count;
    bool fetched_any; /* a fetch was started */
    bool stopped;     /* the slice may not go on */
    size_t rows;      /* fetched */
    size_t bytes;
    size_t fetching_rows; /* the sums over all scans */
    size_t fetching_bytes;
    size_t visiting; /* scans that copy or sweep rows */
    bool failed;
    kw_error error;
    kw_copy_result result;
};

static inline const kw_table *
kw_copy_table(const kw_copy_slice *self)
{
    return self->request->from->path->table;
}

static inline bool
kw_copy_is_sweep(const kw_copy_slice *self)
{
    return self->request->mode == KW_COPY_SWEEP;
}

/* The end of the timestamps of cells that are read; 0: all cells are read. */
static inline int64_t
kw_copy_time_to(const kw_copy_slice *self)
{
    return self->request->before_ms ? self->request->before_ms : self->since_ms ? INT64_MAX : 0;
}

/* --- copy.c ------------------------------------------------------------------------------------------ */

/* Starts the next fetches and copies, if they can start now, or ends the slice. */
void kw_copy_advance(kw_copy_slice *self);
/* The slice ends with the error as soon as no write is in progress. */
void kw_copy_fail(kw_copy_slice *self, const kw_error *error);
/* True if there is memory for all that a slice can hold. Otherwise one scan at a time fetches and copies. */
bool kw_copy_has_memory(const kw_copy_slice *self);

/* --- hint_copy.c ------------------------------------------------------------------------------------- */

/* A copy whose `to` is a placement of a hint path. */
void kw_copy_to_hints(kw_call *call, const kw_copy_request *request, kw_copy_done done, void *user);

/* --- copy_scan.c ------------------------------------------------------------------------------------- */

/* The scan of row keys or, for a sweep, of control cells. */
kw_range_scan_spec kw_copy_keys_spec(const kw_copy_slice *self);
/* Advances the scan: takes a part if it has none, fetches rows, has them copied. */
void kw_copy_scan_advance(kw_copy_scan *scan);
/* Cancels the fetch, and drops the rows that are not being copied yet. */
void kw_copy_scan_cancel(kw_copy_scan *scan);
/* True if it fetches or copies rows. */
bool kw_copy_scan_is_busy(const kw_copy_scan *scan);

/* --- copy_visit.c ------------------------------------------------------------------------------------ */

/* Copies or sweeps the rows, and frees them afterwards. Then it notes in the part that they are visited, and
 * advances the slice. */
void kw_copy_visit(kw_copy_scan *scan, kw_rows *rows);
