/* Reads of one row, each in a call of its own or in a batch (batch_queue.h).
 *
 * Equal gets that were not sent yet share one get. A get that arrives after an equal one was sent starts a
 * new one, because a write may have been acknowledged in between. If a batch fails, and one of its gets can
 * be the reason, they are sent again one by one, so that each caller gets its own answer.
 */
#include "store/hbase/handle.h"
#include "store/hbase/thrift2/convert.h"

#include "base/metrics.h"
#include "store/columns.h"

typedef struct shared_get shared_get;
typedef struct get_batch get_batch;

/* One caller's get. */
typedef struct get_op {
    kw_hbase_pending_op pending;
    kw_hbase_call call; /* used if it is sent alone */
    kw_hbase_handle *handle;
    kw_rows *rows; /* its arena contains this struct */
    const kw_get *get;
    kw_get_done done;
    void *user;
    shared_get *shared; /* NULL: sent alone */
    GList link;         /* in shared->waiters */
} get_op;

/* A get for several callers with equal gets. The first waiter is in the batch queue for all of them. */
struct shared_get {
    kw_bytes table;
    const kw_get *get; /* that of the first waiter until it is sent, then the batch's copy */
    GQueue waiters;    /* get_op */
};

/* Gets that are sent together. The batch has copies of them, because a get whose deadline passes is freed
 * earlier. */
struct get_batch {
    kw_hbase_call call;
    kw_arena *arena; /* contains this struct */
    kw_hbase_handle *handle;
    kw_hbase_batch_queue *queue; /* NULL: a single get that is sent again after its batch failed */
    shared_get **shared_gets;
    size_t count;
    kw_hb_THBaseService_getMultiple_args args;
};

/* --- shared gets ------------------------------------------------------------------------------ */

static guint
shared_hash(gconstpointer key)
{
    const shared_get *shared = key;
    kw_hbase_row_key row = {.table = shared->table, .row = shared->get->row};
    return kw_hbase_row_key_hash(&row);
}

static bool
same_columns(const kw_get *one, const kw_get *other)
{
    if (one->columns_count != other->columns_count)
        return false;
    for (size_t i = 0; i < one->columns_count; i++) {
        const kw_column *a = &one->columns[i], *b = &other->columns[i];
        if (a->whole_family != b->whole_family || !kw_bytes_equal(a->family, b->family) ||
            !(a->whole_family || kw_bytes_equal(a->qualifier, b->qualifier)))
            return false;
    }
    return true;
}

static gboolean
shared_equal(gconstpointer a, gconstpointer b)
{
    const shared_get *shared = a, *other = b;
    const kw_get *one = shared->get, *two = other->get;
    return kw_bytes_equal(one->row, two->row) && kw_bytes_equal(shared->table, other->table) &&
           MAX(one->max_versions, 1) == MAX(two->max_versions, 1) && one->time_from == two->time_from &&
           one->time_to == two->time_to && kw_bytes_equal(one->filter, two->filter) && same_columns(one, two);
}

