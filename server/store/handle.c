/* The wrappers that open, pause, close and free store handles.
 *
 *   open --> close: end the pauses; the implementation ends its operations --> closed is called
 *        --> kw_store_free frees the handle
 *
 * A call can start an operation after its handle was closed, because it did something else meanwhile, such as
 * a merge in pieces. So a closed handle still rejects operations. Its store frees it. */
#include "store/class.h"
#include "store/refuse.h"

kw_store_handle *
kw_store_open_handle(kw_store *store, kw_loop *loop)
{
    g_assert(store && loop);
    kw_store_handle *handle = store->class->open_handle(store, loop);
    g_assert(handle && handle->store == store && handle->loop == loop);
    handle->next = atomic_load(&store->handles);
    while (!atomic_compare_exchange_weak(&store->handles, &handle->next, handle))
        ;
    return handle;
}

/* Reports that the handle is closed, unless something of it is still under way. */
static void
settle(kw_store_handle *handle)
{
    if (!handle->is_closed || handle->pauses.length > 0 || !handle->closed)
        return;
    void (*closed)(void *) = g_steal_pointer(&handle->closed);
    closed(handle->closed_user);
}

/* --- pauses ---------------------------------------------------------------------------------------- */

typedef struct kw_pause {
    kw_store_handle *handle;
    kw_timer *timer;
    GList link; /* in handle->pauses */
    kw_simple_done done;
    void *user;
} kw_pause;

static void
end_pause(void *user)
{
    kw_pause pause = *(kw_pause *)user;
    kw_error error;
    bool closing = kw_store_handle_is_closing(pause.handle, &error);
    g_queue_unlink(&pause.handle->pauses, &((kw_pause *)user)->link);
    kw_timer_free(pause.timer);
    g_free(user);
    pause.done(pause.user, closing ? &error : NULL);
    settle(pause.handle);
}

void
kw_store_handle_pause(kw_store_handle *handle, uint64_t delay_ms, kw_simple_done done, void *user)
{
    g_assert(handle && done);
    kw_error error;
    if (kw_store_handle_is_closing(handle, &error)) {
        kw_refuse_simple(handle, &error, done, user);
        return;
    }
    kw_pause *pause = g_new0(kw_pause, 1);
    *pause = (kw_pause){.handle = handle, .link.data = pause, .done = done, .user = user};
    pause->timer = kw_timer_new(handle->loop, end_pause, pause);
    g_queue_push_tail_link(&handle->pauses, &pause->link);
    kw_timer_start_ms(pause->timer, delay_ms);
}

/* --- closing --------------------------------------------------------------------------------------- */

static void
on_closed(void *user)
{
    kw_store_handle *handle = user;
    handle->is_closed = true;
    settle(handle);
}

void
kw_store_handle_close(kw_store_handle *handle, void (*closed)(void *user), void *user)
{
    g_assert(handle && !handle->closing && closed);
    handle->closing = true;
    handle->closed = closed;
    handle->closed_user = user;
    for (GList *at = handle->pauses.head; at; at = at->next)
        kw_timer_start_ms(((kw_pause *)at->data)->timer, 0);
    handle->class->close(handle, on_closed, handle);
}

void
kw_store_free(kw_store *store)
{
    if (!store)
        return;
    for (kw_store_handle *handle = atomic_load(&store->handles), *next; handle; handle = next) {
        next = handle->next;
        g_assert(handle->is_closed && handle->pauses.length == 0);
        if (handle->class->free)
            handle->class->free(handle);
        else
            g_free(handle);
    }
    store->class->free(store);
}
