/* What all store handles of one HBase store share: settings, TLS, how many channels are ready, the clock. */
#pragma once

#include "base/thread.h"
#include "store/class.h"
#include "thrift/hbase2_wire.h"
#include "tls/tls.h"

#include <stdatomic.h>

typedef struct kw_hbase_heartbeats kw_hbase_heartbeats;

/* HBase's clock; see clock.c. */
typedef struct kw_hbase_clock {
    _Atomic bool measuring;   /* one store handle of the process does it */
    _Atomic uint64_t used_ns; /* monotonic; 0: never */
    _Atomic uint64_t uses;
    char name[24]; /* of this process, in the names of its cells */
    kw_mutex lock; /* guards the rest */
    kw_known_time known;
    bool looked;      /* at the cells of all gateways, since it was last unknown */
    int64_t heard_ns; /* when the last answered heartbeat was sent */
    int64_t way_ns;   /* how long heartbeats take: a moving average */
    kw_hbase_heartbeats *sender;
    kw_task wake;
    bool woken; /* the task is posted */
} kw_hbase_clock;

/* Does HBase filter by FuzzyRowFilter as it should? See probe.c. */
typedef enum kw_hbase_probed {
    KW_HBASE_UNPROBED,
    KW_HBASE_PROBING,
    KW_HBASE_FUZZY_GOOD,
    KW_HBASE_FUZZY_BAD
} kw_hbase_probed;

typedef struct kw_hbase_store {
    kw_store base;
    kw_model_hbase settings; /* a copy of its own */
    kw_wire_form form;
    kw_tls_context *tls; /* NULL: none */
    char *about;
    _Atomic uint32_t handles;
    _Atomic uint32_t ready;     /* channels of all store handles that are READY */
    _Atomic uint32_t *channels; /* of all store handles, per server */
    kw_mutex mutex;             /* of why */
    char why[200];              /* the last failure to connect; "" none yet */
    kw_hbase_clock clock;
    _Atomic kw_hbase_probed probed;
} kw_hbase_store;

/* Remembers why the store cannot be reached, for kw_store_ready. Any thread. */
void kw_hbase_store_blame(kw_hbase_store *store, const char *server, const char *why);

/* May a store handle with `own` channels to this server open one more? Each store handle has its share of the
 * settings' channels; what others leave free is anybody's. */
bool kw_hbase_store_allows(kw_hbase_store *store, size_t server, uint32_t own);

/* Should a store handle with `own` channels give an idle one back? */
bool kw_hbase_store_wants_back(kw_hbase_store *store, size_t server, uint32_t own);
