/* Increments of one row. Those that come while one is under way wait, and leave as one sum; each gets the
 * result that it would have had in the order in which they came.
 *
 *   increment --> waiting --> [one call: the sums of all that wait, and kw:g] --> results, in order
 *                    ^                                  |
 *                    '---- the row's next call waits while its timestamp is ahead of the store's clock
 *
 * The store counts the timestamp of an incremented cell up: without that wait a counter that is incremented
 * more than a thousand times a second would run ahead of the clock, and its removal would have to wait as
 * long. kw:g is incremented by a random amount, so that no value of it comes back.
 */
#include "store/order/order_internal.h"

#define CALLERS_MOST 256
#define COLUMNS_MOST 64

typedef struct sum_row sum_row;

/* One caller's increment. */
typedef struct rider {
    sum_row *row;
    const kw_increment *what;
    bool alone;          /* it was part of a sum that the store refused */
    size_t seat;         /* in the call, from 1; 0: it waits */
    kw_fine_timer timer; /* its deadline */
    GList link;
    kw_increment_done done;
    void *user;
} rider;

struct sum_row {
    kw_row_name name;
    kw_order_handle *handle;
    GQueue waiting;
    kw_wait pace;
    bool pacing;
    /* the call under way */
    kw_arena *arena; /* NULL: none */
    rider **seats;   /* NULL: its deadline passed */
    size_t seats_count;
    kw_increment sum;
    kw_column *columns;
    int64_t *amounts;
};

static void leave(sum_row *row);

/* --- rows ---------------------------------------------------------------------------------------- */

static sum_row *
find_row(kw_order_handle *handle, const kw_increment *what)
{
    sum_row *row = kw_row_names_find(handle->sums, what->table, what->row);
    if (row)
        return row;
    row = kw_row_names_add(handle->sums, sizeof *row, what->table, what->row);
    row->handle = handle;
    g_queue_init(&row->waiting);
    return row;
}

static void
free_when_idle(sum_row *row)
{
    if (row->arena || row->pacing || row->waiting.length)
        return;
    kw_row_names_remove(row->handle->sums, row, sizeof *row);
}

/* --- answers ------------------------------------------------------------------------------------- */

static void
answer(rider *of, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    kw_increment_done done = of->done;
    void *user = of->user;
    kw_fine_timer_cancel(of->row->handle->timers, &of->timer);
    kw_budget_charge(KW_MEMORY_STORE, -(int64_t)sizeof *of);
    g_free(of);
    done(user, outcome, rows, error);
}

static void
too_late(void *user)
{
    rider *of = user;
    sum_row *row = of->row;
    kw_error error;
    kw_error_set(&error, KW_TIMEOUT, "the deadline passed %s",
                 of->seat ? "before the store answered" : "while the increment waited for others");
    error.maybe_applied = of->seat > 0;
    if (of->seat)
        row->seats[of->seat - 1] = NULL;
    else
        g_queue_unlink(&row->waiting, &of->link);
    answer(of, of->seat ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED, NULL, &error);
    free_when_idle(row);
}

static size_t
place_of(const sum_row *row, const kw_column *column)
{
    size_t at = 0;
    while (at < row->sum.columns_count && !(kw_bytes_equal(row->columns[at].family, column->family) &&
                                            kw_bytes_equal(row->columns[at].qualifier, column->qualifier)))
        at++;
    return at;
}

static const kw_cell *
cell_of(const kw_row *row, const kw_column *column)
{
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (kw_bytes_equal(row->cells[i].family, column->family) &&
            kw_bytes_equal(row->cells[i].qualifier, column->qualifier))
            return &row->cells[i];
    return NULL;
}

