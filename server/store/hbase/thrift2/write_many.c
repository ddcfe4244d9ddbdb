/* Multi-writes, with an outcome for each write.
 *
 *   writes --> waves (each waits for the one before it) --> chunks of one table and kind,
 *   limited by bytes --> putMultiple / deleteMultiple --> outcomes
 *                              | fails as a whole
 *                              '--> halves, one after the other, down to single calls, which show the
 *                                   failure of each write
 *
 * If a multi-call fails, HBase does not say which writes failed, and may have applied the others. Writes with
 * a timestamp can be sent again, so halving finds those that fail. The halves are sent in order, because a
 * row can be in both. Puts that must not be sent twice are sent together if the table has all their families.
 * If such a call still fails, the outcome of each put is unknown.
 */
#include "store/hbase/handle.h"
#include "store/hbase/thrift2/convert.h"
#include "store/refuse.h"

#define WRITES_PER_CALL 256
/* A chunk is smaller than a frame of 2 MB, because its size is an estimate without headers. */
#define CHUNK_BYTES_MAX (KW_HBASE_FRAME_MAX - KW_HBASE_FRAME_MAX / 8)

typedef struct chunk {
    struct chunk *next; /* in its wave */
    kw_bytes table;
    kw_hbase_shape shape;
    bool once; /* its writes must not be sent twice */
    uint32_t wave;
    bool alone; /* it has one write and takes no others */
    size_t bytes;
    size_t count;
    size_t capacity;
    uint32_t *indexes; /* of the writes */
} chunk;

typedef struct many_op {
    kw_hbase_handle *handle;
    kw_arena *arena; /* contains this struct */
    const kw_write *const *writes;
    kw_written *results;
    size_t count;
    chunk **waves; /* the first chunk of each */
    uint32_t waves_count;
    uint32_t wave;      /* the present one */
    size_t chunks_left; /* chunks of the wave that are not done */
    bool *ret_sent;
    bool counts_failures; /* false: the caller counts the failed writes */
    void (*done)(void *user);
    void *user;
} many_op;

/* A part of a chunk that is sent in one call. */
typedef struct chunk_piece {
    size_t first;
    size_t count;
    bool doubtful; /* it was part of a call that failed, and may have been applied then */
} chunk_piece;

#define PIECES_MAX 16 /* more than log2 of WRITES_PER_CALL */

/* The state of sending a chunk. The pieces without an outcome are on a stack, the next one on top. */
typedef struct chunk_sender {
    kw_hbase_call call;
    many_op *op;
    const chunk *chunk;
    chunk_piece pieces[PIECES_MAX];
    size_t pieces_count;
} chunk_sender;

static void start_next(chunk_sender *sender);

/* --- planning --------------------------------------------------------------------------------- */

typedef struct planned_row {
    kw_hbase_row_key key;
    const chunk *last; /* the chunk with the row's last write */
} planned_row;

static guint
chunk_hash(gconstpointer key)
{
    const chunk *open = key;
    return (guint)kw_bytes_hash(open->table) * 31 + (guint)open->shape * 7 + open->once * 3u + open->wave;
}

static gboolean
chunk_equal(gconstpointer a, gconstpointer b)
{
    const chunk *one = a, *other = b;
    return one->wave == other->wave && one->shape == other->shape && one->once == other->once &&
           kw_bytes_equal(one->table, other->table);
}

typedef struct planner {
    many_op *op;
    GHashTable *rows; /* planned_row */
    GHashTable *open; /* chunk: the latest one of a table, shape, `once` and wave */
    size_t max_bytes;
} planner;

static bool
has_space(const planner *plan, const chunk *open, size_t bytes)
{
    return !open->alone && open->count < WRITES_PER_CALL && open->bytes + bytes <= plan->max_bytes;
}

