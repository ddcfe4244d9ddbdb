#include "store/known_time.h"

#include "base/units.h"
#include "store/plausible.h"

#include <glib.h>
#include <string.h>

/* Bounds of the store's clock minus ours. low_ns is INT64_MIN if there is no lower bound. */
typedef struct offset {
    int64_t low_ns, high_ns;
} offset;

static offset
offset_of(const kw_heartbeat *heartbeat, int64_t now_ns)
{
    int64_t age_ns = MAX(now_ns - heartbeat->sent_ns, 0);
    int64_t drift_ns = age_ns / 1000000 * KW_TIME_DRIFT_PPM + KW_TIME_DRIFT_PPM;
    int64_t low_ns = heartbeat->stamp_ms * KW_NS_PER_MS - heartbeat->answered_ns - drift_ns;
    return (offset){.low_ns = heartbeat->stamp_is_upper_bound ? INT64_MIN : low_ns,
                    .high_ns = (heartbeat->stamp_ms + 1) * KW_NS_PER_MS - heartbeat->sent_ns + drift_ns};
}

/* The offsets that the heartbeats of one period allow: `all` is the intersection of their intervals. If it
 * is empty, the heartbeats contradict each other, and `any`, the smallest interval that covers all, is
 * used. */
typedef struct evidence {
    offset all, any;
    bool exact; /* at least one of them has an exact timestamp */
} evidence;

#define NO_EVIDENCE ((evidence){.all = {INT64_MIN, INT64_MAX}, .any = {INT64_MAX, INT64_MIN}})

static void
add_evidence(evidence *total, const kw_heartbeat *heartbeat, int64_t now_ns)
{
    offset one = offset_of(heartbeat, now_ns);
    total->all.low_ns = MAX(total->all.low_ns, one.low_ns);
    total->all.high_ns = MIN(total->all.high_ns, one.high_ns);
    total->any.low_ns = MIN(total->any.low_ns, one.low_ns);
    total->any.high_ns = MAX(total->any.high_ns, one.high_ns);
    total->exact = total->exact || !heartbeat->stamp_is_upper_bound;
}

static offset
combine(const evidence *total)
{
    return total->all.low_ns <= total->all.high_ns ? total->all : total->any;
}

static int64_t
drift_ns(int64_t from_ns, int64_t to_ns)
{
    return (to_ns - from_ns) / 1000000 * KW_TIME_DRIFT_PPM + KW_TIME_DRIFT_PPM;
}

/* Computes low_ns and high_ns for this time. */
static void
combine_at(kw_known_time *known, int64_t now_ns)
{
    evidence before = NO_EVIDENCE, since = NO_EVIDENCE;
    for (uint64_t i = 0; i < known->count; i++) {
        const kw_heartbeat *heartbeat = &known->heartbeats[i];
        if (heartbeat->sent_ns > now_ns - known->fresh_ns)
            add_evidence(&since, heartbeat, now_ns);
        else if (heartbeat->answered_ns <= now_ns - known->fresh_ns)
            add_evidence(&before, heartbeat, now_ns);
    }
    offset a = combine(&before), b = combine(&since);
    bool usable = before.exact && since.exact;
    known->low_ns = usable ? MIN(a.low_ns, b.low_ns) : INT64_MAX;
    known->high_ns = usable ? MAX(a.high_ns, b.high_ns) : 0;
}

static void
drop_old(kw_known_time *known, int64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < known->count; i++)
        if (known->heartbeats[i].sent_ns >= now_ns - 2 * known->fresh_ns)
            known->heartbeats[kept++] = known->heartbeats[i];
    memset(&known->heartbeats[kept], 0, (known->count - kept) * sizeof *known->heartbeats);
    known->count = kept;
}

static void
take_earlier(int64_t *next_ns, int64_t when_ns, int64_t from_ns)
{
    if (when_ns > from_ns)
        *next_ns = MIN(*next_ns, when_ns);
}

/* The next time after `from_ns` at which a heartbeat enters or leaves one of the two periods. */
static int64_t
next_change_ns(const kw_known_time *known, int64_t from_ns)
{
    int64_t next_ns = INT64_MAX;
    for (uint64_t i = 0; i < known->count; i++) {
        const kw_heartbeat *heartbeat = &known->heartbeats[i];
        take_earlier(&next_ns, heartbeat->sent_ns + known->fresh_ns, from_ns);
        take_earlier(&next_ns, heartbeat->answered_ns + known->fresh_ns, from_ns);
        take_earlier(&next_ns, heartbeat->sent_ns + 2 * known->fresh_ns + 1, from_ns);
    }
    return next_ns;
}

