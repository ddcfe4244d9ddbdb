/* A scan that continues over several pages: rows and scanners left over from one page serve the next. This is
 * only an optimization for callers who expect to need more pages: each page has a cursor, and any gateway can
 * resume from it without this object. */
#pragma once

#include "verb/verb.h"

typedef struct kw_scan kw_scan;

/* Opens the scan of a request, which is copied. For `like`, see kw_scan_of_cursor. NULL with an error if the
 * request is invalid. */
kw_scan *kw_scan_of_request(const kw_call *like, const kw_scan_request *request, kw_error *ret_error);

/* Opens a scan at a cursor; its pages continue from there. Copies policy, keyring, store handle and identity
 * from `like` (policy and keyring are held until kw_scan_free) and keeps nothing else of it. NULL: INVALID,
 * see kw_page_open_cursor. */
kw_scan *kw_scan_of_cursor(const kw_call *like, kw_bytes cursor, kw_error *ret_error);

/* Reads the next page, in the arena of `call` and within its deadline. One page at a time. After an error or
 * a page without cursor, the scan can only be freed. */
void kw_scan_next(kw_scan *scan, kw_call *call, kw_scan_done done, void *user);

/* The completion of a page in progress is not called. NULL is ignored. */
void kw_scan_free(kw_scan *scan);
