/* Work that compares or copies the rows of two placements, one slice per call. Results passed to `done` are
 * in the call's arena. verify.h has the check of the rows of one path.
 */
#pragma once

#include "path/write.h"
#include "reconcile/copy_seen.h"

/* scrub.c: compares the paths of a table, one slice of records per call. See scrub.h. */
typedef enum kw_scrub_kind {
    KW_SCRUB_MISSING = 0,   /* the path does not have the record */
    KW_SCRUB_DIFFERENT = 1, /* the path has other columns or values */
    KW_SCRUB_EXTRA = 2,     /* only the path has the record, the primary one does not */
    KW_SCRUB_FOREIGN = 3    /* the row's key does not follow the path's rule; never repaired */
} kw_scrub_kind;

/* Most records and most listed differences of one slice. */
#define KW_SCRUB_RECORDS_MAX 1000
#define KW_SCRUB_DIFFERENCES_MAX 1000

typedef struct kw_scrub_request {
    const kw_table *table;
    kw_bytes cursor;          /* of the previous slice; empty: begin with the first */
    uint32_t max_records;     /* 1 to KW_SCRUB_RECORDS_MAX */
    uint32_t max_differences; /* to list, at most KW_SCRUB_DIFFERENCES_MAX; all are counted */
    int64_t settle_ms;        /* rows that differ must not change for this long */
    bool repair;
    const kw_path *changing; /* compares the two placements of this path, whose key rule is being changed: the
                                one that scans read is correct; or this path, which is being added, with the
                                primary path, which is correct; NULL: compares the paths of the table */
} kw_scrub_request;

typedef struct kw_scrub_difference {
    kw_scrub_kind kind;
    const kw_path *path; /* not the primary one, unless FOREIGN */
    kw_bytes row_key;    /* under that path */
    kw_record key;       /* identity fields; values NULL: FOREIGN */
    const char *text;    /* how they differ */
    bool repaired;
} kw_scrub_difference;

typedef struct kw_scrub_result {
    uint64_t rows; /* rows scanned, without those of removed records and of `large` */
    uint64_t missing;
    uint64_t different;
    uint64_t extra;
    uint64_t foreign;
    uint64_t repaired;
    uint64_t large; /* with `changing` and `repair`: rows too large to be compared, which were copied again */
    uint64_t stale; /* hints whose records have other values now; they do no harm */
    uint64_t unsettled; /* records written during the slice, or too recently to be judged */
    const kw_scrub_difference *differences;
    size_t differences_count;
    kw_bytes cursor; /* empty: everything was compared */
    double progress; /* 0 to 1 */
} kw_scrub_result;

/* The paths that `changing` can name: the one whose key rule is being changed, or those that are added. Finds
 * the one to which the cursor belongs; empty: the first one. NULL: there is none. */
const kw_path *kw_scrub_find_changing(const kw_table *table, kw_bytes cursor, kw_arena *arena);
/* After the last slice of one of these paths: the cursor with which the next one begins; empty: it was the
 * last. */
kw_bytes kw_scrub_next_changing(kw_call *call, const kw_path *after);
/* The share of all of them that is done; progress: of this one. */
double kw_scrub_progress_of_changing(const kw_path *path, double progress);

/* A failed repair is an error; the slice can be repeated from the same cursor. */
typedef void (*kw_scrub_done)(void *user, const kw_scrub_result *result, const kw_error *error);
void kw_scrub(kw_call *call, const kw_scrub_request *request, kw_scrub_done done, void *user);

/* copy.c: work on all rows of a placement while the key rule of its path changes, one slice per call. */
#define KW_COPY_ROWS_MAX 10000
#define KW_COPY_SCANS_MAX 8

typedef enum kw_copy_mode {
    KW_COPY_ROWS, /* copies the rows of `from` to `to`; or, if `to` has hints, writes the hints of the rows */
    /* A pass, in a store with several writers: gives both rows of each record with a row in `from` the cells
     * and removals of both. Of cells with equal timestamps, those of the placement that scans read replace
     * the others. The rows of both placements must be visited, for records without a row in one of them. */
    KW_COPY_PASS,
    KW_COPY_SWEEP /* removes gone cells from the rows of `from`, in a store with several writers */
} kw_copy_mode;

typedef struct kw_copy_request {
    kw_copy_mode mode;
    const kw_placement *from;
    const kw_placement *to; /* NULL for a sweep */
    int64_t until_ms;       /* sweep: control cells with timestamps up to it; see kw_row_sweep */
    int64_t before_ms;      /* pass: of cells with lower timestamps; 0: of all */
    /* Pass, sweep: the slice needs to visit only rows that have a cell (sweep: a control cell) with this
     * timestamp or a later one; of a pass, older cells must be the same in both placements, and
     * kw_copy_can_select_by_time must be true. 0: all rows. */
    int64_t since_ms;
    bool scan_all;        /* nevertheless scans all rows, so that the slice ends after max_rows of them */
    kw_bytes after;       /* the last row key of the previous slice; empty: begin with the first row */
    kw_bytes first, last; /* of the result of an earlier slice; empty: the slice finds them */
    uint32_t max_rows;    /* 1 to KW_COPY_ROWS_MAX */
    /* Of a pass with `seen`: how many parts of the placement are scanned at the same time, at most
     * KW_COPY_SCANS_MAX; 0: one. */
    uint32_t max_scans;
    /* Called before rows are fetched, except for the first time. False: the slice ends with the rows that it
     * has. NULL: it goes on up to max_rows. */
    bool (*may_go_on)(void *user);
    void *may_go_on_user;
    /* Pass: what the slices before have scanned, from the first row of the first placement on, and which scan
     * this is; NULL: visits all rows. */
    kw_copy_seen *seen;
    kw_copy_seen_use seen_use;
} kw_copy_request;

typedef struct kw_copy_result {
    uint64_t rows;    /* rows visited, without those of `removed` and `undecodable` */
    uint64_t removed; /* rows of removed records, which have only delete markers or control cells; of a sweep,
                         all rows with control cells */
    uint64_t undecodable; /* rows that were not copied: they cannot be decoded under the rule of `from`, or
                             their record has no key under that of `to` */
    const char *example;  /* key and reason of the first of them; NULL: none */
    kw_bytes after;       /* for the next slice */
    bool end;             /* these were the last rows */
    kw_bytes first, last; /* the first and the last row key, when they were read */
    double progress;      /* 0 to 1: the share of the rows up to `after`, estimated from the row keys */
} kw_copy_result;

/* True if rows of a pass can be selected by time: the row keys under both rules hold the identity fields.
 * Otherwise the row of a removed record does not name the record, so its other row could not be found. */
bool kw_copy_can_select_by_time(const kw_placement *from, const kw_placement *to);
/* A failed slice can be repeated. Everything in the result is in the call's arena. */
typedef void (*kw_copy_done)(void *user, const kw_copy_result *result, const kw_error *error);
void kw_copy(kw_call *call, const kw_copy_request *request, kw_copy_done done, void *user);
