/* A scan that lives over several pages: what is open in the store, and what was read there beyond a page,
 * serve the next one. It is only a shortcut, for whoever knows that more pages will be asked for: each page
 * has its cursor, from which anybody goes on without it.
 */
#pragma once

#include "verb/verb.h"

typedef struct kw_scan kw_scan;

/* The scan of a request, which is copied. `like` and errors as below. */
kw_scan *kw_scan_of_request(const kw_call *like, const kw_scan_request *request, kw_error *ret_error);

/* The scan that a cursor stands for; its pages go on from there. `like` gives policy, keyring (both are held
 * until kw_scan_free), door and caller; nothing else of it is kept. NULL: INVALID, see kw_page_open_cursor.
 */
kw_scan *kw_scan_of_cursor(const kw_call *like, kw_bytes cursor, kw_error *ret_error);

/* The next page, in the arena of `call` and until its deadline. One at a time; the scan is of no use any more
 * once a page had an error or no cursor. */
void kw_scan_next(kw_scan *scan, kw_call *call, kw_scan_done done, void *user);

/* A page under way stays silent. NULL is fine. */
void kw_scan_free(kw_scan *scan);
