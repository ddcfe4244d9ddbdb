/* Internal to gateway: the state that its files share. Main thread only, except for atomics and members that
 * control.lock guards. */
#pragma once

#include "gateway/gateway.h"
#include "http/http.h"
#include "net/net.h"
#include "policy/control.h"

#include <signal.h>

typedef struct kw_reload kw_reload;

/* listeners.c */
typedef struct kw_listeners {
    kw_tls_context **tls; /* per listener; NULL without TLS */
    uint16_t *ports;      /* per listener */
    size_t count;
    uint16_t admin_port;
    bool listening;
    bool reported;            /* the ports were reported, and systemd was notified */
    GPtrArray *not_listening; /* texts about listeners whose address the machine does not have, or NULL; the
                                 lock guards it */
} kw_listeners;

/* serving.c */
typedef struct kw_serving {
    kw_timer *timer;      /* STARTING: how long to wait for the store; WAITING: the next attempt */
    kw_policy *candidate; /* of prepare_job, if the catalog keeps the policy */
    kw_job prepare_job;   /* STARTING, WAITING, FENCED: to begin serving; SERVING: for tables not served */
    bool preparing;       /* prepare_job is queued or running */
    uint64_t began_ns;    /* when prepare_job began the last time */
    uint64_t took_ns;     /* how long it took */
    bool rows_checked;    /* a check of rows has ended since then */
    bool tables_soon;     /* the timer is set for tables whose rows were checked */
    kw_error why_not;     /* the error of the last attempt to prepare; the lock guards it */
    _Atomic int64_t policy_loaded_at_ms;
} kw_serving;

typedef struct kw_gateway {
    kw_gateway_settings settings;
    int exit_code;
    int64_t started_at_ms;
    kw_control control;
    kw_serving serving;
    kw_listeners listeners;
    kw_net *net;
    kw_http *http;
    kw_reload *reload;
    kw_error not_reloaded; /* why the last reload failed; KW_OK: it did not; control.lock guards it */
    uv_signal_t signals[3];
    size_t signals_count;
    _Atomic bool leaving; /* shutting down, although the state can still be SERVING, FENCED or WAITING */
    kw_timer *lame_duck;  /* runs until the drain begins; drain.c */
    kw_job last_job;      /* DRAINING: ends the process */
    kw_timer *watchdog;
    uint64_t watchdog_ms;
} kw_gateway;
