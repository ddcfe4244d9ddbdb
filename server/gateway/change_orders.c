/* Orders of the operator.
 *
 *   caller's loop -> main loop: a job -> checks -> (wait until calls under earlier policies have ended)
 *     -> step: records and policy with the next version of the change -> prepare -> serve -> the reply
 *   pause, resume, throttle, compare: only the record changes
 */
#include "base/log.h"
#include "gateway/change_request.h"
#include "store/check.h"

#include <stdatomic.h>

#define REQUESTS_MAX 16
#define LOOK_AGAIN_MS 60000 /* the wall clock can be set */
#define RETRY_MS 1000
#define AGAIN_NS (UINT64_C(1000) * 1000 * 1000)

typedef kw_change_request request;

static const kw_error ending = {.code = KW_UNAVAILABLE, .text = "the gateway is shutting down"};

/* --- the reply ----------------------------------------------------------------------------------- */

typedef struct reply {
    kw_task task;
    kw_arena *arena;
    kw_change_status *changes;
    size_t count;
    kw_error error;
    kw_change_done done;
    void *user;
} reply;

static void
deliver(kw_task *task)
{
    reply *self = (reply *)(void *)((char *)task - offsetof(reply, task));
    self->done(self->user, self->changes, self->count, self->error.code == KW_OK ? NULL : &self->error);
    kw_arena_free(self->arena);
}

static void
list_changes(kw_coordinator *coordinator, const char *table, reply *to)
{
    const kw_change_set *set = coordinator->gateway->changes;
    if (!set)
        return;
    to->changes = KW_ARENA_ARRAY(to->arena, kw_change_status, set->count);
    for (size_t i = 0; i < set->count; i++)
        if (set->records[i].under_way && (!table || g_str_equal(set->records[i].table, table)))
            kw_change_status_of(coordinator, &set->records[i], to->arena, &to->changes[to->count++]);
}

static void
answer(request *self, const kw_error *error)
{
    if (!self->loop)
        return;
    kw_arena *arena = kw_arena_new();
    reply *posted = KW_ARENA_NEW(arena, reply);
    *posted = (reply){.task.run = deliver, .arena = arena, .done = self->done, .user = self->user};
    posted->error = error ? *error : KW_ERROR_NONE;
    if (!error)
        list_changes(self->coordinator, self->order.table, posted);
    kw_loop_post(g_steal_pointer(&self->loop), &posted->task);
}

static void
request_free(request *self)
{
    kw_coordinator *coordinator = self->coordinator;
    request **at = &coordinator->requests;
    while (*at != self)
        at = &(*at)->next_open;
    *at = self->next_open;
    atomic_fetch_sub(&coordinator->requests_count, 1);
    kw_policy_unref(self->policy);
    kw_change_set_unref(self->before);
    kw_change_set_unref(self->after);
    kw_arena_free(self->arena);
}

/* The operator sees a failure in the state of the change. */
static void
end_continued(request *self, const kw_error *error)
{
    kw_coordinator *coordinator = self->coordinator;
    coordinator->continuing = false;
    coordinator->continue_ns = kw_clock_mono_ns() + AGAIN_NS;
    if (error && error->code != KW_UNAVAILABLE)
        kw_log(KW_LOG_ERROR, "change", "a change could not be completed, it will be tried again",
               "table=%s reason=\"%s\"", self->order.table, error->text);
}

/* Ends the job of an order. */
void
kw_change_request_finish(kw_change_request *self, const kw_error *error)
{
    kw_coordinator *coordinator = self->coordinator;
    if (coordinator->running == self)
        coordinator->running = NULL;
    if (self->continues)
        end_continued(self, error);
    answer(self, error);
    request_free(self);
    kw_coordinator_wake(coordinator, 0);
    kw_jobs_next(&coordinator->gateway->jobs);
}

void
kw_change_request_refuse(kw_change_request *self, kw_code code, const char *text)
{
    kw_error error;
    kw_error_set(&error, code, "table %s: %s", self->order.table, text);
    kw_change_request_finish(self, &error);
}

static void
on_written(void *user, const kw_error *error)
{
    kw_change_request_finish(user, error);
}

/* Only the record changes: no call behaves differently. */
void
kw_change_request_write_record(kw_change_request *self)
{
    kw_coordinator_update(self->coordinator, &self->record);
    kw_coordinator_write(self->coordinator, on_written, self);
}

/* --- orders that make a step ----------------------------------------------------------------------- */

static void
order_switch(request *self)
{
    if (self->record.version != KW_CHAIN_BOTH_OLD) {
        kw_change_request_refuse(self, KW_REFUSED, "queries read the new rows already");
        return;
    }
    const char *why = kw_change_why_not_switch(&self->record, self->order.leave_foreign, self->arena);
    if (why)
        kw_change_request_refuse(self, KW_REFUSED, why);
    else
        kw_change_step_wait(self);
}

