/* Inside of the room: listening sockets, one per loop and address. */
#pragma once

#include "net/lane.h"

struct kw_ear {
    uv_poll_t ready;  /* while the socket is polled */
    uv_timer_t again; /* while it is not, since the process has no descriptor left */
    int handles;      /* of the two that are not closed yet */
    int socket;
    kw_lane *lane;
    kw_tls_context *tls;
    kw_ear *next;
};

/* Closes the lane's listening sockets; kw_lane_settle hears when they are gone. */
void kw_listener_close_all(kw_lane *lane);
