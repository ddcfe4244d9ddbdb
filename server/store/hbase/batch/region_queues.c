#include "store/hbase/batch/region_queues.h"

static void
allocate(kw_hbase_region_queues *queues, size_t count)
{
    g_assert(count > 0);
    *queues = (kw_hbase_region_queues){
        .queues = g_new(kw_hbase_region_queue, count), .count = count, .nonempty = g_new(size_t, count)};
    for (size_t i = 0; i < count; i++)
        g_queue_init(&queues->queues[i].pending_ops);
}

void
kw_hbase_region_queues_init(kw_hbase_region_queues *queues)
{
    allocate(queues, 1);
}

void
kw_hbase_region_queues_clear(kw_hbase_region_queues *queues)
{
    g_assert(queues->waiting == 0 && queues->nonempty_count == 0);
    g_free(queues->queues);
    g_free(queues->nonempty);
}

static void
add_nonempty(kw_hbase_region_queues *queues, size_t region)
{
    g_assert(queues->nonempty_count < queues->count);
    queues->queues[region].position = queues->nonempty_count;
    queues->nonempty[queues->nonempty_count++] = region;
}

/* The last entry takes the place of the removed one. */
static void
remove_nonempty(kw_hbase_region_queues *queues, size_t region)
{
    size_t position = queues->queues[region].position;
    g_assert(position < queues->nonempty_count && queues->nonempty[position] == region);
    size_t last = queues->nonempty[--queues->nonempty_count];
    queues->nonempty[position] = last;
    queues->queues[last].position = position;
}

void
kw_hbase_region_queues_push(kw_hbase_region_queues *queues, const kw_hbase_boundaries *boundaries,
                            kw_hbase_pending_op *pending, bool at_head)
{
    size_t region = boundaries ? kw_hbase_boundaries_find(boundaries, pending->row) : 0;
    g_assert(region < queues->count);
    GQueue *queue = &queues->queues[region].pending_ops;
    if (queue->length == 0)
        add_nonempty(queues, region);
    pending->region = region;
    pending->state = KW_HBASE_PENDING_QUEUED;
    if (at_head)
        g_queue_push_head_link(queue, &pending->link);
    else
        g_queue_push_tail_link(queue, &pending->link);
    queues->waiting++;
}

void
kw_hbase_region_queues_remove(kw_hbase_region_queues *queues, kw_hbase_pending_op *pending)
{
    g_assert(pending->state == KW_HBASE_PENDING_QUEUED && pending->region < queues->count);
    GQueue *queue = &queues->queues[pending->region].pending_ops;
    g_assert(queues->waiting > 0 && queue->length > 0);
    g_queue_unlink(queue, &pending->link);
    if (queue->length == 0)
        remove_nonempty(queues, pending->region);
    queues->waiting--;
}

void
kw_hbase_region_queues_rebuild(kw_hbase_region_queues *queues, const kw_hbase_boundaries *boundaries)
{
    kw_hbase_region_queues before = *queues;
    allocate(queues, kw_hbase_boundaries_count(boundaries));
    for (size_t i = 0; i < before.count; i++) {
        for (GList *link; (link = g_queue_pop_head_link(&before.queues[i].pending_ops));)
            kw_hbase_region_queues_push(queues, boundaries, link->data, false);
    }
    g_assert(queues->waiting == before.waiting);
    g_free(before.queues);
    g_free(before.nonempty);
}

kw_hbase_pending_op *
kw_hbase_region_queues_first(const kw_hbase_region_queues *queues, size_t region)
{
    g_assert(region < queues->count);
    return g_queue_peek_head(&queues->queues[region].pending_ops);
}

size_t
kw_hbase_region_queues_longest(const kw_hbase_region_queues *queues)
{
    g_assert(queues->nonempty_count > 0);
    size_t best = queues->nonempty[0];
    for (size_t i = 1; i < queues->nonempty_count; i++) {
        size_t region = queues->nonempty[i];
        if (queues->queues[region].pending_ops.length > queues->queues[best].pending_ops.length)
            best = region;
    }
    return best;
}

size_t
kw_hbase_region_queues_oldest(const kw_hbase_region_queues *queues)
{
    g_assert(queues->nonempty_count > 0);
    size_t best = queues->nonempty[0];
    for (size_t i = 1; i < queues->nonempty_count; i++) {
        size_t region = queues->nonempty[i];
        if (kw_hbase_region_queues_first(queues, region)->since_ns <
            kw_hbase_region_queues_first(queues, best)->since_ns)
            best = region;
    }
    return best;
}
