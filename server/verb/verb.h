/* The verbs, one file each. Results passed to `done` are in the call's arena. */
#pragma once

#include "hint/page.h"
#include "path/write.h"
#include "sequence/sequence.h"

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

/* get.c: reads records by identity, or by all fields in the key of a unique path. values NULL: no such
 * record. picks_count 0: all fields. */
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
    int64_t created_ms;  /* creation time of the cursor that the page continues from; 0: there is no cursor */
    kw_hint_query hints; /* of a query by a hint path */
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
