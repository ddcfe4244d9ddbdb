/* Inside of the room: one loop with its listeners and sessions. Used on the loop's thread only, but for what
 * says otherwise. Sessions and lists move together: only session.c changes them.
 */
#pragma once

#include "base/thread.h"
#include "net/frame.h"
#include "net/net.h"
#include "net/peers.h"

#define KW_NET_WORKER_SPARE_OUTPUTS 32
#define KW_NET_WORKER_SCRATCH ((size_t)64 * 1024)

/* A listening socket with more connections waiting than the process can open is left alone for so long. */
#define KW_NET_WORKER_BACK_OFF_MS 100
/* While memory is short, sessions are looked at so often. */
#define KW_NET_WORKER_RELIEF_MS 20

typedef struct kw_session kw_session;
typedef struct kw_listen_socket kw_listen_socket;

/* Of one kind of event a few are logged each second, the others counted. */
typedef struct kw_log_limit {
    uint64_t second;
    uint32_t logged;
    uint64_t unlogged;
} kw_log_limit;

typedef struct kw_net_worker {
    kw_net *net;
    kw_loop *loop;
    kw_thread thread;
    bool has_thread;
    void *state; /* the handler's */
    kw_net_limits limits;

    kw_session *sessions; /* every one that is not freed */
    size_t open_sessions; /* whose socket is not closed yet */
    size_t requests;      /* not finished yet */
    kw_session *dirty;    /* need a flush or a resumption at the end of this loop iteration */
    uv_idle_t flush;
    uv_timer_t sweep;
    uv_timer_t relief;         /* runs while memory is short */
    size_t paused;             /* sessions */
    _Atomic uint64_t swept_ns; /* monotonic: the loop is alive */
    kw_listen_socket *sockets;
    size_t open_sockets;

    kw_frame_pool frames;
    kw_request *spare_requests;
    kw_buffer spare_outputs[KW_NET_WORKER_SPARE_OUTPUTS];
    size_t spare_outputs_count;
    uint8_t *scratch; /* bytes received: of TLS sessions, and of others whose frame has no space */
    kw_buffer plain;  /* TLS: decrypted bytes */

    bool draining;
    bool closing_state; /* the handler was told to end */
    bool closed_state;
    bool hurried;
    bool done;
    kw_task drain_task;
    kw_task hurry_task;
    uv_timer_t drain_timer;

    kw_log_limit broken_logged, refused_logged, accept_logged;
} kw_net_worker;

struct kw_net {
    kw_net_handler handler;
    kw_net_worker *workers;
    unsigned workers_count;
    _Atomic size_t connections;
    _Atomic size_t refused_open; /* refused connections that wait for the call that tells them so */
    kw_peers *peers;
    bool started;
    uint64_t drain_ms;
    _Atomic unsigned workers_left;
    kw_loop *tell;
    kw_task tell_task;
    void (*drained)(void *user);
    void *drained_user;
};

/* net.c: worker->dirty is not empty any more. */
void kw_net_worker_wake(kw_net_worker *worker);

/* net.c: looks whether a draining worker has come to its end. */
void kw_net_worker_settle(kw_net_worker *worker);

/* net.c: memory is short, or a session is paused because it was. */
void kw_net_worker_start_relief(kw_net_worker *worker);

/* May this event be logged? *ret_unlogged: events before it that were not; they count as told then. */
bool kw_net_worker_may_log(kw_net_worker *worker, kw_log_limit *limit, uint64_t *ret_unlogged);

/* A connection was ended because of its input, a limit or a time limit: counts, and logs within reason. */
void kw_net_worker_log_broken(kw_net_worker *worker, const char *peer, const char *reason);
