/* Inside of the room: hiredis on a libuv loop. Unlike the adapter that comes with hiredis it also tells
 * hiredis of sockets that only show an error, as a refused connection does. */
#pragma once

#include <hiredis/async.h>
#include <stdbool.h>
#include <uv.h>

/* From now on the loop drives the context, until hiredis frees it. False: the loop takes no more sockets. */
bool kw_redis_events_attach(redisAsyncContext *context, uv_loop_t *loop);