/* Adds the rider's amounts to the running sums; its results, in the store's order of columns. */
static kw_rows *
results_of(sum_row *row, const kw_increment *what, const kw_row *told, uint64_t *running)
{
    kw_rows *rows = kw_rows_new();
    kw_row *result = rows->rows = KW_ARENA_NEW(rows->arena, kw_row);
    result->key = kw_arena_copy(rows->arena, row->name.row);
    result->cells = KW_ARENA_ARRAY(rows->arena, kw_cell, what->columns_count);
    rows->count = rows->scanned = 1;
    for (size_t i = 0; i < what->columns_count; i++)
        running[place_of(row, &what->columns[i])] += (uint64_t)what->amounts[i];
    for (uint32_t i = 0; i < told->cells_count; i++) {
        const kw_cell *cell = &told->cells[i];
        bool own = false;
        for (size_t j = 0; j < what->columns_count && !own; j++)
            own = kw_bytes_equal(cell->qualifier, what->columns[j].qualifier) &&
                  kw_bytes_equal(cell->family, what->columns[j].family);
        if (!own || result->cells_count == what->columns_count)
            continue;
        kw_column column = {.family = cell->family, .qualifier = cell->qualifier};
        uint8_t *value = kw_arena_alloc(rows->arena, 8);
        kw_be64_store(value, running[place_of(row, &column)]);
        result->cells[result->cells_count++] =
            (kw_cell){.family = kw_arena_copy(rows->arena, cell->family),
                      .qualifier = kw_arena_copy(rows->arena, cell->qualifier),
                      .value = kw_bytes_of(value, 8),
                      .timestamp = cell->timestamp};
    }
    return rows;
}

/* The results of the only rider of a call: all cells but kw:g. */
static kw_rows *
results_of_all(const sum_row *row, const kw_row *told)
{
    const kw_ordering *ordering = row->seats[0]->what->ordering;
    kw_rows *rows = kw_rows_new();
    kw_row *result = rows->rows = KW_ARENA_NEW(rows->arena, kw_row);
    result->key = kw_arena_copy(rows->arena, row->name.row);
    result->cells = KW_ARENA_ARRAY(rows->arena, kw_cell, told->cells_count);
    rows->count = rows->scanned = 1;
    for (uint32_t i = 0; i < told->cells_count; i++) {
        const kw_cell *cell = &told->cells[i];
        if (!kw_is_control(ordering, cell))
            result->cells[result->cells_count++] =
                (kw_cell){.family = kw_arena_copy(rows->arena, cell->family),
                          .qualifier = kw_arena_copy(rows->arena, cell->qualifier),
                          .value = kw_arena_copy(rows->arena, cell->value),
                          .timestamp = cell->timestamp};
    }
    return rows;
}

/* What the cells were before the call; false: the store did not say. */
static bool
subtract_sums(const sum_row *row, const kw_row *told, uint64_t *ret_before)
{
    for (size_t i = 0; i < row->sum.columns_count; i++) {
        const kw_cell *cell = cell_of(told, &row->columns[i]);
        if (!cell || cell->value.size != 8)
            return false;
        ret_before[i] = kw_be64_load(cell->value.data) - (uint64_t)row->amounts[i];
    }
    return true;
}

typedef struct ended {
    rider **seats;
    size_t count;
    kw_arena *arena;
} ended;

/* The row can be used again: completions may increment it. */
static ended
end_call(sum_row *row)
{
    ended call = {row->seats, row->seats_count, row->arena};
    row->arena = NULL;
    row->seats = NULL;
    row->seats_count = 0;
    return call;
}

static void
answer_errors(sum_row *row, kw_outcome outcome, const kw_error *error)
{
    ended call = end_call(row);
    for (size_t i = 0; i < call.count; i++)
        if (call.seats[i])
            answer(call.seats[i], outcome, NULL, error);
    kw_arena_free(call.arena);
}

static void
answer_only(sum_row *row, const kw_row *told)
{
    kw_rows *rows = row->seats[0] ? results_of_all(row, told) : NULL;
    ended call = end_call(row);
    if (rows)
        answer(call.seats[0], KW_OUTCOME_OK, rows, NULL);
    kw_arena_free(call.arena);
}