GHashTable *
kw_hbase_shared_gets_new(void)
{
    return g_hash_table_new(shared_hash, shared_equal);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void
answer_error(get_op *op, const kw_error *error)
{
    kw_get_done done = op->done;
    void *user = op->user;
    kw_error copy = *error;
    kw_rows_free(op->rows);
    kw_metrics_add(KW_METRIC_store_errors, 1);
    done(user, NULL, &copy);
}

static void
answer_rows(get_op *op)
{
    kw_rows *rows = op->rows;
    rows->count = 1;
    rows->scanned = 1;
    op->done(op->user, rows, NULL);
}

/* Omits a row that is larger than the caller's limit; false in this case. */
static bool
check_size(get_op *op)
{
    kw_rows *rows = op->rows;
    if (op->get->max_bytes == 0 || rows->bytes <= op->get->max_bytes)
        return true;
    rows->rows[0] =
        (kw_row){.key = kw_arena_copy(rows->arena, op->get->row), .omitted = KW_OMITTED_TOO_LARGE};
    rows->bytes = 0;
    return false;
}

/* Each waiter gets a copy of the row, because the reply's memory is reused. */
static void
answer_copy(get_op *op, const kw_hb_TResult *result)
{
    kw_rows *rows = op->rows;
    kw_row *row = rows->rows = KW_ARENA_NEW(rows->arena, kw_row);
    kw_error error;
    if (!kw_hbase_from_get_result(rows, op->get, result, row, &error)) {
        answer_error(op, &error);
        return;
    }
    if (check_size(op)) {
        row->key = kw_arena_copy(rows->arena, row->key);
        row->cells = kw_hbase_copy_cells(rows->arena, row->cells, row->cells_count);
    }
    answer_rows(op);
}

/* --- a get in a call of its own --------------------------------------------------------------- */

static void
alone_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    get_op *op = call->user;
    const kw_hb_THBaseService_get_result *answer = result;
    kw_error error;
    if (op->pending.queue)
        kw_hbase_batch_queue_answered(op->pending.queue, 1);
    if (failure) {
        kw_hbase_explain_filter_failure(op->get->filter, failure, &error);
        answer_error(op, &error);
        return;
    }
    static const kw_hb_TResult empty;
    op->rows->rows = KW_ARENA_NEW(op->rows->arena, kw_row);
    if (!kw_hbase_from_get_result(op->rows, op->get, answer->success ? answer->success : &empty,
                                  &op->rows->rows[0], &error)) {
        answer_error(op, &error);
        return;
    }
    if (op->get->columns_count == 0)
        kw_hbase_note_row_bytes(op->handle, op->get->table, op->rows->bytes);
    check_size(op);
    answer_rows(op);
}

static void
send_alone(get_op *op)
{
    kw_arena *arena = op->rows->arena;
    kw_hb_THBaseService_get_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_get_args);
    kw_hb_TGet *tget = KW_ARENA_NEW(arena, kw_hb_TGet);
    kw_hbase_to_get(arena, op->get, tget);
    args->table = op->get->table;
    args->tget = tget;
    kw_hbase_pending_op_unwatch(&op->pending);
    op->call = (kw_hbase_call){.method = KW_HB_THBaseService_get,
                               .args = args,
                               .table = op->get->table,
                               .deadline = op->pending.deadline,
                               .repeatable = true,
                               .keep = arena,
                               .account = op->get->account,
                               .number = op->get->call,
                               .done = alone_done,
                               .user = op};
    kw_hbase_pool_start(&op->handle->pool, &op->call);
}

/* --- batches ---------------------------------------------------------------------------------- */

static void start_batch(kw_hbase_handle *handle, kw_hbase_batch_queue *queue, shared_get *const *shared_gets,
                        size_t count);

static void
answer_all(get_batch *batch, const kw_hb_THBaseService_getMultiple_result *answer, const kw_error *error)
{
    for (size_t i = 0; i < batch->count; i++) {
        shared_get *shared = batch->shared_gets[i];
        for (GList *at; (at = g_queue_pop_head_link(&shared->waiters));) {
            get_op *op = at->data;
            kw_hbase_pending_op_unwatch(&op->pending);
            op->shared = NULL;
            if (error) {
                answer_error(op, error);
            } else {
                answer_copy(op, &answer->success.items[i]);
            }
        }
        g_free(shared);
    }
}

/* True if the gets can have different results when they are sent one by one. */
static bool
is_worth_splitting(const get_batch *batch, kw_hbase_failure_kind kind)
{
    return batch->count > 1 && (kind == KW_HBASE_OTHER || kind == KW_HBASE_REPLY_TOO_LARGE ||
                                kind == KW_HBASE_TEMPORARY || kind == KW_HBASE_INTERNAL_ERROR);
}

static void
send_one_by_one(get_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->shared_gets[i]->waiters.length)
            start_batch(batch->handle, NULL, &batch->shared_gets[i], 1);
        else
            g_free(batch->shared_gets[i]);
    }
}

