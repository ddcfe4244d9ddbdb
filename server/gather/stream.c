/* A stream: one range scan with at most two batches, so that one is fetched while the other is read. */
#include "gather/gather_internal.h"

#include "gather/bounds.h"
#include "gather/forecast.h"

#include <glib.h>

#define FEW_ROWS 256 /* fetches of so few rows do not justify an open scanner in the store */

static bool
is_current(const kw_stream *stream)
{
    return stream->group == stream->gather->groups;
}

static kw_demand
demand_of(const kw_stream *stream)
{
    const kw_gather *gather = stream->gather;
    const kw_group *group = stream->group;
    const kw_flow *flow = &gather->flow;
    uint64_t wanted = kw_flow_wanted(flow);
    if (!flow->limit || flow->limit - flow->returned > wanted)
        wanted++; /* one more row shows whether another page follows */
    if (!is_current(stream) && gather->finished_groups) {
        uint64_t usual = 2 * (gather->finished_rows / gather->finished_groups) + 1;
        wanted = MIN(wanted, usual);
    }
    return (kw_demand){.wanted = MAX(wanted, 1),
                       .streams = MAX(group->live, 1),
                       .taken = stream->taken,
                       .taken_by_all = group->taken_live};
}

static void
set_batch(kw_stream *stream, kw_rows *rows)
{
    stream->batch = rows;
    stream->head = rows->rows;
    stream->last = rows->rows + rows->count - 1;
    bool at_once = stream->gather->spec.more_pages && rows->count > 1;
    stream->mark = rows->rows + (at_once ? 1 : rows->count / 2);
    stream->kept = false;
}

static void
note_end(kw_stream *stream)
{
    stream->end = true;
    stream->group->live--;
    stream->group->taken_live -= stream->taken;
    kw_range_scan_close(stream->range_scan);
    stream->range_scan = NULL;
}

static void
receive(kw_stream *stream, kw_rows *rows)
{
    kw_gather *gather = stream->gather;
    kw_gather_count(gather, rows);
    bool end = rows->end;
    if (rows->count == 0) {
        kw_rows_free(rows);
    } else {
        kw_flow_hold(&gather->flow, kw_arena_used(rows->arena));
        if (stream->batch)
            stream->ahead = rows;
        else
            set_batch(stream, rows);
    }
    if (end)
        note_end(stream);
}

static void
arrived(void *user, kw_rows *rows, const kw_error *error)
{
    kw_stream *stream = user;
    kw_gather *gather = stream->gather;
    bool was_ready = kw_stream_ready(stream);
    size_t count = rows ? rows->count : 0;
    stream->fetching = false;
    kw_flow_end_fetch(&gather->flow, stream->reserved);
    if (error)
        stream->error = g_memdup2(error, sizeof *error);
    else
        receive(stream, rows);
    kw_group_arrived(stream, was_ready);
    if (gather->spec.more_pages)
        kw_stream_ahead(stream);
    kw_streams_start_waiting(gather);
    kw_gather_continue_after(gather, count);
}

static void
open_range_scan(kw_stream *stream)
{
    const kw_gather *gather = stream->gather;
    const kw_plan *plan = gather->spec.plan;
    bool whole = plan->query && plan->query->full_scan && !gather->spec.limit;
    kw_range_scan_spec spec = {.table = plan->ranges[stream->index].placement->store_table,
                               .start = stream->start,
                               .stop = stream->stop,
                               .reversed = plan->reversed,
                               .columns = gather->spec.columns,
                               .columns_count = gather->spec.columns_count,
                               .max_versions = 1,
                               .filter = gather->spec.filter,
                               .prepared = gather->spec.prepared,
                               .patterns = gather->spec.by_patterns ? kw_plan_patterns(plan, stream->index)
                                                                    : (kw_patterns){.count = 0},
                               .keep_blocks_out_of_cache = whole,
                               .max_row_bytes = gather->spec.row_bytes,
                               .omit_large_rows = true,
                               .account = gather->spec.account,
                               .call = gather->spec.call,
                               .filters_cells_only = gather->spec.filters_cells_only,
                               .ordering = kw_gather_ordering(plan)};
    stream->range_scan = kw_store_handle_open_range_scan(gather->handle, &spec);
}

static void
fetch(kw_stream *stream, const kw_demand *demand, kw_chunk what)
{
    kw_gather *gather = stream->gather;
    if (!stream->range_scan)
        open_range_scan(stream);
    stream->fetching = true;
    stream->reserved = kw_flow_begin_fetch(&gather->flow, what);
    bool dropping = (gather->flow.drops_rows || gather->spec.filter.size) && demand->wanted > FEW_ROWS;
    bool more = gather->spec.more_pages || kw_demand_expected(demand) > what.rows || dropping;
    kw_range_scan_fetch(stream->range_scan, what.rows, what.bytes, more, gather->deadline, arrived, stream);
}

static uint64_t
buffered_rows(const kw_stream *stream)
{
    return (stream->head ? (uint64_t)(stream->last - stream->head) + 1 : 0) +
           (stream->ahead ? stream->ahead->count : 0);
}

static bool
can_fetch(const kw_stream *stream)
{
    return !(stream->end || stream->ahead || stream->fetching || stream->error);
}

/* Always fetches if the stream has no rows; otherwise only within the budget. buffered: how many rows of the
 * demand the stream already has. */
static void
fetch_now(kw_stream *stream, const kw_demand *demand, uint64_t buffered)
{
    const kw_flow *flow = &stream->gather->flow;
    kw_chunk what = kw_flow_chunk(flow, demand, buffered);
    if (!stream->head || kw_flow_has_space(flow, what.rows))
        fetch(stream, demand, what);
}

