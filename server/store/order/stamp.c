/* Writes that the gateways stamp: any number of records, each with a timestamp for all its rows.
 *
 *   the store's clock is known --> stamp each record --> write --> what is in doubt is looked at
 *        |                                                              |
 *        '-- no: UNAVAILABLE                                            v
 *                                  wait until the clock has surely passed the stamps --> answer
 *
 * A put is sent once. If it were sent again, its first try could arrive after another put of the same
 * millisecond had won, and undo that: so where its answer is lost, the gateway reads whether it is there, or
 * something newer is; else its outcome is UNKNOWN. A removal can be sent again: it hides the same cells each
 * time. It leaves a readable cell, one millisecond after its delete markers, which would hide it otherwise.
 */
#include "store/order/order_internal.h"

#include "store/check.h"
#include "store/refuse.h"

/* Fewer rows than this leave one by one, so that the store can batch them with those of other operations. */
#define TOGETHER_LEAST 8

/* When a put in doubt is looked at. */
static const uint64_t looks_ns[] = {20 * UINT64_C(1000000), 200 * UINT64_C(1000000),
                                    1000 * UINT64_C(1000000)};

typedef struct stamping stamping;

/* One row that leaves by itself. */
typedef struct stamped_row {
    stamping *of;
    size_t place; /* among the copies */
} stamped_row;

struct stamping {
    kw_order_handle *handle;
    kw_arena *arena;
    const kw_write *const *writes; /* the caller's */
    size_t count;
    kw_written *results; /* the caller's */
    kw_write *copies;    /* with stamps */
    const kw_write **list;
    size_t *places; /* of the copies among the writes */
    size_t sent;
    size_t answered; /* of those that left one by one */
    kw_written *written;
    kw_wait wait;
    kw_wait_end end; /* of the first wait */
    size_t looks;
    const kw_get **gets;
    size_t *doubts; /* copies that are looked at */
    size_t doubts_count;
    void (*done)(void *user);
    void *user;
};

static void
answer(stamping *op)
{
    void (*done)(void *) = op->done;
    void *user = op->user;
    kw_arena_free(op->arena);
    done(user);
}

static void
fail(stamping *op, size_t place, kw_outcome outcome, const kw_error *error)
{
    op->results[place] = (kw_written){.outcome = outcome, .error = *error};
}

static bool
is_removal(const kw_write *write)
{
    return write->kind == KW_WRITE_DELETE;
}

/* --- the end: the clock has passed --------------------------------------------------------------- */

static void
passed(void *user, kw_wait_end end)
{
    stamping *op = user;
    kw_error error;
    for (size_t i = 0; end != KW_WAIT_OVER && i < op->sent; i++) {
        kw_written *result = &op->results[op->places[i]];
        if (result->outcome != KW_OUTCOME_OK)
            continue;
        kw_wait_error(op->handle, end, "the store's clock passed the write", true, &error);
        *result = (kw_written){.outcome = KW_OUTCOME_UNKNOWN, .error = error};
    }
    answer(op);
}

/* HBase hides a put behind a delete marker of the same millisecond: later writes must get more than a
 * removal. */
static void
wait_for_stamps(stamping *op)
{
    int64_t most_ms = -1;
    for (size_t i = 0; i < op->sent; i++)
        if (op->results[op->places[i]].outcome == KW_OUTCOME_OK)
            most_ms = MAX(most_ms, op->copies[i].timestamp + is_removal(&op->copies[i]));
    if (most_ms < 0) {
        answer(op);
        return;
    }
    op->wait = (kw_wait){.until_time_ns = most_ms * KW_NS_PER_MS,
                         .known = true,
                         .deadline = op->copies[0].deadline,
                         .done = passed,
                         .user = op};
    kw_wait_then(op->handle, &op->wait);
}

/* --- puts in doubt ------------------------------------------------------------------------------- */

static void look_later(stamping *op);

/* Does the row hold all that was put, or what is newer? Then it is as if the store had answered. */
static bool
is_there(const stamping *op, const kw_write *put, const kw_row *row)
{
    for (size_t i = 0; i < put->cells_count; i++) {
        const kw_cell *cell = &put->cells[i], *found = kw_order_find(row, cell->family, cell->qualifier);
        bool own = found && found->timestamp == put->timestamp && kw_bytes_equal(found->value, cell->value);
        bool newer = found && found->timestamp > put->timestamp;
        if (!own && !newer && kw_control_gone_until(put->ordering, row, cell, op->arena) < put->timestamp)
            return false;
    }
    return true;
}

