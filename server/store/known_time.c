/* See known_time.h. */
#include "store/known_time.h"

#include <glib.h>
#include <string.h>

#define NS_PER_MS INT64_C(1000000)

/* Bounds of the store's clock minus ours; low INT64_MIN: none. */
typedef struct offset {
    int64_t low_ns, high_ns;
} offset;

static offset
offset_of(const kw_heartbeat *heartbeat, int64_t now_ns)
{
    int64_t age_ns = MAX(now_ns - heartbeat->sent_ns, 0);
    int64_t drift_ns = age_ns / 1000000 * KW_TIME_DRIFT_PPM + KW_TIME_DRIFT_PPM;
    int64_t low_ns = heartbeat->stamp_ms * NS_PER_MS - heartbeat->answered_ns - drift_ns;
    return (offset){.low_ns = heartbeat->counted_up ? INT64_MIN : low_ns,
                    .high_ns = (heartbeat->stamp_ms + 1) * NS_PER_MS - heartbeat->sent_ns + drift_ns};
}

/* What the heartbeats of one of the two times say: what all of them allow; if they contradict each other,
 * what any of them allows. */
typedef struct said {
    offset all, any;
    bool fresh; /* one of them is more than counted up */
} said;

static void
hear(said *so_far, const kw_heartbeat *heartbeat, int64_t now_ns)
{
    offset one = offset_of(heartbeat, now_ns);
    so_far->all.low_ns = MAX(so_far->all.low_ns, one.low_ns);
    so_far->all.high_ns = MIN(so_far->all.high_ns, one.high_ns);
    so_far->any.low_ns = MIN(so_far->any.low_ns, one.low_ns);
    so_far->any.high_ns = MAX(so_far->any.high_ns, one.high_ns);
    so_far->fresh = so_far->fresh || !heartbeat->counted_up;
}

static offset
conclude(const said *so_far)
{
    return so_far->all.low_ns <= so_far->all.high_ns ? so_far->all : so_far->any;
}

static bool
span_at(const kw_known_time *known, int64_t now_ns, kw_span *ret_span)
{
    said before = {.all = {INT64_MIN, INT64_MAX}, .any = {INT64_MAX, INT64_MIN}}, since = before;
    for (uint64_t i = 0; i < known->count; i++) {
        const kw_heartbeat *heartbeat = &known->heartbeats[i];
        if (heartbeat->sent_ns > now_ns - known->fresh_ns)
            hear(&since, heartbeat, now_ns);
        else if (heartbeat->answered_ns <= now_ns - known->fresh_ns)
            hear(&before, heartbeat, now_ns);
    }
    if (!before.fresh || !since.fresh)
        return false;
    offset a = conclude(&before), b = conclude(&since);
    int64_t low_ns = MIN(a.low_ns, b.low_ns), high_ns = MAX(a.high_ns, b.high_ns);
    *ret_span = (kw_span){.earliest_ns = low_ns == INT64_MIN ? INT64_MIN : now_ns + low_ns,
                          .latest_ns = now_ns + high_ns};
    return true;
}

static void
forget_old(kw_known_time *known, int64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < known->count; i++)
        if (known->heartbeats[i].sent_ns >= now_ns - 2 * known->fresh_ns)
            known->heartbeats[kept++] = known->heartbeats[i];
    memset(&known->heartbeats[kept], 0, (known->count - kept) * sizeof *known->heartbeats);
    known->count = kept;
}

/* The next moment after `from_ns` at which a heartbeat leaves one of the two times. */
static int64_t
next_change_ns(const kw_known_time *known, int64_t from_ns)
{
    int64_t next_ns = INT64_MAX;
    for (uint64_t i = 0; i < known->count; i++) {
        int64_t since_ns = known->heartbeats[i].sent_ns + known->fresh_ns;
        int64_t before_ns = known->heartbeats[i].sent_ns + 2 * known->fresh_ns;
        if (since_ns > from_ns)
            next_ns = MIN(next_ns, since_ns);
        if (before_ns > from_ns)
            next_ns = MIN(next_ns, before_ns);
    }
    return next_ns;
}

/* `latest` at every moment up to now: between changes it grows, so the moments of change are enough. */
static void
keep_least(kw_known_time *known, int64_t now_ns)
{
    kw_span span;
    while (known->passed_ns < now_ns) {
        int64_t at_ns = MIN(next_change_ns(known, known->passed_ns), now_ns);
        if (span_at(known, at_ns, &span))
            known->least_ns = MAX(known->least_ns, span.latest_ns);
        known->passed_ns = at_ns;
        forget_old(known, at_ns);
    }
}

void
kw_known_time_init(kw_known_time *known, int64_t fresh_ns)
{
    memset(known, 0, sizeof *known);
    known->fresh_ns = fresh_ns;
    known->least_ns = known->passed_ns = INT64_MIN;
}

void
kw_known_time_heard(kw_known_time *known, const kw_heartbeat *heartbeat)
{
    keep_least(known, heartbeat->answered_ns);
    if (known->count == KW_TIME_HEARTBEATS)
        memmove(known->heartbeats, known->heartbeats + 1, --known->count * sizeof *known->heartbeats);
    known->heartbeats[known->count++] = *heartbeat;
}

void
kw_known_time_saw(kw_known_time *known, int64_t newest_stamp_ms)
{
    int64_t drift_ns = known->fresh_ns / 1000000 * KW_TIME_DRIFT_PPM + KW_TIME_DRIFT_PPM;
    known->least_ns = MAX(known->least_ns, (newest_stamp_ms + 1) * NS_PER_MS + known->fresh_ns + drift_ns);
}

bool
kw_known_time_read(kw_known_time *known, int64_t now_ns, kw_span *ret_span)
{
    keep_least(known, now_ns);
    if (!span_at(known, now_ns, ret_span))
        return false;
    ret_span->latest_ns = MAX(ret_span->latest_ns, known->least_ns);
    return true;
}
