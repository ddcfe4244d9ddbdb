/* Writes of one row, each in a call of its own or in a batch (batch_queue.h). Each write has an outcome of
 * its own. A write with a timestamp can be sent twice, unless it is marked `once`. A write that gets its
 * timestamp from the region server cannot. */
#include "store/hbase/batch/row_queues.h"
#include "store/hbase/handle.h"
#include "store/hbase/thrift2/convert.h"

#include "base/metrics.h"
#include "store/columns.h"

/* After its deadline, an operation waits at most this time until it is certain whether its batch was sent.
 * Callers must be answered within 20 ms after their deadline. */
#define SETTLE_NS (UINT64_C(8) * 1000 * 1000)

typedef struct write_batch write_batch;

typedef struct write_op {
    kw_hbase_pending_op pending;
    kw_hbase_call call; /* used if it is sent alone */
    kw_hbase_handle *handle;
    kw_arena *arena; /* contains this struct */
    const kw_write *write;
    kw_write_done done;
    void *user;
    write_batch *batch; /* NULL: not part of one */
    size_t index;       /* in the batch */
} write_op;

/* Writes that are sent together. The batch has copies of them, because a write whose deadline passes is
 * answered and freed before the call is done. */
struct write_batch {
    kw_arena *arena; /* contains this struct */
    kw_hbase_coalescer *coalescer;
    kw_hbase_batch_queue *queue;
    bool sent;            /* one of its calls may have reached a server */
    kw_deadline deadline; /* until then it can still be sent */
    size_t count;
    write_op **ops; /* NULL for those already answered */
    kw_hbase_row_queue **row_queues;
    const kw_write **writes;
    kw_written *results;
};

kw_outcome
kw_hbase_outcome(const kw_hbase_failure *failure)
{
    return failure->error.maybe_applied ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED;
}

static const void *
put_args(kw_arena *arena, const kw_write *write, kw_durability durability)
{
    kw_hb_THBaseService_put_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_put_args);
    kw_hb_TPut *put = KW_ARENA_NEW(arena, kw_hb_TPut);
    kw_hbase_to_put(arena, write, durability, put);
    args->table = write->table;
    args->tput = put;
    return args;
}

static const void *
delete_args(kw_arena *arena, const kw_write *write, kw_durability durability)
{
    kw_hb_THBaseService_deleteSingle_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_deleteSingle_args);
    kw_hb_TDelete *removal = KW_ARENA_NEW(arena, kw_hb_TDelete);
    kw_hbase_to_delete(arena, write, durability, removal);
    args->table = write->table;
    args->tdelete = removal;
    return args;
}

static const void *
mutate_args(kw_arena *arena, const kw_write *write, kw_durability durability)
{
    kw_hb_THBaseService_mutateRow_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_mutateRow_args);
    args->table = write->table;
    args->trowMutations = kw_hbase_to_mutations(arena, write, durability);
    return args;
}

void
kw_hbase_write_prepare(kw_arena *arena, const kw_write *write, kw_durability durability,
                       kw_hbase_call *ret_call)
{
    switch (kw_hbase_shape_of(write)) {
    case KW_HBASE_SHAPE_PUT:
        ret_call->method = KW_HB_THBaseService_put;
        ret_call->args = put_args(arena, write, durability);
        break;
    case KW_HBASE_SHAPE_DELETE:
        ret_call->method = KW_HB_THBaseService_deleteSingle;
        ret_call->args = delete_args(arena, write, durability);
        break;
    case KW_HBASE_SHAPE_MUTATIONS:
        ret_call->method = KW_HB_THBaseService_mutateRow;
        ret_call->args = mutate_args(arena, write, durability);
        break;
    }
    ret_call->table = write->table;
    ret_call->repeatable = !kw_hbase_is_once(write);
    ret_call->changes = true;
    ret_call->fenced = write->fenced;
    ret_call->era = write->era;
}

/* --- a write in a call of its own ------------------------------------------------------------- */

