/* Inside of the room: listening sockets, one per loop and address. */
#pragma once

#include "net/worker.h"

struct kw_listen_socket {
    uv_poll_t ready;  /* while the socket is polled */
    uv_timer_t again; /* while it is not, since the process has no descriptor left */
    int handles;      /* of the two that are not closed yet */
    int socket;
    kw_net_worker *worker;
    kw_tls_context *tls;
    kw_listen_socket *next;
};

/* Closes the worker's listening sockets; kw_net_worker_settle hears when they are gone. */
void kw_listener_close_all(kw_net_worker *worker);
