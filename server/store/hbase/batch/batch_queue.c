/* See batch_queue.h. A batch contains operations of the region that has the most of them waiting, so that
 * HBase sends it to one region server. If that region has only a few, the batch also contains operations of
 * other regions. A region whose first operation has waited long is sent before all others. */
#include "store/hbase/batch/batch_queue.h"

#include "store/hbase/batch/region_queues.h"
#include "store/hbase/batch/row_queues.h"
#include "store/hbase/link/failure.h"

#include "base/metrics.h"
#include "base/units.h"

/* A batch with fewer rows than this also contains rows of other regions. */
#define ROWS_ENOUGH 8
/* The oldest operation's region is sent first if that operation has waited this long. */
#define WAITED_LONG_NS (UINT64_C(20) * 1000 * 1000)
/* Least time between two sweeps. */
#define SWEEP_MIN_NS (2 * UINT64_C(1000000))

/* Batch queues with the same concurrency: most are alone in their group. */
typedef struct queue_group {
    kw_hbase_concurrency concurrency;
    size_t waiting; /* operations, in all batch queues of the group */
} queue_group;

struct kw_hbase_batch_queue {
    kw_hbase_coalescer *coalescer;
    kw_hbase_batch_queue_kind kind;
    kw_durability durability;
    kw_bytes table;     /* stored after the struct */
    queue_group *group; /* `own`, or one of the coalescer's */
    queue_group own;
    uint32_t in_flight;              /* number of calls */
    kw_hbase_region_queues regions;  /* queued operations, by region */
    kw_hbase_boundaries *boundaries; /* NULL for gets */
    bool due;                        /* in the coalescer's list of due queues: those that can send */
    kw_hbase_batch_queue *next_due;
};

struct kw_hbase_coalescer {
    kw_store_handle *handle;
    uint32_t channels;
    size_t batch_bytes;
    GHashTable *queues;     /* kw_hbase_batch_queue */
    GHashTable *row_queues; /* see row_queues.h */
    GQueue watched;         /* operations whose deadline is watched */
    kw_timer *sweep;        /* fails expired operations */
    uint64_t sweep_ns;      /* when the next sweep runs; UINT64_MAX: none is scheduled */
    uint64_t batches;       /* number of batches so far, and number of the latest batch */
    bool closing;
    uv_check_t iteration_end; /* active while a batch queue is due */
    uv_idle_t keep_awake;     /* active at the same time, so that the loop does not block for I/O first */
    int handles_open;
    kw_hbase_batch_queue *first_due;
    kw_hbase_batch_queue **last_due;
    queue_group rows[KW_DURABILITY_FSYNC_WAL + 1]; /* of KW_HBASE_BATCH_PUT_ROWS, by durability */
};

/* --- waiting operations ----------------------------------------------------------------------- */

static void
add_waiting(kw_hbase_pending_op *pending, bool at_head)
{
    kw_hbase_batch_queue *queue = pending->queue;
    kw_hbase_region_queues_push(&queue->regions, queue->boundaries, pending, at_head);
    queue->group->waiting++;
}

static void
remove_waiting(kw_hbase_pending_op *pending)
{
    kw_hbase_batch_queue *queue = pending->queue;
    g_assert(queue->group->waiting > 0);
    kw_hbase_region_queues_remove(&queue->regions, pending);
    queue->group->waiting--;
}

/* --- deadlines -------------------------------------------------------------------------------- */

static void
schedule_sweep(kw_hbase_coalescer *coalescer, uint64_t when_ns)
{
    if (when_ns >= coalescer->sweep_ns || coalescer->closing)
        return;
    uint64_t now = kw_clock_mono_ns();
    coalescer->sweep_ns = MAX(when_ns, now + SWEEP_MIN_NS);
    kw_timer_start_ms(coalescer->sweep, (coalescer->sweep_ns - now + KW_NS_PER_MS - 1) / KW_NS_PER_MS);
}

void
kw_hbase_pending_op_watch(kw_hbase_pending_op *pending)
{
    if (pending->watched)
        return;
    pending->watched = true;
    g_queue_push_tail_link(&pending->coalescer->watched, &pending->watch_link);
    schedule_sweep(pending->coalescer, pending->deadline);
}

