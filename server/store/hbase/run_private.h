/* What run.c (position and fetches) and scanner.c (an opened scanner of the server) share. */
#pragma once

#include "store/hbase/handle.h"

typedef struct kw_hbase_scanner kw_hbase_scanner;

typedef struct kw_hbase_scan_run {
    kw_range_scan base;
    kw_hbase_handle *handle;
    kw_arena *arena; /* owns this and the spec's bytes */
    kw_range_scan_spec spec;
    uint32_t refs; /* the caller, a call in flight, every scanner that is not closed yet */
    bool closed;
    kw_bytes filter_bytes; /* the filter and the patterns together; empty: the filter's text says it all */
    bool stateful_filter;  /* it counts rows: it must see them all in one scan */

    /* position */
    bool started; /* last is set */
    bool ended;
    bool top_is_row; /* reversed: the exclusive bound the scan starts at is a row, which comes first */
    kw_buffer last;  /* key of the last row that was handed out */

    /* the fetch under way */
    kw_rows *rows;
    uint32_t max_rows;
    size_t max_bytes;
    bool more_hint;
    kw_deadline deadline;
    uint32_t wanted;   /* rows asked for; one more than max_rows when top_is_row */
    uint32_t rows_cap; /* after an answer that was too large; 0: none */
    uint32_t attempts;
    kw_get_done done;
    void *user;

    kw_arena *scan_arena; /* of the present scan's bounds */
    kw_hb_TScan scan;
    kw_hb_TTimeRange time_range;
    kw_hbase_call call; /* getScannerResults */
    kw_hb_THBaseService_getScannerResults_args args;
    kw_hbase_scanner *scanner;
} kw_hbase_scan_run;

void kw_hbase_scan_run_unref(kw_hbase_scan_run *run);

/* The rows of a fetch, or why there are none. */
void kw_hbase_scan_run_fetched(kw_hbase_scan_run *run, const kw_hb_TResult *results, uint32_t count,
                               const kw_hbase_failure *failure);

/* A scanner of run->scan; nothing is sent before the first fetch. It keeps the run alive until the
 * server has forgotten it. */
kw_hbase_scanner *kw_hbase_scanner_new(kw_hbase_scan_run *run);

/* Opens it when it is not, then asks for run->wanted rows: kw_hbase_scan_run_fetched follows. */
void kw_hbase_scanner_fetch(kw_hbase_scanner *scanner, uint64_t delay_ms);

/* The run needs it no more, and will not hear of it: it is closed on the server, now or as soon as what
 * is in flight has come back, and freed. */
void kw_hbase_scanner_abandon(kw_hbase_scanner *scanner);
