/* A store over the simulated HBase rows (histories/sim/rows.h) in the test's own process, without sockets.
 * The test sets the clock that store/order sees, and decides what happens to each read and write: it can hold
 * it, lose its reply, or apply it late. It has no scans and increments. One loop.
 */
#pragma once

#include "store/store.h"

#include <glib.h>

typedef enum kw_fate {
    KW_FATE_ANSWERED,
    KW_FATE_HELD,    /* waits for kw_simulated_release */
    KW_FATE_FAILED,  /* not applied; UNAVAILABLE */
    KW_FATE_LOST,    /* applied, but a write is answered with UNKNOWN; a get fails */
    KW_FATE_DROPPED, /* not applied, but a write is answered with UNKNOWN; a get fails */
    KW_FATE_LATE     /* answered with UNKNOWN; applied by kw_simulated_apply_late */
} kw_fate;

typedef struct kw_simulated_call {
    kw_bytes table, row;
    const kw_write *write; /* NULL: it is a get */
    const kw_get *get;     /* NULL: it is a write */
    const kw_check *check; /* NULL: the write has no condition */
    unsigned number;       /* counts all calls from 1 */
} kw_simulated_call;

typedef kw_fate (*kw_simulated_fate)(void *user, const kw_simulated_call *call);

/* The tables have the families f and g. The time is known: one second after 1970. */
kw_store *kw_simulated_store_open(const char *const *tables, size_t count);
/* The same rows, as another gateway sees them: with a clock, fates and counts of its own. Free it before
 * `other`. */
kw_store *kw_simulated_store_join(kw_store *other);
/* Another table. Compactions keep its delete markers until they are markers_ms old. */
void kw_simulated_create_table(kw_store *store, const char *name, int64_t markers_ms);
/* NULL: every call is answered. */
void kw_simulated_set_fate(kw_store *store, kw_simulated_fate fate, void *user);
/* What kw_store_time returns. */
void kw_simulated_set_time_ms(kw_store *store, int64_t earliest_ms, int64_t latest_ms);
/* The time advances with this machine's clock: kw_store_time returns an interval from before_ms before that
 * clock to after_ms after it. The clock of the region servers is skew_ms ahead of this machine's clock. */
void kw_simulated_follow_clock(kw_store *store, int64_t before_ms, int64_t after_ms, int64_t skew_ms);
/* From now on the latest time is a multiple of every_ms, plus at_ms. */
void kw_simulated_set_grid(kw_store *store, int64_t every_ms, int64_t at_ms);
/* kw_store_time fails; kw_store_time_estimate returns the last time. */
void kw_simulated_set_time_unknown(kw_store *store);

/* Number of calls so far; of a multi-call, each row counts. */
unsigned kw_simulated_calls(const kw_store *store);
size_t kw_simulated_held(const kw_store *store);
/* Answers the oldest held call. */
void kw_simulated_release(kw_store *store);
/* Applies all late writes, in their order. */
void kw_simulated_apply_late(kw_store *store);
/* A compaction drops the delete markers, except those that the table keeps, and the cells that they hide. */
void kw_simulated_purge(kw_store *store);

/* Writes a cell of family f without a call. */
void kw_simulated_put(kw_store *store, const char *table, const char *row, const char *qualifier,
                      const char *value, int64_t timestamp);
/* The visible cells with all versions, "f:a=1@1000 f:b=2@1001"; gone cells as "f:kw:r=1000@1001". */
/* Appends one cell in this form, after a space. */
void kw_simulated_print(GString *to, const kw_cell *cell);
char *kw_simulated_row(kw_store *store, const char *table, const char *row);