static void
looked(void *user, kw_rows *rows, const kw_error *error)
{
    stamping *op = user;
    for (size_t i = 0; !error && i < op->doubts_count; i++) {
        size_t at = op->doubts[i];
        if (is_there(op, &op->copies[at], &rows->rows[i]))
            op->results[op->places[at]].outcome = KW_OUTCOME_OK;
    }
    kw_rows_free(rows);
    look_later(op);
}

/* Only rows of one table at a time: the others' turn comes with the next look. */
static void
look(stamping *op)
{
    op->doubts_count = 0;
    for (size_t i = 0; i < op->sent; i++) {
        const kw_write *put = &op->copies[i];
        bool doubtful = op->results[op->places[i]].outcome == KW_OUTCOME_UNKNOWN && !is_removal(put);
        if (!doubtful || (op->doubts_count && !kw_bytes_equal(put->table, op->copies[op->doubts[0]].table)))
            continue;
        kw_get *get = KW_ARENA_NEW(op->arena, kw_get);
        *get = (kw_get){.table = put->table, .row = put->row, .max_versions = 1, .deadline = put->deadline};
        op->gets[op->doubts_count] = get;
        op->doubts[op->doubts_count++] = i;
    }
    if (op->doubts_count)
        kw_store_handle_get_many(op->handle->inner, op->gets, op->doubts_count, looked, op);
    else
        wait_for_stamps(op);
}

static void
time_to_look(void *user, kw_wait_end end)
{
    stamping *op = user;
    if (end == KW_WAIT_OVER)
        look(op);
    else
        wait_for_stamps(op);
}

static void
look_later(stamping *op)
{
    bool doubtful = false;
    for (size_t i = 0; i < op->sent; i++)
        doubtful = doubtful ||
                   (op->results[op->places[i]].outcome == KW_OUTCOME_UNKNOWN && !is_removal(&op->copies[i]));
    if (!doubtful || op->looks == G_N_ELEMENTS(looks_ns)) {
        wait_for_stamps(op);
        return;
    }
    op->wait = (kw_wait){.until_ns = kw_clock_mono_ns() + looks_ns[op->looks++],
                         .until_time_ns = INT64_MIN,
                         .deadline = op->copies[0].deadline,
                         .done = time_to_look,
                         .user = op};
    kw_wait_then(op->handle, &op->wait);
}

/* --- the writes ---------------------------------------------------------------------------------- */

static void
written(void *user)
{
    stamping *op = user;
    for (size_t i = 0; i < op->sent; i++)
        op->results[op->places[i]] = op->written[i];
    look_later(op);
}

static void
row_written(void *user, kw_outcome outcome, const kw_error *error)
{
    stamped_row *row = user;
    stamping *op = row->of;
    op->written[row->place].outcome = outcome;
    if (error)
        op->written[row->place].error = *error;
    if (++op->answered == op->sent)
        written(op);
}

static void
send_one_by_one(stamping *op)
{
    stamped_row *rows = KW_ARENA_ARRAY(op->arena, stamped_row, op->sent);
    size_t count = op->sent; /* the last answer frees op */
    for (size_t i = 0; i < count; i++) {
        rows[i] = (stamped_row){op, i};
        kw_store_handle_write(op->handle->inner, op->list[i], row_written, &rows[i]);
    }
}

/* Delete markers up to the stamp, family by family or column by column, and what says that the cells are
 * gone. */
static void
make_removal(stamping *op, kw_write *removal)
{
    const kw_ordering *ordering = removal->ordering;
    size_t count = MAX(removal->columns_count, 1);
    kw_cell *gone = KW_ARENA_ARRAY(op->arena, kw_cell, count);
    uint64_t until = (uint64_t)removal->timestamp;
    for (size_t i = 0; i < count; i++) {
        kw_bytes name = removal->columns_count ? kw_control_gone_column(&removal->columns[i], op->arena)
                                               : KW_CONTROL_GONE;
        gone[i] = kw_control_cell(ordering, name, until, removal->timestamp + 1, op->arena);
    }
    removal->beside = gone;
    removal->beside_count = count;
    removal->beside_ttl_ms = op->handle->settings->late_ms;
}

