/* Many writes, an outcome for each.
 *
 *   writes --> waves (a row's second write waits for its first) --> chunks of one table and kind,
 *   cut by bytes --> putMultiple / deleteMultiple --> outcomes
 *                         | fails as a whole
 *                         '--> halves, one after the other, down to single calls, which say what was
 *                              wrong with which
 *
 * HBase says only that something in a multi-call failed, and may have applied the rest. Stamped writes
 * can be sent again, so halving finds the culprit; in order, because a row may be in both halves.
 * Puts that must not be sent twice leave together when the store will not refuse one of them; if such a call
 * fails all the same, the outcome of each is unknown.
 */
#include "store/hbase/convert.h"
#include "store/hbase/handle.h"
#include "store/refuse.h"

#define WRITES_PER_CALL 256
/* Room for the other half of the 2 MB frame: estimates, heads. */
#define CHUNK_BYTES_MOST (KW_HBASE_FRAME_MAX - KW_HBASE_FRAME_MAX / 8)

typedef struct chunk {
    struct chunk *next; /* of its wave */
    kw_bytes table;
    kw_hbase_shape shape;
    bool once; /* its writes are never sent twice */
    uint32_t wave;
    bool alone; /* one write, by itself */
    size_t bytes;
    size_t count;
    size_t room;
    uint32_t *places; /* of the writes */
} chunk;

typedef struct many_op {
    kw_hbase_handle *handle;
    kw_arena *arena; /* owns this */
    const kw_write *const *writes;
    kw_written *results;
    size_t count;
    chunk **waves; /* first chunk of each */
    uint32_t waves_count;
    uint32_t wave;     /* the one under way */
    size_t calls_left; /* of it */
    bool *ret_left;
    void (*done)(void *user);
    void *user;
} many_op;

/* A chunk on its way: what of it has no outcome yet, the next piece on top. */
typedef struct chunk_piece {
    size_t first;
    size_t count;
    bool doubtful; /* it was part of a call that failed as a whole, and may have been applied then */
} chunk_piece;

#define PIECES_MAX 16 /* more than log2 of WRITES_PER_CALL */

typedef struct chunk_way {
    kw_hbase_call call;
    many_op *op;
    const chunk *of;
    chunk_piece pieces[PIECES_MAX];
    size_t pieces_count;
} chunk_way;

static void start_next(chunk_way *way);

/* --- planning --------------------------------------------------------------------------------- */

/* Keys of the two tables that planning needs. */
typedef struct row_name {
    kw_bytes table, row;
    const chunk *last; /* where the row's last write is */
} row_name;

static guint
row_hash(gconstpointer key)
{
    const row_name *name = key;
    return kw_hbase_row_hash(name->table, name->row);
}

static gboolean
row_equal(gconstpointer a, gconstpointer b)
{
    const row_name *one = a, *other = b;
    return kw_bytes_equal(one->row, other->row) && kw_bytes_equal(one->table, other->table);
}

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
    GHashTable *rows; /* row_name */
    GHashTable *open; /* chunk: the one that still takes writes of its table, shape and wave */
    size_t bytes_most;
} planner;

static bool
takes(const planner *plan, const chunk *open, size_t bytes)
{
    return !open->alone && open->count < WRITES_PER_CALL && open->bytes + bytes <= plan->bytes_most;
}

static void
chunk_add(kw_arena *arena, chunk *to, uint32_t place, size_t bytes)
{
    if (to->count == to->room) {
        uint32_t *more = KW_ARENA_ARRAY(arena, uint32_t, MAX(to->room * 2, 4));
        if (to->count)
            memcpy(more, to->places, to->count * sizeof *more);
        to->places = more;
        to->room = MAX(to->room * 2, 4);
    }
    to->places[to->count++] = place;
    to->bytes += bytes;
}

static chunk *
chunk_new(planner *plan, const chunk *like)
{
    many_op *op = plan->op;
    chunk *made = KW_ARENA_NEW(op->arena, chunk);
    *made = *like;
    made->next = op->waves[like->wave];
    op->waves[like->wave] = made;
    op->waves_count = MAX(op->waves_count, like->wave + 1);
    if (!like->alone)
        g_hash_table_replace(plan->open, made, made);
    return made;
}

/* The chunk for a write; one that follows another write of its row goes behind it in the same chunk
 * (HBase applies a batch's writes of one row in order) or into a later wave. */
