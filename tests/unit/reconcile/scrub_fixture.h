/* The fixture of the scrub tests: a table with three paths in the embedded store, and functions that write to
 * a single path. */
#pragma once

#include "support/fault_store.h"
#include "unit/verb/desk.h"

typedef struct scrub_fixture {
    desk *desk;
    kw_fault_plan plan;
    char *folder;
    /* The request of each slice. */
    kw_scrub_request request;
    /* The sum over all slices of the last scrub. */
    kw_scrub_result sum;
    size_t slices;
    GString *text; /* a line for each listed difference, in the order of the slices: "KIND path key: text[,
                      repaired]" */
    kw_error error;
} scrub_fixture;

#define SCRUB_PATHS 3 /* primary, by_time, by_city */

void scrub_fixture_open(scrub_fixture *self);
void scrub_fixture_close(scrub_fixture *self);

/* Scrubs one slice from the cursor of the request. The result is valid until desk_clear. Returns false on an
 * error, which is in self->error. */
bool scrub_one_slice(scrub_fixture *self, kw_scrub_result *ret_result);
/* Scrubs the whole table. Returns false on an error, which is in self->error. */
bool scrub_table(scrub_fixture *self, bool repair);
/* Repairs the table; a scrub after it must not find a difference. */
void repair_table(scrub_fixture *self);

/* Puts a record into all paths with this timestamp; 0 for the present time. */
void put_record(scrub_fixture *self, const char *record, int64_t timestamp);
/* Writes the record's row under one path only. */
void write_one_path(scrub_fixture *self, size_t path, const char *record, int64_t timestamp);
/* Makes that write without sending it; in the call's arena. */
kw_write make_write(scrub_fixture *self, size_t path, const char *record, int64_t timestamp);
/* Deletes the record's row under one path, or one of its columns (if not NULL), up to the timestamp. */
void delete_one_path(scrub_fixture *self, size_t path, const char *key, const char *column,
                     int64_t timestamp);
/* Writes a row whose key no record has. */
void write_raw_row(scrub_fixture *self, size_t path, const char *row_key);

/* Writes a row with the record's key in another bucket. The path's key must begin with one byte for the
 * bucket. */
void write_in_other_bucket(scrub_fixture *self, size_t path, const char *record);

/* The records under a path, one per line, sorted. */
char *records_of_path(scrub_fixture *self, size_t path);
/* Asserts that all paths hold these records. */
void assert_records(scrub_fixture *self, const char *records);
