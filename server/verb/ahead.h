/* Pages of scans that are read before they are asked for.
 *
 * Who asked for a second page, or for a first one of many rows, will probably ask for the next: it is read
 * while the caller still works on this one, as any scanner of HBase's client reads ahead. It is only a
 * shortcut: the cursor stays the whole truth, another gateway goes on from it just as well, and a page that
 * nobody fetched is forgotten. A page read ahead waits at most KW_AHEAD_MS, and is older than no write that
 * this gateway answered: those make it forget. As with any scanner of HBase, what others write meanwhile may
 * be seen or not; one scan reads on for KW_AHEAD_SCAN_MS, then the next is begun. One per loop; the count of
 * writes is shared.
 */
#pragma once

#include "verb/verb.h"

#include <stdatomic.h>

#define KW_AHEAD_MS 1000
#define KW_AHEAD_SCAN_MS 5000
#define KW_AHEAD_PAGES_MAX 4

typedef struct kw_ahead kw_ahead;

/* writes: counts every write that is answered, in all loops; outlives this. */
kw_ahead *kw_ahead_new(kw_loop *loop, const _Atomic uint64_t *writes);

/* kw_verb_scan; behind a first page of many rows the second is read already. */
void kw_ahead_scan(kw_ahead *ahead, kw_call *call, const kw_scan_request *request, kw_scan_done done,
                   void *user);

/* kw_verb_next, and the page behind it is read already. */
void kw_ahead_next(kw_ahead *ahead, kw_call *call, kw_bytes cursor, kw_scan_done done, void *user);

/* Forgets everything and starts nothing more; what is under way ends with the door. */
void kw_ahead_close(kw_ahead *ahead);
/* After the door was closed. */
void kw_ahead_free(kw_ahead *ahead);
