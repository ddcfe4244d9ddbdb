/* Internal to net: one loop with its listeners and sessions. Used on the loop's thread only, except for
 * atomics. Only session.c changes a session's state and its place in the list of sessions.
 */
#pragma once

#include "base/log.h"
#include "base/thread.h"
#include "net/frame.h"
#include "net/net.h"
#include "net/peers.h"

#define KW_NET_WORKER_SPARE_OUTPUTS 32
#define KW_NET_WORKER_SCRATCH ((size_t)64 * 1024)

/* How long accepting pauses after the process could not open a connection. */
#define KW_NET_WORKER_BACK_OFF_MS 100
/* How often sessions are checked while memory is short. */
#define KW_NET_WORKER_RELIEF_MS 20

typedef struct kw_session kw_session;
typedef struct kw_listen_socket kw_listen_socket;

/* Maximum number of log lines of one kind of event per loop and second. */
#define KW_NET_WORKER_LOG_MAX 10

typedef struct kw_net_worker {
    kw_net *net;
    kw_loop *loop;
    kw_thread thread;
    bool has_thread;
    void *state; /* the handler's */
    kw_net_limits limits;

    kw_session *sessions; /* all that are not freed */
    size_t open_sessions; /* those whose socket is not closed */
    size_t requests;      /* not finished yet */
    kw_session *dirty;    /* to be updated at the end of this loop iteration */
    uv_idle_t flush;
    uv_timer_t sweep;
    uv_timer_t relief;         /* runs while memory is short */
    size_t paused;             /* number of sessions */
    size_t waiting;            /* number of sessions whose message waits for memory */
    int64_t unfinished_most;   /* maximum of net->unfinished (relief.h) */
    _Atomic uint64_t swept_ns; /* when the sweep timer last ran (monotonic) */
    kw_listen_socket *sockets;
    size_t open_sockets;

    kw_frame_pool frames;
    kw_request *spare_requests;
    kw_buffer spare_outputs[KW_NET_WORKER_SPARE_OUTPUTS];
    size_t spare_outputs_count;
    uint8_t *scratch; /* receives all input, except what is read directly into a frame (input.c) */
    kw_buffer plain;  /* TLS: decrypted bytes */

    bool draining;
    bool closing_state; /* loop_close of the handler was called */
    bool closed_state;
    bool closing_now; /* requests that are left do not delay the end */
    bool done;
    kw_task drain_task;
    kw_task close_task;
    uv_timer_t drain_timer;

    kw_log_limit broken_logged, refused_logged, accept_logged;
} kw_net_worker;

struct kw_net {
    kw_net_handler handler;
    kw_net_worker *workers;
    unsigned workers_count;
    _Atomic size_t connections;
    _Atomic size_t
        refused_open;           /* refused connections that stay open until their first call gets the error */
    _Atomic int64_t unfinished; /* bytes of larger blocks for unfinished messages */
    _Atomic int64_t lacking;    /* bytes that such messages wait for */
    kw_peers *peers;
    GArray *unix_sockets; /* kw_unix_socket, removed when the net is freed */
    bool started;
    bool hurried; /* kw_net_close_now was called; used by the thread that drains */
    uint64_t drain_ms;
    _Atomic unsigned workers_left;
    kw_loop *drained_loop;
    kw_task drained_task;
    void (*drained)(void *user);
    void *drained_user;
};

/* net.c: makes the loop update the dirty sessions in its next iteration. */
void kw_net_worker_wake(kw_net_worker *worker);

/* net.c: continues the drain of a worker without open sessions and listening sockets: closes the handler's
 * state after the last request (at once if the sessions were closed by force), then finishes the worker. Does
 * nothing otherwise. */
void kw_net_worker_settle(kw_net_worker *worker);

/* net.c: starts the timer that checks sessions while memory is short or a session is paused. */
void kw_net_worker_start_relief(kw_net_worker *worker);

/* Counts and logs a connection that is closed because of its input, a limit or a timeout. */
void kw_net_worker_log_broken(kw_net_worker *worker, const char *peer, const char *reason);
