/* One row's read: in a call of its own, or in one with others that waited as well (batch queue.h).
 *
 * Gets that ask the same and have not left share one question; one that comes when it has left asks
 * anew, since a write may have been acknowledged in between. A call of several that fails is asked again
 * question by question, so that each caller gets its own answer.
 */
#include "store/hbase/convert.h"
#include "store/hbase/handle.h"

#include "base/metrics.h"

typedef struct question question;
typedef struct get_batch get_batch;

/* One caller's get. */
typedef struct get_op {
    kw_hbase_pending_op pending;
    kw_hbase_call call; /* when it goes alone */
    kw_hbase_handle *handle;
    kw_rows *rows; /* owns this */
    const kw_get *get;
    kw_get_done done;
    void *user;
    question *asks;
    GList link; /* in its askers */
} get_op;

/* What all its askers ask. Its first asker stands in the batch queue for all of them. */
struct question {
    kw_bytes table;
    const kw_get *get; /* the first asker's while it waits, then the batch's copy */
    GQueue askers;
};

/* Questions that left together, with copies: an asker whose deadline passes takes its memory along. */
struct get_batch {
    kw_hbase_call call;
    kw_arena *arena; /* owns this */
    kw_hbase_handle *handle;
    kw_hbase_batch_queue *queue; /* NULL: asked again, one by one */
    question **questions;
    size_t count;
    kw_hb_THBaseService_getMultiple_args args;
};

/* --- questions -------------------------------------------------------------------------------- */

static guint
question_hash(gconstpointer key)
{
    const question *asked = key;
    return kw_hbase_row_hash(asked->table, asked->get->row);
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
question_equal(gconstpointer a, gconstpointer b)
{
    const question *asked = a, *other = b;
    const kw_get *one = asked->get, *two = other->get;
    return kw_bytes_equal(one->row, two->row) && kw_bytes_equal(asked->table, other->table) &&
           MAX(one->max_versions, 1) == MAX(two->max_versions, 1) && one->time_from == two->time_from &&
           one->time_to == two->time_to && kw_bytes_equal(one->filter, two->filter) && same_columns(one, two);
}

GHashTable *
kw_hbase_questions_new(void)
{
    return g_hash_table_new(question_hash, question_equal);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void
answer_error(get_op *op, const kw_error *error)
{
    kw_get_done done = op->done;
    void *user = op->user;
    kw_error copy = *error;
    kw_rows_free(op->rows);
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

/* False: the row has more than the asker takes. */
static bool
fits(get_op *op)
{
    kw_rows *rows = op->rows;
    if (op->get->max_bytes == 0 || rows->bytes <= op->get->max_bytes)
        return true;
    rows->rows[0] =
        (kw_row){.key = kw_arena_copy(rows->arena, op->get->row), .omitted = KW_OMITTED_TOO_LARGE};
    rows->bytes = 0;
    return false;
}

/* A row of its own for each asker: the reply's memory goes. */
static void
copy_row(get_op *op, const kw_hb_TResult *result)
{
    kw_rows *rows = op->rows;
    rows->rows = KW_ARENA_NEW(rows->arena, kw_row);
    kw_hbase_take_row(rows, op->get, result, &rows->rows[0]);
    kw_row *row = &rows->rows[0];
    if (!fits(op))
        return;
    row->key = kw_arena_copy(rows->arena, row->key);
    for (uint32_t i = 0; i < row->cells_count; i++) {
        kw_cell *cell = &row->cells[i];
        cell->family = kw_arena_copy(rows->arena, cell->family);
        cell->qualifier = kw_arena_copy(rows->arena, cell->qualifier);
        cell->value = kw_arena_copy(rows->arena, cell->value);
    }
}

/* --- alone ------------------------------------------------------------------------------------ */

static void
alone_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    get_op *op = call->user;
    const kw_hb_THBaseService_get_result *answer = result;
    kw_error error;
    if (op->pending.queue)
        kw_hbase_batch_queue_answered(op->pending.queue, 1);
    if (failure) {
        kw_hbase_blame_filter(op->get->filter, failure, &error);
        answer_error(op, &error);
        return;
    }
    static const kw_hb_TResult nothing;
    op->rows->rows = KW_ARENA_NEW(op->rows->arena, kw_row);
    kw_hbase_take_row(op->rows, op->get, answer->success ? answer->success : &nothing, &op->rows->rows[0]);
    if (op->get->columns_count == 0)
        kw_hbase_saw_rows(op->handle, op->get->table, op->rows->bytes);
    fits(op);
    answer_rows(op);
}

static void
leave_alone(get_op *op)
{
    kw_arena *arena = op->rows->arena;
    kw_hb_THBaseService_get_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_get_args);
    kw_hb_TGet *tget = KW_ARENA_NEW(arena, kw_hb_TGet);
    kw_hbase_to_get(arena, op->get, tget);
    args->table = op->get->table;
    args->tget = tget;
    kw_hbase_pending_op_untime(&op->pending);
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

/* --- together --------------------------------------------------------------------------------- */

static void start_batch(kw_hbase_handle *handle, kw_hbase_batch_queue *queue, question *const *questions,
                        size_t count);

static void
answer_all(get_batch *batch, const kw_hb_THBaseService_getMultiple_result *answer, const kw_error *error)
{
    for (size_t i = 0; i < batch->count; i++) {
        question *asked = batch->questions[i];
        for (GList *at; (at = g_queue_pop_head_link(&asked->askers));) {
            get_op *op = at->data;
            kw_hbase_pending_op_untime(&op->pending);
            op->asks = NULL;
            if (error) {
                answer_error(op, error);
            } else {
                copy_row(op, &answer->success.items[i]);
                answer_rows(op);
            }
        }
        g_free(asked);
    }
}

/* Would each question alone fare differently? */
static bool
worth_asking_apart(const get_batch *batch, kw_hbase_failure_kind kind)
{
    return batch->count > 1 && (kind == KW_HBASE_OTHER || kind == KW_HBASE_REPLY_TOO_LARGE ||
                                kind == KW_HBASE_TROUBLE || kind == KW_HBASE_INTERNAL_ERROR);
}

static void
ask_apart(get_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->questions[i]->askers.length)
            start_batch(batch->handle, NULL, &batch->questions[i], 1);
        else
            g_free(batch->questions[i]);
    }
}