static void
note_size(kw_hbase_handle *handle, const kw_hb_TResult *result, const kw_get *get)
{
    size_t bytes = result->row.size;
    if (get->columns_count || result->columnValues.count == 0)
        return;
    for (uint32_t i = 0; i < result->columnValues.count; i++)
        bytes += result->columnValues.items[i].qualifier.size + result->columnValues.items[i].value.size;
    kw_hbase_note_row_bytes(handle, get->table, bytes);
}

/* Returns the number of callers. So a concurrency at which more callers share a get is rated higher. */
static size_t
count_waiters(const get_batch *batch)
{
    size_t waiters = 0;
    for (size_t i = 0; i < batch->count; i++)
        waiters += batch->shared_gets[i]->waiters.length;
    return waiters;
}

static void
batch_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    get_batch *batch = call->user;
    const kw_hb_THBaseService_getMultiple_result *answer = result;
    kw_hbase_failure wrong_count;
    if (!failure && !kw_hbase_check_row_count(answer, batch->count, &wrong_count))
        failure = &wrong_count;
    if (!failure)
        note_size(batch->handle, &answer->success.items[0], batch->shared_gets[0]->get);
    if (batch->queue)
        kw_hbase_batch_queue_answered(batch->queue, count_waiters(batch));
    if (failure && is_worth_splitting(batch, failure->kind))
        send_one_by_one(batch);
    else
        answer_all(batch, answer, failure ? &failure->error : NULL);
    kw_arena_free(batch->arena);
}

static const kw_get *
copy_get(kw_arena *arena, const kw_get *get)
{
    kw_get *copy = KW_ARENA_NEW(arena, kw_get);
    *copy = *get;
    copy->table = kw_arena_copy(arena, get->table);
    copy->row = kw_arena_copy(arena, get->row);
    copy->filter = kw_arena_copy(arena, get->filter);
    copy->columns = kw_columns_copy(get->columns, get->columns_count, arena);
    return copy;
}

/* Marks the waiters as sent. Returns the latest of their deadlines and `deadline`. */
static kw_deadline
mark_sent(const shared_get *shared, kw_deadline deadline)
{
    for (GList *at = shared->waiters.head; at; at = at->next) {
        get_op *op = at->data;
        op->pending.state = KW_HBASE_PENDING_SENT;
        kw_hbase_pending_op_watch(&op->pending);
        deadline = MAX(deadline, op->pending.deadline);
    }
    return deadline;
}

static void
start_batch(kw_hbase_handle *handle, kw_hbase_batch_queue *queue, shared_get *const *shared_gets,
            size_t count)
{
    g_assert(count > 0 && count <= KW_HBASE_BATCH_ROWS);
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    get_batch *batch = KW_ARENA_NEW(arena, get_batch);
    kw_hb_TGet *tgets = KW_ARENA_ARRAY(arena, kw_hb_TGet, count);
    kw_deadline deadline = 0;
    batch->arena = arena;
    batch->handle = handle;
    batch->queue = queue;
    batch->shared_gets = KW_ARENA_ARRAY(arena, shared_get *, count);
    batch->count = count;
    for (size_t i = 0; i < count; i++) {
        shared_get *shared = shared_gets[i];
        shared->get = copy_get(arena, shared->get);
        deadline = mark_sent(shared, deadline);
        kw_hbase_to_get(arena, shared->get, &tgets[i]);
        batch->shared_gets[i] = shared;
    }
    batch->args.table = shared_gets[0]->get->table;
    batch->args.tgets.items = tgets;
    batch->args.tgets.count = (uint32_t)count;
    batch->call = (kw_hbase_call){.method = KW_HB_THBaseService_getMultiple,
                                  .args = &batch->args,
                                  .table = batch->args.table,
                                  .deadline = deadline,
                                  .repeatable = true,
                                  .whole = count > 1,
                                  .done = batch_done,
                                  .user = batch};
    kw_hbase_pool_start(&handle->pool, &batch->call);
}