static void
chunk_add(kw_arena *arena, chunk *to, uint32_t index, size_t bytes)
{
    if (to->count == to->capacity) {
        uint32_t *more = KW_ARENA_ARRAY(arena, uint32_t, MAX(to->capacity * 2, 4));
        if (to->count)
            memcpy(more, to->indexes, to->count * sizeof *more);
        to->indexes = more;
        to->capacity = MAX(to->capacity * 2, 4);
    }
    to->indexes[to->count++] = index;
    to->bytes += bytes;
}

static chunk *
chunk_new(planner *plan, const chunk *key)
{
    many_op *op = plan->op;
    chunk *new_chunk = KW_ARENA_NEW(op->arena, chunk);
    *new_chunk = *key;
    new_chunk->next = op->waves[key->wave];
    op->waves[key->wave] = new_chunk;
    op->waves_count = MAX(op->waves_count, key->wave + 1);
    if (!key->alone)
        g_hash_table_replace(plan->open, new_chunk, new_chunk);
    return new_chunk;
}

/* The chunk for a write. If its row has an earlier write in `last`, it is placed after it in the same chunk
 * (HBase applies the writes of a batch to one row in order) or in a later wave. */
static chunk *
find_chunk(planner *plan, const kw_write *write, const chunk *last, size_t bytes)
{
    bool alone = !kw_hbase_write_can_batch(plan->op->handle, write);
    chunk wanted = {.table = write->table,
                    .shape = kw_hbase_shape_of(write),
                    .once = kw_hbase_is_once(write),
                    .wave = last ? last->wave : 0,
                    .alone = alone};
    chunk *open = alone ? NULL : g_hash_table_lookup(plan->open, &wanted);
    if (open && has_space(plan, open, bytes) && (!last || last == open))
        return open;
    if (last) {
        wanted.wave++;
        open = alone ? NULL : g_hash_table_lookup(plan->open, &wanted);
        if (open && has_space(plan, open, bytes))
            return open;
    }
    return chunk_new(plan, &wanted);
}

static void
plan_write(planner *plan, uint32_t index)
{
    many_op *op = plan->op;
    const kw_write *write = op->writes[index];
    if (!kw_hbase_check_write(write, &op->results[index].error)) {
        op->results[index].outcome = KW_OUTCOME_FAILED;
        return;
    }
    planned_row key = {.key = {.table = write->table, .row = write->row}};
    planned_row *row = g_hash_table_lookup(plan->rows, &key);
    size_t bytes = kw_hbase_write_bytes(write);
    chunk *to = find_chunk(plan, write, row ? row->last : NULL, bytes);
    chunk_add(op->arena, to, index, bytes);
    if (!row) {
        row = KW_ARENA_NEW(op->arena, planned_row);
        *row = key;
        g_hash_table_add(plan->rows, row);
    }
    row->last = to;
}

