/* Waits: checks the conditions, and sets a timer for the time when they can hold. */
#include "store/order/order_internal.h"

#include "store/refuse.h"

/* While the clock is unknown, it is checked again after this time ... */
#define CHECK_AGAIN_NS UINT64_C(1000000)
/* ... and at most for this time. A store that is busy for seconds delays calls; it need not fail them. */
#define UNKNOWN_MAX_NS UINT64_C(5000000000)
#define RETRY_AFTER_MS 250
#define RETRY_MAX_NS 2000000

bool
kw_order_time(kw_order_store *store, kw_span *ret_span)
{
    kw_store_keep_time_known(store->inner);
    return kw_store_time(store->inner, ret_span) && ret_span->earliest_ns != INT64_MIN &&
           ret_span->latest_ns - ret_span->earliest_ns <= store->settings.clock_width_ms * KW_NS_PER_MS;
}

bool
kw_order_time_is_known(kw_order_store *store, kw_error *ret_error)
{
    kw_span span;
    kw_store_keep_time_known(store->inner);
    if (!kw_store_time(store->inner, &span)) {
        kw_error_set(ret_error, KW_UNAVAILABLE, "the store's clock is not known");
        ret_error->retry_after_ms = RETRY_AFTER_MS;
        return false;
    }
    bool bounded = span.earliest_ns != INT64_MIN;
    int64_t width_ms = bounded ? (span.latest_ns - span.earliest_ns) / KW_NS_PER_MS : 0;
    if (bounded && width_ms <= store->settings.clock_width_ms)
        return true;
    if (bounded)
        kw_error_set(ret_error, KW_UNAVAILABLE,
                     "the store's clock is known only to within %lld ms, but calls need it to within %lld ms",
                     (long long)width_ms, (long long)store->settings.clock_width_ms);
    else
        kw_error_set(ret_error, KW_UNAVAILABLE, "the store's clock went back");
    ret_error->retry_after_ms = RETRY_AFTER_MS;
    return false;
}

/* True if the store's clock fulfils the conditions; otherwise sets the time when it can. */
static bool
is_time(kw_wait *wait, uint64_t now_ns, uint64_t *ret_next_ns)
{
    kw_span span;
    kw_order_store *store = kw_order_store_of(wait->handle);
    bool known = wait->known ? kw_order_time(store, &span) : kw_store_time_estimate(store->inner, &span);
    *ret_next_ns = now_ns + CHECK_AGAIN_NS;
    if (!known) {
        wait->unknown_ns = wait->unknown_ns ? wait->unknown_ns : now_ns;
        return false;
    }
    wait->unknown_ns = 0;
    wait->span = span;
    if (span.earliest_ns >= wait->until_time_ns)
        return true;
    *ret_next_ns = now_ns + (uint64_t)(wait->until_time_ns - span.earliest_ns);
    return false;
}

/* PENDING: check again at *ret_next_ns. */
static kw_wait_result
check(kw_wait *wait, uint64_t *ret_next_ns)
{
    uint64_t now_ns = kw_clock_mono_ns();
    bool needs_time = wait->known || wait->until_time_ns != INT64_MIN;
    if (wait->handle->base.closing)
        return KW_WAIT_CLOSED;
    *ret_next_ns = wait->until_ns;
    if (now_ns >= wait->until_ns && (!needs_time || is_time(wait, now_ns, ret_next_ns)))
        return KW_WAIT_DONE;
    if (wait->unknown_ns && now_ns - wait->unknown_ns >= UNKNOWN_MAX_NS)
        return KW_WAIT_UNKNOWN;
    if (wait->deadline != KW_DEADLINE_NONE && now_ns >= wait->deadline)
        return KW_WAIT_DEADLINE;
    *ret_next_ns = MIN(*ret_next_ns, wait->deadline);
    return KW_WAIT_PENDING;
}

static void
check_again(void *user)
{
    kw_wait *wait = user;
    uint64_t next_ns;
    kw_wait_result result = check(wait, &next_ns);
    if (result == KW_WAIT_PENDING) {
        kw_fine_timer_set(wait->handle->timers, &wait->timer, next_ns, check_again, wait);
        return;
    }
    g_queue_unlink(&wait->handle->waits, &wait->link);
    wait->handle = NULL;
    wait->done(wait->user, result);
}

/* If the result is not PENDING, the wait has ended and done is not called. */
static kw_wait_result
start(kw_order_handle *handle, kw_wait *wait)
{
    uint64_t next_ns;
    g_assert(!wait->handle);
    wait->handle = handle;
    wait->unknown_ns = 0;
    kw_wait_result result = check(wait, &next_ns);
    if (result != KW_WAIT_PENDING) {
        wait->handle = NULL;
        return result;
    }
    wait->link.data = wait;
    g_queue_push_tail_link(&handle->waits, &wait->link);
    kw_fine_timer_set(handle->timers, &wait->timer, next_ns, check_again, wait);
    return KW_WAIT_PENDING;
}