static chunk *
place_write(planner *plan, const kw_write *write, const chunk *last, size_t bytes)
{
    bool alone = !kw_hbase_write_may_ride(plan->op->handle, write);
    chunk wanted = {.table = write->table,
                    .shape = kw_hbase_shape_of(write),
                    .once = kw_hbase_is_once(write),
                    .wave = last ? last->wave : 0,
                    .alone = alone};
    chunk *open = alone ? NULL : g_hash_table_lookup(plan->open, &wanted);
    if (open && takes(plan, open, bytes) && (!last || last == open))
        return open;
    if (last) {
        wanted.wave++;
        open = alone ? NULL : g_hash_table_lookup(plan->open, &wanted);
        if (open && takes(plan, open, bytes))
            return open;
    }
    return chunk_new(plan, &wanted);
}

static void
plan_write(planner *plan, uint32_t place)
{
    many_op *op = plan->op;
    const kw_write *write = op->writes[place];
    if (!kw_hbase_check_write(write, &op->results[place].error)) {
        op->results[place].outcome = KW_OUTCOME_FAILED;
        return;
    }
    row_name key = {.table = write->table, .row = write->row};
    row_name *name = g_hash_table_lookup(plan->rows, &key);
    size_t bytes = kw_hbase_write_bytes(write);
    chunk *to = place_write(plan, write, name ? name->last : NULL, bytes);
    chunk_add(op->arena, to, place, bytes);
    if (!name) {
        name = KW_ARENA_NEW(op->arena, row_name);
        *name = key;
        g_hash_table_add(plan->rows, name);
    }
    name->last = to;
}

static void
plan_all(many_op *op)
{
    size_t cut = (size_t)op->handle->pool.store->settings.batch_bytes;
    planner plan = {.op = op,
                    .rows = g_hash_table_new(row_hash, row_equal),
                    .open = g_hash_table_new(chunk_hash, chunk_equal),
                    .bytes_most = MIN(cut, CHUNK_BYTES_MOST)};
    for (size_t i = 0; i < op->count; i++)
        plan_write(&plan, (uint32_t)i);
    g_hash_table_destroy(plan.rows);
    g_hash_table_destroy(plan.open);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void
start_wave(many_op *op)
{
    for (const chunk *at = op->waves[op->wave]; at; at = at->next) {
        chunk_way *made = KW_ARENA_NEW(op->arena, chunk_way);
        made->op = op;
        made->of = at;
        made->pieces[made->pieces_count++] = (chunk_piece){.count = at->count};
        op->calls_left++;
        start_next(made);
    }
}

static void
part_over(many_op *op)
{
    if (--op->calls_left)
        return;
    if (++op->wave < op->waves_count) {
        start_wave(op);
        return;
    }
    void (*done)(void *) = op->done;
    void *user = op->user;
    kw_arena_free(op->arena);
    done(user);
}

static void
piece_result(const chunk_way *way, chunk_piece piece, kw_outcome outcome, const kw_error *error)
{
    for (size_t i = 0; i < piece.count; i++) {
        kw_written *result = &way->op->results[way->of->places[piece.first + i]];
        result->outcome = outcome;
        result->error.code = KW_OK;
        if (error)
            result->error = *error;
    }
}

/* Would each write alone fare differently? Not when the call never got an answer, nor when the whole
 * table is out of reach. */
static bool
worth_halving(const chunk_way *way, chunk_piece piece, kw_hbase_failure_kind kind)
{
    if (way->of->once && way->call.left)
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
    case KW_HBASE_TROUBLE:
    case KW_HBASE_INTERNAL_ERROR:
    case KW_HBASE_TABLE_EXISTS:
    case KW_HBASE_NAMESPACE_EXISTS:
    case KW_HBASE_SCANNER_GONE:
        return piece.count > 1;
    }
    g_assert_not_reached();
}

/* What the store says of a write by itself holds. What kept it from being asked says nothing of what the
 * call before has done. */
static void
piece_failed(const chunk_way *way, chunk_piece piece, const kw_hbase_failure *failure)
{
    kw_hbase_failure told = *failure;
    bool judged = failure->kind == KW_HBASE_OTHER || failure->kind == KW_HBASE_TABLE_MISSING;
    if (piece.doubtful && !judged)
        told.error.maybe_applied = true;
    if (way->of->once && piece.count > 1 && way->call.left && failure->kind != KW_HBASE_TABLE_MISSING)
        told.error.maybe_applied = true;
    if (way->of->once && failure->kind == KW_HBASE_OTHER)
        kw_hbase_families_forget(way->op->handle, way->of->table);
    piece_result(way, piece, kw_hbase_outcome(&told), &told.error);
}

