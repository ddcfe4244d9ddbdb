/* The fixture of tests of passes that scan several parts of a placement at the same time: two store tables
 * with several regions, and records of which a quarter differ between the placements. */
#pragma once

#include "unit/verb/apart_fixture.h"

#define PASS_RECORDS 400
/* How many of them have a row in the old placement; the same for the new one. */
#define PASS_ROWS (PASS_RECORDS - PASS_RECORDS / 16)

typedef struct pass_fixture {
    apart_fixture apart;
    kw_copy_request request;
    bool new_is_read; /* scans read the new placement, so passes begin with it */
    kw_copy_result slice;
    kw_error error;
    uint64_t rows; /* of all slices */
    unsigned slices;
    bool ended; /* the slice has ended with a result */
} pass_fixture;

void pass_fixture_open(pass_fixture *self, uint32_t max_scans);
/* As open, but scans read the new placement. */
void pass_fixture_open_new_read(pass_fixture *self, uint32_t max_scans);
void pass_fixture_close(pass_fixture *self);

/* The placement that a pass scans first: the one that scans read. */
apart_side pass_fixture_first(const pass_fixture *self);
/* The next slices do `use`, from the first row on. */
void pass_fixture_begin(pass_fixture *self, kw_copy_seen_use use);
/* Runs a slice. If it does not fail, the next one continues after it. */
void pass_fixture_slice(pass_fixture *self);
/* Begins a scan, and runs all its slices. Slices that fail are repeated. */
void pass_fixture_scan(pass_fixture *self, kw_copy_seen_use use);
/* Runs a whole pass. */
void pass_fixture_run(pass_fixture *self);
/* Both rows of each record are as they must be after a pass. */
void pass_fixture_expect_equal(pass_fixture *self);
