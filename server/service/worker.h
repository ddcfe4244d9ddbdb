/* Internal to service: the state of the service on one loop. */
#pragma once

#include "service/service.h"

#include "access/access.h"
#include "base/fine_timer.h"
#include "base/log.h"
#include "thrift/keyway_wire.h"
#include "verb/prefetch.h"

/* The policy and keyring of the loop's new calls. Reference counted without atomics, because only the loop
 * uses it. */
typedef struct kw_snapshot {
    uint32_t refs;
    kw_policy *policy;
    kw_keyring *keyring;
    kw_access_rules *access; /* of the policy; NULL: everybody can do everything */
} kw_snapshot;

/* Metrics of one method on one loop: written by the loop, read by any thread. */
typedef struct kw_method_metrics {
    kw_histogram latency;
    _Atomic uint64_t codes[KW_INTERNAL + 1];
    _Atomic uint64_t records[KW_INTERNAL + 1]; /* of calls with many records */
} kw_method_metrics;

typedef struct kw_read_queues kw_read_queues; /* service/read_queue.h */
typedef struct kw_worker_closing kw_worker_closing;

typedef struct kw_service_worker {
    kw_service *service;
    kw_loop *loop;
    kw_store_handle *handle;
    kw_generator *generator;
    kw_page_prefetcher *prefetcher;
    kw_fine_timers *timers; /* deadlines of exchanges */
    kw_read_queues *read_queues;
    kw_worker_port *compiler;     /* compiles filters' expressions */
    kw_worker_port *offload;      /* see offload.h */
    struct kw_seen_queries *seen; /* seen_queries.h */
    kw_snapshot *snapshot;
    bool gate_open;
    uint64_t era;     /* of the fence when the gate was opened; 0: the gate is shut, or there is no fence */
    kw_error gate;    /* the error while it is shut */
    kw_task watching; /* only watch.c uses this and the next one */
    const struct kw_exchange *watched; /* the last call of which a piece began, or NULL */
    GQueue active;          /* kw_exchange: calls that have begun; only kw_exchange_move changes it */
    struct kw_hold *hold;   /* NULL: no table is held */
    GQueue held_atomics;    /* kw_exchange; see atomic_hold.h */
    GHashTable *held_peers; /* the number of them by peer */
    uint64_t calls;         /* number of calls, for request ids */
    unsigned index;
    kw_log_limit logged_mistakes, logged_failures;
    kw_worker_closing *closing; /* NULL until the store handle is closed */
    kw_method_metrics *metrics; /* KW_API_METHOD_COUNT elements */
} kw_service_worker;

/* Call this when a call has ended and was freed. A worker that is being closed waits for its last call. */
void kw_service_worker_note_end(kw_service_worker *worker);

struct kw_service {
    kw_service_settings settings;
    kw_workers *compilers; /* of filters' expressions */
    kw_workers *offloads;  /* see offload.h */
    kw_service_worker *workers;
    _Atomic uint64_t writes; /* number of writes answered by all loops */
    char id_prefix[9];       /* makes the request ids of two processes differ */
    struct holding *holding; /* used by the gateway's thread; see hold.c */
    kw_policy *first_policy; /* when the loops were opened */
    kw_keyring *first_keyring;
};

/* A new snapshot of the policy with which the service began. */
kw_snapshot *kw_snapshot_first(const kw_service *service);
void kw_snapshot_unref(kw_snapshot *snapshot);
