/* Returns HBase's time to callers. heartbeats.c sends the heartbeats, and store/known_time.h computes the
 * time from them.
 *
 *   heartbeats (one sender in the process) -> known -> kw_hbase_clock_time, on any thread
 *   kw_hbase_clock_use, on any thread -> while the clock is in use, the sender sends more heartbeats
 */
#include "store/hbase/clock/heartbeats.h"

#include "base/container.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/units.h"

/* --- what the servers report --------------------------------------------------------------------- */

static void
note_rejected(kw_hbase_clock *clock, int64_t stamp_ms)
{
    uint64_t unlogged;
    kw_metrics_add(KW_METRIC_store_times_rejected, 1);
    if (kw_log_limit_allows(&clock->logged, 1, &unlogged))
        kw_log(KW_LOG_WARN, "hbase", "a server reports a time that is not trusted",
               KW_LOG_FACT("timestamp_ms", stamp_ms), KW_LOG_FACT("our_clock_ms", kw_clock_wall_ms()),
               KW_LOG_FACT("not_logged", unlogged));
}

kw_hbase_trust
kw_hbase_clock_add_heartbeat(kw_hbase_clock *clock, const kw_heartbeat *heartbeat)
{
    int64_t answered_ms = heartbeat->answered_ns / (int64_t)KW_NS_PER_MS;
    kw_mutex_lock(&clock->lock);
    bool trusted =
        kw_plausible_judge(&clock->heartbeats, heartbeat->stamp_ms, answered_ms, kw_clock_wall_ms());
    if (trusted) {
        if (heartbeat->sent_ns - clock->newest_ns > KW_TIME_FRESH_NS)
            clock->peers_read = false;
        clock->newest_ns = heartbeat->sent_ns;
        kw_known_time_add_heartbeat(&clock->known, heartbeat, (int64_t)kw_clock_mono_ns());
    }
    bool ever = heartbeat->stamp_ms <= clock->heartbeats.newest_stamp_ms;
    kw_mutex_unlock(&clock->lock);
    if (!trusted)
        note_rejected(clock, heartbeat->stamp_ms);
    return trusted ? KW_HBASE_TRUSTED : ever ? KW_HBASE_NOT_TRUSTED : KW_HBASE_NEVER_TRUSTED;
}

/* The newest timestamp; those that no clock can have do not count. */
static int64_t
newest_of(kw_hbase_clock *clock, const kw_rows *rows)
{
    int64_t newest_ms = 0;
    for (uint32_t i = 0; rows->count && i < rows->rows[0].cells_count; i++) {
        int64_t stamp_ms = rows->rows[0].cells[i].timestamp;
        if (kw_plausible_is_time(stamp_ms))
            newest_ms = MAX(newest_ms, stamp_ms);
        else
            note_rejected(clock, stamp_ms);
    }
    return newest_ms;
}

void
kw_hbase_clock_add_peers(kw_hbase_clock *clock, const kw_rows *rows)
{
    int64_t newest_ms = newest_of(clock, rows), mono_ms = (int64_t)(kw_clock_mono_ns() / KW_NS_PER_MS);
    kw_mutex_lock(&clock->lock);
    bool past = clock->heartbeats.trusts && newest_ms - mono_ms <= clock->heartbeats.trusted_ms;
    bool trusted = past || kw_plausible_judge(&clock->peers, newest_ms, mono_ms, kw_clock_wall_ms());
    if (trusted) {
        kw_known_time_add_newest_stamp(&clock->known, newest_ms);
        clock->peers_read = true;
    }
    kw_mutex_unlock(&clock->lock);
    if (!trusted)
        note_rejected(clock, newest_ms);
}

/* --- the time ------------------------------------------------------------------------------------ */

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
    kw_hbase_clock *clock = KW_CONTAINER(task, kw_hbase_clock, wake);
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
    if (unused_ns < 10 * KW_NS_PER_MS)
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
    for (int i = 0; i < 5 && least_ns > KW_NS_PER_MS; i++) {
        uint64_t before_ns = kw_clock_mono_ns();
        int64_t wall_ms = kw_clock_wall_ms();
        if (!kw_hbase_clock_time(clock, true, &span))
            return false;
        uint64_t took_ns = kw_clock_mono_ns() - before_ns;
        int64_t middle_ns = span.earliest_ns + (span.latest_ns - span.earliest_ns) / 2;
        if (took_ns < least_ns)
            *ret_offset_ms = middle_ns / (int64_t)KW_NS_PER_MS - wall_ms;
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
