/* A table with three paths over the embedded store, and a hand that writes into single paths, for tests of
 * scrub.
 */
#pragma once

#include "desk.h"
#include "support/fault_store.h"

typedef struct scrubbed {
    desk *desk;
    kw_fault_plan plan;
    char *folder;
    /* the request */
    kw_scrub_request request;
    /* the sum of the last scrub's slices */
    kw_scrub_result sum;
    size_t slices;
    GString *text; /* a line for each listed difference, sorted by slice: "KIND path key: text[, repaired]" */
    kw_error error;
} scrubbed;

#define SCRUBBED_PATHS 3 /* primary, by_time, by_city */

void scrubbed_open(scrubbed *self);
void scrubbed_close(scrubbed *self);

/* A slice from the cursor of the request; its result stays until desk_clear. False: self->error. */
bool scrubbed_slice(scrubbed *self, kw_scrub_result *ret_result);
/* Slices to the end. False: self->error. */
bool scrubbed_run(scrubbed *self, bool repair);
/* Repairs, and then nothing may differ any more. */
void scrubbed_repair(scrubbed *self);

/* Puts a record with this timestamp (0: a stamp of now) into all paths. */
void scrubbed_put(scrubbed *self, const char *record, int64_t timestamp);
/* Puts the record's row under one path only. */
void scrubbed_plant(scrubbed *self, size_t path, const char *record, int64_t timestamp);
/* The same, to be written later; in the call's arena. */
kw_write scrubbed_write_of(scrubbed *self, size_t path, const char *record, int64_t timestamp);
/* Deletes the record's row under one path, or one of its columns (not NULL), up to the timestamp. */
void scrubbed_wipe(scrubbed *self, size_t path, const char *key, const char *column, int64_t timestamp);
/* A row that is no record's. */
void scrubbed_plant_raw(scrubbed *self, size_t path, const char *row_key);

/* A row like the record's, in another bucket; the path's key begins with one byte for it. */
void scrubbed_plant_elsewhere(scrubbed *self, size_t path, const char *record);

/* The records under a path, one a line, sorted. */
char *scrubbed_records(scrubbed *self, size_t path);
/* All paths hold these records. */
void scrubbed_check(scrubbed *self, const char *records);
