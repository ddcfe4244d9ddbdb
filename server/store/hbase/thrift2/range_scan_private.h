/* Shared by range_scan.c (position and fetches) and scanner.c (an open scanner of a server). */
#pragma once

#include "store/hbase/handle.h"

typedef struct kw_hbase_scanner kw_hbase_scanner;

typedef struct kw_hbase_range_scan {
    kw_range_scan base;
    kw_hbase_handle *handle;
    kw_arena *arena; /* owns this and the spec's bytes */
    kw_range_scan_spec spec;
    uint32_t refs; /* of the caller, a call in flight, and each scanner that is not closed yet */
    bool closed;
    kw_bytes filter_bytes; /* the filter and the patterns; empty: the filter's text is enough */
    bool stateful_filter;  /* it counts rows, so it must see all of them in one scan */

    /* position */
    bool started; /* last is set */
    bool ended;
    bool top_is_row; /* reversed: a row exists at the exclusive bound where the scan starts */
    kw_buffer last;  /* key of the last row returned to the caller */

    /* the fetch in progress */
    kw_rows *rows;
    uint32_t max_rows;
    size_t max_bytes;
    bool more_hint;
    kw_deadline deadline;
    uint32_t wanted;   /* rows requested; can be max_rows + 1 if top_is_row */
    uint32_t rows_cap; /* limit after a reply that was too large; 0: none */
    uint32_t attempts;
    bool continued; /* the fetch uses the scanner of an earlier one */
    kw_get_done done;
    void *user;

    kw_arena *bounds_arena; /* of the bounds in tscan */
    kw_hb_TScan tscan;
    kw_hb_TTimeRange time_range;
    kw_hbase_call call; /* getScannerResults */
    kw_hb_THBaseService_getScannerResults_args args;
    kw_hbase_scanner *scanner;
} kw_hbase_range_scan;

void kw_hbase_range_scan_unref(kw_hbase_range_scan *scan);

/* Handles the rows of a fetch, or its failure. */
void kw_hbase_range_scan_fetched(kw_hbase_range_scan *scan, const kw_hb_TResult *results, uint32_t count,
                                 const kw_hbase_failure *failure);

/* A scanner for scan->tscan. Nothing is sent before the first fetch. It keeps a reference to the range scan
 * until it is closed on the server. */
kw_hbase_scanner *kw_hbase_scanner_new(kw_hbase_range_scan *scan);

/* Opens the scanner if necessary and requests scan->wanted rows: kw_hbase_range_scan_fetched follows. */
void kw_hbase_scanner_fetch(kw_hbase_scanner *scanner, uint64_t delay_ms);

/* Closes the scanner on the server and frees it, now or when its call in flight is done. The range scan gets
 * no further callback. */
void kw_hbase_scanner_abandon(kw_hbase_scanner *scanner);
