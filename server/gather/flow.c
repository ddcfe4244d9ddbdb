#include "gather/flow.h"

#include <glib.h>

#define CHUNK_BYTES_MIN 1024
#define ROW_BYTES_UNKNOWN 256                   /* an estimate, until rows have arrived */
#define SHORT_BUFFER_BYTES ((size_t)256 * 1024) /* of the whole gather, while memory is short */

/* --- the page -------------------------------------------------------------------------------------- */

void
kw_flow_begin_page(kw_flow *flow, uint32_t max_rows, size_t max_bytes)
{
    g_assert(max_rows > 0 && max_bytes > 0);
    flow->max_rows = max_rows;
    flow->max_bytes = max_bytes;
    flow->page_rows = 0;
    flow->page_skipped = 0;
    flow->page_bytes = 0;
}

void
kw_flow_keep(kw_flow *flow, size_t bytes)
{
    flow->page_rows++;
    flow->page_bytes += bytes;
    flow->returned++;
}

bool
kw_flow_limit_reached(const kw_flow *flow)
{
    return flow->limit && flow->returned >= flow->limit;
}

bool
kw_flow_page_full(const kw_flow *flow)
{
    return kw_flow_limit_reached(flow) || flow->page_rows + flow->page_skipped >= flow->max_rows ||
           (flow->page_rows && flow->page_bytes >= flow->max_bytes);
}

static size_t
bytes_left(const kw_flow *flow)
{
    size_t bytes = flow->more_pages ? 2 * flow->max_bytes : flow->max_bytes;
    return bytes > flow->page_bytes ? bytes - flow->page_bytes : 0;
}

uint64_t
kw_flow_wanted(const kw_flow *flow)
{
    uint64_t pages = flow->more_pages ? 2 : 1;
    uint64_t rows = pages * flow->max_rows - flow->page_rows - flow->page_skipped;
    if (flow->limit)
        rows = MIN(rows, flow->limit - flow->returned);
    if (flow->read_rows && !flow->drops_rows) {
        uint64_t usual = flow->read_bytes / flow->read_rows + 1;
        rows = MIN(rows, bytes_left(flow) / usual + 1);
    }
    if (flow->drops_rows && flow->examined) {
        double per_row = ((double)flow->examined + 1) / ((double)flow->returned + 1);
        rows = (uint64_t)(MIN((double)rows * per_row, 1e9)) + 1;
    }
    return rows;
}

bool
kw_flow_is_short(const kw_flow *flow)
{
    return kw_budget_pressure(flow->account) != KW_PRESSURE_NONE;
}

/* --- sizes ----------------------------------------------------------------------------------------- */

void
kw_flow_count(kw_flow *flow, uint64_t rows, size_t bytes, size_t memory)
{
    flow->read_rows += rows;
    flow->read_bytes += bytes;
    flow->read_memory += rows ? memory : 0;
}

size_t
kw_flow_row_memory(const kw_flow *flow, size_t unknown)
{
    return flow->read_rows ? (size_t)(flow->read_memory / flow->read_rows) + 1 : unknown;
}

static size_t
row_memory(const kw_flow *flow)
{
    return kw_flow_row_memory(flow, ROW_BYTES_UNKNOWN);
}

/* Bytes of memory that one fetch of a stream can fill. If everything that the page needs fits into three
 * quarters of the budget, streams share it as needed. Otherwise each gets an equal part for two batches, the
 * one being read and the one read ahead. An eighth of the budget is left for batches whose rows are larger
 * than expected: without it, the second batch would often not fit beside the first. */
static size_t
share_of(const kw_flow *flow, const kw_demand *demand)
{
    size_t budget = flow->budget_bytes;
    if (kw_flow_is_short(flow))
        budget = MIN(budget, SHORT_BUFFER_BYTES);
    bool fits = demand->wanted < budget / 4 * 3 / row_memory(flow);
    return fits ? budget / 2 : 7 * budget / (16 * demand->streams);
}

kw_chunk
kw_flow_chunk(const kw_flow *flow, const kw_demand *demand, uint64_t buffered)
{
    size_t share = share_of(flow, demand);
    size_t rows = MAX(share / row_memory(flow), 1);
    if (flow->read_memory)
        share = (size_t)((double)share * (double)flow->read_bytes / (double)flow->read_memory);
    if (!flow->drops_rows && !flow->more_pages) {
        double part = 1.25 * (double)kw_demand_expected(demand) / (double)demand->wanted;
        share = MIN(share, (size_t)(part * (double)bytes_left(flow)));
    }

    /* the next page uses surplus rows, so avoid small fetches at the end */
    size_t needed = flow->more_pages ? demand->wanted : kw_demand_rows(demand, buffered);
    return (kw_chunk){.rows = (uint32_t)MIN(MIN(rows, needed), UINT32_MAX),
                      .bytes = MAX(share, CHUNK_BYTES_MIN)};
}

/* --- memory ---------------------------------------------------------------------------------------- */

bool
kw_flow_has_space(const kw_flow *flow, uint32_t rows)
{
    return flow->held_bytes + rows * row_memory(flow) <= flow->budget_bytes;
}

bool
kw_flow_may_fetch(const kw_flow *flow)
{
    return flow->fetches < KW_FLOW_FETCHES_MAX;
}

size_t
kw_flow_begin_fetch(kw_flow *flow, kw_chunk chunk)
{
    size_t reserved = MIN(2 * chunk.bytes, (size_t)chunk.rows * row_memory(flow));
    flow->fetches++;
    kw_flow_hold(flow, reserved);
    return reserved;
}

void
kw_flow_end_fetch(kw_flow *flow, size_t reserved)
{
    g_assert(flow->fetches > 0);
    flow->fetches--;
    kw_flow_release(flow, reserved);
}

void
kw_flow_hold(kw_flow *flow, size_t bytes)
{
    flow->held_bytes += bytes;
}

void
kw_flow_release(kw_flow *flow, size_t bytes)
{
    g_assert(flow->held_bytes >= bytes);
    flow->held_bytes -= bytes;
}
