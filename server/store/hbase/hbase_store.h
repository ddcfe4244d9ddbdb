/* Shared by all store handles of an HBase store: settings, TLS, the number of ready channels, the clock. */
#pragma once

#include "base/log.h"
#include "base/thread.h"
#include "store/class.h"
#include "store/hbase/hbase.h"
#include "store/plausible.h"
#include "thrift/hbase2_wire.h"
#include "tls/tls.h"

#include <stdatomic.h>

typedef struct kw_hbase_heartbeats kw_hbase_heartbeats;

/* The state of HBase's clock; see clock.c. */
typedef struct kw_hbase_clock {
    _Atomic bool measuring;   /* a store handle of the process sends heartbeats */
    _Atomic uint64_t used_ns; /* the last use, monotonic; 0: never */
    _Atomic uint64_t uses;
    char name[24]; /* of this process, part of the names of its cells */
    kw_mutex lock; /* guards the rest */
    kw_known_time known;
    kw_plausible heartbeats, peers; /* which timestamps are trusted: of heartbeats; the newest one of all */
    kw_log_limit logged;
    bool peers_read;   /* the cells of all gateways were read since the time was last unknown */
    int64_t newest_ns; /* when the newest answered heartbeat was sent */
    kw_hbase_heartbeats *sender;
    kw_task wake;
    bool wake_posted;
    kw_loop *wake_loop; /* the loop to which `wake` was posted */
} kw_hbase_clock;

/* What is known about FuzzyRowFilter on these servers; see probe.c. */
typedef enum kw_hbase_probed {
    KW_HBASE_UNPROBED,
    KW_HBASE_PROBING,
    KW_HBASE_FUZZY_WORKS,
    KW_HBASE_FUZZY_BROKEN
} kw_hbase_probed;

typedef struct kw_hbase_store {
    kw_store base;
    kw_model_hbase settings; /* a deep copy */
    kw_hbase_tuning tuning;
    kw_tls_context *tls; /* NULL: no TLS */
    char *about;
    _Atomic uint32_t handles;
    _Atomic uint32_t ready;     /* READY and RETIRED channels of all store handles */
    _Atomic uint32_t *channels; /* channels of all store handles, per server */
    _Atomic uint8_t *forms;     /* per server: the form in which it answered last (link/forms.h) */
    _Atomic bool *failing;      /* per server: its failure was logged, and no channel was ready since */
    kw_mutex mutex;             /* guards why */
    char why[400];              /* the last failure to connect; "": no failure yet */
    kw_hbase_clock clock;
    _Atomic kw_hbase_probed probed;
    _Atomic(const kw_fence *) fence; /* of fenced writes; NULL: none */
} kw_hbase_store;

/* Stores a connection failure for the error of kw_store_ready. Any thread. */
void kw_hbase_store_note_failure(kw_hbase_store *store, const char *server, const char *why);

/* True if a store handle with `own` channels to this server can open one more. Each store handle has an equal
 * share of the setting `channels`, and can also use those that the others leave free. */
bool kw_hbase_store_allows_channel(kw_hbase_store *store, size_t server, uint32_t own);

/* True if a store handle with `own` channels must close an idle one, so that another store handle gets its
 * share. */
bool kw_hbase_store_has_excess(kw_hbase_store *store, size_t server, uint32_t own);