static void
plan_all(many_op *op)
{
    size_t batch_bytes = op->handle->pool.store->tuning.batch_bytes;
    planner plan = {.op = op,
                    .rows = g_hash_table_new(kw_hbase_row_key_hash, kw_hbase_row_key_equal),
                    .open = g_hash_table_new(chunk_hash, chunk_equal),
                    .max_bytes = MIN(batch_bytes, CHUNK_BYTES_MAX)};
    for (size_t i = 0; i < op->count; i++)
        plan_write(&plan, (uint32_t)i);
    g_hash_table_destroy(plan.rows);
    g_hash_table_destroy(plan.open);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void
finish(void *user)
{
    many_op *op = user;
    void (*done)(void *) = op->done;
    void *done_user = op->user;
    if (op->counts_failures)
        kw_count_failed_writes(op->results, op->count);
    kw_arena_free(op->arena);
    done(done_user);
}

static void
start_wave(many_op *op)
{
    for (const chunk *at = op->waves[op->wave]; at; at = at->next) {
        chunk_sender *sender = KW_ARENA_NEW(op->arena, chunk_sender);
        sender->op = op;
        sender->chunk = at;
        sender->pieces[sender->pieces_count++] = (chunk_piece){.count = at->count};
        op->chunks_left++;
        start_next(sender);
    }
}

static void
chunk_finished(many_op *op)
{
    g_assert(op->chunks_left > 0);
    if (--op->chunks_left)
        return;
    if (++op->wave < op->waves_count) {
        start_wave(op);
        return;
    }
    finish(op);
}

static void
piece_result(const chunk_sender *sender, chunk_piece piece, kw_outcome outcome, const kw_error *error)
{
    for (size_t i = 0; i < piece.count; i++) {
        kw_written *result = &sender->op->results[sender->chunk->indexes[piece.first + i]];
        result->outcome = outcome;
        result->error.code = KW_OK;
        if (error)
            result->error = *error;
    }
}

/* True if the writes can have different outcomes when they are sent one by one. They cannot if the call has
 * no answer, or the table cannot be used. */
static bool
is_worth_halving(const chunk_sender *sender, chunk_piece piece, kw_hbase_failure_kind kind)
{
    if (sender->chunk->once && sender->call.sent)
        return false;
    switch (kind) {
    case KW_HBASE_LOST:
    case KW_HBASE_TIMED_OUT:
    case KW_HBASE_UNREACHABLE:
    case KW_HBASE_TABLE_MISSING:
    case KW_HBASE_TABLE_DISABLED:
        return false;
    case KW_HBASE_OTHER:
    case KW_HBASE_REPLY_TOO_LARGE:
    case KW_HBASE_TEMPORARY:
    case KW_HBASE_INTERNAL_ERROR:
    case KW_HBASE_TABLE_EXISTS:
    case KW_HBASE_NAMESPACE_EXISTS:
    case KW_HBASE_SCANNER_GONE:
        return piece.count > 1;
    }
    g_assert_not_reached();
}

/* If the store rejects a single write, its outcome is certain. Any other failure says nothing about an
 * earlier call of which the write was a part. */
static void
piece_failed(const chunk_sender *sender, chunk_piece piece, const kw_hbase_failure *failure)
{
    kw_hbase_failure reported = *failure;
    bool rejected = failure->kind == KW_HBASE_OTHER || failure->kind == KW_HBASE_TABLE_MISSING;
    if (piece.doubtful && !rejected)
        reported.error.maybe_applied = true;
    if (sender->chunk->once && piece.count > 1 && sender->call.sent &&
        failure->kind != KW_HBASE_TABLE_MISSING)
        reported.error.maybe_applied = true;
    if (reported.error.maybe_applied)
        kw_store_note_doubt(sender->op->handle->base.store);
    if (sender->chunk->once && failure->kind == KW_HBASE_OTHER)
        kw_hbase_families_forget(sender->op->handle, sender->chunk->table);
    piece_result(sender, piece, kw_hbase_outcome(&reported), &reported.error);
}

static void
piece_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    chunk_sender *sender = call->user;
    chunk_piece piece = sender->pieces[--sender->pieces_count];
    if (!failure) {
        piece_result(sender, piece, KW_OUTCOME_OK, NULL);
    } else if (is_worth_halving(sender, piece, failure->kind)) {
        size_t half = piece.count / 2;
        bool doubtful = piece.doubtful || call->sent;
        g_assert(sender->pieces_count + 2 <= PIECES_MAX);
        sender->pieces[sender->pieces_count++] =
            (chunk_piece){piece.first + half, piece.count - half, doubtful};
        sender->pieces[sender->pieces_count++] = (chunk_piece){piece.first, half, doubtful};
    } else {
        piece_failed(sender, piece, failure);
    }
    if (sender->pieces_count)
        start_next(sender);
    else
        chunk_finished(sender->op);
}

static const kw_write *
write_in(const chunk_sender *sender, size_t at)
{
    return sender->op->writes[sender->chunk->indexes[at]];
}

