/* Internal to net: listening sockets, one per loop and address. */
#pragma once

#include "net/worker.h"

struct kw_listen_socket {
    uv_poll_t ready;  /* active while connections are accepted */
    uv_timer_t again; /* active while accepting pauses, for example because no descriptor is left */
    int handles;      /* how many of the two handles above are not closed yet */
    int socket;
    kw_net_worker *worker;
    kw_tls_context *tls;
    kw_listen_socket *next;
};

/* Closes the worker's listening sockets, and calls kw_net_worker_settle when they are closed. */
void kw_listener_close_all(kw_net_worker *worker);