static void
answer(write_op *op, kw_outcome outcome, const kw_error *error)
{
    kw_write_done done = op->done;
    void *user = op->user;
    kw_arena_free(op->arena);
    if (error)
        kw_metrics_add(KW_METRIC_store_errors, 1);
    done(user, outcome, error);
}

static void
alone_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    write_op *op = call->user;
    kw_hbase_batch_queue *queue = op->pending.queue;
    kw_hbase_pending_op_finish_write(op->pending.coalescer, op->pending.row_queue);
    if (queue)
        kw_hbase_batch_queue_answered(queue, 1);
    if (failure && kw_hbase_is_once(op->write) && failure->kind == KW_HBASE_OTHER)
        kw_hbase_families_forget(op->handle, op->write->table);
    if (failure)
        answer(op, kw_hbase_outcome(failure), &failure->error);
    else
        answer(op, KW_OUTCOME_OK, NULL);
}

static void
send_alone(write_op *op)
{
    kw_hbase_pending_op_unwatch(&op->pending);
    op->call.user = op;
    op->call.done = alone_done;
    op->call.deadline = op->pending.deadline;
    kw_hbase_write_prepare(op->arena, op->write, op->write->durability, &op->call);
    kw_hbase_pool_start(&op->handle->pool, &op->call);
}

/* --- batches ---------------------------------------------------------------------------------- */

static void
batch_done(void *user)
{
    write_batch *batch = user;
    for (size_t i = 0; i < batch->count; i++)
        kw_hbase_pending_op_finish_write(batch->coalescer, batch->row_queues[i]);
    kw_hbase_batch_queue_answered(batch->queue, batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        write_op *op = batch->ops[i];
        const kw_written *result = &batch->results[i];
        if (!op)
            continue;
        kw_hbase_pending_op_unwatch(&op->pending);
        answer(op, result->outcome, result->outcome == KW_OUTCOME_OK ? NULL : &result->error);
    }
    kw_arena_free(batch->arena);
}

static const kw_write *
copy_write(kw_arena *arena, const kw_write *write)
{
    kw_write *copy = KW_ARENA_NEW(arena, kw_write);
    *copy = *write;
    copy->table = kw_arena_copy(arena, write->table);
    copy->row = kw_arena_copy(arena, write->row);
    copy->cells = kw_hbase_copy_cells(arena, write->cells, write->cells_count);
    copy->columns = kw_columns_copy(write->columns, write->columns_count, arena);
    return copy;
}

static void
start_batch(kw_hbase_batch_queue *queue, kw_hbase_pending_op *const *pending_ops, size_t count)
{
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    write_batch *batch = KW_ARENA_NEW(arena, write_batch);
    kw_deadline deadline = 0;
    *batch = (write_batch){.arena = arena,
                           .coalescer = pending_ops[0]->coalescer,
                           .queue = queue,
                           .count = count,
                           .ops = KW_ARENA_ARRAY(arena, write_op *, count),
                           .row_queues = KW_ARENA_ARRAY(arena, kw_hbase_row_queue *, count),
                           .writes = KW_ARENA_ARRAY(arena, const kw_write *, count),
                           .results = KW_ARENA_ARRAY(arena, kw_written, count)};
    for (size_t i = 0; i < count; i++) {
        write_op *op = (write_op *)pending_ops[i];
        kw_hbase_pending_op_watch(&op->pending);
        op->batch = batch;
        op->index = i;
        batch->ops[i] = op;
        batch->row_queues[i] = op->pending.row_queue;
        batch->writes[i] = copy_write(arena, op->write);
        deadline = MAX(deadline, op->pending.deadline);
    }
    batch->deadline = deadline;
    for (size_t i = 0; i < count; i++)
        ((kw_write *)batch->writes[i])->deadline = deadline;
    kw_store_handle *handle = &((write_op *)pending_ops[0])->handle->base;
    kw_hbase_write_together(handle, batch->writes, count, batch->results, &batch->sent, batch_done, batch);
}