void
kw_hbase_pending_op_unwatch(kw_hbase_pending_op *pending)
{
    if (!pending->watched)
        return;
    g_assert(pending->coalescer->watched.length > 0);
    pending->watched = false;
    g_queue_unlink(&pending->coalescer->watched, &pending->watch_link);
}

/* Removes the operation from every queue and fails it. */
static void
fail_pending(kw_hbase_pending_op *pending, const kw_error *error)
{
    kw_hbase_pending_op_unwatch(pending);
    if (pending->state == KW_HBASE_PENDING_QUEUED)
        remove_waiting(pending);
    if (pending->row_queue && pending->state != KW_HBASE_PENDING_SENT)
        kw_hbase_row_queue_remove(pending->coalescer->row_queues, pending);
    pending->class->fail(pending, error);
}

/* The time at which the operation fails if it is not done. */
static kw_deadline
expires_at(const kw_hbase_pending_op *pending)
{
    kw_deadline settled = pending->class->settled_at ? pending->class->settled_at(pending) : 0;
    return MAX(pending->deadline, settled);
}

/* Fails expired operations. This can start other operations and so change the list; the expired operations
 * are therefore collected first. */
static void
sweep(void *user)
{
    kw_hbase_coalescer *coalescer = user;
    uint64_t now = kw_clock_mono_ns(), next = UINT64_MAX;
    g_autoptr(GPtrArray) expired = g_ptr_array_new();
    coalescer->sweep_ns = UINT64_MAX;
    for (GList *at = coalescer->watched.head; at; at = at->next) {
        kw_deadline end = expires_at(at->data);
        if (end <= now)
            g_ptr_array_add(expired, at->data);
        else
            next = MIN(next, end);
    }
    schedule_sweep(coalescer, next);
    for (guint i = 0; i < expired->len; i++) {
        kw_hbase_pending_op *pending = expired->pdata[i];
        if (!pending->watched)
            continue; /* it was sent in a call of its own when an earlier expired operation failed */
        kw_error error;
        bool can_have_been_sent = pending->class->can_have_been_sent(pending);
        kw_hbase_timeout_error(can_have_been_sent, pending->row_queue != NULL, &error);
        fail_pending(pending, &error);
    }
}

/* --- sending ---------------------------------------------------------------------------------- */

static size_t
choose_region(const kw_hbase_batch_queue *queue, uint64_t now_ns)
{
    size_t oldest = kw_hbase_region_queues_oldest(&queue->regions);
    uint64_t since_ns = kw_hbase_region_queues_first(&queue->regions, oldest)->since_ns;
    return since_ns + WAITED_LONG_NS < now_ns ? oldest : kw_hbase_region_queues_longest(&queue->regions);
}

typedef struct batch {
    kw_hbase_pending_op *pending_ops[KW_HBASE_BATCH_ROWS];
    size_t count;
    size_t bytes;
    bool full;
    uint64_t number;
} batch;

static bool
has_space(const batch *to, const kw_hbase_pending_op *pending, size_t max_bytes)
{
    return to->count < KW_HBASE_BATCH_ROWS && (to->count == 0 || to->bytes + pending->bytes <= max_bytes);
}

/* Moves operations of the region into the batch until the region has no more or the batch is full. */
static void
fill_from_region(kw_hbase_batch_queue *queue, size_t region, batch *to)
{
    kw_hbase_pending_op *pending;
    while ((pending = kw_hbase_region_queues_first(&queue->regions, region))) {
        if (!has_space(to, pending, queue->coalescer->batch_bytes)) {
            to->full = true;
            return;
        }
        remove_waiting(pending);
        if (pending->row_queue && !kw_hbase_row_queue_try_send(pending, to->number))
            continue;
        pending->state = KW_HBASE_PENDING_SENT;
        to->pending_ops[to->count++] = pending;
        to->bytes += pending->bytes;
    }
}

static void
send_batch(kw_hbase_batch_queue *queue, uint64_t now_ns)
{
    batch next = {.number = ++queue->coalescer->batches};
    fill_from_region(queue, choose_region(queue, now_ns), &next);
    while (queue->regions.waiting && !next.full && next.count < ROWS_ENOUGH)
        fill_from_region(queue, kw_hbase_region_queues_longest(&queue->regions), &next);
    if (next.count == 0)
        return;
    queue->in_flight++;
    if (next.count > 1) {
        kw_metrics_add(KW_METRIC_store_calls_coalesced, 1);
        kw_metrics_add(KW_METRIC_store_rows_coalesced, (int64_t)next.count);
    }
    next.pending_ops[0]->class->send(queue, next.pending_ops, next.count);
}

