/* A stream: one range scan with at most two batches, so that one is fetched while the other is read. */
#include "gather/gather_internal.h"

#include "gather/bounds.h"

#include <glib.h>

#define FETCHES_MAX 64 /* in flight per gather */
#define CHUNK_BYTES_MIN 1024
#define FIRST_ROW_BYTES 256 /* an estimate, until rows have arrived */
#define FEW_ROWS 256        /* fetches of so few rows do not justify an open scanner in the store */
#define SHORT_BUFFER_BYTES ((size_t)256 * 1024) /* of the whole gather, while memory is short */

static size_t
bytes_per_row(const kw_gather *gather)
{
    return gather->read_rows ? (size_t)(gather->read_memory / gather->read_rows) + 1 : FIRST_ROW_BYTES;
}

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
    uint64_t wanted = kw_gather_wanted(gather);
    if (!gather->spec.limit || gather->spec.limit - gather->returned > wanted)
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

typedef struct chunk {
    uint32_t rows;
    size_t bytes; /* as the store counts: without the overhead of keys and values */
} chunk;

/* Bytes of memory that one fetch of the stream can fill. If everything that the page needs fits into the
 * budget, streams share it as needed. Otherwise each gets an equal part, half for the batch being read and
 * half for the batch read ahead. */
static size_t
share_of(const kw_gather *gather, const kw_demand *demand)
{
    size_t budget = gather->spec.buffer_bytes;
    if (kw_gather_is_short(gather))
        budget = MIN(budget, SHORT_BUFFER_BYTES);
    bool fits = demand->wanted < budget / 4 * 3 / bytes_per_row(gather);
    return fits ? budget / 2 : budget / (2 * demand->streams);
}

/* The next fetch: what the page needs, within the stream's share. */
static chunk
chunk_of(const kw_stream *stream, const kw_demand *demand, uint64_t buffered)
{
    const kw_gather *gather = stream->gather;
    size_t share = share_of(gather, demand);
    size_t rows = MAX(share / bytes_per_row(gather), 1);
    if (gather->read_memory)
        share = (size_t)((double)share * (double)gather->read_bytes / (double)gather->read_memory);
    if (!gather->sifts && !gather->spec.more_pages) {
        double part = 1.25 * (double)kw_demand_expected(demand) / (double)demand->wanted;
        share = MIN(share, (size_t)(part * (double)kw_gather_bytes_left(gather)));
    }

    /* the next page uses surplus rows, so avoid small fetches at the end */
    size_t needed = gather->spec.more_pages ? demand->wanted : kw_demand_rows(demand, buffered);
    return (chunk){.rows = (uint32_t)MIN(MIN(rows, needed), UINT32_MAX),
                   .bytes = MAX(share, CHUNK_BYTES_MIN)};
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
    kw_range_scan_close(stream->run);
    stream->run = NULL;
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
        gather->held_bytes += kw_arena_used(rows->arena);
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
    gather->in_flight--;
    gather->held_bytes -= stream->reserved;
    if (error)
        stream->error = g_memdup2(error, sizeof *error);
    else
        receive(stream, rows);
    kw_group_arrived(stream, was_ready);
    if (gather->spec.more_pages)
        kw_stream_ahead(stream);
    kw_streams_start_waiting(gather);
    kw_gather_go_on_with(gather, count);
}

static void
open_range_scan(kw_stream *stream)
{
    const kw_gather *gather = stream->gather;
    const kw_plan *plan = gather->spec.plan;
    bool whole = plan->question && plan->question->full_scan && !gather->spec.limit;
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
                               .account = gather->spec.account,
                               .call = gather->spec.call,
                               .narrows = gather->spec.narrows,
                               .ordering = plan->question ? &plan->question->table->ordering : NULL};
    stream->run = kw_store_handle_open_range_scan(gather->handle, &spec);
}

