/* When a stale hint can be deleted: its row has another tuple, and no write in progress can still need it.
 * Readers that drop a hint and the sweep of a hint table use the same rule. Pure.
 *
 *   hint with its timestamp --> old enough? --> read the row --> kw_hint_can_be_cleaned --> delete up to the
 *                                                                                           timestamp
 *
 * The age must be known before the row is read: a put could write the row between the read and the moment at
 * which the hint is old enough. The delete has the hint's timestamp: an unstamped one would hide a hint that
 * is written again.
 */
#pragma once

#include "base/ordering.h"

#include <stdbool.h>
#include <stdint.h>

#define KW_HINT_NO_TIME INT64_MIN
/* The largest difference between the clocks of two region servers: HBase's own limit. */
#define KW_HINT_CLOCK_DIFFERENCE_MS 30000

typedef struct kw_hint_limits {
    int64_t window_ms;           /* KW_HINT_WINDOW_MS */
    int64_t late_ms;             /* store.late; KW_HINT_NO_TIME: unknown */
    int64_t clock_difference_ms; /* KW_HINT_CLOCK_DIFFERENCE_MS */
    int64_t keep_ms;             /* hints.keep: queries that end within this time find what has moved */
    int64_t lag_ms;              /* kw_hint_lag_ms */
} kw_hint_limits;

typedef struct kw_hint_facts {
    int64_t hint_ms;     /* the timestamp of the hint */
    int64_t earliest_ms; /* the store's clock was not below this before the row was read; KW_HINT_NO_TIME:
                            unknown */
    /* of the row, read like any present version: with order: stamp, the clock has passed what was read */
    bool has_tuple;    /* its tuple is that of the hint */
    int64_t newest_ms; /* the newest timestamp of the path's fields; KW_HINT_NO_TIME: it has none of them */
} kw_hint_facts;

/* How much a row's timestamp can be below the time at which the row was written: servers' clocks differ by
 * max_clock_skew_ms, and a stamp is taken before the put is sent. late_ms must be known if the order is
 * STAMP. */
int64_t kw_hint_lag_ms(kw_write_order order, int64_t max_clock_skew_ms, int64_t window_ms, int64_t late_ms);
/* After this time, no write that has written a hint can still write its row (G). KW_HINT_NO_TIME: unknown. */
int64_t kw_hint_grace_ms(const kw_hint_limits *limits);
/* The first condition: before the row is read. */
bool kw_hint_is_old(int64_t hint_ms, int64_t earliest_ms, const kw_hint_limits *limits);
/* All conditions. */
bool kw_hint_can_be_cleaned(const kw_hint_facts *facts, const kw_hint_limits *limits);

/* The TTL of a path's hints, in seconds; 0: none. A hint must not expire before its row. ttls_s: of the
 * families of the tuple's fields; 0: none. keeps_versions: a family keeps some versions despite its TTL. */
int64_t kw_hint_ttl_s(const int64_t *ttls_s, unsigned count, bool keeps_versions);
