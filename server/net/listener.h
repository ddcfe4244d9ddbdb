/* Inside of the room: listening sockets, one per loop and address. */
#pragma once

#include "net/lane.h"

struct kw_ear {
    uv_tcp_t handle;
    kw_lane *lane;
    kw_tls_context *tls;
    kw_ear *next;
};

/* Closes the lane's listening sockets; kw_lane_settle hears when they are gone. */
void kw_listener_close_all(kw_lane *lane);
