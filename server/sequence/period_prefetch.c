/* Fetches the first block of a period shortly before the period begins, so that the first writer of a new
 * minute, for example, does not wait for it. Does so only for series in use:
 *
 *   the current minute      by the clock: when its last part begins, if numbers of it were requested
 *   another minute          by the records: when one arrives with a time in its last part, if numbers of the
 *                           preceding minute were requested, too (late records, or a replay of the past)
 *
 * If no numbers of a minute are requested, the first block of the following minute is not fetched. So at most
 * one counter of a series in use stays unused. Ranges of few blocks are excluded, because numbers held by one
 * loop are not available to others.
 */
#include "sequence/sequence_internal.h"

#include "base/clock.h"

#define LAST_PART 4 /* the last part of a period is a quarter of it, but at most LEAD_MOST_MS */
#define LEAD_MOST_MS 10000
#define BLOCKS_LEAST 10

struct kw_period_prefetch {
    kw_slot_cache *cache;
    kw_timer *timer;
    kw_deadline watched; /* when the timer fires */
};

static int64_t
last_part_start_ms(const kw_period_at *at)
{
    return at->end_ms - MIN((at->end_ms - at->start_ms) / LAST_PART, LEAD_MOST_MS);
}

static bool
is_in_last_part(const kw_slot *slot, int64_t time_ms)
{
    const kw_period_at *at = &slot->period.at;
    return time_ms >= last_part_start_ms(at) && time_ms < at->end_ms;
}

static int64_t
now_at(const kw_slot *slot)
{
    return kw_clock_wall_ms() + slot->period.at.shift_ms;
}

static bool
may_prefetch(const kw_slot *slot)
{
    return slot->period.per != KW_PERIOD_EVER && slot->period.used && !slot->period.next_requested &&
           slot->range.length / slot->range.block >= BLOCKS_LEAST;
}

static void
prefetch(kw_period_prefetch *self, kw_slot *slot)
{
    kw_slot *next = kw_slot_cache_after(self->cache, slot);
    if (next == slot)
        return; /* an hour that occurs twice */
    slot->period.next_requested = true;
    if (next)
        kw_slot_prepare(next);
}

/* --- by the clock ------------------------------------------------------------------------------------- */

static void
watch(kw_period_prefetch *self, const kw_slot *slot, int64_t now_ms)
{
    const kw_period_at *at = &slot->period.at;
    if (now_ms < at->start_ms || now_ms >= last_part_start_ms(at))
        return;
    kw_deadline due = kw_deadline_in_ms(last_part_start_ms(at) - now_ms);
    if (due >= self->watched)
        return;
    self->watched = due;
    kw_timer_start_ms(self->timer, (uint64_t)kw_deadline_left_ms(due));
}

/* New slots are added at the front. `swept` marks the slots being examined, so that none of them is freed. */
static void
on_timer(void *user)
{
    kw_period_prefetch *self = user;
    kw_slot *first = kw_slot_cache_first(self->cache);
    self->watched = KW_DEADLINE_NONE;
    for (kw_slot *slot = first; slot; slot = slot->next)
        slot->swept = true;
    for (kw_slot *slot = first; slot; slot = slot->next) {
        if (!may_prefetch(slot))
            continue;
        int64_t now_ms = now_at(slot);
        if (is_in_last_part(slot, now_ms))
            prefetch(self, slot);
        else
            watch(self, slot, now_ms);
    }
    for (kw_slot *slot = first; slot; slot = slot->next)
        slot->swept = false;
}

/* --- by the records ----------------------------------------------------------------------------------- */

void
kw_period_prefetch_used(kw_period_prefetch *self, kw_slot *slot)
{
    int64_t time_ms = slot->period.at.time_ms;
    bool first = !slot->period.used;
    slot->period.used = true;
    if (!may_prefetch(slot))
        return;
    int64_t now_ms = now_at(slot);
    if (is_in_last_part(slot, now_ms) || (slot->period.follows && is_in_last_part(slot, time_ms)))
        prefetch(self, slot);
    else if (first)
        watch(self, slot, now_ms);
}

/* --- from new to free --------------------------------------------------------------------------------- */

kw_period_prefetch *
kw_period_prefetch_new(kw_loop *loop, kw_slot_cache *cache)
{
    kw_period_prefetch *self = g_new0(kw_period_prefetch, 1);
    *self = (kw_period_prefetch){.cache = cache, .watched = KW_DEADLINE_NONE};
    self->timer = kw_timer_new(loop, on_timer, self);
    return self;
}

void
kw_period_prefetch_free(kw_period_prefetch *self)
{
    kw_timer_free(self->timer);
    g_free(self);
}
