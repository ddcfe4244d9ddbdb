/* See batch queue.h. Which pending operations leave: those of the region with most of them, so that HBase has
 * one place to go to; when they are few, the next fullest region's too; and before all of them the region
 * whose first pending operation has waited long. */
#include "store/hbase/batch_queue.h"

#include "store/hbase/row_queues.h"

#include "base/metrics.h"

/* A batch of fewer rows takes another region's along. */
#define BATCH_ENOUGH 8
/* A pending operation that has waited this long goes first. */
#define LONG_NS (UINT64_C(20) * 1000 * 1000)
#define SWEEP_LEAST_NS (2 * UINT64_C(1000000))
#define NS_PER_MS UINT64_C(1000000)

typedef struct stop {
    GQueue pending_ops;
    size_t place; /* in the batch queue's list of those that are not empty */
} stop;

struct kw_hbase_batch_queue {
    kw_hbase_coalescer *coalescer;
    kw_hbase_batch_queue_kind kind;
    kw_durability durability;
    kw_bytes table; /* behind the struct */
    kw_hbase_width width;
    uint32_t away; /* calls */
    size_t waiting;
    kw_hbase_boundaries *boundaries; /* writes */
    stop *stops;                     /* one per region */
    size_t stops_count;
    size_t *busy; /* stops where somebody waits */
    size_t busy_count;
    bool due; /* in the list of those that have room */
    kw_hbase_batch_queue *next_due;
};

struct kw_hbase_coalescer {
    kw_store_handle *handle;
    uint32_t channels;
    size_t batch_bytes;
    GHashTable *queues;
    GHashTable *turns;
    GQueue timed; /* pending operations with a deadline of their own to watch */
    kw_timer *sweep;
    uint64_t sweep_ns;
    uint64_t batches;
    bool closing;
    uv_check_t turn_end; /* started while a batch queue is due ... */
    uv_idle_t awake;     /* ... with this one, so that the loop does not sleep before */
    int handles_open;
    kw_hbase_batch_queue *first_due;
    kw_hbase_batch_queue **last_due;
};

/* --- deadlines -------------------------------------------------------------------------------- */

