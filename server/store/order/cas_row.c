/* The atomic operations of a row that wait, and the answers: see cas.h. */
#include "store/order/cas.h"

/* The limits of one round. */
#define CALLERS_MAX 256
#define COLUMNS_MAX 64

/* After a round of increments, the next one waits for their callers: at most this many times as long as the
 * round took to be decided, and at most COLLECT_MAX_NS. If less than half of them call again in this time, so
 * many rounds do not wait. */
#define COLLECT_FACTOR 2
#define COLLECT_MAX_NS UINT64_C(3000000)
#define ROUNDS_WITHOUT_COLLECTION 8

struct kw_cas_row {
    kw_order_row_key name;
    kw_order_handle *handle;
    GQueue waiting; /* of kw_cas_op */
    bool deciding;  /* a round has not decided its compare */
    bool pausing;
    kw_wait pause;
    size_t expected;             /* the next round waits until so many operations wait; 0: it does not */
    kw_fine_timer collection;    /* its end */
    unsigned without_collection; /* rounds that will not wait */
};

static void begin_next(kw_cas_row *row);

/* --- rows --------------------------------------------------------------------------------------- */

static kw_cas_row *
find_row(kw_order_handle *handle, kw_bytes table, kw_bytes key)
{
    kw_cas_row *row = kw_order_row_table_find(handle->cas_rows, table, key);
    if (row)
        return row;
    row = kw_order_row_table_add(handle->cas_rows, sizeof *row, table, key);
    row->handle = handle;
    g_queue_init(&row->waiting);
    return row;
}

static void
free_if_idle(kw_cas_row *row)
{
    if (row->deciding || row->pausing || row->expected || row->waiting.length)
        return;
    kw_order_row_table_remove(row->handle->cas_rows, row, sizeof *row);
}

/* --- answers ------------------------------------------------------------------------------------ */

static void
op_free(kw_cas_op *op)
{
    kw_budget_charge(KW_MEMORY_STORE, -(int64_t)sizeof *op);
    g_free(op);
}

/* rows: of an increment that was applied. */
static void
answer(const kw_cas_op *op, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    if (op->increment)
        op->incremented(op->user, outcome, rows, error);
    else
        op->written(op->user, outcome, outcome == KW_OUTCOME_OK && op->condition_met, error);
}

static void
fail_waiting(kw_cas_op *op, const kw_error *error)
{
    kw_cas_op end = *op;
    kw_fine_timer_cancel(op->row->handle->timers, &op->timer);
    g_queue_unlink(&op->row->waiting, &op->link);
    op_free(op);
    answer(&end, KW_OUTCOME_FAILED, NULL, error);
}

static void
on_deadline(void *user)
{
    kw_cas_op *op = user;
    kw_cas_row *row = op->row;
    kw_error error;
    kw_error_set(&error, KW_TIMEOUT, "the deadline passed while the %s waited for others of its record",
                 op->increment ? "increment"
                 : op->check   ? "conditional write"
                               : "put");
    fail_waiting(op, &error);
    free_if_idle(row);
}

static void
finish_op(const kw_cas_round *round, kw_cas_op *op, kw_outcome outcome, const kw_error *error)
{
    kw_cas_op end = *op;
    bool own_error = op->error.code != KW_OK, applied = !own_error && outcome == KW_OUTCOME_OK;
    kw_rows *rows = applied && op->increment ? kw_cas_result(round, op) : NULL;
    op_free(op);
    if (own_error)
        answer(&end, KW_OUTCOME_FAILED, NULL, &end.error);
    else
        answer(&end, outcome, rows, error);
}

void
kw_cas_finish(kw_cas_round *round, kw_outcome outcome, const kw_error *error)
{
    kw_error copy = error ? *error : KW_ERROR_NONE;
    kw_cas_release(round);
    for (GList *at; (at = g_queue_pop_head_link(&round->ops));)
        finish_op(round, at->data, outcome, error ? &copy : NULL);
    kw_rows_free(round->rows);
    kw_arena_free(round->arena);
}

/* --- rounds ------------------------------------------------------------------------------------- */

