/* What scan, next and explain share: planning a request, the size of a page, and requests in cursors. */
#pragma once

#include "verb/verb.h"

typedef struct kw_page_limits {
    uint32_t rows;
    size_t bytes;
    size_t frame_bytes; /* of the reply */
} kw_page_limits;

/* The request's, within the configured ones. */
kw_page_limits kw_page_limits_of(const kw_call *call, const kw_scan_request *request);

/* The plan is in the arena. */
bool kw_page_plan(const kw_call *call, const kw_scan_request *request, kw_arena *arena,
                  const kw_plan **ret_plan, kw_error *ret_error);
/* The same, within an effort; NULL: without a limit. */
bool kw_page_plan_within(const kw_call *call, const kw_scan_request *request, kw_effort *effort,
                         kw_arena *arena, const kw_plan **ret_plan, kw_error *ret_error);

/* Sealed, in the call's arena. count and position of the page; `rest`: what comes is behind the plan's
 * window.
 */
kw_bytes kw_page_cursor(kw_call *call, const kw_scan_request *request, const kw_plan *plan,
                        const kw_gathered *page, bool rest);

/* The request that a cursor stands for, bound to its path. INVALID, one text for each thing that does not
 * fit: signature, expiry, caller, table, path, layout. */
bool kw_page_open_cursor(kw_call *call, kw_bytes sealed, kw_scan_request *ret_request,
                         kw_position *ret_position, kw_error *ret_error);
