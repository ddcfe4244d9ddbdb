/* Increments of one row. While a call of the row is in flight, further increments wait. They are then sent
 * together, as one call with their sums. Each gets the result that it would have in the order of arrival.
 *
 *   increment --> waiting --> [one call: the sums of all that wait, and kw:g] --> results, in order
 *                    ^                                  |
 *                    '---- the next call waits until the store's clock can have reached the timestamps of
 *                          the previous one
 *
 * Each increment raises the timestamp of its cell. Without the wait before the next call, the timestamp of a
 * counter that is incremented more than a thousand times a second would get ahead of the clock. A removal of
 * the counter would have to wait until the clock has passed this timestamp. kw:g is incremented by a random
 * amount, so that it gets no value twice.
 */
#include "store/order/order_internal.h"

#define CALLERS_MAX 256
#define COLUMNS_MAX 64

typedef struct counter_row counter_row;

/* One caller's increment. */
typedef struct increment_op {
    counter_row *row;
    const kw_increment *increment;
    bool alone;          /* sent alone, because the store rejected a call with several */
    size_t position;     /* its position in the call, from 1; 0: it waits */
    kw_fine_timer timer; /* for its deadline */
    GList link;
    kw_increment_done done;
    void *user;
} increment_op;

struct counter_row {
    kw_order_row_key name;
    kw_order_handle *handle;
    GQueue waiting;
    kw_wait pause;
    bool pausing;
    /* the call in flight */
    kw_arena *arena;    /* NULL: no call is in flight */
    increment_op **ops; /* NULL for those whose deadline has passed */
    size_t ops_count;
    kw_increment call;
    kw_column *columns;
    int64_t *amounts;
};

static void send_call(counter_row *row);

/* --- rows ------------------------------------------------------------------------------------- */

static counter_row *
find_row(kw_order_handle *handle, const kw_increment *increment)
{
    counter_row *row = kw_order_row_table_find(handle->increments, increment->table, increment->row);
    if (row)
        return row;
    row = kw_order_row_table_add(handle->increments, sizeof *row, increment->table, increment->row);
    row->handle = handle;
    g_queue_init(&row->waiting);
    return row;
}

