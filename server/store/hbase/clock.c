/* Returns HBase's time to callers. heartbeats.c sends the heartbeats, and store/known_time.h computes the
 * time from them.
 *
 *   heartbeats (one sender in the process) -> known -> kw_hbase_clock_time, on any thread
 *   kw_hbase_clock_use, on any thread -> while the clock is in use, the sender sends more heartbeats
 */
#include "store/hbase/heartbeats.h"

#define NS_PER_MS UINT64_C(1000000)

bool
kw_hbase_clock_time(kw_hbase_clock *clock, bool estimate, kw_span *ret_span)
{
    kw_mutex_lock(&clock->lock);
    int64_t now_ns = (int64_t)kw_clock_mono_ns();
    bool known = estimate ? kw_known_time_estimate(&clock->known, now_ns, ret_span)
                          : clock->peers_read && kw_known_time_read(&clock->known, now_ns, ret_span);
    kw_mutex_unlock(&clock->lock);
    return known;
}

/* Runs on the loop of the store handle that was the sender when the task was posted. If a store handle on
 * another loop is the sender by now, it began with a burst and needs no wake-up. */
static void
wake(kw_task *task)
{
    kw_hbase_clock *clock = (kw_hbase_clock *)(void *)((char *)task - offsetof(kw_hbase_clock, wake));
    kw_mutex_lock(&clock->lock);
    kw_hbase_heartbeats *sender = clock->sender;
    bool on_this_loop = sender && kw_hbase_heartbeats_loop(sender) == clock->wake_loop;
    clock->wake_posted = false;
    kw_mutex_unlock(&clock->lock);
    if (on_this_loop)
        kw_hbase_heartbeats_start_burst(sender);
}

void
kw_hbase_clock_use(kw_hbase_clock *clock)
{
    uint64_t now_ns = kw_clock_mono_ns();
    atomic_fetch_add_explicit(&clock->uses, 1, memory_order_relaxed);
    uint64_t unused_ns = now_ns - atomic_load_explicit(&clock->used_ns, memory_order_relaxed);
    if (unused_ns < 10 * NS_PER_MS)
        return;
    atomic_store_explicit(&clock->used_ns, now_ns, memory_order_relaxed);
    if (unused_ns < KW_HBASE_CLOCK_IN_USE_NS)
        return;
    kw_mutex_lock(&clock->lock);
    if (clock->sender && !clock->wake_posted) {
        clock->wake_posted = true;
        clock->wake.run = wake;
        clock->wake_loop = kw_hbase_heartbeats_loop(clock->sender);
        kw_loop_post(clock->wake_loop, &clock->wake);
    }
    kw_mutex_unlock(&clock->lock);
}

/* Computes the difference between the middle of the interval and the wall clock. Both must be read at
 * nearly the same moment, so the reads are repeated if the thread was paused between them. */
bool
kw_hbase_clock_offset(kw_hbase_clock *clock, int64_t *ret_offset_ms)
{
    uint64_t least_ns = UINT64_MAX;
    kw_span span;
    for (int i = 0; i < 5 && least_ns > NS_PER_MS; i++) {
        uint64_t before_ns = kw_clock_mono_ns();
        int64_t wall_ms = kw_clock_wall_ms();
        if (!kw_hbase_clock_time(clock, true, &span))
            return false;
        uint64_t took_ns = kw_clock_mono_ns() - before_ns;
        int64_t middle_ns = span.earliest_ns + (span.latest_ns - span.earliest_ns) / 2;
        if (took_ns < least_ns)
            *ret_offset_ms = middle_ns / (int64_t)NS_PER_MS - wall_ms;
        least_ns = MIN(least_ns, took_ns);
    }
    return true;
}

void
kw_hbase_clock_tick(kw_hbase_handle *handle)
{
    kw_hbase_clock *clock = &((kw_hbase_store *)handle->base.store)->clock;
    if (!handle->heartbeats && !handle->base.closing) {
        if (atomic_exchange(&clock->measuring, true))
            return;
        handle->heartbeats = kw_hbase_heartbeats_new(handle);
        kw_hbase_heartbeats_start_burst(handle->heartbeats);
        kw_mutex_lock(&clock->lock);
        clock->sender = handle->heartbeats;
        kw_mutex_unlock(&clock->lock);
    }
}

/* Does not free the sender, because calls in flight still use its memory. The sender is freed with the store
 * handle, after these calls have ended. */
void
kw_hbase_clock_stop(kw_hbase_handle *handle)
{
    if (!handle->heartbeats || kw_hbase_heartbeats_stopped(handle->heartbeats))
        return;
    kw_hbase_clock *clock = &((kw_hbase_store *)handle->base.store)->clock;
    kw_mutex_lock(&clock->lock);
    clock->sender = NULL;
    kw_mutex_unlock(&clock->lock);
    kw_hbase_heartbeats_stop(handle->heartbeats);
    atomic_store(&clock->measuring, false);
}