static void
learn_size(kw_hbase_handle *handle, const kw_hb_TResult *result, const kw_get *get)
{
    size_t bytes = result->row.size;
    if (get->columns_count || result->columnValues.count == 0)
        return;
    for (uint32_t i = 0; i < result->columnValues.count; i++)
        bytes += result->columnValues.items[i].qualifier.size + result->columnValues.items[i].value.size;
    kw_hbase_saw_rows(handle, get->table, bytes);
}

/* Callers, not questions: a width that asks one question for more of them is the better one. */
static size_t
askers_of(const get_batch *batch)
{
    size_t askers = 0;
    for (size_t i = 0; i < batch->count; i++)
        askers += batch->questions[i]->askers.length;
    return askers;
}

static void
batch_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    get_batch *batch = call->user;
    const kw_hb_THBaseService_getMultiple_result *answer = result;
    kw_hbase_failure short_answer;
    if (!failure && !kw_hbase_rows_are_all(answer, batch->count, &short_answer))
        failure = &short_answer;
    if (!failure)
        learn_size(batch->handle, &answer->success.items[0], batch->questions[0]->get);
    if (batch->queue)
        kw_hbase_batch_queue_answered(batch->queue, askers_of(batch));
    if (failure && worth_asking_apart(batch, failure->kind))
        ask_apart(batch);
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
    copy->columns = kw_hbase_copy_columns(arena, get->columns, get->columns_count);
    return copy;
}

static kw_deadline
latest(const question *asked, kw_deadline deadline)
{
    for (GList *at = asked->askers.head; at; at = at->next) {
        get_op *op = at->data;
        op->pending.state = KW_HBASE_PENDING_SENT;
        kw_hbase_pending_op_time(&op->pending);
        deadline = MAX(deadline, op->pending.deadline);
    }
    return deadline;
}

