/* Private to this module: hiredis on a libuv loop. Unlike the adapter of hiredis, it also reports sockets
 * that only show an error, as a refused connection does. */
#pragma once

#include <hiredis/async.h>
#include <stdbool.h>
#include <uv.h>

/* The loop drives the context from now on, until hiredis frees it. False if the loop accepts no more sockets.
 */
bool kw_redis_events_attach(redisAsyncContext *context, uv_loop_t *loop);
