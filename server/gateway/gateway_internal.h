/* Inside of the room: what the gateway's parts know of each other. Main thread only, but for what is atomic
 * or behind the lock. */
#pragma once

#include "admin/admin.h"
#include "base/thread.h"
#include "catalog/catalog.h"
#include "gateway/gateway.h"
#include "gateway/jobs.h"
#include "net/net.h"
#include "service/service.h"

#include <signal.h>

typedef enum kw_gateway_state {
    KW_GATEWAY_STARTING,
    KW_GATEWAY_WAITING,
    KW_GATEWAY_SERVING,
    KW_GATEWAY_DRAINING,
    KW_GATEWAY_DONE
} kw_gateway_state;

typedef struct kw_reload kw_reload;

typedef struct kw_gateway {
    kw_gateway_settings settings;
    _Atomic kw_gateway_state state;
    int exit_code;
    int64_t started_at_ms;

    kw_loop *loop;
    uv_signal_t signals[3];
    size_t signals_count;
    kw_timer *timer; /* STARTING: patience; WAITING: the next try */
    kw_timer *watchdog;
    kw_timer *trim;
    uint64_t watchdog_ms;

    kw_policy *policy; /* in service, or to be */
    _Atomic int64_t policy_loaded_at_ms;
    kw_keyring *keyring;
    kw_store *store;
    kw_store_handle *handle; /* the main loop's own */
    kw_sequences *sequences;
    char *id;                            /* among the gateways of the store */
    kw_catalog *catalog;                 /* NULL: a store that keeps nothing */
    kw_jobs jobs;                        /* what changes the policy or the catalog */
    struct kw_preparing *in_hand;        /* prepare.c */
    struct kw_catalog_job *catalog_jobs; /* catalog_jobs.c: those that have not ended */
    kw_job prepare_job; /* STARTING, WAITING: into service; SERVING: after the registration was lost */

    kw_service *service;
    kw_net *net;
    kw_admin *admin;
    kw_tls_context **tls; /* per listener; NULL without TLS */
    uint16_t *ports;      /* per listener */
    size_t listeners_count;
    uint16_t admin_port;
    bool listening;
    bool told;      /* the ports, to who waits for them, and systemd */
    bool preparing; /* prepare_job waits or runs */
    bool lost;      /* the registration in the catalog, since prepare_job ran last */

    kw_reload *reload;

    kw_mutex lock; /* guards the rest */
    GPtrArray
        *warnings; /* texts: key rules that are served although new layouts may not have them; NULL: none */
    kw_error why_not; /* of the last try to prepare */
} kw_gateway;

const kw_model *kw_gateway_model(const kw_gateway *gateway);

/* Limits and timeouts of a policy for the net. */
kw_net_limits kw_gateway_limits(const kw_model *model);

/* The policy was prepared: it goes into service. */
void kw_gateway_take_policy(kw_gateway *gateway, kw_policy *policy, kw_keyring *keyring);
