/* Types and functions shared by scan.c and scan_hints.c; no other file includes this one. */
#pragma once

#include "plan/pace.h"
#include "verb/compile.h"
#include "verb/page.h"
#include "verb/pushdown.h"
#include "verb/scan.h"

struct kw_scan {
    kw_call call;            /* its arena holds this struct, the request and the filter */
    bool spans_pages;        /* call is a copy of its own, and outlives a page */
    kw_scan_request request; /* limit: rows still wanted when the page began */
    kw_arena *planning;      /* arena of the plan */
    const kw_plan *plan;
    bool window_read; /* the plan's window was read, and another follows: the next page begins with it */
    kw_pace pace;
    kw_pace_cost cost;   /* of the window so far */
    uint64_t reading_ns; /* when the gather began to read the present page */
    kw_reader *reader;
    kw_pushdown push;
    kw_position position;    /* where the gather begins, once the filter is compiled */
    kw_compiling *compiling; /* of the filter, for the first page */
    kw_gather *gather;       /* NULL: the filter is not ready yet */
    kw_arena *scratch;       /* cleared with each row */

    kw_call *page_call; /* the call of the page in progress */
    kw_scan_done done;
    void *user;
    GArray *records; /* kw_record, in the arena of page_call */
    kw_page_limits limits;
    kw_deadline stop_by;         /* after this time, the page ends with the current window */
    bool in_later_window;        /* earlier windows were read for this page */
    uint64_t scanned;            /* rows, in those windows */
    size_t bytes;                /* of rows, in those windows */
    uint64_t undecodable;        /* rows that this page skipped, in all windows */
    size_t reply_bytes;          /* of the page's records, in the reply */
    size_t cursor_bytes;         /* without the key; 0: not known */
    struct kw_scan_hints *hints; /* NULL: the rows are records */
};

/* --- scan.c -------------------------------------------------------------------------------------- */

/* Opens a gather of the current plan at this position, which must live as long as the gather. */
void kw_scan_gather(kw_scan *scan, const kw_position *position);
/* Handles a row of a record, or without `row` a hint, that cannot be decoded, or whose values are too large
 * (LIMIT). */
bool kw_scan_accept_undecodable(kw_scan *scan, const kw_row *row, const kw_error *why,
                                kw_acceptance *ret_accepted, kw_error *ret_error);
/* Handles a row that is too large to be read. */
bool kw_scan_accept_large(kw_scan *scan, const kw_placement *placement, const kw_row *row,
                          kw_acceptance *ret_accepted, kw_error *ret_error);
/* Adds the record that the reader has decoded to the page, if the page with it fits into a reply. position:
 * the key that a cursor after it contains. */
bool kw_scan_accept_record(kw_scan *scan, const kw_placement *placement, const kw_row *row, kw_bytes position,
                           kw_acceptance *ret_accepted, kw_error *ret_error);
/* Maximum size in bytes of a row while it is read. */
size_t kw_scan_max_row_bytes(const kw_scan *scan);
/* The rows that count for the size of the page. */
uint64_t kw_scan_rows_of_page(const kw_scan *scan);
/* True if the page has all records that the query still wants; not if it has no limit. */
bool kw_scan_has_enough(const kw_scan *scan);
/* True if the page has neither its rows nor its bytes yet, and memory is not short. */
bool kw_scan_has_space(const kw_scan *scan);
/* True if it has no space, or its time is up. */
bool kw_scan_page_is_full(const kw_scan *scan);
/* Continues after the page was gathered, or the current window was read. */
void kw_scan_gathered(kw_scan *scan, const kw_gathered *gathered);
void kw_scan_answer(kw_scan *scan, const kw_gathered *last, bool end);

/* --- scan_hints.c: scans of hint paths --------------------------------------------------------------- */

typedef struct kw_scan_hints kw_scan_hints;

/* Copies the position. */
kw_scan_hints *kw_scan_hints_new(kw_scan *scan, const kw_position *position);
void kw_scan_hints_free(kw_scan_hints *hints);
/* For kw_gather_spec. */
bool kw_scan_hints_accept(void *scan, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error);
void kw_scan_hints_begin_page(kw_scan *scan);
/* The page is answered. */
void kw_scan_hints_end_page(kw_scan *scan);
/* Opens the first gather, and reads, as soon as the start of the query is known. */
void kw_scan_hints_begin_query(kw_scan *scan);
/* Reads what the page still lacks from the current window. */
void kw_scan_hints_read(kw_scan *scan);
/* The scan has opened another window. */
void kw_scan_hints_begin_window(kw_scan *scan);