static void
watch(kw_hbase_coalescer *coalescer, uint64_t when_ns)
{
    if (when_ns >= coalescer->sweep_ns || coalescer->closing)
        return;
    uint64_t now = kw_clock_mono_ns();
    coalescer->sweep_ns = MAX(when_ns, now + SWEEP_LEAST_NS);
    kw_timer_start_ms(coalescer->sweep, (coalescer->sweep_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

void
kw_hbase_pending_op_time(kw_hbase_pending_op *pending)
{
    if (pending->timed)
        return;
    pending->timed = true;
    pending->due_link.data = pending;
    g_queue_push_tail_link(&pending->coalescer->timed, &pending->due_link);
    watch(pending->coalescer, pending->deadline);
}

void
kw_hbase_pending_op_untime(kw_hbase_pending_op *pending)
{
    if (!pending->timed)
        return;
    pending->timed = false;
    g_queue_unlink(&pending->coalescer->timed, &pending->due_link);
}

static void take_out(kw_hbase_batch_queue *queue, kw_hbase_pending_op *pending);

static void
give_up(kw_hbase_pending_op *pending, const kw_error *error)
{
    kw_hbase_pending_op_untime(pending);
    if (pending->state == KW_HBASE_PENDING_WAITS)
        take_out(pending->queue, pending);
    if (pending->turn && pending->state != KW_HBASE_PENDING_SENT)
        kw_hbase_row_queue_give_up(pending->coalescer->turns, pending);
    pending->class->fail(pending, error);
}

/* Completions start other operations, so what is due is set aside first. */
static void
sweep(void *user)
{
    kw_hbase_coalescer *coalescer = user;
    uint64_t now = kw_clock_mono_ns(), next = UINT64_MAX;
    g_autoptr(GPtrArray) due = g_ptr_array_new();
    coalescer->sweep_ns = UINT64_MAX;
    for (GList *at = coalescer->timed.head; at; at = at->next) {
        kw_hbase_pending_op *pending = at->data;
        kw_deadline end = MAX(pending->deadline, pending->class->settled_at(pending));
        if (end <= now)
            g_ptr_array_add(due, pending);
        else
            next = MIN(next, end);
    }
    watch(coalescer, next);
    for (guint i = 0; i < due->len; i++) {
        kw_hbase_pending_op *pending = due->pdata[i];
        if (!pending->timed)
            continue; /* it has left alone, behind one that gave up */
        bool left = pending->class->left(pending);
        kw_error error;
        kw_error_set(&error, KW_TIMEOUT, "the deadline passed %s",
                     left ? "before the store answered" : "while the call waited for the store");
        error.maybe_applied = left && pending->turn;
        give_up(pending, &error);
    }
}

/* --- stops ------------------------------------------------------------------------------------ */

static void
busy_add(kw_hbase_batch_queue *queue, size_t at)
{
    queue->stops[at].place = queue->busy_count;
    queue->busy[queue->busy_count++] = at;
}

static void
busy_remove(kw_hbase_batch_queue *queue, size_t at)
{
    size_t place = queue->stops[at].place, last = queue->busy[--queue->busy_count];
    queue->busy[place] = last;
    queue->stops[last].place = place;
}

static void
put_in(kw_hbase_batch_queue *queue, kw_hbase_pending_op *pending, bool first)
{
    pending->region = queue->boundaries ? kw_hbase_boundaries_find(queue->boundaries, pending->row) : 0;
    stop *at = &queue->stops[pending->region];
    if (at->pending_ops.length == 0)
        busy_add(queue, pending->region);
    pending->link.data = pending;
    pending->state = KW_HBASE_PENDING_WAITS;
    if (first)
        g_queue_push_head_link(&at->pending_ops, &pending->link);
    else
        g_queue_push_tail_link(&at->pending_ops, &pending->link);
    queue->waiting++;
}

static void
take_out(kw_hbase_batch_queue *queue, kw_hbase_pending_op *pending)
{
    stop *at = &queue->stops[pending->region];
    g_queue_unlink(&at->pending_ops, &pending->link);
    if (at->pending_ops.length == 0)
        busy_remove(queue, pending->region);
    queue->waiting--;
}

static void
make_stops(kw_hbase_batch_queue *queue, size_t count)
{
    queue->stops = g_new(stop, count);
    for (size_t i = 0; i < count; i++)
        g_queue_init(&queue->stops[i].pending_ops);
    queue->busy = g_new(size_t, count);
    queue->busy_count = 0;
    queue->stops_count = count;
}

/* Other regions: those who wait are sorted in again; pending operations of one row stay in order, being in
 * one queue. */
static void
boundaries_changed(void *user)
{
    kw_hbase_batch_queue *queue = user;
    g_autofree stop *before = queue->stops;
    size_t count = queue->stops_count;
    g_free(queue->busy);
    make_stops(queue, kw_hbase_boundaries_count(queue->boundaries));
    queue->waiting = 0;
    for (size_t i = 0; i < count; i++) {
        for (GList *link; (link = g_queue_pop_head_link(&before[i].pending_ops));)
            put_in(queue, link->data, false);
    }
}

/* --- leaving ---------------------------------------------------------------------------------- */

static uint64_t
first_since(const kw_hbase_batch_queue *queue, size_t at)
{
    return ((const kw_hbase_pending_op *)queue->stops[at].pending_ops.head->data)->since_ns;
}

static size_t
fullest(const kw_hbase_batch_queue *queue)
{
    size_t best = queue->busy[0];
    for (size_t i = 1; i < queue->busy_count; i++) {
        if (queue->stops[queue->busy[i]].pending_ops.length > queue->stops[best].pending_ops.length)
            best = queue->busy[i];
    }
    return best;
}

static size_t
oldest(const kw_hbase_batch_queue *queue)
{
    size_t best = queue->busy[0];
    for (size_t i = 1; i < queue->busy_count; i++) {
        if (first_since(queue, queue->busy[i]) < first_since(queue, best))
            best = queue->busy[i];
    }
    return best;
}

static size_t
choose(const kw_hbase_batch_queue *queue, uint64_t now_ns)
{
    size_t old = oldest(queue);
    return first_since(queue, old) + LONG_NS < now_ns ? old : fullest(queue);
}

typedef struct load {
    kw_hbase_pending_op *pending_ops[KW_HBASE_BATCH_ROWS];
    size_t count;
    size_t bytes;
    bool full;
} load;

/* What of this stop still goes into the load. */
static void
load_stop(kw_hbase_batch_queue *queue, size_t at, uint64_t batch, load *to)
{
    stop *from = &queue->stops[at];
    while (from->pending_ops.length && !to->full) {
        kw_hbase_pending_op *pending = from->pending_ops.head->data;
        to->full = to->count == KW_HBASE_BATCH_ROWS ||
                   (to->count && to->bytes + pending->bytes > queue->coalescer->batch_bytes);
        if (to->full)
            return;
        take_out(queue, pending);
        if (pending->turn && !kw_hbase_row_queue_leave(pending, batch))
            continue;
        pending->state = KW_HBASE_PENDING_SENT;
        to->pending_ops[to->count++] = pending;
        to->bytes += pending->bytes;
    }
}

static void
leave_once(kw_hbase_batch_queue *queue, uint64_t now_ns)
{
    load taken = {.count = 0};
    uint64_t batch = ++queue->coalescer->batches;
    load_stop(queue, choose(queue, now_ns), batch, &taken);
    while (queue->busy_count && !taken.full && taken.count < BATCH_ENOUGH)
        load_stop(queue, fullest(queue), batch, &taken);
    if (taken.count == 0)
        return;
    queue->away++;
    if (taken.count > 1) {
        kw_metrics_add(KW_METRIC_store_calls_coalesced, 1);
        kw_metrics_add(KW_METRIC_store_rows_coalesced, (int64_t)taken.count);
    }
    taken.pending_ops[0]->class->leave(queue, taken.pending_ops, taken.count);
}

/* Once per turn of the loop, behind everything that arrived in it: what came together leaves together, and
 * nobody waits for a time. */
static void
on_turn_end(uv_check_t *handle)
{
    kw_hbase_coalescer *coalescer = handle->data;
    kw_hbase_batch_queue *queue = coalescer->first_due;
    coalescer->first_due = NULL;
    coalescer->last_due = &coalescer->first_due;
    uv_check_stop(handle);
    uv_idle_stop(&coalescer->awake);
    for (kw_hbase_batch_queue *next; queue; queue = next) {
        next = queue->next_due;
        queue->due = false;
        while (queue->waiting && queue->away < queue->width.now)
            leave_once(queue, kw_clock_mono_ns());
    }
}

static void
stay_awake(uv_idle_t *handle)
{
    (void)handle;
}

/* At the end of this turn somebody may leave. */
static void
mark_due(kw_hbase_batch_queue *queue)
{
    kw_hbase_coalescer *coalescer = queue->coalescer;
    if (queue->due || coalescer->closing || queue->waiting == 0 || queue->away >= queue->width.now)
        return;
    queue->due = true;
    queue->next_due = NULL;
    *coalescer->last_due = queue;
    coalescer->last_due = &queue->next_due;
    uv_check_start(&coalescer->turn_end, on_turn_end);
    uv_idle_start(&coalescer->awake, stay_awake);
}

static void
leave_alone(kw_hbase_pending_op *pending)
{
    if (pending->turn)
        kw_hbase_row_queue_leave(pending, ++pending->coalescer->batches);
    pending->state = KW_HBASE_PENDING_SENT;
    pending->class->leave(NULL, &pending, 1);
}

void
kw_hbase_batch_queue_join(kw_hbase_pending_op *pending)
{
    kw_hbase_batch_queue *queue = pending->queue;
    if (!queue) {
        kw_hbase_pending_op_untime(pending);
        leave_alone(pending);
        return;
    }
    pending->since_ns = kw_clock_mono_ns();
    put_in(queue, pending, false);
    mark_due(queue);
    kw_hbase_pending_op_time(pending);
    if (queue->boundaries && queue->away)
        kw_hbase_boundaries_use(queue->boundaries, kw_clock_mono_ns());
}

void
kw_hbase_batch_queue_return(kw_hbase_pending_op *pending)
{
    put_in(pending->queue, pending, true);
    mark_due(pending->queue);
}

void
kw_hbase_batch_queue_answered(kw_hbase_batch_queue *queue, size_t pending_ops)
{
    queue->away--;
    kw_hbase_width_answered(&queue->width, kw_clock_mono_ns(), pending_ops, queue->waiting != 0);
    mark_due(queue);
}

void
kw_hbase_pending_op_start_write(kw_hbase_pending_op *pending, kw_bytes table)
{
    pending->link.data = pending;
    if (kw_hbase_row_queue_arrive(pending->coalescer->turns, table, pending->row, pending))
        kw_hbase_batch_queue_join(pending);
    else
        kw_hbase_pending_op_time(pending);
}

void
kw_hbase_pending_op_done_write(kw_hbase_coalescer *coalescer, kw_hbase_row_queue *turn)
{
    kw_hbase_row_queue_done(coalescer->turns, turn);
}

/* --- batch queues ------------------------------------------------------------------------------------ */

static guint
queue_hash(gconstpointer key)
{
    const kw_hbase_batch_queue *queue = key;
    uint64_t hash = kw_bytes_hash(queue->table);
    return (guint)(hash ^ hash >> 32) * 31 + (guint)queue->kind * 7 + (guint)queue->durability;
}

static gboolean
queue_equal(gconstpointer a, gconstpointer b)
{
    const kw_hbase_batch_queue *one = a, *other = b;
    return one->kind == other->kind && one->durability == other->durability &&
           kw_bytes_equal(one->table, other->table);
}

static void
queue_free(gpointer user)
{
    kw_hbase_batch_queue *queue = user;
    g_assert(queue->waiting == 0);
    if (queue->boundaries)
        kw_hbase_boundaries_free(queue->boundaries);
    g_free(queue->stops);
    g_free(queue->busy);
    g_free(queue);
}

static kw_hbase_batch_queue *
queue_new(const kw_hbase_batch_queue *like)
{
    kw_hbase_batch_queue *queue = g_malloc0(sizeof *queue + like->table.size);
    memcpy(queue + 1, like->table.data, like->table.size);
    queue->coalescer = like->coalescer;
    queue->kind = like->kind;
    queue->durability = like->durability;
    queue->table = kw_bytes_of(queue + 1, like->table.size);
    kw_hbase_width_init(&queue->width, like->coalescer->channels);
    if (queue->kind != KW_HBASE_BATCH_GET)
        queue->boundaries =
            kw_hbase_boundaries_new(like->coalescer->handle, queue->table, boundaries_changed, queue);
    make_stops(queue, 1);
    return queue;
}

kw_hbase_batch_queue *
kw_hbase_coalescer_queue(kw_hbase_coalescer *coalescer, kw_hbase_batch_queue_kind kind, kw_bytes table,
                         kw_durability durability)
{
    kw_hbase_batch_queue key = {
        .coalescer = coalescer, .kind = kind, .table = table, .durability = durability};
    kw_hbase_batch_queue *queue = g_hash_table_lookup(coalescer->queues, &key);
    if (!queue) {
        queue = queue_new(&key);
        g_hash_table_add(coalescer->queues, queue);
    }
    return queue;
}

kw_bytes
kw_hbase_batch_queue_table(const kw_hbase_batch_queue *queue)
{
    return queue->table;
}

kw_hbase_coalescer *
kw_hbase_coalescer_new(kw_store_handle *handle, kw_loop *loop, uint32_t channels, size_t batch_bytes)
{
    kw_hbase_coalescer *coalescer = g_new0(kw_hbase_coalescer, 1);
    coalescer->handle = handle;
    coalescer->channels = channels;
    coalescer->batch_bytes = batch_bytes;
    coalescer->queues = g_hash_table_new_full(queue_hash, queue_equal, queue_free, NULL);
    coalescer->turns = kw_hbase_row_queues_new();
    g_queue_init(&coalescer->timed);
    uv_check_init(kw_loop_uv(loop), &coalescer->turn_end);
    uv_idle_init(kw_loop_uv(loop), &coalescer->awake);
    coalescer->turn_end.data = coalescer->awake.data = coalescer;
    coalescer->handles_open = 2;
    coalescer->last_due = &coalescer->first_due;
    coalescer->sweep = kw_timer_new(loop, sweep, coalescer);
    coalescer->sweep_ns = UINT64_MAX;
    return coalescer;
}

void
kw_hbase_coalescer_close(kw_hbase_coalescer *coalescer, const kw_error *error)
{
    coalescer->closing = true;
    kw_timer_free(g_steal_pointer(&coalescer->sweep));
    for (GList *at; (at = coalescer->timed.head);) {
        kw_hbase_pending_op *pending = at->data;
        if (pending->state == KW_HBASE_PENDING_SENT)
            kw_hbase_pending_op_untime(pending); /* its call ends with the pool */
        else
            give_up(pending, error);
    }
}

static void
handle_closed(uv_handle_t *handle)
{
    kw_hbase_coalescer *coalescer = handle->data;
    if (--coalescer->handles_open == 0)
        g_free(coalescer);
}

void
kw_hbase_coalescer_free(kw_hbase_coalescer *coalescer)
{
    g_hash_table_destroy(coalescer->queues);
    g_assert(g_hash_table_size(coalescer->turns) == 0);
    g_hash_table_destroy(coalescer->turns);
    uv_close((uv_handle_t *)&coalescer->turn_end, handle_closed);
    uv_close((uv_handle_t *)&coalescer->awake, handle_closed);
}