static const kw_ordering *
ordering_of(const kw_cas_op *op)
{
    return op->increment ? op->increment->ordering : op->write->ordering;
}

static bool
same_others(const kw_increment *a, const kw_increment *b)
{
    bool same = a->others_count == b->others_count;
    for (size_t i = 0; same && i < a->others_count; i++)
        same = kw_bytes_equal(a->others[i].row, b->others[i].row) &&
               kw_bytes_equal(a->others[i].table, b->others[i].table);
    return same;
}

/* Compares orderings by address, because operations under one policy have the same ordering. */
static bool
can_join(const kw_cas_round *round, size_t columns, const kw_cas_op *op)
{
    const kw_cas_op *first = round->ops.head->data;
    return first->increment && op->increment && round->ops.length < CALLERS_MAX &&
           first->increment->ordering == op->increment->ordering &&
           first->increment->durability == op->increment->durability &&
           columns + op->increment->columns_count <= COLUMNS_MAX &&
           same_others(first->increment, op->increment);
}

static void
add(kw_cas_round *round, kw_cas_op *op)
{
    const kw_increment *increment = op->increment;
    uint64_t era = increment ? increment->era : op->write->era;
    kw_fine_timer_cancel(op->row->handle->timers, &op->timer);
    g_queue_unlink(&op->row->waiting, &op->link);
    /* one operation of an earlier era prevents the write */
    round->put.era = round->ops.length ? MIN(round->put.era, era) : era;
    round->deadline = MAX(round->deadline, increment ? increment->deadline : op->write->deadline);
    g_queue_push_tail_link(&round->ops, &op->link);
}

void
kw_cas_absorb(kw_cas_round *round)
{
    size_t columns = 0;
    for (const GList *at = round->ops.head; at; at = at->next) {
        const kw_cas_op *op = at->data;
        columns += op->increment ? op->increment->columns_count : 0;
    }
    for (GList *at; (at = round->row->waiting.head) && can_join(round, columns, at->data);) {
        kw_cas_op *op = at->data;
        columns += op->increment->columns_count;
        add(round, op);
    }
}

static void
set_target(kw_cas_round *round, const kw_cas_op *first)
{
    const kw_increment *increment = first->increment;
    round->callers_stamp_ms = increment ? KW_TIMESTAMP_NONE : first->write->timestamp;
    if (!increment) {
        round->put = *first->write;
        round->others = first->write->others;
        round->others_count = first->write->others_count;
        round->put.others_count = 0;
        return;
    }
    round->put = (kw_write){.kind = KW_WRITE_PUT,
                            .table = increment->table,
                            .row = increment->row,
                            .durability = increment->durability,
                            .fenced = increment->fenced};
    round->others = increment->others;
    round->others_count = increment->others_count;
}

static void
begin_round(kw_cas_row *row)
{
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    kw_cas_round *round = KW_ARENA_NEW(arena, kw_cas_round);
    kw_cas_op *first = row->waiting.head->data;
    *round = (kw_cas_round){.handle = row->handle, .arena = arena, .row = row};
    g_queue_init(&round->ops);
    set_target(round, first);
    round->put.ordering = ordering_of(first);
    row->deciding = true;
    add(round, first);
    kw_cas_absorb(round);
    kw_cas_begin(round);
}

/* --- collection -----------------------------------------------------------------------------------
 *
 * Callers that increment a hot counter often call again as soon as they get their answers. If the next round
 * began before that, these callers would form a second group, and each round would execute only one of the
 * two groups. */

static void
end_collection(kw_cas_row *row)
{
    kw_fine_timer_cancel(row->handle->timers, &row->collection);
    row->expected = 0;
}

static bool
is_collecting(const kw_cas_row *row)
{
    const kw_cas_op *first = row->waiting.head ? row->waiting.head->data : NULL;
    bool joins = !first || first->increment;
    return joins && row->waiting.length < row->expected;
}

static void
on_collection_over(void *user)
{
    kw_cas_row *row = user;
    if (row->waiting.length < row->expected / 2)
        row->without_collection = ROUNDS_WITHOUT_COLLECTION;
    row->expected = 0;
    begin_next(row);
}