static void
free_if_idle(counter_row *row)
{
    if (row->arena || row->pausing || row->waiting.length)
        return;
    kw_order_row_table_remove(row->handle->increments, row, sizeof *row);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void
answer(increment_op *op, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    kw_increment_done done = op->done;
    void *user = op->user;
    kw_fine_timer_cancel(op->row->handle->timers, &op->timer);
    kw_budget_charge(KW_MEMORY_STORE, -(int64_t)sizeof *op);
    g_free(op);
    done(user, outcome, rows, error);
}

static void
on_deadline(void *user)
{
    increment_op *op = user;
    counter_row *row = op->row;
    kw_error error;
    kw_error_set(&error, KW_TIMEOUT, "the deadline passed %s",
                 op->position ? "before the store answered" : "before the increment was sent");
    error.maybe_applied = op->position > 0;
    if (op->position)
        row->ops[op->position - 1] = NULL;
    else
        g_queue_unlink(&row->waiting, &op->link);
    answer(op, op->position ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED, NULL, &error);
    free_if_idle(row);
}

static size_t
column_index(const counter_row *row, const kw_column *column)
{
    size_t at = 0;
    while (at < row->call.columns_count && !(kw_bytes_equal(row->columns[at].family, column->family) &&
                                             kw_bytes_equal(row->columns[at].qualifier, column->qualifier)))
        at++;
    return at;
}

static const kw_cell *
find_cell(const kw_row *row, const kw_column *column)
{
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (kw_bytes_equal(row->cells[i].family, column->family) &&
            kw_bytes_equal(row->cells[i].qualifier, column->qualifier))
            return &row->cells[i];
    return NULL;
}

/* Adds the increment's amounts to the running sums. Returns its results, in the store's order of columns. */
static kw_rows *
results_of(counter_row *row, const kw_increment *increment, const kw_row *reply, uint64_t *running)
{
    kw_rows *rows = kw_rows_new();
    kw_row *result = rows->rows = KW_ARENA_NEW(rows->arena, kw_row);
    result->key = kw_arena_copy(rows->arena, row->name.row);
    result->cells = KW_ARENA_ARRAY(rows->arena, kw_cell, increment->columns_count);
    rows->count = rows->scanned = 1;
    for (size_t i = 0; i < increment->columns_count; i++)
        running[column_index(row, &increment->columns[i])] += (uint64_t)increment->amounts[i];
    for (uint32_t i = 0; i < reply->cells_count; i++) {
        const kw_cell *cell = &reply->cells[i];
        bool own = false;
        for (size_t j = 0; j < increment->columns_count && !own; j++)
            own = kw_bytes_equal(cell->qualifier, increment->columns[j].qualifier) &&
                  kw_bytes_equal(cell->family, increment->columns[j].family);
        if (!own || result->cells_count == increment->columns_count)
            continue;
        kw_column column = {.family = cell->family, .qualifier = cell->qualifier};
        uint8_t *value = kw_arena_alloc(rows->arena, 8);
        kw_be64_store(value, running[column_index(row, &column)]);
        result->cells[result->cells_count++] =
            (kw_cell){.family = kw_arena_copy(rows->arena, cell->family),
                      .qualifier = kw_arena_copy(rows->arena, cell->qualifier),
                      .value = kw_bytes_of(value, 8),
                      .timestamp = cell->timestamp};
    }
    return rows;
}

/* The results of a call with one increment: all cells except kw:g. */
static kw_rows *
results_of_single(const counter_row *row, const kw_row *reply)
{
    const kw_ordering *ordering = row->ops[0]->increment->ordering;
    kw_rows *rows = kw_rows_new();
    kw_row *result = rows->rows = KW_ARENA_NEW(rows->arena, kw_row);
    result->key = kw_arena_copy(rows->arena, row->name.row);
    result->cells = KW_ARENA_ARRAY(rows->arena, kw_cell, reply->cells_count);
    rows->count = rows->scanned = 1;
    for (uint32_t i = 0; i < reply->cells_count; i++) {
        const kw_cell *cell = &reply->cells[i];
        if (!kw_is_control(ordering, cell))
            result->cells[result->cells_count++] =
                (kw_cell){.family = kw_arena_copy(rows->arena, cell->family),
                          .qualifier = kw_arena_copy(rows->arena, cell->qualifier),
                          .value = kw_arena_copy(rows->arena, cell->value),
                          .timestamp = cell->timestamp};
    }
    return rows;
}

/* The values of the cells before the call; false: the reply does not contain them. */
static bool
subtract_sums(const counter_row *row, const kw_row *reply, uint64_t *ret_before)
{
    for (size_t i = 0; i < row->call.columns_count; i++) {
        const kw_cell *cell = find_cell(reply, &row->columns[i]);
        if (!cell || cell->value.size != 8)
            return false;
        ret_before[i] = kw_be64_load(cell->value.data) - (uint64_t)row->amounts[i];
    }
    return true;
}

typedef struct finished_call {
    increment_op **ops;
    size_t count;
    kw_arena *arena;
} finished_call;

/* Detaches the finished call, because callbacks can start increments of the row. */
static finished_call
detach_call(counter_row *row)
{
    finished_call call = {row->ops, row->ops_count, row->arena};
    row->arena = NULL;
    row->ops = NULL;
    row->ops_count = 0;
    return call;
}

static void
answer_errors(counter_row *row, kw_outcome outcome, const kw_error *error)
{
    finished_call call = detach_call(row);
    for (size_t i = 0; i < call.count; i++)
        if (call.ops[i])
            answer(call.ops[i], outcome, NULL, error);
    kw_arena_free(call.arena);
}

static void
answer_single(counter_row *row, const kw_row *reply)
{
    kw_rows *rows = row->ops[0] ? results_of_single(row, reply) : NULL;
    finished_call call = detach_call(row);
    if (rows)
        answer(call.ops[0], KW_OUTCOME_OK, rows, NULL);
    kw_arena_free(call.arena);
}

static void
answer_results(counter_row *row, const kw_row *reply)
{
    if (row->ops_count == 1) {
        answer_single(row, reply);
        return;
    }
    uint64_t *running = KW_ARENA_ARRAY(row->arena, uint64_t, row->call.columns_count);
    kw_error error;
    if (!subtract_sums(row, reply, running)) {
        kw_error_set(&error, KW_INTERNAL,
                     "the reply of the store does not contain the new value of a counter");
        error.maybe_applied = true;
        answer_errors(row, KW_OUTCOME_UNKNOWN, &error);
        return;
    }
    kw_rows **results = KW_ARENA_ARRAY(row->arena, kw_rows *, row->ops_count);
    kw_arena *arena = row->arena;
    for (size_t i = 0; i < row->ops_count; i++)
        if (row->ops[i])
            results[i] = results_of(row, row->ops[i]->increment, reply, running);
    finished_call call = detach_call(row);
    for (size_t i = 0; i < call.count; i++)
        if (call.ops[i])
            answer(call.ops[i], KW_OUTCOME_OK, results[i], NULL);
    kw_arena_free(arena);
}

/* --- the call --------------------------------------------------------------------------------- */

static void
on_pause_over(void *user, kw_wait_result result)
{
    counter_row *row = user;
    row->pausing = false;
    if (result == KW_WAIT_DONE && row->waiting.length)
        send_call(row);
    free_if_idle(row);
}

static void
start_pause(counter_row *row, int64_t stamp_ms)
{
    row->pausing = true;
    kw_wait_for_estimate(row->handle, &row->pause, stamp_ms, on_pause_over, row);
}

/* The store rejects one of the increments, and with it the call: each one is then sent alone. */
static void
retry_alone(counter_row *row)
{
    finished_call call = detach_call(row);
    for (size_t i = call.count; i-- > 0;) {
        increment_op *op = call.ops[i];
        if (!op)
            continue;
        op->alone = true;
        op->position = 0;
        g_queue_push_head_link(&row->waiting, &op->link);
    }
    kw_arena_free(call.arena);
}

static void
answered(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    counter_row *row = user;
    int64_t stamp_ms = 0;
    for (uint32_t i = 0; rows && i < rows->rows[0].cells_count; i++)
        stamp_ms = MAX(stamp_ms, rows->rows[0].cells[i].timestamp);
    row->pausing = true; /* keeps the row from being freed */
    if (!error)
        answer_results(row, &rows->rows[0]);
    else if (outcome == KW_OUTCOME_FAILED && error->code == KW_INVALID && row->ops_count > 1)
        retry_alone(row);
    else
        answer_errors(row, outcome, error);
    kw_rows_free(rows);
    start_pause(row, stamp_ms);
}

static bool
can_join(const counter_row *row, const increment_op *op)
{
    if (row->ops_count == 0)
        return true;
    const increment_op *first = row->ops[0];
    return row->ops_count < CALLERS_MAX && !first->alone && !op->alone &&
           first->increment->durability == op->increment->durability &&
           row->call.columns_count + op->increment->columns_count <= COLUMNS_MAX;
}

/* Copies the columns and amounts of the first increment. An increment must name each column only once. */
static void
copy_amounts(counter_row *row, const kw_increment *increment)
{
    for (size_t i = 0; i < increment->columns_count; i++) {
        row->columns[i] =
            (kw_column){.family = kw_arena_copy(row->arena, increment->columns[i].family),
                        .qualifier = kw_arena_copy(row->arena, increment->columns[i].qualifier)};
        row->amounts[i] = increment->amounts[i];
    }
    row->call.columns_count = increment->columns_count;
}

static void
add_amounts(counter_row *row, const kw_increment *increment)
{
    for (size_t i = 0; i < increment->columns_count; i++) {
        size_t at = column_index(row, &increment->columns[i]);
        if (at == row->call.columns_count) {
            row->columns[row->call.columns_count++] =
                (kw_column){.family = kw_arena_copy(row->arena, increment->columns[i].family),
                            .qualifier = kw_arena_copy(row->arena, increment->columns[i].qualifier)};
            row->amounts[at] = 0;
        }
        row->amounts[at] = (int64_t)((uint64_t)row->amounts[at] + (uint64_t)increment->amounts[i]);
    }
}

static void
fill_call(counter_row *row)
{
    const increment_op *first = row->waiting.head->data;
    size_t columns_max = MAX((size_t)COLUMNS_MAX, first->increment->columns_count) + 1;
    row->columns = KW_ARENA_ARRAY(row->arena, kw_column, columns_max);
    row->amounts = KW_ARENA_ARRAY(row->arena, int64_t, columns_max);
    row->ops = KW_ARENA_ARRAY(row->arena, increment_op *, MIN(row->waiting.length, CALLERS_MAX));
    row->call = (kw_increment){.table = row->name.table,
                               .row = row->name.row,
                               .durability = first->increment->durability,
                               .fenced = first->increment->fenced,
                               .era = first->increment->era};
    for (GList *at; (at = row->waiting.head) && can_join(row, at->data);) {
        increment_op *op = at->data;
        g_queue_unlink(&row->waiting, at);
        row->ops[row->ops_count++] = op;
        op->position = row->ops_count;
        row->call.deadline = MAX(row->call.deadline, op->increment->deadline);
        /* The earliest era: if one of the increments is of an earlier era, the call is not sent. */
        row->call.era = MIN(row->call.era, op->increment->era);
        if (row->ops_count == 1)
            copy_amounts(row, op->increment);
        else
            add_amounts(row, op->increment);
    }
}

static void
send_call(counter_row *row)
{
    g_assert(!row->arena && row->ops_count == 0 && row->waiting.length > 0);
    const increment_op *first = row->waiting.head->data;
    const kw_ordering *ordering = first->increment->ordering;
    row->arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    fill_call(row);
    row->columns[row->call.columns_count] = (kw_column){.family = kw_arena_copy(row->arena, ordering->family),
                                                        .qualifier = KW_CONTROL_GENERATION};
    row->amounts[row->call.columns_count++] = (int64_t)kw_random_u64();
    row->call.columns = row->columns;
    row->call.amounts = row->amounts;
    kw_store_handle_increment(row->handle->inner, &row->call, answered, row);
}

void
kw_order_increment(kw_store_handle *base, const kw_increment *increment, kw_increment_done done, void *user)
{
    kw_order_handle *handle = kw_order_handle_of(base);
    if (increment->ordering && kw_stamps_writer(increment->ordering)) {
        kw_order_cas_increment(handle, increment, done, user);
        return;
    }
    if (!increment->ordering || !kw_writes_generation(increment->ordering)) {
        handle->inner->class->increment(handle->inner, increment, done, user);
        return;
    }
    counter_row *row = find_row(handle, increment);
    increment_op *op = g_new0(increment_op, 1);
    kw_budget_charge(KW_MEMORY_STORE, sizeof *op);
    *op = (increment_op){.row = row, .increment = increment, .done = done, .user = user};
    op->link.data = op;
    g_queue_push_tail_link(&row->waiting, &op->link);
    if (increment->deadline != KW_DEADLINE_NONE)
        kw_fine_timer_set(handle->timers, &op->timer, increment->deadline, on_deadline, op);
    if (!row->arena && !row->pausing)
        send_call(row);
}

void
kw_order_increments_close(kw_order_handle *handle)
{
    g_autoptr(GList) rows = g_hash_table_get_keys(handle->increments);
    for (GList *at = rows; at; at = at->next) {
        counter_row *row = at->data;
        bool pausing = row->pausing;
        row->pausing = true;
        for (GList *next; (next = g_queue_pop_head_link(&row->waiting));)
            answer(next->data, KW_OUTCOME_FAILED, NULL, &kw_error_shutting_down);
        row->pausing = pausing;
        free_if_idle(row);
    }
}