static void
answer_results(sum_row *row, const kw_row *told)
{
    if (row->seats_count == 1) {
        answer_only(row, told);
        return;
    }
    uint64_t *running = KW_ARENA_ARRAY(row->arena, uint64_t, row->sum.columns_count);
    kw_error error;
    if (!subtract_sums(row, told, running)) {
        kw_error_set(&error, KW_INTERNAL, "the store did not say what a counter is now");
        error.maybe_applied = true;
        answer_errors(row, KW_OUTCOME_UNKNOWN, &error);
        return;
    }
    kw_rows **results = KW_ARENA_ARRAY(row->arena, kw_rows *, row->seats_count);
    kw_arena *arena = row->arena;
    for (size_t i = 0; i < row->seats_count; i++)
        if (row->seats[i])
            results[i] = results_of(row, row->seats[i]->what, told, running);
    ended call = end_call(row);
    for (size_t i = 0; i < call.count; i++)
        if (call.seats[i])
            answer(call.seats[i], KW_OUTCOME_OK, results[i], NULL);
    kw_arena_free(arena);
}

/* --- the call ------------------------------------------------------------------------------------ */

static void
paced(void *user, kw_wait_end end)
{
    sum_row *row = user;
    row->pacing = false;
    if (end == KW_WAIT_OVER && row->waiting.length)
        leave(row);
    free_when_idle(row);
}

static void
go_on(sum_row *row, int64_t stamp_ms)
{
    kw_span span;
    bool known = kw_store_time_about(kw_order_store_of(row->handle)->inner, &span);
    int64_t ahead_ns = known ? kw_order_ns(stamp_ms) - span.latest_ns : 0;
    row->pace = (kw_wait){.until_ns = ahead_ns > 0 ? kw_clock_mono_ns() + (uint64_t)ahead_ns : 0,
                          .until_time_ns = INT64_MIN,
                          .deadline = KW_DEADLINE_NONE,
                          .done = paced,
                          .user = row};
    row->pacing = true;
    kw_wait_then(row->handle, &row->pace);
}

/* Each by itself: the store refuses one of them, and with it the sum. */
static void
take_apart(sum_row *row)
{
    ended call = end_call(row);
    for (size_t i = call.count; i-- > 0;) {
        rider *of = call.seats[i];
        if (!of)
            continue;
        of->alone = true;
        of->seat = 0;
        g_queue_push_head_link(&row->waiting, &of->link);
    }
    kw_arena_free(call.arena);
}

static void
answered(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    sum_row *row = user;
    int64_t stamp_ms = 0;
    for (uint32_t i = 0; rows && i < rows->rows[0].cells_count; i++)
        stamp_ms = MAX(stamp_ms, rows->rows[0].cells[i].timestamp);
    row->pacing = true; /* keeps the row */
    if (!error)
        answer_results(row, &rows->rows[0]);
    else if (outcome == KW_OUTCOME_FAILED && error->code == KW_INVALID && row->seats_count > 1)
        take_apart(row);
    else
        answer_errors(row, outcome, error);
    kw_rows_free(rows);
    go_on(row, stamp_ms);
}

static bool
fits(const sum_row *row, const rider *of)
{
    if (row->seats_count == 0)
        return true;
    const rider *first = row->seats[0];
    return row->seats_count < CALLERS_MOST && !first->alone && !of->alone &&
           first->what->durability == of->what->durability &&
           row->sum.columns_count + of->what->columns_count <= COLUMNS_MOST;
}

/* A caller names each column once. */
static void
copy_amounts(sum_row *row, const kw_increment *what)
{
    for (size_t i = 0; i < what->columns_count; i++) {
        row->columns[i] = (kw_column){.family = kw_arena_copy(row->arena, what->columns[i].family),
                                      .qualifier = kw_arena_copy(row->arena, what->columns[i].qualifier)};
        row->amounts[i] = what->amounts[i];
    }
    row->sum.columns_count = what->columns_count;
}