static void
order_reverse(request *self)
{
    if (self->record.version == KW_CHAIN_BOTH_OLD)
        kw_change_request_refuse(self, KW_REFUSED, "queries read the old rows already");
    else if (self->record.version == KW_CHAIN_BOTH_LAST)
        kw_change_request_refuse(self, KW_REFUSED,
                                 "its change is being completed and cannot go back; order complete again");
    else
        kw_change_step_wait(self);
}

static void
order_complete(request *self)
{
    int64_t until_ms = kw_change_cursors_until_ms(self->coordinator, &self->record);
    if (self->record.version == KW_CHAIN_BOTH_OLD) {
        kw_change_request_refuse(self, KW_REFUSED,
                                 "queries read the old rows; order the switch first: keyway change switch");
    } else if (kw_clock_wall_ms() < until_ms && !self->order.expire_cursors) {
        self->record.completing = true; /* kw_change_orders_tick continues */
        kw_change_request_write_record(self);
    } else {
        kw_change_step_wait(self);
    }
}

static void
order_cancel(request *self)
{
    int64_t current = kw_policy_version(self->coordinator->gateway->policy);
    if (self->record.version != KW_CHAIN_BOTH_OLD) {
        kw_change_request_refuse(self, KW_REFUSED,
                                 "queries read the new rows; go back first: keyway change reverse");
        return;
    }
    if (current != self->record.new_version) {
        kw_change_request_refuse(
            self, KW_REFUSED,
            kw_arena_printf(
                self->arena,
                "policy version %" G_GINT64_FORMAT " was applied after version %" G_GINT64_FORMAT
                ", which began the change. To cancel it, apply a policy that has the old key rule",
                current, self->record.new_version));
        return;
    }
    kw_change_step_wait(self);
}

/* --- orders that only change the record -------------------------------------------------------------- */

/* Rows that could not be copied can be gone, or have been removed: only a copy counts them. */
static void
copy_again(kw_change_record *record)
{
    record->copied = false;
    record->copied_to = KW_BYTES_NONE;
    record->rows_copied = record->foreign = 0;
    record->example = "";
}

static void
order_record(request *self)
{
    kw_change_record *record = &self->record;
    record->paused =
        self->order.action == KW_CHANGE_PAUSE || (record->paused && self->order.action != KW_CHANGE_RESUME);
    if (self->order.action == KW_CHANGE_THROTTLE)
        record->rows_per_second = self->order.rows_per_second;
    kw_change_work *work = kw_change_work_of(self->coordinator, record);
    work->not_before_ns = 0;
    if (self->order.action == KW_CHANGE_COMPARE) {
        work->began_ns = 0;
        work->progress = 0;
        record->compared = false;
        record->compare_cursor = KW_BYTES_NONE;
        record->rows_compared = record->missing = record->different = record->extra = record->repaired = 0;
        if (record->foreign > 0 && record->version == KW_CHAIN_BOTH_OLD)
            copy_again(record);
    }
    kw_change_request_write_record(self);
}

/* True if the operator has completed the change, which has not ended. */
static bool
is_to_continue(const kw_change_record *record)
{
    return record->under_way && (record->version == KW_CHAIN_BOTH_LAST || record->completing);
}

/* --- the job ----------------------------------------------------------------------------------------- */

static void
execute(request *self)
{
    switch (self->order.action) {
    case KW_CHANGE_SWITCH:
        order_switch(self);
        return;
    case KW_CHANGE_REVERSE:
        order_reverse(self);
        return;
    case KW_CHANGE_COMPLETE:
        order_complete(self);
        return;
    case KW_CHANGE_CANCEL:
        order_cancel(self);
        return;
    case KW_CHANGE_PAUSE:
    case KW_CHANGE_RESUME:
    case KW_CHANGE_THROTTLE:
    case KW_CHANGE_COMPARE:
        order_record(self);
        return;
    case KW_CHANGE_SHOW:
        break;
    }
    g_assert_not_reached();
}

static void
run(kw_job *job)
{
    request *self = (request *)(void *)((char *)job - offsetof(request, job));
    kw_gateway *gateway = self->coordinator->gateway;
    const kw_change_set *set = gateway->changes;
    if (gateway->state != KW_GATEWAY_SERVING) {
        kw_change_request_refuse(self, KW_UNAVAILABLE, "the gateway is starting or shutting down");
        return;
    }
    size_t index = set ? kw_change_set_find_under_way(set, self->order.table) : 0;
    if (self->continues && !(set && index < set->count && is_to_continue(&set->records[index]))) {
        kw_change_request_finish(self, NULL); /* an order before this one has decided otherwise */
        return;
    }
    if (!set || index == set->count) {
        kw_change_request_refuse(self, KW_REFUSED, "no key rule of it is being changed");
        return;
    }
    self->before = kw_change_set_ref(gateway->changes); /* it has the texts of the record */
    self->record = set->records[index];
    const char *version = kw_chain_version_of(self->record.version)->name;
    if (self->order.expected && !g_str_equal(self->order.expected, version))
        kw_change_request_refuse(
            self, KW_REFUSED,
            kw_arena_printf(self->arena, "its change has version %s, not %s; nothing was changed", version,
                            kw_show(kw_bytes_of_text(self->order.expected)).text));
    else
        execute(self);
}

