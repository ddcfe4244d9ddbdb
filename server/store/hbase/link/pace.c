#include "store/hbase/link/pace.h"

#include <glib.h>

/* The weight of the newest value in an average. */
#define WEIGHT 0.125
/* A longer gap counts as this one: the process was stalled, or no server was reachable. */
#define GAP_MOST_NS ((double)1000 * 1000 * 1000)

void
kw_hbase_pace_add(kw_hbase_pace *pace, uint64_t took_ns)
{
    double took = (double)took_ns;
    if (pace->mean_ns <= 0) {
        pace->mean_ns = took;
        pace->deviation_ns = took / 2;
        return;
    }
    double off = took > pace->mean_ns ? took - pace->mean_ns : pace->mean_ns - took;
    pace->deviation_ns += (off - pace->deviation_ns) * WEIGHT;
    pace->mean_ns += (took - pace->mean_ns) * WEIGHT;
}

uint64_t
kw_hbase_pace_expected_ns(const kw_hbase_pace *pace)
{
    return (uint64_t)(pace->mean_ns + 2 * pace->deviation_ns);
}

void
kw_hbase_flow_dequeued(kw_hbase_flow *flow, uint64_t now_ns, size_t waiting)
{
    if (flow->dequeued_ns > 0) {
        double gap = MIN((double)(now_ns - flow->dequeued_ns), GAP_MOST_NS);
        flow->gap_ns = flow->gap_ns > 0 ? flow->gap_ns + (gap - flow->gap_ns) * WEIGHT : gap;
    }
    flow->dequeued_ns = waiting > 0 ? now_ns : 0;
}

uint64_t
kw_hbase_flow_wait_ns(const kw_hbase_flow *flow, size_t before)
{
    return (uint64_t)(flow->gap_ns * (double)before);
}
