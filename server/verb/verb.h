/* The verbs, one file each. Results passed to `done` are in the call's arena. */
#pragma once

#include "path/write.h"
#include "sequence/sequence.h"
#include "verb/copy_seen.h"

/* put.c: writes records, each under every path of its table. results[i] belongs to items[i]. */
void kw_verb_put(kw_call *call, const kw_table *table, const kw_item *items, size_t count,
                 kw_write_options options, kw_written_done done, void *user);

/* allocate.c: reserves `count` consecutive values of a sequence or snowflake field, or fewer at the end of a
 * range. scope: the record's values that select the sequence, for example the timestamp of a sequence per
 * minute. */
void kw_verb_allocate(kw_call *call, const kw_table *table, size_t field, const kw_record *scope,
                      int64_t count, kw_allocated done, void *user);

/* remove.c: removes whole records (by their identity fields), or only the picked columns if there are picks.
 */
void kw_verb_remove(kw_call *call, const kw_table *table, const kw_item *keys, size_t count,
                    const kw_pick *picks, size_t picks_count, kw_write_options options, kw_written_done done,
                    void *user);

/* get.c: reads records by identity. values NULL: no such record. picks_count 0: all fields. */
typedef struct kw_found_record {
    kw_record record;
    kw_error error;
} kw_found_record;
typedef void (*kw_get_records_done)(void *user, const kw_found_record *found, size_t count);
void kw_verb_get(kw_call *call, const kw_table *table, const kw_item *keys, size_t count,
                 const kw_pick *picks, size_t picks_count, kw_get_records_done done, void *user);

/* get_versions.c: reads the newest stored versions of a record, at most `most` (1 to KW_VERSIONS_MAX). A
 * version has the identity and the fields that were written with its timestamp. They are passed newest first;
 * none: there is no such record, or none of the picked fields is stored. */
#define KW_VERSIONS_MAX 1000
typedef struct kw_record_version {
    int64_t timestamp;
    kw_record record;
} kw_record_version;
typedef void (*kw_get_versions_done)(void *user, const kw_record_version *versions, size_t count,
                                     const kw_error *error);
void kw_verb_get_versions(kw_call *call, const kw_table *table, const kw_record *key, const kw_pick *picks,
                          size_t picks_count, size_t most, kw_get_versions_done done, void *user);

/* increment.c: adds to int fields and entries stored as 8-byte big-endian. The record passed to `done` holds
 * the new values. */
typedef void (*kw_increment_record_done)(void *user, const kw_record *values, const kw_error *error);
void kw_verb_increment(kw_call *call, const kw_table *table, const kw_record *key, const kw_pick *picks,
                       const int64_t *amounts, size_t picks_count, kw_write_options options,
                       kw_increment_record_done done, void *user);

/* put_if.c: `made` holds the generated fields if the record was written (made.values NULL: none). */
typedef struct kw_condition_on_field {
    kw_pick pick;
    kw_compare compare;
    kw_value value; /* NONE: tests for absence (EQUAL) or presence (NOT_EQUAL) */
} kw_condition_on_field;
typedef void (*kw_put_if_done)(void *user, bool applied, kw_record made, const kw_error *error);
void kw_verb_put_if(kw_call *call, const kw_table *table, const kw_record *record,
                    const kw_condition_on_field *condition, kw_write_options options, kw_put_if_done done,
                    void *user);

/* scan.c: reads one page of a query or of a cursor. */
typedef struct kw_scan_request {
    kw_record_query query;
    const kw_pick *picks; /* to return in addition to the key's fields; none: all fields */
    size_t picks_count;
    kw_bytes filter;
    uint64_t limit;     /* over all pages; 0: no limit */
    uint32_t page_rows; /* capped by the configured limits; 0: the configured limit */
    uint32_t page_bytes;
    bool skip_undecodable; /* skips and counts rows that cannot be decoded, instead of failing */
    bool waits_for_row;    /* does not return an empty page with a cursor: continues until the deadline */
    int64_t created_ms; /* creation time of the cursor that the page continues from; 0: there is no cursor */
} kw_scan_request;

typedef struct kw_scan_page {
    const kw_record *rows;
    size_t count;
    kw_bytes cursor; /* empty: the scan is complete */
    uint64_t scanned;
    uint64_t undecodable; /* rows that were skipped */
    const kw_table *table;
} kw_scan_page; /* a page can have a cursor but no rows: then a long part of the query's ranges had none, or
                   rows were skipped */
typedef void (*kw_scan_done)(void *user, const kw_scan_page *page, const kw_error *error);
void kw_verb_scan(kw_call *call, const kw_scan_request *request, kw_scan_done done, void *user);
void kw_verb_next(kw_call *call, kw_bytes cursor, kw_scan_done done, void *user);

/* explain.c: reads and writes nothing except region locations, which are omitted if the store does not return
 * them in time. */
typedef struct kw_explained_key {
    const kw_placement *placement;
    kw_bytes row_key;
    uint32_t bucket; /* only if puts choose a bucket: 0, or with an association the default bucket of a new
                        record */
    const kw_key_piece *pieces;
    size_t pieces_count;
    bool has_region;
    kw_bytes region_start;
    kw_bytes region_stop; /* empty: the last region */
    kw_bytes region_server;
} kw_explained_key;
typedef void (*kw_explain_put_done)(void *user, const kw_explained_key *keys, size_t count,
                                    const kw_error *error);
void kw_verb_explain_put(kw_call *call, const kw_table *table, const kw_record *record,
                         kw_explain_put_done done, void *user);
/* Pure; the plan is in the call's arena. The effort limits the planning; NULL: no limit. */
bool kw_verb_explain(kw_call *call, const kw_scan_request *request, kw_effort *effort,
                     const kw_plan **ret_plan, kw_error *ret_error);

/* create_table.c */
typedef struct kw_create_request {
    const kw_table *table;
    int path;                       /* -1: every path */
    const kw_family_spec *families; /* NULL: the policy's families */
    size_t families_count;
    bool has_splits; /* false: the policy's splits */
    const kw_bytes *split_keys;
    size_t split_keys_count;
    const char *split_algorithm; /* NULL: none */
    uint32_t split_regions;
    const kw_record *sample;
    size_t sample_count;
    bool if_absent;
    const kw_table *existing; /* store tables of this table exist, and are left out; NULL: none */
} kw_create_request;
typedef struct kw_created_table {
    kw_bytes store_table;
    const kw_bytes *split_keys;
    size_t split_keys_count;
    bool created;
} kw_created_table;
typedef void (*kw_create_tables_done)(void *user, const kw_created_table *tables, size_t count,
                                      const kw_error *error);
void kw_verb_create_table(kw_call *call, const kw_create_request *request, kw_create_tables_done done,
                          void *user);
/* The families of the table's store tables, as the policy has them; in the call's arena. */
const kw_family_spec *kw_families_of_policy(const kw_call *call, const kw_table *table, size_t *ret_count);

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
void kw_verb_scrub(kw_call *call, const kw_scrub_request *request, kw_scrub_done done, void *user);

/* copy.c: work on all rows of a placement while the key rule of its path changes, one slice per call. */
#define KW_COPY_ROWS_MAX 10000
#define KW_COPY_SCANS_MAX 8

typedef enum kw_copy_mode {
    KW_COPY_ROWS, /* copies the rows of `from` to `to` */
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
void kw_verb_copy(kw_call *call, const kw_copy_request *request, kw_copy_done done, void *user);