/* --- changes that the operator has completed ----------------------------------------------------------- */

/* How long until the change continues by itself, in milliseconds; UINT64_MAX: it waits for an order. */
static uint64_t
due_in_ms(const kw_coordinator *coordinator, const kw_change_record *record)
{
    int64_t now_ms = kw_clock_wall_ms(), until_ms = kw_change_cursors_until_ms(coordinator, record);
    if (!is_to_continue(record))
        return UINT64_MAX;
    return until_ms > now_ms ? (uint64_t)MIN(until_ms - now_ms, LOOK_AGAIN_MS) : 0;
}

static void
start_continuing(kw_coordinator *coordinator, const kw_change_record *record)
{
    kw_arena *arena = kw_arena_new();
    request *self = KW_ARENA_NEW(arena, request);
    *self = (request){.coordinator = coordinator,
                      .arena = arena,
                      .continues = true,
                      .order = {.action = KW_CHANGE_COMPLETE,
                                .table = kw_arena_text(arena, kw_bytes_of_text(record->table)),
                                .author = kw_arena_text(arena, kw_bytes_of_text(record->author))}};
    coordinator->continuing = true;
    atomic_fetch_add(&coordinator->requests_count, 1);
    self->next_open = coordinator->requests;
    coordinator->requests = self;
    self->job.run = run;
    kw_jobs_add(&coordinator->gateway->jobs, &self->job);
}

/* Starts to complete a change for which that is due. Returns when it must be called again. */
static uint64_t
start_due(kw_coordinator *coordinator)
{
    const kw_change_set *set = coordinator->gateway->changes;
    uint64_t now_ns = kw_clock_mono_ns(), again_ms = UINT64_MAX;
    if (coordinator->continuing || !set || coordinator->gateway->state != KW_GATEWAY_SERVING ||
        kw_coordinator_earlier_in_use(coordinator)) /* not in the queue, which would hold other jobs */
        return UINT64_MAX;
    for (size_t i = 0; i < set->count; i++) {
        uint64_t in_ms = due_in_ms(coordinator, &set->records[i]);
        if (in_ms == 0 && now_ns >= coordinator->continue_ns) {
            start_continuing(coordinator, &set->records[i]);
            return UINT64_MAX;
        }
        again_ms = MIN(again_ms, in_ms == 0 ? (coordinator->continue_ns - now_ns) / 1000000 + 1 : in_ms);
    }
    return again_ms;
}

uint64_t
kw_change_orders_tick(kw_coordinator *coordinator)
{
    if (!coordinator->running)
        return start_due(coordinator);
    kw_change_step_tick(coordinator->running);
    return UINT64_MAX;
}

/* --- from the caller's loop to the main loop ----------------------------------------------------------- */

static void
begin(kw_task *task)
{
    request *self = (request *)(void *)((char *)task - offsetof(request, task));
    kw_coordinator *coordinator = self->coordinator;
    self->next_open = coordinator->requests;
    coordinator->requests = self;
    if (coordinator->stopped)
        answer(self, &ending);
    if (self->order.action == KW_CHANGE_SHOW) {
        answer(self, NULL);
        request_free(self);
        return;
    }
    self->job.run = run;
    kw_jobs_add(&coordinator->gateway->jobs, &self->job);
}

static const char *
copy_text(kw_arena *arena, const char *text)
{
    return text ? kw_arena_text(arena, kw_bytes_of_text(text)) : NULL;
}

void
kw_coordinator_order(void *user, const kw_change_order *order, kw_loop *loop, kw_change_done done,
                     void *done_user)
{
    static const kw_error busy = {
        .code = KW_BUSY, .retry_after_ms = RETRY_MS, .text = "too many calls about changes are waiting"};
    kw_gateway *gateway = user;
    kw_arena *arena = kw_arena_new();
    request *self = KW_ARENA_NEW(arena, request);
    *self = (request){.task.run = begin,
                      .coordinator = gateway->coordinator,
                      .arena = arena,
                      .order = *order,
                      .loop = loop,
                      .done = done,
                      .user = done_user};
    self->order.table = copy_text(arena, order->table);
    self->order.expected = copy_text(arena, order->expected);
    self->order.author = copy_text(arena, order->author ? order->author : "");
    if (atomic_fetch_add(&gateway->coordinator->requests_count, 1) < REQUESTS_MAX) {
        kw_loop_post(gateway->loop, &self->task);
        return;
    }
    atomic_fetch_sub(&gateway->coordinator->requests_count, 1);
    answer(self, &busy);
    kw_arena_free(arena);
}

void
kw_change_orders_end(kw_coordinator *coordinator)
{
    for (request *at = coordinator->requests; at; at = at->next_open)
        answer(at, &ending);
    if (coordinator->running && !coordinator->running->stepping)
        kw_change_request_finish(coordinator->running, &ending);
}
