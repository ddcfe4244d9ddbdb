/* Shared by scan, next and explain: planning of a request, limits of a page, and requests in cursors. */
#pragma once

#include "verb/verb.h"

typedef struct kw_page_limits {
    uint32_t rows;
    size_t bytes;
    size_t frame_bytes; /* of the reply */
} kw_page_limits;

/* The limits of the request, capped by the configured ones. */
kw_page_limits kw_page_limits_of(const kw_call *call, const kw_scan_request *request);

/* Allocates the plan in the arena. LIMIT or BUSY if there is no memory for it. */
bool kw_page_plan(const kw_call *call, const kw_scan_request *request, kw_arena *arena,
                  const kw_plan **ret_plan, kw_error *ret_error);
/* Like kw_page_plan, but limits the planning effort; NULL: no limit. */
bool kw_page_plan_within(const kw_call *call, const kw_scan_request *request, kw_effort *effort,
                         kw_arena *arena, const kw_plan **ret_plan, kw_error *ret_error);

/* Returns a sealed cursor in the call's arena. It continues after this page, or, if `rest` is true, after the
 * plan's window. */
kw_bytes kw_page_cursor(kw_call *call, const kw_scan_request *request, const kw_plan *plan,
                        const kw_gathered *page, bool rest);

/* Opens a cursor: returns its request, bound to its path, and its position. INVALID with a separate text for
 * each mismatch, for example of the signature, the caller, the table, the layout or a field. */
bool kw_page_open_cursor(kw_call *call, kw_bytes sealed, kw_scan_request *ret_request,
                         kw_position *ret_position, kw_error *ret_error);