static void
start_batch(kw_hbase_handle *handle, kw_hbase_batch_queue *queue, question *const *questions, size_t count)
{
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    get_batch *batch = KW_ARENA_NEW(arena, get_batch);
    kw_hb_TGet *tgets = KW_ARENA_ARRAY(arena, kw_hb_TGet, count);
    kw_deadline deadline = 0;
    batch->arena = arena;
    batch->handle = handle;
    batch->queue = queue;
    batch->questions = KW_ARENA_ARRAY(arena, question *, count);
    batch->count = count;
    for (size_t i = 0; i < count; i++) {
        question *asked = questions[i];
        asked->get = copy_get(arena, asked->get);
        deadline = latest(asked, deadline);
        kw_hbase_to_get(arena, asked->get, &tgets[i]);
        batch->questions[i] = asked;
    }
    batch->args.table = questions[0]->get->table;
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
leave(kw_hbase_batch_queue *queue, kw_hbase_pending_op *const *pending_ops, size_t count)
{
    kw_hbase_handle *handle = ((get_op *)pending_ops[0])->handle;
    question *questions[KW_HBASE_BATCH_ROWS];
    for (size_t i = 0; i < count; i++) {
        questions[i] = ((get_op *)pending_ops[i])->asks;
        g_hash_table_remove(handle->questions, questions[i]);
    }
    if (count == 1 && questions[0]->askers.length == 1) {
        g_free(g_steal_pointer(&((get_op *)pending_ops[0])->asks));
        leave_alone((get_op *)pending_ops[0]);
    } else {
        start_batch(handle, queue, questions, count);
    }
}

/* The next asker stands in for one that gives up. */
static void
hand_over(get_op *op, question *asked)
{
    g_hash_table_remove(op->handle->questions, asked);
    get_op *next = g_queue_peek_head(&asked->askers);
    if (!next) {
        g_free(asked);
        return;
    }
    asked->get = next->get;
    asked->table = next->get->table;
    g_hash_table_add(op->handle->questions, asked);
    kw_hbase_batch_queue_return(&next->pending);
}

static kw_deadline
settled_at(const kw_hbase_pending_op *pending)
{
    (void)pending;
    return 0;
}

static bool
has_left(const kw_hbase_pending_op *pending)
{
    return pending->state == KW_HBASE_PENDING_SENT;
}

static void
fail(kw_hbase_pending_op *pending, const kw_error *error)
{
    get_op *op = (get_op *)pending;
    question *asked = op->asks;
    bool first = asked->askers.head == &op->link;
    g_queue_unlink(&asked->askers, &op->link);
    if (first && pending->state == KW_HBASE_PENDING_WAITS)
        hand_over(op, asked);
    answer_error(op, error);
}

static const kw_hbase_pending_op_class pending_class = {
    .leave = leave, .settled_at = settled_at, .left = has_left, .fail = fail};

/* --- start ------------------------------------------------------------------------------------ */

static void
ask(get_op *op)
{
    kw_hbase_handle *handle = op->handle;
    question like = {.table = op->get->table, .get = op->get};
    question *asked = g_hash_table_lookup(handle->questions, &like);
    op->link.data = op;
    if (asked) {
        kw_metrics_add(KW_METRIC_store_reads_shared, 1);
        op->asks = asked;
        op->pending.state = KW_HBASE_PENDING_FOLLOWS;
        g_queue_push_tail_link(&asked->askers, &op->link);
        kw_hbase_pending_op_time(&op->pending);
        return;
    }
    asked = g_memdup2(&like, sizeof like);
    g_queue_init(&asked->askers);
    g_queue_push_tail_link(&asked->askers, &op->link);
    op->asks = asked;
    g_hash_table_add(handle->questions, asked);
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
    op->pending.class = &pending_class;
    op->pending.coalescer = handle->coalescer;
    op->pending.deadline = kw_hbase_deadline(get->deadline);
    op->pending.row = get->row;
    if (get->filter.size &&
        !get->filter_is_safe) { /* one that HBase refuses would spoil the call for others */
        leave_alone(op);
        return;
    }
    op->pending.bytes = get->row.size + kw_hbase_row_bytes(handle, get->table);
    op->pending.queue =
        kw_hbase_coalescer_queue(handle->coalescer, KW_HBASE_BATCH_GET, get->table, KW_DURABILITY_DEFAULT);
    ask(op);
}