/* The least stamp that no other write of this row can be given any more. */
static int64_t
order(stamping *op, kw_bytes row, int64_t stamp_ms, bool alone)
{
    kw_order_store *store = kw_order_store_of(op->handle);
    _Atomic int64_t *slot = &store->least_ms[kw_bytes_hash(row) % KW_ORDER_SLOTS];
    int64_t least = atomic_load(slot), taken, next;
    do {
        taken = MAX(stamp_ms, least);
        next = alone ? taken + 1 : taken;
        if (next == least)
            return taken;
    } while (!atomic_compare_exchange_weak(slot, &least, next));
    return taken;
}

static size_t
rows_of(const stamping *op, size_t first)
{
    size_t end = first + 1;
    while (end < op->count && op->writes[first]->record &&
           op->writes[end]->record == op->writes[first]->record)
        end++;
    return end - first;
}

/* All rows of a record have one stamp; its first row stands for it. Rows that are written side by side, and
 * what a removal hides, must have it alone. */
static void
stamp_record(stamping *op, size_t first, size_t count, int64_t now_ms)
{
    const kw_write *write = op->writes[first];
    int64_t stamp_ms = order(op, write->row, now_ms, count > 1 || is_removal(write));
    kw_error error;
    if (stamp_ms > now_ms + KW_ORDER_AHEAD_MS) {
        kw_error_set(&error, KW_BUSY, "table %s: a record is written too often", kw_show(write->table).text);
        error.retry_after_ms = KW_ORDER_AHEAD_MS;
        for (size_t i = 0; i < count; i++)
            fail(op, first + i, KW_OUTCOME_FAILED, &error);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        kw_write *copy = &op->copies[op->sent];
        *copy = *op->writes[first + i];
        copy->timestamp = stamp_ms;
        copy->once = !is_removal(copy);
        if (is_removal(copy))
            make_removal(op, copy);
        op->list[op->sent] = copy;
        op->places[op->sent++] = first + i;
    }
}

static void
refused(void *user)
{
    answer(user);
}

static void
send_all(stamping *op)
{
    int64_t now_ms = op->wait.span.latest_ns / KW_NS_PER_MS;
    for (size_t first = 0, count; first < op->count; first += count) {
        count = rows_of(op, first);
        stamp_record(op, first, count, now_ms);
    }
    if (op->sent && op->sent < TOGETHER_LEAST)
        send_one_by_one(op);
    else if (op->sent)
        kw_store_handle_write_many(op->handle->inner, op->list, op->sent, op->written, written, op);
    else
        kw_refuse_later(&op->handle->base, refused, op);
}

/* --- the clock ----------------------------------------------------------------------------------- */

static void
known(void *user, kw_wait_end end)
{
    stamping *op = user;
    kw_error error;
    if (end == KW_WAIT_OVER) {
        send_all(op);
        return;
    }
    kw_wait_error(op->handle, end, "the store's clock was known", false, &error);
    for (size_t i = 0; i < op->count; i++)
        fail(op, i, KW_OUTCOME_FAILED, &error);
    answer(op);
}

static void
not_known(void *user)
{
    stamping *op = user;
    known(op, op->end);
}

void
kw_order_stamp(kw_order_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
               void (*done)(void *user), void *user)
{
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    stamping *op = KW_ARENA_NEW(arena, stamping);
    *op = (stamping){.handle = handle,
                     .arena = arena,
                     .writes = writes,
                     .count = count,
                     .results = results,
                     .copies = KW_ARENA_ARRAY(arena, kw_write, count),
                     .list = KW_ARENA_ARRAY(arena, const kw_write *, count),
                     .places = KW_ARENA_ARRAY(arena, size_t, count),
                     .written = KW_ARENA_ARRAY(arena, kw_written, count),
                     .gets = KW_ARENA_ARRAY(arena, const kw_get *, count),
                     .doubts = KW_ARENA_ARRAY(arena, size_t, count),
                     .done = done,
                     .user = user};
    for (size_t i = 0; i < count; i++)
        results[i] = (kw_written){.outcome = KW_OUTCOME_OK};
    op->wait = (kw_wait){.until_time_ns = INT64_MIN,
                         .known = true,
                         .deadline = writes[0]->deadline,
                         .done = known,
                         .user = op};
    op->end = kw_wait_start(handle, &op->wait);
    if (op->end == KW_WAIT_OVER)
        send_all(op);
    else if (op->end != KW_WAIT_GOING)
        kw_refuse_later(&handle->base, not_known, op);
}