static const void *
multi_put_args(const chunk_sender *sender, chunk_piece piece, kw_durability durability)
{
    kw_arena *arena = sender->op->arena;
    kw_hb_THBaseService_putMultiple_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_putMultiple_args);
    args->table = sender->chunk->table;
    args->tputs.items = KW_ARENA_ARRAY(arena, kw_hb_TPut, piece.count);
    args->tputs.count = (uint32_t)piece.count;
    for (size_t i = 0; i < piece.count; i++)
        kw_hbase_to_put(arena, write_in(sender, piece.first + i), durability, &args->tputs.items[i]);
    return args;
}

static const void *
multi_delete_args(const chunk_sender *sender, chunk_piece piece, kw_durability durability)
{
    kw_arena *arena = sender->op->arena;
    kw_hb_THBaseService_deleteMultiple_args *args =
        KW_ARENA_NEW(arena, kw_hb_THBaseService_deleteMultiple_args);
    args->table = sender->chunk->table;
    args->tdeletes.items = KW_ARENA_ARRAY(arena, kw_hb_TDelete, piece.count);
    args->tdeletes.count = (uint32_t)piece.count;
    for (size_t i = 0; i < piece.count; i++)
        kw_hbase_to_delete(arena, write_in(sender, piece.first + i), durability, &args->tdeletes.items[i]);
    return args;
}

/* Fences the call if one of its writes is fenced: with the earliest era of these. */
static void
set_fenced(chunk_sender *sender, chunk_piece piece)
{
    kw_hbase_call *call = &sender->call;
    for (size_t i = 0; i < piece.count; i++) {
        const kw_write *write = write_in(sender, piece.first + i);
        if (!write->fenced)
            continue;
        call->era = call->fenced ? MIN(call->era, write->era) : write->era;
        call->fenced = true;
    }
}

/* Sends the piece on top. */
static void
start_next(chunk_sender *sender)
{
    many_op *op = sender->op;
    chunk_piece piece = sender->pieces[sender->pieces_count - 1];
    kw_durability durability = op->writes[0]->durability;
    sender->call = (kw_hbase_call){
        .deadline = op->writes[0]->deadline, .done = piece_done, .ret_sent = op->ret_sent, .user = sender};
    if (piece.count == 1) {
        kw_hbase_write_prepare(op->arena, write_in(sender, piece.first), durability, &sender->call);
    } else {
        bool puts = sender->chunk->shape == KW_HBASE_SHAPE_PUT;
        sender->call.method = puts ? KW_HB_THBaseService_putMultiple : KW_HB_THBaseService_deleteMultiple;
        sender->call.args =
            puts ? multi_put_args(sender, piece, durability) : multi_delete_args(sender, piece, durability);
        sender->call.table = sender->chunk->table;
        sender->call.repeatable = !sender->chunk->once;
        sender->call.changes = true;
        set_fenced(sender, piece);
        sender->call.whole = true;
    }
    kw_hbase_pool_start(&op->handle->pool, &sender->call);
}

static many_op *
many_op_new(kw_store_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
            void (*done)(void *user), void *user)
{
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    many_op *op = KW_ARENA_NEW(arena, many_op);
    op->handle = kw_hbase_handle_of(handle);
    op->arena = arena;
    op->writes = writes;
    op->results = results;
    op->count = count;
    op->waves = KW_ARENA_ARRAY(arena, chunk *, count);
    op->done = done;
    op->user = user;
    return op;
}

static void
start(many_op *op)
{
    plan_all(op);
    if (op->waves_count)
        start_wave(op);
    else
        kw_complete_later(&op->handle->base, finish, op);
}

void
kw_hbase_write_many(kw_store_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
                    void (*done)(void *user), void *user)
{
    many_op *op = many_op_new(handle, writes, count, results, done, user);
    op->counts_failures = true;
    start(op);
}

void
kw_hbase_write_together(kw_store_handle *handle, const kw_write *const *writes, size_t count,
                        kw_written *results, bool *ret_sent, void (*done)(void *user), void *user)
{
    many_op *op = many_op_new(handle, writes, count, results, done, user);
    op->ret_sent = ret_sent;
    start(op);
}