static void
collect(kw_cas_row *row, const kw_cas_round *decided)
{
    const kw_cas_op *first = decided->ops.head->data;
    uint64_t now_ns = kw_clock_mono_ns();
    size_t expected = row->waiting.length + decided->ops.length;
    if (!first->increment || expected < 2 || row->handle->base.closing)
        return;
    if (row->without_collection) {
        row->without_collection--;
        return;
    }
    row->expected = expected;
    uint64_t most_ns = MIN(COLLECT_FACTOR * (now_ns - decided->read_ns), COLLECT_MAX_NS);
    kw_fine_timer_set(row->handle->timers, &row->collection, now_ns + most_ns, on_collection_over, row);
}

static void
begin_next(kw_cas_row *row)
{
    if (!row->deciding && !row->pausing && row->waiting.length && !is_collecting(row)) {
        end_collection(row);
        begin_round(row);
    }
    free_if_idle(row);
}

static void
on_pause_over(void *user, kw_wait_result result)
{
    kw_cas_row *row = user;
    (void)result; /* if the store handle closes, no operation waits any more */
    row->pausing = false;
    begin_next(row);
}

/* Each write of a record with several rows has a millisecond of its own. If the next round began at once, its
 * stamp would be ahead of the clock, and its answers would have to wait for the clock. Instead, the next
 * round begins when the clock can have reached this stamp. Operations that arrive until then join it. */
static void
pause_until(kw_cas_row *row, int64_t stamp_ms)
{
    row->pausing = true;
    kw_wait_for_estimate(row->handle, &row->pause, stamp_ms, on_pause_over, row);
}

void
kw_cas_release(kw_cas_round *round)
{
    kw_cas_row *row = g_steal_pointer(&round->row);
    if (!row)
        return;
    row->deciding = false;
    collect(row, round);
    pause_until(row, round->others_count && round->sent ? round->put.timestamp : 0);
}

/* --- start -------------------------------------------------------------------------------------- */

static void
enqueue(kw_order_handle *handle, const kw_cas_op *filled, kw_bytes table, kw_bytes key, kw_deadline deadline)
{
    kw_cas_op *op = g_memdup2(filled, sizeof *filled);
    kw_cas_row *row = find_row(handle, table, key);
    kw_budget_charge(KW_MEMORY_STORE, sizeof *op);
    op->row = row;
    op->link.data = op;
    g_queue_push_tail_link(&row->waiting, &op->link);
    if (deadline != KW_DEADLINE_NONE)
        kw_fine_timer_set(handle->timers, &op->timer, deadline, on_deadline, op);
    begin_next(row);
}

void
kw_order_cas_write(kw_order_handle *handle, const kw_write *write, const kw_check *check,
                   kw_write_if_done done, void *user)
{
    g_assert(write->kind == KW_WRITE_PUT);
    const kw_cas_op op = {.write = write, .check = check, .written = done, .user = user};
    enqueue(handle, &op, write->table, write->row, write->deadline);
}

void
kw_order_write_derived(kw_store_handle *handle, const kw_write *write, const kw_derivation *derivation,
                       kw_write_if_done done, void *user)
{
    g_assert(kw_writes_writer(write->ordering));
    const kw_cas_op op = {.write = write, .derivation = derivation, .written = done, .user = user};
    enqueue(kw_order_handle_of(handle), &op, write->table, write->row, write->deadline);
}

void
kw_order_cas_increment(kw_order_handle *handle, const kw_increment *increment, kw_increment_done done,
                       void *user)
{
    const kw_cas_op op = {.increment = increment, .incremented = done, .user = user};
    enqueue(handle, &op, increment->table, increment->row, increment->deadline);
}

void
kw_order_cas_close(kw_order_handle *handle)
{
    g_autoptr(GList) rows = g_hash_table_get_keys(handle->cas_rows);
    for (GList *at = rows; at; at = at->next) {
        kw_cas_row *row = at->data;
        bool deciding = row->deciding;
        row->deciding = true; /* keeps the row */
        end_collection(row);
        while (row->waiting.length)
            fail_waiting(row->waiting.head->data, &kw_error_shutting_down);
        row->deciding = deciding;
        free_if_idle(row);
    }
}