void
kw_wait_and_call(kw_order_handle *handle, kw_wait *wait)
{
    kw_wait_result result = start(handle, wait);
    if (result != KW_WAIT_PENDING)
        wait->done(wait->user, result);
}

static void
end_later(void *user)
{
    kw_wait *wait = user;
    wait->done(wait->user, wait->ended);
}

bool
kw_wait_for_clock(kw_order_handle *handle, kw_wait *wait, kw_deadline deadline,
                  void (*done)(void *user, kw_wait_result result), void *user)
{
    *wait = (kw_wait){
        .until_time_ns = INT64_MIN, .known = true, .deadline = deadline, .done = done, .user = user};
    wait->ended = start(handle, wait);
    if (wait->ended != KW_WAIT_DONE && wait->ended != KW_WAIT_PENDING)
        kw_complete_later(&handle->base, end_later, wait);
    return wait->ended == KW_WAIT_DONE;
}

/* Waits until our clock has reached until_ns. */
static void
wait_until(kw_order_handle *handle, kw_wait *wait, uint64_t until_ns, kw_deadline deadline,
           void (*done)(void *user, kw_wait_result result), void *user)
{
    *wait = (kw_wait){
        .until_ns = until_ns, .until_time_ns = INT64_MIN, .deadline = deadline, .done = done, .user = user};
    kw_wait_and_call(handle, wait);
}

void
kw_wait_and_retry(kw_order_handle *handle, kw_wait *wait, kw_deadline deadline,
                  void (*done)(void *user, kw_wait_result result), void *user)
{
    wait_until(handle, wait, kw_clock_mono_ns() + kw_random_u64() % RETRY_MAX_NS, deadline, done, user);
}

void
kw_wait_and_check(kw_order_handle *handle, kw_wait *wait, size_t check, kw_deadline deadline,
                  void (*done)(void *user, kw_wait_result result), void *user)
{
    static const uint64_t delays_ns[KW_ORDER_CHECKS] = {20 * UINT64_C(1000000), 200 * UINT64_C(1000000),
                                                        1000 * UINT64_C(1000000)};
    g_assert(check < KW_ORDER_CHECKS);
    wait_until(handle, wait, kw_clock_mono_ns() + delays_ns[check], deadline, done, user);
}

void
kw_wait_for_estimate(kw_order_handle *handle, kw_wait *wait, int64_t stamp_ms,
                     void (*done)(void *user, kw_wait_result result), void *user)
{
    kw_span span;
    bool known = kw_store_time_estimate(kw_order_store_of(handle)->inner, &span);
    int64_t ahead_ns = known ? kw_order_ns(stamp_ms) - span.latest_ns : 0;
    uint64_t until_ns = ahead_ns > 0 ? kw_clock_mono_ns() + (uint64_t)ahead_ns : 0;
    wait_until(handle, wait, until_ns, KW_DEADLINE_NONE, done, user);
}

void
kw_wait_cancel(kw_wait *wait)
{
    if (!wait->handle)
        return;
    g_queue_unlink(&wait->handle->waits, &wait->link);
    kw_fine_timer_cancel(wait->handle->timers, &wait->timer);
    wait->handle = NULL;
}

void
kw_waits_close(kw_order_handle *handle)
{
    for (GList *at; (at = handle->waits.head);) {
        kw_wait *wait = at->data;
        kw_wait_cancel(wait);
        wait->done(wait->user, KW_WAIT_CLOSED);
    }
}

void
kw_wait_error(const kw_order_handle *handle, kw_wait_result result, const char *doing, bool maybe,
              kw_error *ret_error)
{
    switch (result) {
    case KW_WAIT_DEADLINE:
        kw_error_set(ret_error, KW_TIMEOUT, "the deadline passed before %s", doing);
        break;
    case KW_WAIT_UNKNOWN:
        if (kw_order_time_is_known(kw_order_store_of(handle), ret_error))
            kw_error_set(ret_error, KW_UNAVAILABLE, "the store's clock was not known");
        ret_error->retry_after_ms = RETRY_AFTER_MS;
        break;
    case KW_WAIT_CLOSED:
        *ret_error = kw_error_shutting_down;
        break;
    case KW_WAIT_DONE:
    case KW_WAIT_PENDING:
        g_assert_not_reached();
    }
    ret_error->maybe_applied = maybe;
}
