#include "sequence/redis_events.h"

#include <glib.h>

typedef struct events {
    uv_poll_t handle;
    redisAsyncContext *context; /* NULL: hiredis has freed it */
    int wanted;                 /* UV_READABLE, UV_WRITABLE */
} events;

/* An error is found by the read or write that hiredis then attempts. */
static void
on_poll(uv_poll_t *handle, int status, int ready)
{
    events *self = handle->data;
    int seen = status < 0 ? self->wanted : ready;
    if (self->context && (seen & UV_READABLE))
        redisAsyncHandleRead(self->context);
    if (self->context && (seen & UV_WRITABLE))
        redisAsyncHandleWrite(self->context);
}

static void
want(events *self, int wanted)
{
    self->wanted = wanted;
    if (wanted)
        uv_poll_start(&self->handle, wanted, on_poll);
    else
        uv_poll_stop(&self->handle);
}

static void
add_read(void *user)
{
    events *self = user;
    want(self, self->wanted | UV_READABLE);
}

static void
del_read(void *user)
{
    events *self = user;
    want(self, self->wanted & ~UV_READABLE);
}

static void
add_write(void *user)
{
    events *self = user;
    want(self, self->wanted | UV_WRITABLE);
}

static void
del_write(void *user)
{
    events *self = user;
    want(self, self->wanted & ~UV_WRITABLE);
}

static void
on_closed(uv_handle_t *handle)
{
    g_free(handle->data);
}

static void
cleanup(void *user)
{
    events *self = user;
    self->context = NULL;
    uv_close((uv_handle_t *)&self->handle, on_closed);
}

bool
kw_redis_events_attach(redisAsyncContext *context, uv_loop_t *loop)
{
    events *self = g_new0(events, 1);
    if (uv_poll_init(loop, &self->handle, context->c.fd) != 0) {
        g_free(self);
        return false;
    }
    self->handle.data = self;
    self->context = context;
    context->ev.data = self;
    context->ev.addRead = add_read;
    context->ev.delRead = del_read;
    context->ev.addWrite = add_write;
    context->ev.delWrite = del_write;
    context->ev.cleanup = cleanup;
    return true;
}
