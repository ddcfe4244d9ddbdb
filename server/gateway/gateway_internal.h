/* Internal to gateway: the state that its files share. Main thread only, except for atomics and fields that
 * the lock guards. */
#pragma once

#include "http/http.h"
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
typedef struct kw_follower kw_follower;

typedef struct kw_gateway {
    kw_gateway_settings settings;
    _Atomic kw_gateway_state state;
    int exit_code;
    int64_t started_at_ms;

    kw_loop *loop;
    uv_signal_t signals[3];
    size_t signals_count;
    kw_timer *timer;      /* STARTING: how long to wait for the store; WAITING: the next attempt */
    kw_timer *lame_duck;  /* runs until the drain begins; drain.c */
    _Atomic bool leaving; /* shutting down, although the state can still be SERVING or WAITING */
    kw_timer *watchdog;
    kw_timer *trim;
    uint64_t watchdog_ms;

    kw_policy *policy; /* the policy in service; before the gateway serves, the one that is being prepared */
    _Atomic int64_t policy_loaded_at_ms;
    kw_keyring *keyring;
    kw_store *store;
    kw_store_handle *handle; /* of the main loop */
    kw_sequences *sequences;
    char *id;                                  /* unique among the gateways of the store */
    struct kw_change_set *changes;             /* the records of changes that `policy` was compiled with;
                                                  NULL: the catalog does not keep the policy, or was not
                                                  read yet */
    struct kw_change_set *stored_changes;      /* the records that the catalog had when this gateway last
                                                  read or wrote them; NULL: it has done neither */
    uint64_t stored_revision;                  /* incremented when `stored_changes` is replaced */
    struct kw_change_set *served_changes;      /* the records when `policy` began to be served */
    uint64_t changes_revision;                 /* incremented when `changes` is replaced */
    struct kw_coordinator *coordinator;        /* coordinator.c */
    struct kw_row_checks *row_checks;          /* row_checks.c */
    kw_catalog *catalog;                       /* NULL if the store keeps nothing */
    kw_jobs jobs;                              /* changes of the policy or the catalog */
    struct kw_preparing *present_preparation;  /* prepare.c */
    struct kw_catalog_job *catalog_jobs;       /* catalog_jobs.c: jobs that have not ended */
    struct kw_policy_request *policy_requests; /* policy_requests.c: requests without an answer */
    _Atomic unsigned policy_applies;           /* requests without an answer, by kind */
    _Atomic unsigned policy_reads;
    _Atomic unsigned transfers;
    kw_policy *candidate; /* of prepare_job, if the catalog keeps the policy */
    kw_job prepare_job;   /* STARTING, WAITING: to begin serving; SERVING: after the registration was lost */
    kw_job last_job;      /* DRAINING: ends the process */

    kw_service *service;
    kw_net *net;
    kw_http *http;
    kw_tls_context **tls; /* per listener; NULL without TLS */
    uint16_t *ports;      /* per listener */
    size_t listeners_count;
    uint16_t admin_port;
    bool listening;
    bool ports_reported;       /* the ports were reported, and systemd was notified */
    bool preparing;            /* prepare_job is queued or running */
    bool lost;                 /* the registration in the catalog was lost since prepare_job began */
    uint64_t prepare_began_ns; /* when prepare_job began the last time */
    uint64_t prepare_took_ns;  /* how long it took */
    bool rows_checked;         /* a check of rows has ended since then */
    bool tables_soon;          /* the timer is set for tables whose rows were checked */
    bool fenced;               /* the registration was lost, and the gateway was not admitted again */

    kw_reload *reload;
    kw_follower *follower; /* NULL unless the catalog keeps the policy */

    kw_mutex lock;            /* guards the rest */
    GPtrArray *zone_warnings; /* texts about time zones whose data in the system differ from the catalog's, or
                                 NULL */
    GPtrArray *unserved;      /* tables that are not served, and why; NULL: not known yet; table_states.c */
    GPtrArray *unverified;    /* texts about paths with rows that were not verified, or NULL */
    GPtrArray *differing;     /* texts about store tables that differ from the policy, or NULL */
    bool checking_all;        /* no table is served, because the rows of new tables are being checked */
    struct kw_change_publication *published; /* change_publication.c */
    kw_error why_not;                        /* the error of the last attempt to prepare */
    GPtrArray *not_listening; /* texts about listeners whose address the machine does not have, or NULL */
    kw_error not_followed;    /* why the current version of the policy is not in service */
} kw_gateway;

const kw_model *kw_gateway_model(const kw_gateway *gateway);
/* For a call that begins now: timeouts.call. */
kw_deadline kw_gateway_call_deadline(const kw_gateway *gateway);

/* Begins to serve a policy that was prepared (serving.c). */
void kw_gateway_serve_policy(kw_gateway *gateway, kw_policy *policy, kw_keyring *keyring);
/* The same for a version of the policy that was applied here; also ends WAITING. */
void kw_gateway_serve_version(kw_gateway *gateway, kw_policy *policy);

/* Replaces the records of changes; references them. */
void kw_gateway_set_changes(kw_gateway *gateway, struct kw_change_set *changes);
/* Notes that the catalog has these records. References them. */
void kw_gateway_set_stored(kw_gateway *gateway, struct kw_change_set *stored);
/* The same, if they have the versions of `policy`. gateway->changes becomes a copy of them with the newest
 * progress of this gateway. */
void kw_gateway_note_stored(kw_gateway *gateway, struct kw_change_set *stored);

/* True if the catalog keeps the tables. */
bool kw_gateway_policy_is_stored(const kw_gateway *gateway);
/* The settings of the gateway's file. */
kw_model *kw_gateway_own_model(const kw_gateway *gateway);