static void
send_ops(kw_hbase_batch_queue *queue, kw_hbase_pending_op *const *pending_ops, size_t count)
{
    if (count == 1)
        send_alone((write_op *)pending_ops[0]);
    else
        start_batch(queue, pending_ops, count);
}

static bool
can_have_been_sent(const kw_hbase_pending_op *pending)
{
    const write_op *op = (const write_op *)pending;
    return op->batch && (op->batch->sent || !kw_deadline_passed(op->batch->deadline));
}

/* If the batch is not sent yet and its deadline passes soon, the operation waits for this deadline: then it
 * is certain whether the batch was sent. */
static kw_deadline
settled_at(const kw_hbase_pending_op *pending)
{
    const write_op *op = (const write_op *)pending;
    bool soon = op->batch && !op->batch->sent && op->batch->deadline - pending->deadline < SETTLE_NS;
    return soon ? op->batch->deadline : 0;
}

static void
fail(kw_hbase_pending_op *pending, const kw_error *error)
{
    write_op *op = (write_op *)pending;
    if (op->batch)
        op->batch->ops[op->index] = NULL;
    if (error->maybe_applied)
        kw_store_note_doubt(op->handle->base.store);
    answer(op, error->maybe_applied ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED, error);
}

static const kw_hbase_pending_op_class pending_class = {
    .send = send_ops, .settled_at = settled_at, .can_have_been_sent = can_have_been_sent, .fail = fail};

/* --- start ------------------------------------------------------------------------------------ */

static void
on_rejected(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    answer(call->user, KW_OUTCOME_FAILED, &failure->error);
}

/* Of the writes that must not be sent twice, only puts of records can be part of a batch. For the tables of
 * Keyway itself each outcome must be exact. */
bool
kw_hbase_write_can_batch(kw_hbase_handle *handle, const kw_write *write)
{
    kw_hbase_shape shape = kw_hbase_shape_of(write);
    if (shape == KW_HBASE_SHAPE_MUTATIONS)
        return false;
    if (!kw_hbase_is_once(write))
        return true;
    return shape == KW_HBASE_SHAPE_PUT && write->ordering && kw_hbase_families_include(handle, write);
}

static kw_hbase_batch_queue_kind
kind_of(const kw_write *write)
{
    if (write->kind == KW_WRITE_DELETE)
        return KW_HBASE_BATCH_DELETE;
    if (!kw_hbase_is_once(write))
        return KW_HBASE_BATCH_PUT;
    return write->record ? KW_HBASE_BATCH_PUT_ROWS : KW_HBASE_BATCH_PUT_ONCE;
}

static kw_hbase_batch_queue *
queue_of(kw_hbase_handle *handle, const kw_write *write)
{
    if (!kw_hbase_write_can_batch(handle, write))
        return NULL;
    return kw_hbase_coalescer_queue(handle->coalescer, kind_of(write), write->table, write->durability);
}

void
kw_hbase_write(kw_store_handle *base, const kw_write *write, kw_write_done done, void *user)
{
    kw_hbase_handle *handle = kw_hbase_handle_of(base);
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    write_op *op = KW_ARENA_NEW(arena, write_op);
    kw_error error;
    op->handle = handle;
    op->arena = arena;
    op->write = write;
    op->done = done;
    op->user = user;
    if (!kw_hbase_check_write(write, &error)) {
        op->call.user = op;
        op->call.done = on_rejected;
        kw_hbase_pool_reject(&handle->pool, &op->call, &error);
        return;
    }
    kw_hbase_pending_op_init(&op->pending, &pending_class, handle->coalescer, write->row,
                             kw_hbase_deadline(write->deadline));
    op->pending.queue = queue_of(handle, write);
    op->pending.bytes = kw_hbase_write_bytes(write);
    kw_hbase_pending_op_start_write(&op->pending, write->table);
}
