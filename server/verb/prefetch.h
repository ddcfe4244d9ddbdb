/* Prefetches pages of scans.
 *
 * A caller that fetches a second page, or a first page of many rows, probably fetches the next one: Keyway
 * reads it while the caller still processes the current page, as a scanner of HBase's client does.
 * Prefetching is only an optimization: the cursor holds the complete state of the scan, another gateway can
 * resume from it, and pages that nobody fetches are dropped. A prefetched page can be used for
 * KW_PREFETCH_MS. Every write that this gateway acknowledges invalidates it. As with any scanner of HBase,
 * the page can contain concurrent writes of other gateways, or lack them. A scan is used for
 * KW_PREFETCH_SCAN_MS; then a new one replaces it. Each loop has its own prefetcher; the loops share the
 * count of writes.
 */
#pragma once

#include "verb/verb.h"

#include <stdatomic.h>

#define KW_PREFETCH_MS 1000
#define KW_PREFETCH_SCAN_MS 5000
#define KW_PREFETCH_PAGES_MAX 4

typedef struct kw_page_prefetcher kw_page_prefetcher;

/* writes: number of writes acknowledged by all loops; must outlive the prefetcher. */
kw_page_prefetcher *kw_page_prefetcher_new(kw_loop *loop, const _Atomic uint64_t *writes);

/* Like kw_verb_scan. After a first page of many rows, prefetches the second. */
void kw_page_prefetcher_scan(kw_page_prefetcher *prefetcher, kw_call *call, const kw_scan_request *request,
                             kw_scan_done done, void *user);

/* Like kw_verb_next. Prefetches the following page. */
void kw_page_prefetcher_next(kw_page_prefetcher *prefetcher, kw_call *call, kw_bytes cursor,
                             kw_scan_done done, void *user);

/* Drops the pages that no call waits for, aborts their reads and starts no more. The reads that calls wait
 * for end when the store handle is closed. */
void kw_page_prefetcher_close(kw_page_prefetcher *prefetcher);
/* Call it after the store handle is closed. */
void kw_page_prefetcher_free(kw_page_prefetcher *prefetcher);
