/* Inside of the room: the service as one loop has it. */
#pragma once

#include "service/service.h"

#include "base/alarm.h"
#include "thrift/keyway_wire.h"
#include "verb/prefetch.h"

/* What calls of this loop begin with; counted without atomics, since only the loop touches it. */
typedef struct kw_snapshot {
    uint32_t refs;
    kw_policy *policy;
    kw_keyring *keyring;
} kw_snapshot;

/* Figures of one method on one loop: written there, read anywhere. */
typedef struct kw_method_metrics {
    kw_histogram latency;
    _Atomic uint64_t codes[KW_INTERNAL + 1];
} kw_method_metrics;

typedef struct kw_lines kw_lines; /* service/line.h */

typedef struct kw_service_worker {
    kw_service *service;
    kw_loop *loop;
    kw_store_handle *handle;
    kw_maker *maker;
    kw_page_prefetcher *ahead;
    kw_alarms *alarms; /* of exchanges */
    kw_lines *lines;
    kw_worker_port *compiler; /* compiles filters' expressions */
    kw_worker_port *offload;  /* see offload.h */
    kw_snapshot *snapshot;
    bool gate_open;
    kw_error gate;              /* why it is shut */
    struct kw_exchange *active; /* calls that began and need the store */
    struct kw_hold *hold;       /* NULL: no table is held */
    uint64_t calls;             /* numbers request ids */
    unsigned index;
    uint64_t log_second;
    uint32_t logged;
    kw_method_metrics *metrics; /* KW_API_METHOD_COUNT of them */
} kw_service_worker;

struct kw_service {
    kw_service_settings settings;
    kw_workers *compilers; /* of filters' expressions */
    kw_workers *offloads;  /* see offload.h */
    kw_service_worker *workers;
    _Atomic uint64_t writes; /* answered by any loop */
    char id_prefix[9];       /* request ids of two runs differ */
    struct holding *holding; /* the gateway's; see hold.c */
    kw_policy *first_policy; /* until the loops have it */
    kw_keyring *first_keyring;
};

void kw_snapshot_unref(kw_snapshot *snapshot);