static bool
can_send(const kw_hbase_batch_queue *queue)
{
    return queue->regions.waiting > 0 && queue->in_flight < queue->group->concurrency.now;
}

/* Runs at the end of a loop iteration, after all input of the iteration was handled. Operations that
 * arrived in the same iteration are therefore sent together, and no operation waits for a timer. */
static void
on_iteration_end(uv_check_t *handle)
{
    kw_hbase_coalescer *coalescer = handle->data;
    kw_hbase_batch_queue *queue = coalescer->first_due;
    coalescer->first_due = NULL;
    coalescer->last_due = &coalescer->first_due;
    uv_check_stop(handle);
    uv_idle_stop(&coalescer->keep_awake);
    for (kw_hbase_batch_queue *next; queue; queue = next) {
        next = queue->next_due;
        queue->due = false;
        while (can_send(queue))
            send_batch(queue, kw_clock_mono_ns());
    }
}

static void
do_nothing(uv_idle_t *handle)
{
    (void)handle;
}

/* If the queue can send, makes on_iteration_end send its operations. */
static void
mark_due(kw_hbase_batch_queue *queue)
{
    kw_hbase_coalescer *coalescer = queue->coalescer;
    if (queue->due || coalescer->closing || !can_send(queue))
        return;
    queue->due = true;
    queue->next_due = NULL;
    *coalescer->last_due = queue;
    coalescer->last_due = &queue->next_due;
    uv_check_start(&coalescer->iteration_end, on_iteration_end);
    uv_idle_start(&coalescer->keep_awake, do_nothing);
}

static void
send_alone(kw_hbase_pending_op *pending)
{
    if (pending->row_queue) {
        /* An operation without a batch queue starts when its row has no other write in flight. */
        bool allowed = kw_hbase_row_queue_try_send(pending, ++pending->coalescer->batches);
        g_assert(allowed);
    }
    pending->state = KW_HBASE_PENDING_SENT;
    pending->class->send(NULL, &pending, 1);
}

void
kw_hbase_batch_queue_join(kw_hbase_pending_op *pending)
{
    kw_hbase_batch_queue *queue = pending->queue;
    if (!queue) {
        kw_hbase_pending_op_unwatch(pending);
        send_alone(pending);
        return;
    }
    pending->since_ns = kw_clock_mono_ns();
    add_waiting(pending, false);
    mark_due(queue);
    kw_hbase_pending_op_watch(pending);
    if (queue->boundaries && queue->in_flight)
        kw_hbase_boundaries_use(queue->boundaries, kw_clock_mono_ns());
}

void
kw_hbase_batch_queue_put_back(kw_hbase_pending_op *pending)
{
    g_assert(pending->queue);
    add_waiting(pending, true);
    mark_due(pending->queue);
}

void
kw_hbase_batch_queue_answered(kw_hbase_batch_queue *queue, size_t pending_ops)
{
    g_assert(queue->in_flight > 0);
    queue->in_flight--;
    kw_hbase_concurrency_answered(&queue->group->concurrency, kw_clock_mono_ns(), pending_ops,
                                  queue->group->waiting > 0);
    mark_due(queue);
}

void
kw_hbase_pending_op_start_write(kw_hbase_pending_op *pending, kw_bytes table)
{
    g_assert(!pending->row_queue);
    if (kw_hbase_row_queue_add(pending->coalescer->row_queues, table, pending->row, pending))
        kw_hbase_batch_queue_join(pending);
    else
        kw_hbase_pending_op_watch(pending);
}

void
kw_hbase_pending_op_finish_write(kw_hbase_coalescer *coalescer, kw_hbase_row_queue *row_queue)
{
    kw_hbase_row_queue_finish(coalescer->row_queues, row_queue);
}

