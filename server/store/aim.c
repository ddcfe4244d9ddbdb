#include "store/aim.h"

#include "base/units.h"

#include <glib.h>

#define NS_PER_US INT64_C(1000)
#define FIRST_MARGIN_NS (60 * NS_PER_US)
#define LEAST_MARGIN_NS (5 * NS_PER_US)
#define MOST_MARGIN_NS (300 * NS_PER_US)
/* A larger disagreement is corrected completely: the clock was set. */
#define FAR_NS (300 * NS_PER_US)

void
kw_aim_init(kw_aim *aim)
{
    *aim = (kw_aim){.margin_ns = {FIRST_MARGIN_NS, FIRST_MARGIN_NS}};
}

kw_aim_side
kw_aim_choose(const kw_aim *aim, const kw_known_time *known, int64_t now_ns)
{
    kw_span span;
    if (!kw_known_time_recent(known, now_ns, &span))
        return KW_AIM_AFTER;
    int64_t estimate_ns = now_ns + aim->offset_ns;
    return estimate_ns - span.earliest_ns > span.latest_ns - estimate_ns ? KW_AIM_AFTER : KW_AIM_BEFORE;
}

int64_t
kw_aim_send_at(const kw_aim *aim, kw_aim_side side, int64_t now_ns, kw_aimed *ret_aimed)
{
    *ret_aimed = (kw_aimed){.side = side};
    if (!aim->started)
        return now_ns;
    int64_t margin_ns = side == KW_AIM_AFTER ? aim->margin_ns[side] : -aim->margin_ns[side];
    int64_t arrival_ns = now_ns + aim->offset_ns + MIN(aim->duration_ns, KW_NS_PER_MS) / 2 - margin_ns;
    int64_t wait_ns = KW_NS_PER_MS - (arrival_ns % KW_NS_PER_MS + KW_NS_PER_MS) % KW_NS_PER_MS;
    ret_aimed->aimed = true;
    ret_aimed->turn_ms = (arrival_ns + wait_ns) / KW_NS_PER_MS;
    return now_ns + wait_ns;
}

static void
adjust_margin(kw_aim *aim, const kw_aimed *aimed, int64_t stamp_ms)
{
    int64_t *margin_ns = &aim->margin_ns[aimed->side];
    bool hit = (stamp_ms >= aimed->turn_ms) == (aimed->side == KW_AIM_AFTER);
    *margin_ns = CLAMP(hit ? *margin_ns * 92 / 100 : *margin_ns * 130 / 100, LEAST_MARGIN_NS, MOST_MARGIN_NS);
}

/* How much later the store's clock was than estimated, in the middle of the heartbeat. 0: the estimate is in
 * the millisecond of the timestamp. */
static int64_t
disagreement_ns(const kw_aim *aim, const kw_heartbeat *heartbeat)
{
    int64_t middle_ns = heartbeat->sent_ns + (heartbeat->answered_ns - heartbeat->sent_ns) / 2;
    int64_t estimate_ns = middle_ns + aim->offset_ns;
    int64_t least_ns = heartbeat->stamp_ms * KW_NS_PER_MS, most_ns = least_ns + KW_NS_PER_MS - 1;
    return CLAMP(estimate_ns, least_ns, most_ns) - estimate_ns;
}

static void
start(kw_aim *aim, const kw_heartbeat *heartbeat)
{
    aim->started = true;
    aim->duration_ns = heartbeat->answered_ns - heartbeat->sent_ns;
    aim->offset_ns =
        heartbeat->stamp_ms * KW_NS_PER_MS + KW_NS_PER_MS / 2 - heartbeat->sent_ns - aim->duration_ns / 2;
}

void
kw_aim_learn(kw_aim *aim, const kw_aimed *aimed, const kw_heartbeat *heartbeat)
{
    int64_t took_ns = heartbeat->answered_ns - heartbeat->sent_ns;
    if (heartbeat->stamp_is_upper_bound)
        return;
    if (!aim->started) {
        start(aim, heartbeat);
        return;
    }
    bool slow = took_ns > aim->duration_ns * 3 / 2; /* its middle says little */
    if (took_ns < aim->duration_ns / 2)
        aim->duration_ns = took_ns; /* a load of the store has ended */
    else
        aim->duration_ns += (took_ns - aim->duration_ns) / (slow ? 16 : 8);
    if (slow)
        return;
    int64_t disagreed_ns = disagreement_ns(aim, heartbeat);
    aim->offset_ns += ABS(disagreed_ns) > FAR_NS ? disagreed_ns : disagreed_ns / 2;
    if (aimed->aimed)
        adjust_margin(aim, aimed, heartbeat->stamp_ms);
}