static void
add_amounts(sum_row *row, const kw_increment *what)
{
    for (size_t i = 0; i < what->columns_count; i++) {
        size_t at = place_of(row, &what->columns[i]);
        if (at == row->sum.columns_count) {
            row->columns[row->sum.columns_count++] =
                (kw_column){.family = kw_arena_copy(row->arena, what->columns[i].family),
                            .qualifier = kw_arena_copy(row->arena, what->columns[i].qualifier)};
            row->amounts[at] = 0;
        }
        row->amounts[at] = (int64_t)((uint64_t)row->amounts[at] + (uint64_t)what->amounts[i]);
    }
}

static void
board(sum_row *row)
{
    const rider *first = row->waiting.head->data;
    size_t columns_most = MAX((size_t)COLUMNS_MOST, first->what->columns_count) + 1;
    row->columns = KW_ARENA_ARRAY(row->arena, kw_column, columns_most);
    row->amounts = KW_ARENA_ARRAY(row->arena, int64_t, columns_most);
    row->seats = KW_ARENA_ARRAY(row->arena, rider *, MIN(row->waiting.length, CALLERS_MOST));
    row->sum =
        (kw_increment){.table = row->name.table, .row = row->name.row, .durability = first->what->durability};
    for (GList *at; (at = row->waiting.head) && fits(row, at->data);) {
        rider *of = at->data;
        g_queue_unlink(&row->waiting, at);
        row->seats[row->seats_count++] = of;
        of->seat = row->seats_count;
        row->sum.deadline = MAX(row->sum.deadline, of->what->deadline);
        if (row->seats_count == 1)
            copy_amounts(row, of->what);
        else
            add_amounts(row, of->what);
    }
}

static void
leave(sum_row *row)
{
    const rider *first = row->waiting.head->data;
    const kw_ordering *ordering = first->what->ordering;
    row->arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    board(row);
    row->columns[row->sum.columns_count] = (kw_column){.family = kw_arena_copy(row->arena, ordering->family),
                                                       .qualifier = KW_CONTROL_GENERATION};
    row->amounts[row->sum.columns_count++] = (int64_t)kw_random_u64();
    row->sum.columns = row->columns;
    row->sum.amounts = row->amounts;
    kw_store_handle_increment(row->handle->inner, &row->sum, answered, row);
}

void
kw_order_increment(kw_store_handle *base, const kw_increment *increment, kw_increment_done done, void *user)
{
    kw_order_handle *handle = kw_order_handle_of(base);
    if (!increment->ordering || !increment->ordering->atomics) {
        handle->inner->class->increment(handle->inner, increment, done, user);
        return;
    }
    sum_row *row = find_row(handle, increment);
    rider *of = g_new0(rider, 1);
    kw_budget_charge(KW_MEMORY_STORE, sizeof *of);
    *of = (rider){.row = row, .what = increment, .done = done, .user = user};
    of->link.data = of;
    g_queue_push_tail_link(&row->waiting, &of->link);
    if (increment->deadline != KW_DEADLINE_NONE)
        kw_fine_timer_set(handle->timers, &of->timer, increment->deadline, too_late, of);
    if (!row->arena && !row->pacing)
        leave(row);
}

void
kw_order_sums_close(kw_order_handle *handle)
{
    g_autoptr(GList) rows = g_hash_table_get_keys(handle->sums);
    kw_error error;
    kw_error_set(&error, KW_UNAVAILABLE, "the gateway is shutting down");
    for (GList *at = rows; at; at = at->next) {
        sum_row *row = at->data;
        bool pacing = row->pacing;
        row->pacing = true;
        for (GList *next; (next = g_queue_pop_head_link(&row->waiting));)
            answer(next->data, KW_OUTCOME_FAILED, NULL, &error);
        row->pacing = pacing;
        free_when_idle(row);
    }
}