static void
send_ops(kw_hbase_batch_queue *queue, kw_hbase_pending_op *const *pending_ops, size_t count)
{
    kw_hbase_handle *handle = ((get_op *)pending_ops[0])->handle;
    shared_get *shared_gets[KW_HBASE_BATCH_ROWS];
    for (size_t i = 0; i < count; i++) {
        shared_gets[i] = ((get_op *)pending_ops[i])->shared;
        g_hash_table_remove(handle->shared_gets, shared_gets[i]);
    }
    if (count == 1 && shared_gets[0]->waiters.length == 1) {
        g_free(g_steal_pointer(&((get_op *)pending_ops[0])->shared));
        send_alone((get_op *)pending_ops[0]);
    } else {
        start_batch(handle, queue, shared_gets, count);
    }
}

/* The first waiter has failed: the next one takes its place in the batch queue. */
static void
replace_first(get_op *failed, shared_get *shared)
{
    g_hash_table_remove(failed->handle->shared_gets, shared);
    get_op *next = g_queue_peek_head(&shared->waiters);
    if (!next) {
        g_free(shared);
        return;
    }
    shared->get = next->get;
    shared->table = next->get->table;
    g_hash_table_add(failed->handle->shared_gets, shared);
    kw_hbase_batch_queue_put_back(&next->pending);
}

static bool
can_have_been_sent(const kw_hbase_pending_op *pending)
{
    return pending->state == KW_HBASE_PENDING_SENT;
}

static void
fail(kw_hbase_pending_op *pending, const kw_error *error)
{
    get_op *op = (get_op *)pending;
    shared_get *shared = op->shared;
    bool first = shared->waiters.head == &op->link;
    g_queue_unlink(&shared->waiters, &op->link);
    if (first && pending->state == KW_HBASE_PENDING_QUEUED)
        replace_first(op, shared);
    answer_error(op, error);
}

static const kw_hbase_pending_op_class pending_class = {
    .send = send_ops, .can_have_been_sent = can_have_been_sent, .fail = fail};

/* --- start ------------------------------------------------------------------------------------ */

static void
join_or_start_shared(get_op *op)
{
    kw_hbase_handle *handle = op->handle;
    shared_get key = {.table = op->get->table, .get = op->get};
    op->shared = g_hash_table_lookup(handle->shared_gets, &key);
    op->link.data = op;
    if (op->shared) {
        kw_metrics_add(KW_METRIC_store_reads_shared, 1);
        op->pending.state = KW_HBASE_PENDING_BLOCKED;
        g_queue_push_tail_link(&op->shared->waiters, &op->link);
        kw_hbase_pending_op_watch(&op->pending);
        return;
    }
    op->shared = g_memdup2(&key, sizeof key);
    g_queue_init(&op->shared->waiters);
    g_queue_push_tail_link(&op->shared->waiters, &op->link);
    g_hash_table_add(handle->shared_gets, op->shared);
    kw_hbase_batch_queue_join(&op->pending);
}

void
kw_hbase_get(kw_store_handle *base, const kw_get *get, kw_get_done done, void *user)
{
    kw_hbase_handle *handle = kw_hbase_handle_of(base);
    kw_rows *rows = kw_rows_new_for(get->account);
    get_op *op = KW_ARENA_NEW(rows->arena, get_op);
    op->handle = handle;
    op->rows = rows;
    op->get = get;
    op->done = done;
    op->user = user;
    kw_hbase_pending_op_init(&op->pending, &pending_class, handle->coalescer, get->row,
                             kw_hbase_deadline(get->deadline));
    if (get->filter.size && !get->filter_is_safe) { /* if HBase rejects the filter, the whole call fails */
        send_alone(op);
        return;
    }
    op->pending.bytes = get->row.size + kw_hbase_row_bytes(handle, get->table);
    op->pending.queue =
        kw_hbase_coalescer_queue(handle->coalescer, KW_HBASE_BATCH_GET, get->table, KW_DURABILITY_DEFAULT);
    join_or_start_shared(op);
}