static void
queue_fetch(kw_stream *stream)
{
    kw_gather *gather = stream->gather;
    if (stream->waiting)
        return;
    stream->waiting = true;
    stream->next_waiting = NULL;
    if (gather->waiting_last)
        gather->waiting_last->next_waiting = stream;
    else
        gather->waiting_first = stream;
    gather->waiting_last = stream;
}

static void
fetch_or_wait(kw_stream *stream, const kw_demand *demand, uint64_t buffered)
{
    if (kw_flow_may_fetch(&stream->gather->flow))
        fetch_now(stream, demand, buffered);
    else
        queue_fetch(stream);
}

void
kw_streams_start_waiting(kw_gather *gather)
{
    while (gather->waiting_first && kw_flow_may_fetch(&gather->flow)) {
        kw_stream *stream = gather->waiting_first;
        gather->waiting_first = stream->next_waiting;
        if (!gather->waiting_first)
            gather->waiting_last = NULL;
        stream->waiting = false;
        kw_demand demand = demand_of(stream);
        if (can_fetch(stream) && kw_demand_expected(&demand) > buffered_rows(stream))
            fetch_now(stream, &demand, buffered_rows(stream));
    }
}

void
kw_streams_stop_waiting(const kw_group *group)
{
    kw_gather *gather = group->gather;
    kw_stream *stream = gather->waiting_first;
    gather->waiting_first = gather->waiting_last = NULL;
    for (kw_stream *next; stream; stream = next) {
        next = stream->next_waiting;
        stream->waiting = false;
        if (stream->group != group)
            queue_fetch(stream);
    }
}

void
kw_stream_need(kw_stream *stream)
{
    if (!can_fetch(stream))
        return;
    kw_demand demand = demand_of(stream);
    if (stream->group->built)
        fetch_now(stream, &demand, buffered_rows(stream)); /* all other streams wait for this one */
    else
        fetch_or_wait(stream, &demand, buffered_rows(stream));
}

/* The merge takes rows evenly from the streams of a group. Without read-ahead, all streams would run out at
 * about the same time, fetch at once, and the merge would wait for the slowest. If more pages will follow, a
 * stream fetches its next batch as soon as it begins to read one. */
void
kw_stream_ahead(kw_stream *stream)
{
    if (!can_fetch(stream) || stream->waiting || kw_flow_is_short(&stream->gather->flow))
        return;
    kw_demand demand = demand_of(stream);
    uint64_t buffered = buffered_rows(stream);
    bool worth = stream->gather->spec.more_pages ? kw_demand_expected(&demand) > buffered
                                                 : kw_demand_ahead(&demand, buffered);
    if (worth)
        fetch_or_wait(stream, &demand, buffered);
}

/* Fetches for each stream the rows of the page that follow after its buffered rows. */
static void
top_up_by_forecast(kw_stream *dry, kw_demand demand)
{
    kw_group *group = dry->group;
    g_autofree uint64_t *left = g_new(uint64_t, group->count);
    kw_forecast(group, demand.wanted, left);
    for (uint32_t i = 0; i < group->count; i++) {
        kw_stream *stream = &group->streams[i];
        if (left[i] == 0 || stream->waiting || !can_fetch(stream))
            continue;
        demand.wanted = left[i];
        demand.taken = stream->taken;
        fetch_or_wait(stream, &demand, 0);
    }
}

/* The same for a page that needs more rows than a forecast reads. Then the numbers of rows taken so far
 * predict precisely enough how many rows each stream supplies. */
static void
top_up_by_shares(kw_stream *dry, kw_demand demand)
{
    kw_group *group = dry->group;
    double per_taken = (double)demand.wanted / ((double)demand.taken_by_all + (double)demand.streams);
    for (uint32_t i = 0; i < group->count; i++) {
        kw_stream *stream = &group->streams[i];
        uint64_t buffered = buffered_rows(stream);
        double lacks = (double)(stream->taken + 1) * per_taken - (double)buffered;
        if (lacks <= 0 || stream == dry || stream->waiting || !can_fetch(stream))
            continue;
        demand.taken = stream->taken;
        fetch_or_wait(stream, &demand, buffered);
    }
}

void
kw_streams_top_up(kw_stream *dry)
{
    kw_demand demand = demand_of(dry);
    if (demand.wanted <= KW_FORECAST_ROWS)
        top_up_by_forecast(dry, demand);
    else
        top_up_by_shares(dry, demand);
}

/* Replaces a batch that was read to its end. */
static void
change_batch(kw_stream *stream)
{
    kw_gather *gather = stream->gather;
    kw_rows *ahead = stream->ahead;
    kw_flow_release(&gather->flow, kw_arena_used(stream->batch->arena));
    kw_page_retire(&gather->page, gather->spec.plan, stream->batch, stream->kept);
    stream->ahead = NULL;
    stream->batch = NULL;
    stream->head = NULL;
    if (ahead)
        set_batch(stream, ahead);
}

void
kw_stream_step(kw_stream *stream)
{
    stream->taken++;
    stream->group->taken++;
    stream->group->taken_live += !stream->end;
    if (stream->head++ == stream->last)
        change_batch(stream);
    else if (stream->head == stream->mark)
        kw_stream_ahead(stream);
}

void
kw_stream_clear(kw_stream *stream)
{
    kw_range_scan_close(stream->range_scan);
    kw_rows_free(stream->batch);
    kw_rows_free(stream->ahead);
    g_free(stream->error);
}
