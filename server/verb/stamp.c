/* The stamper: max(last stamp, wall clock + the store's offset). One atomic number; any thread.
 *
 * HBase hides a put behind a delete marker of the same millisecond. So once a remove waits for its stamp to
 * pass, no later stamp of this gateway may equal it, and the wait lasts until the store's clock shows more,
 * so that the stamps of other gateways do too. The margin is what two gateways' ideas of the store's clock
 * usually differ by.
 *
 * The rows of a record with several paths are written side by side: of two puts of one millisecond, one could
 * come last here and the other there, and the paths would disagree for good. So each has a stamp of its own.
 */
#include "verb/stamp.h"

#include <glib.h>
#include <inttypes.h>
#include <stdatomic.h>

#define MARGIN_MS 2
#define AHEAD_MS 10         /* of a record that is put more than once a millisecond */
#define UNSTAMPED_WAIT_MS 2 /* the store stamped it: its clock moves on by itself */
#define WAIT_MAX_MS 1000
#define SEEN_AHEAD_MS 1000 /* two clocks of one store do not differ by as much */

/* Rows by hash: two that share a slot cost a millisecond now and then. */
#define SLOTS 4096

struct kw_stamper {
    kw_store *store;
    _Atomic int64_t last;
    _Atomic int64_t least[SLOTS]; /* the next write of a row is stamped no earlier */
};

kw_stamper *
kw_stamper_new(kw_store *store)
{
    kw_stamper *stamper = g_new0(kw_stamper, 1);
    stamper->store = store;
    return stamper;
}

void
kw_stamper_free(kw_stamper *stamper)
{
    g_free(stamper);
}

/* Never below `least`; returns what last is then. */
static int64_t
raise_to(kw_stamper *stamper, int64_t least)
{
    int64_t last = atomic_load(&stamper->last);
    while (last < least && !atomic_compare_exchange_weak(&stamper->last, &last, least))
        ;
    return MAX(last, least);
}

int64_t
kw_stamper_take(kw_stamper *stamper)
{
    int64_t offset_ms;
    if (!kw_store_clock_offset_ms(stamper->store, &offset_ms))
        return KW_TIMESTAMP_NONE;
    return raise_to(stamper, kw_clock_wall_ms() + offset_ms);
}

int64_t
kw_stamper_order(kw_stamper *stamper, kw_bytes row, int64_t stamp, kw_stamp_use use)
{
    if (stamp == KW_TIMESTAMP_NONE)
        return stamp;
    _Atomic int64_t *slot = &stamper->least[kw_bytes_hash(row) % SLOTS];
    int64_t least = atomic_load(slot), taken, next;
    do {
        taken = MAX(stamp, least);
        bool alone = use == KW_STAMP_REMOVE || (use == KW_STAMP_ROWS && taken - stamp < AHEAD_MS);
        next = alone ? taken + 1 : taken;
        if (next == least)
            return taken;
    } while (!atomic_compare_exchange_weak(slot, &least, next));
    return taken;
}

void
kw_stamper_saw(kw_stamper *stamper, int64_t stamp)
{
    int64_t offset_ms;
    if (kw_store_clock_offset_ms(stamper->store, &offset_ms) &&
        stamp <= kw_clock_wall_ms() + offset_ms + SEEN_AHEAD_MS)
        raise_to(stamper, stamp);
}

int64_t
kw_stamper_wait_ms(kw_stamper *stamper, int64_t stamp)
{
    if (stamp == KW_TIMESTAMP_NONE)
        return UNSTAMPED_WAIT_MS;
    raise_to(stamper, stamp + 1);
    int64_t offset_ms;
    if (!kw_store_clock_offset_ms(stamper->store, &offset_ms))
        return UNSTAMPED_WAIT_MS;
    int64_t wait = stamp + MARGIN_MS - (kw_clock_wall_ms() + offset_ms);
    return CLAMP(wait, 0, WAIT_MAX_MS);
}

bool
kw_stamp_admit(kw_call *call, const kw_write_options *options, int64_t *ret_stamp, kw_error *ret_error)
{
    if (!options->has_timestamp) {
        *ret_stamp = kw_stamper_take(call->stamper);
        return true;
    }
    if (options->timestamp < 0 || options->timestamp > KW_STAMP_MAX)
        return kw_error_set(ret_error, KW_INVALID,
                            "timestamp %" PRId64 " is not milliseconds since 1970 (0 to %" PRId64 ")",
                            options->timestamp, KW_STAMP_MAX);
    *ret_stamp = options->timestamp;
    return true;
}