static void
fetch(kw_stream *stream, const kw_demand *demand, chunk what)
{
    kw_gather *gather = stream->gather;
    if (!stream->run)
        open_range_scan(stream);
    stream->fetching = true;
    stream->reserved = MIN(2 * what.bytes, (size_t)what.rows * bytes_per_row(gather));
    gather->held_bytes += stream->reserved;
    gather->in_flight++;
    bool dropping = (gather->sifts || gather->spec.filter.size) && demand->wanted > FEW_ROWS;
    bool more = gather->spec.more_pages || kw_demand_expected(demand) > what.rows || dropping;
    kw_range_scan_fetch(stream->run, what.rows, what.bytes, more, gather->deadline, arrived, stream);
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

/* Always fetches if the stream has no rows; otherwise only within the budget. */
static void
fetch_now(kw_stream *stream, const kw_demand *demand)
{
    const kw_gather *gather = stream->gather;
    chunk what = chunk_of(stream, demand, buffered_rows(stream));
    if (!stream->head || gather->held_bytes + what.rows * bytes_per_row(gather) <= gather->spec.buffer_bytes)
        fetch(stream, demand, what);
}

static void
wait_for_place(kw_stream *stream)
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
fetch_or_wait(kw_stream *stream, const kw_demand *demand)
{
    if (stream->gather->in_flight < FETCHES_MAX)
        fetch_now(stream, demand);
    else
        wait_for_place(stream);
}

void
kw_streams_start_waiting(kw_gather *gather)
{
    while (gather->waiting_first && gather->in_flight < FETCHES_MAX) {
        kw_stream *stream = gather->waiting_first;
        gather->waiting_first = stream->next_waiting;
        if (!gather->waiting_first)
            gather->waiting_last = NULL;
        stream->waiting = false;
        kw_demand demand = demand_of(stream);
        if (can_fetch(stream) && kw_demand_expected(&demand) > buffered_rows(stream))
            fetch_now(stream, &demand);
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
            wait_for_place(stream);
    }
}

void
kw_stream_need(kw_stream *stream)
{
    if (!can_fetch(stream))
        return;
    kw_demand demand = demand_of(stream);
    if (stream->group->built)
        fetch_now(stream, &demand); /* all other streams wait for this one */
    else
        fetch_or_wait(stream, &demand);
}

/* Streams of one group are consumed evenly, so without this they would all fetch at once and then wait for
 * the slowest. If more pages will follow, one fetch is always in flight in addition to the batch being read.
 */
void
kw_stream_ahead(kw_stream *stream)
{
    if (!can_fetch(stream) || stream->waiting || kw_gather_is_short(stream->gather))
        return;
    kw_demand demand = demand_of(stream);
    uint64_t buffered = buffered_rows(stream);
    bool worth = stream->gather->spec.more_pages ? kw_demand_expected(&demand) > buffered
                                                 : kw_demand_ahead(&demand, buffered);
    if (worth)
        fetch_or_wait(stream, &demand);
}

void
kw_streams_top_up(kw_stream *dry)
{
    kw_group *group = dry->group;
    kw_demand demand = demand_of(dry);
    double per_taken = (double)demand.wanted / ((double)demand.taken_by_all + (double)demand.streams);
    for (uint32_t i = 0; i < group->count; i++) {
        kw_stream *stream = &group->streams[i];
        double lacks = (double)(stream->taken + 1) * per_taken - (double)buffered_rows(stream);
        if (lacks <= 0 || stream == dry || stream->waiting || !can_fetch(stream))
            continue;
        demand.taken = stream->taken;
        fetch_or_wait(stream, &demand);
    }
}

/* Replaces a batch that was read to its end. */
static void
change_batch(kw_stream *stream)
{
    kw_gather *gather = stream->gather;
    kw_rows *ahead = stream->ahead;
    gather->held_bytes -= kw_arena_used(stream->batch->arena);
    kw_gather_retire(gather, stream->batch, stream->kept);
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
    kw_range_scan_close(stream->run);
    kw_rows_free(stream->batch);
    kw_rows_free(stream->ahead);
    g_free(stream->error);
}