static int64_t
latest_at(const kw_known_time *known, int64_t at_ns)
{
    return at_ns + known->high_ns + drift_ns(known->passed_ns, at_ns);
}

/* `latest` grows between two changes and can drop at a change. least_ns keeps the value that it had just
 * before each change. */
static void
advance(kw_known_time *known, int64_t now_ns)
{
    while (known->change_ns <= now_ns) {
        int64_t at_ns = known->change_ns;
        if (known->low_ns != INT64_MAX)
            known->least_ns = MAX(known->least_ns, latest_at(known, at_ns));
        drop_old(known, at_ns);
        known->passed_ns = at_ns;
        known->change_ns = next_change_ns(known, at_ns);
        combine_at(known, at_ns);
    }
}

void
kw_known_time_init(kw_known_time *known, int64_t fresh_ns)
{
    memset(known, 0, sizeof *known);
    known->fresh_ns = fresh_ns;
    known->least_ns = INT64_MIN;
    known->change_ns = known->low_ns = INT64_MAX;
}

void
kw_known_time_add_heartbeat(kw_known_time *known, const kw_heartbeat *heartbeat, int64_t now_ns)
{
    g_assert(kw_plausible_is_time(heartbeat->stamp_ms));
    advance(known, now_ns);
    if (known->low_ns != INT64_MAX)
        known->least_ns = MAX(known->least_ns, latest_at(known, now_ns));
    if (known->count == KW_TIME_HEARTBEATS)
        memmove(known->heartbeats, known->heartbeats + 1, --known->count * sizeof *known->heartbeats);
    known->heartbeats[known->count++] = *heartbeat;
    if (!heartbeat->stamp_is_upper_bound)
        known->last = *heartbeat;
    known->passed_ns = now_ns;
    known->change_ns = next_change_ns(known, now_ns);
    combine_at(known, now_ns);
}

void
kw_known_time_add_newest_stamp(kw_known_time *known, int64_t newest_stamp_ms)
{
    g_assert(newest_stamp_ms <= KW_PLAUSIBLE_MAX_MS);
    int64_t stamp_ms = MAX(newest_stamp_ms, 0);
    int64_t least_ns = (stamp_ms + 1) * KW_NS_PER_MS + known->fresh_ns + drift_ns(0, known->fresh_ns);
    known->least_ns = MAX(known->least_ns, least_ns);
}

bool
kw_known_time_read(kw_known_time *known, int64_t now_ns, kw_span *ret_span)
{
    advance(known, now_ns);
    if (known->low_ns == INT64_MAX)
        return false;
    int64_t drift = drift_ns(known->passed_ns, now_ns);
    *ret_span = (kw_span){
        .earliest_ns = known->low_ns == INT64_MIN ? INT64_MIN : now_ns + known->low_ns - drift,
        .latest_ns = MAX(latest_at(known, now_ns), known->least_ns),
    };
    return true;
}

bool
kw_known_time_recent(const kw_known_time *known, int64_t now_ns, kw_span *ret_span)
{
    evidence recent = NO_EVIDENCE;
    for (uint64_t i = 0; i < known->count; i++)
        if (known->heartbeats[i].sent_ns > now_ns - known->fresh_ns)
            add_evidence(&recent, &known->heartbeats[i], now_ns);
    if (!recent.exact)
        return kw_known_time_estimate(known, now_ns, ret_span);
    offset together = combine(&recent);
    if (together.low_ns == INT64_MIN)
        return kw_known_time_estimate(known, now_ns, ret_span);
    *ret_span = (kw_span){.earliest_ns = now_ns + together.low_ns, .latest_ns = now_ns + together.high_ns};
    return true;
}

bool
kw_known_time_estimate(const kw_known_time *known, int64_t now_ns, kw_span *ret_span)
{
    if (known->last.stamp_ms == 0)
        return false;
    offset last = offset_of(&known->last, now_ns);
    *ret_span = (kw_span){.earliest_ns = now_ns + last.low_ns, .latest_ns = now_ns + last.high_ns};
    return true;
}
