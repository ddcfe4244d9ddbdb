/* Sends writes to the inner store, those of one record in the order of their steps.
 *
 *   step 1 of all records --> answers --> step 2 of the records without a failure --> ... --> done
 *
 * The writes of one step are sent together. If a write of a record does not succeed, the writes of its later
 * steps are not sent: their outcome is FAILED, with the error of the first write that did not succeed. */
#include "store/order/order_internal.h"

/* Fewer writes than this are sent one by one, so that the store can batch them with those of other
 * operations. */
#define BATCH_MIN 8

typedef struct sending sending;

/* A write that is sent by itself. */
typedef struct single {
    sending *owner;
    size_t index;
} single;

struct sending {
    kw_order_handle *handle;
    const kw_write *const *writes;
    size_t count;
    kw_written *results;
    unsigned step;          /* the one being sent */
    const kw_write **batch; /* its writes */
    size_t *indexes;        /* of the batch in the writes */
    size_t batch_count;
    kw_written *written; /* parallel to the batch */
    single *singles;
    size_t answered;
    void (*done)(void *user);
    void *user;
};

static void send_next_step(sending *op);

/* The index after the last write of the record whose first write has the index `first`. */
static size_t
end_of_record(const sending *op, size_t first)
{
    size_t end = first + 1;
    uint32_t record = op->writes[first]->record;
    while (end < op->count && record && op->writes[end]->record == record)
        end++;
    return end;
}

/* The first write of an earlier step that did not succeed; NULL: none. */
static const kw_written *
earlier_failure(const sending *op, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (op->writes[i]->step < op->step && op->results[i].outcome != KW_OUTCOME_OK)
            return &op->results[i];
    return NULL;
}

static void
add_record(sending *op, size_t first, size_t end)
{
    const kw_written *failure = earlier_failure(op, first, end);
    for (size_t i = first; i < end; i++) {
        if (op->writes[i]->step != op->step)
            continue;
        if (failure) {
            op->results[i] = (kw_written){.outcome = KW_OUTCOME_FAILED, .error = failure->error};
            op->results[i].error.maybe_applied = false;
            continue;
        }
        op->indexes[op->batch_count] = i;
        op->batch[op->batch_count++] = op->writes[i];
    }
}

/* The lowest step above the present one; 0: none. */
static unsigned
next_step(const sending *op)
{
    unsigned next = UINT_MAX;
    for (size_t i = 0; i < op->count; i++)
        if (op->writes[i]->step > op->step)
            next = MIN(next, op->writes[i]->step);
    return next == UINT_MAX ? 0 : next;
}

static void
on_step_done(void *user)
{
    sending *op = user;
    for (size_t i = 0; i < op->batch_count; i++)
        op->results[op->indexes[i]] = op->written[i];
    op->step = next_step(op);
    if (op->step)
        send_next_step(op);
    else
        op->done(op->user);
}

static void
on_single_done(void *user, kw_outcome outcome, const kw_error *error)
{
    single *one = user;
    sending *op = one->owner;
    op->written[one->index].outcome = outcome;
    if (error)
        op->written[one->index].error = *error;
    else
        kw_error_clear(&op->written[one->index].error);
    if (++op->answered == op->batch_count)
        on_step_done(op);
}

static void
send_one_by_one(sending *op)
{
    size_t count = op->batch_count;
    op->answered = 0;
    for (size_t i = 0; i < count; i++) {
        op->singles[i] = (single){op, i};
        kw_store_handle_write(op->handle->inner, op->batch[i], on_single_done, &op->singles[i]);
    }
}

static void
send_next_step(sending *op)
{
    op->batch_count = 0;
    for (size_t first = 0, end; first < op->count; first = end) {
        end = end_of_record(op, first);
        add_record(op, first, end);
    }
    if (op->batch_count == 0)
        on_step_done(op); /* only after a step that was sent, so this is not inside the caller's call */
    else if (op->batch_count < BATCH_MIN)
        send_one_by_one(op);
    else
        kw_store_handle_write_many(op->handle->inner, op->batch, op->batch_count, op->written, on_step_done,
                                   op);
}

void
kw_order_send(kw_order_handle *handle, kw_arena *arena, const kw_write *const *writes, size_t count,
              kw_written *results, void (*done)(void *user), void *user)
{
    g_assert(count > 0);
    sending *op = KW_ARENA_NEW(arena, sending);
    *op = (sending){.handle = handle,
                    .writes = writes,
                    .count = count,
                    .results = results,
                    .batch = KW_ARENA_ARRAY(arena, const kw_write *, count),
                    .indexes = KW_ARENA_ARRAY(arena, size_t, count),
                    .written = KW_ARENA_ARRAY(arena, kw_written, count),
                    .singles = KW_ARENA_ARRAY(arena, single, MIN(count, BATCH_MIN)),
                    .done = done,
                    .user = user};
    op->step = writes[0]->step;
    for (size_t i = 1; i < count; i++)
        op->step = MIN(op->step, writes[i]->step);
    send_next_step(op);
}

bool
kw_order_has_steps(const kw_write *const *writes, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (writes[i]->step != writes[0]->step)
            return true;
    return false;
}

/* --- with an arena of its own ------------------------------------------------------------------ */

typedef struct owned {
    kw_arena *arena;
    void (*done)(void *user);
    void *user;
} owned;

static void
on_sent(void *user)
{
    owned op = *(owned *)user;
    kw_arena_free(op.arena);
    op.done(op.user);
}

void
kw_order_write_in_steps(kw_order_handle *handle, const kw_write *const *writes, size_t count,
                        kw_written *results, void (*done)(void *user), void *user)
{
    g_assert(kw_order_has_steps(writes, count));
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    owned *op = KW_ARENA_NEW(arena, owned);
    *op = (owned){.arena = arena, .done = done, .user = user};
    kw_order_send(handle, arena, writes, count, results, on_sent, op);
}