static void
piece_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    chunk_way *way = call->user;
    chunk_piece piece = way->pieces[--way->pieces_count];
    if (!failure) {
        piece_result(way, piece, KW_OUTCOME_OK, NULL);
    } else if (worth_halving(way, piece, failure->kind)) {
        size_t half = piece.count / 2;
        bool doubtful = piece.doubtful || call->left;
        g_assert(way->pieces_count + 2 <= PIECES_MAX);
        way->pieces[way->pieces_count++] = (chunk_piece){piece.first + half, piece.count - half, doubtful};
        way->pieces[way->pieces_count++] = (chunk_piece){piece.first, half, doubtful};
    } else {
        piece_failed(way, piece, failure);
    }
    if (way->pieces_count)
        start_next(way);
    else
        part_over(way->op);
}

static const kw_write *
write_in(const chunk_way *way, size_t at)
{
    return way->op->writes[way->of->places[at]];
}

static const void *
multi_put_args(const chunk_way *way, chunk_piece piece, kw_durability durability)
{
    kw_arena *arena = way->op->arena;
    kw_hb_THBaseService_putMultiple_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_putMultiple_args);
    args->table = way->of->table;
    args->tputs.items = KW_ARENA_ARRAY(arena, kw_hb_TPut, piece.count);
    args->tputs.count = (uint32_t)piece.count;
    for (size_t i = 0; i < piece.count; i++)
        kw_hbase_to_put(arena, write_in(way, piece.first + i), durability, &args->tputs.items[i]);
    return args;
}

static const void *
multi_delete_args(const chunk_way *way, chunk_piece piece, kw_durability durability)
{
    kw_arena *arena = way->op->arena;
    kw_hb_THBaseService_deleteMultiple_args *args =
        KW_ARENA_NEW(arena, kw_hb_THBaseService_deleteMultiple_args);
    args->table = way->of->table;
    args->tdeletes.items = KW_ARENA_ARRAY(arena, kw_hb_TDelete, piece.count);
    args->tdeletes.count = (uint32_t)piece.count;
    for (size_t i = 0; i < piece.count; i++)
        kw_hbase_to_delete(arena, write_in(way, piece.first + i), durability, &args->tdeletes.items[i]);
    return args;
}

/* Sends the piece on top. */
static void
start_next(chunk_way *way)
{
    many_op *op = way->op;
    chunk_piece piece = way->pieces[way->pieces_count - 1];
    kw_durability durability = op->writes[0]->durability;
    way->call = (kw_hbase_call){
        .deadline = op->writes[0]->deadline, .done = piece_done, .ret_left = op->ret_left, .user = way};
    if (piece.count == 1) {
        kw_hbase_write_prepare(op->arena, write_in(way, piece.first), durability, &way->call);
    } else {
        bool puts = way->of->shape == KW_HBASE_SHAPE_PUT;
        way->call.method = puts ? KW_HB_THBaseService_putMultiple : KW_HB_THBaseService_deleteMultiple;
        way->call.args =
            puts ? multi_put_args(way, piece, durability) : multi_delete_args(way, piece, durability);
        way->call.table = way->of->table;
        way->call.repeatable = !way->of->once;
        way->call.changes = true;
        way->call.whole = true;
    }
    kw_hbase_pool_start(&op->handle->pool, &way->call);
}

void
kw_hbase_write_many(kw_store_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
                    void (*done)(void *user), void *user)
{
    kw_hbase_write_together(handle, writes, count, results, NULL, done, user);
}

void
kw_hbase_write_together(kw_store_handle *handle, const kw_write *const *writes, size_t count,
                        kw_written *results, bool *ret_left, void (*done)(void *user), void *user)
{
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    many_op *op = KW_ARENA_NEW(arena, many_op);
    op->handle = kw_hbase_handle_of(handle);
    op->arena = arena;
    op->writes = writes;
    op->results = results;
    op->count = count;
    op->ret_left = ret_left;
    op->waves = KW_ARENA_ARRAY(arena, chunk *, count);
    op->done = done;
    op->user = user;
    plan_all(op);
    if (op->waves_count) {
        start_wave(op);
        return;
    }
    kw_arena_free(arena);
    kw_refuse_later(handle, done, user);
}