void
kw_hbase_pending_op_init(kw_hbase_pending_op *pending, const kw_hbase_pending_op_class *class,
                         kw_hbase_coalescer *coalescer, kw_bytes row, kw_deadline deadline)
{
    g_assert(class->send && class->can_have_been_sent && class->fail);
    g_assert(deadline != KW_DEADLINE_NONE);
    pending->class = class;
    pending->coalescer = coalescer;
    pending->row = row;
    pending->deadline = deadline;
    pending->link.data = pending;
    pending->watch_link.data = pending;
}

/* --- batch queues ----------------------------------------------------------------------------- */

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
    g_assert(queue->in_flight == 0 && queue->own.waiting == 0);
    if (queue->boundaries)
        kw_hbase_boundaries_free(queue->boundaries);
    kw_hbase_region_queues_clear(&queue->regions);
    g_free(queue);
}

static void
boundaries_changed(void *user)
{
    kw_hbase_batch_queue *queue = user;
    kw_hbase_region_queues_rebuild(&queue->regions, queue->boundaries);
}

static kw_hbase_batch_queue *
queue_new(const kw_hbase_batch_queue *key)
{
    kw_hbase_batch_queue *queue = g_malloc0(sizeof *queue + key->table.size);
    memcpy(queue + 1, key->table.data, key->table.size);
    queue->coalescer = key->coalescer;
    queue->kind = key->kind;
    queue->durability = key->durability;
    queue->table = kw_bytes_of(queue + 1, key->table.size);
    bool shares = queue->kind == KW_HBASE_BATCH_PUT_ROWS;
    queue->group = shares ? &queue->coalescer->rows[queue->durability] : &queue->own;
    kw_hbase_concurrency_init(&queue->own.concurrency, queue->coalescer->channels);
    kw_hbase_region_queues_init(&queue->regions);
    if (queue->kind != KW_HBASE_BATCH_GET)
        queue->boundaries =
            kw_hbase_boundaries_new(key->coalescer->handle, queue->table, boundaries_changed, queue);
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

/* --- the coalescer ---------------------------------------------------------------------------- */

kw_hbase_coalescer *
kw_hbase_coalescer_new(kw_store_handle *handle, kw_loop *loop, uint32_t channels, size_t batch_bytes)
{
    g_assert(channels > 0);
    kw_hbase_coalescer *coalescer = g_new0(kw_hbase_coalescer, 1);
    coalescer->handle = handle;
    coalescer->channels = channels;
    coalescer->batch_bytes = batch_bytes;
    for (size_t i = 0; i < G_N_ELEMENTS(coalescer->rows); i++)
        kw_hbase_concurrency_init(&coalescer->rows[i].concurrency, channels);
    coalescer->queues = g_hash_table_new_full(queue_hash, queue_equal, queue_free, NULL);
    coalescer->row_queues = kw_hbase_row_queues_new();
    g_queue_init(&coalescer->watched);
    uv_check_init(kw_loop_uv(loop), &coalescer->iteration_end);
    uv_idle_init(kw_loop_uv(loop), &coalescer->keep_awake);
    coalescer->iteration_end.data = coalescer->keep_awake.data = coalescer;
    coalescer->handles_open = 2;
    coalescer->last_due = &coalescer->first_due;
    coalescer->sweep = kw_timer_new(loop, sweep, coalescer);
    coalescer->sweep_ns = UINT64_MAX;
    return coalescer;
}

void
kw_hbase_coalescer_close(kw_hbase_coalescer *coalescer, const kw_error *error)
{
    g_assert(!coalescer->closing);
    coalescer->closing = true;
    kw_timer_free(g_steal_pointer(&coalescer->sweep));
    for (GList *at; (at = coalescer->watched.head);) {
        kw_hbase_pending_op *pending = at->data;
        if (pending->state == KW_HBASE_PENDING_SENT)
            kw_hbase_pending_op_unwatch(pending); /* the pool ends its call */
        else
            fail_pending(pending, error);
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
    g_assert(coalescer->closing && coalescer->watched.length == 0);
    g_hash_table_destroy(coalescer->queues);
    g_assert(g_hash_table_size(coalescer->row_queues) == 0);
    g_hash_table_destroy(coalescer->row_queues);
    uv_close((uv_handle_t *)&coalescer->iteration_end, handle_closed);
    uv_close((uv_handle_t *)&coalescer->keep_awake, handle_closed);
}
