/* Orders of the operator.
 *
 *   caller's loop -> main loop: a job -> checks -> (wait until calls under earlier policies have ended)
 *     -> step: records and policy with the next version of the change -> prepare -> serve -> the reply
 *   pause, resume, throttle, compare: only the record changes
 */
#include "base/log.h"
#include "config/shared.h"
#include "gateway/coordinator_internal.h"
#include "gateway/policy_file.h"
#include "gateway/prepare.h"
#include "store/check.h"

#include <stdatomic.h>

#define REQUESTS_MAX 16
#define RETRY_MS 1000
#define WAIT_NS (UINT64_C(10) * 1000 * 1000 * 1000)

struct kw_change_request {
    kw_task task;
    kw_job job;
    kw_coordinator *coordinator;
    kw_change_request *next_open;
    kw_arena *arena;
    kw_change_order order;
    kw_loop *loop; /* the caller's; NULL: it was answered */
    kw_change_done done;
    void *user;
    /* a step */
    uint64_t until_ns; /* how long it waits */
    bool stepping;
    kw_change_record record; /* while the order is checked; after the step */
    kw_change_set *before, *after;
    kw_change_step step;
    kw_policy *policy;
    kw_version_draft draft; /* of a cancellation */
};
typedef struct kw_change_request request;

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

/* Ends the job of an order. */
static void
finish(request *self, const kw_error *error)
{
    kw_coordinator *coordinator = self->coordinator;
    if (coordinator->running == self)
        coordinator->running = NULL;
    answer(self, error);
    request_free(self);
    kw_coordinator_wake(coordinator, 0);
    kw_jobs_next(&coordinator->gateway->jobs);
}

static void
refuse(request *self, kw_code code, const char *text)
{
    kw_error error;
    kw_error_set(&error, code, "table %s: %s", self->order.table, text);
    finish(self, &error);
}

static void
wait_to_step(request *self)
{
    kw_coordinator *coordinator = self->coordinator;
    self->stepping = false;
    self->until_ns = kw_clock_mono_ns() + WAIT_NS;
    coordinator->running = self;
    if (coordinator->stopped)
        finish(self, &ending);
    else
        kw_coordinator_wake(coordinator, 0);
}

/* --- a step -------------------------------------------------------------------------------------- */

static void
on_prepared(void *user, const kw_error *error)
{
    request *self = user;
    kw_gateway *gateway = self->coordinator->gateway;
    if (error) {
        finish(self, error);
        return;
    }
    kw_log(KW_LOG_INFO, "change", "the change has a new version", "table=%s path=%s version=%s author=\"%s\"",
           self->record.table, self->record.path,
           self->record.under_way ? kw_chain_version_of(self->record.version)->name : "ended",
           kw_show(kw_bytes_of_text(self->order.author)).text);
    kw_gateway_set_changes(gateway, self->after);
    if (gateway->net)
        kw_gateway_serve_policy(gateway, self->policy, gateway->keyring);
    if (self->record.under_way && self->record.version == KW_CHAIN_BOTH_LAST)
        wait_to_step(self);
    else
        finish(self, NULL);
}

/* A record of an ended change is only needed if the policy's text names another placement. */
static bool
is_needed(const kw_change_record *record)
{
    return record->under_way || record->given.layout != record->now.layout ||
           !g_str_equal(record->given.store_table, record->now.store_table);
}

static kw_change_set *
set_after(const request *self)
{
    const kw_change_set *before = self->before;
    g_autofree kw_change_record *records = g_new(kw_change_record, before->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < before->count; i++) {
        const kw_change_record *each = &before->records[i];
        bool same =
            g_str_equal(each->table, self->record.table) && g_str_equal(each->path, self->record.path);
        const kw_change_record *fresh = same ? &self->record : each;
        if (is_needed(fresh))
            records[count++] = *fresh;
    }
    return kw_change_set_new(records, count, before);
}

/* The text that the policy has after the step: the old version's if the change is cancelled. */
static kw_model *
model_after(request *self, kw_diagnostics *found)
{
    kw_gateway *gateway = self->coordinator->gateway;
    size_t index = kw_change_set_find_under_way(self->before, self->record.table);
    if (self->order.action != KW_CHANGE_CANCEL)
        return kw_model_ref(kw_policy_model(gateway->policy));
    kw_model *shared = kw_model_shared(self->before->old_models[index]);
    kw_version_draft_init(&self->draft);
    self->draft.text = kw_arena_copy(self->arena, kw_bytes_of_text(shared->text));
    self->draft.author = self->order.author;
    self->draft.reason =
        kw_arena_printf(self->arena, "the change of table %s is cancelled", self->order.table);
    self->draft.at_ms = kw_clock_wall_ms();
    return kw_model_share(kw_gateway_own_model(gateway), shared, found);
}

static bool
compile(request *self, kw_error *ret_error)
{
    kw_gateway *gateway = self->coordinator->gateway;
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new("policy");
    g_autoptr(kw_model) model = model_after(self, found);
    self->policy = model ? kw_change_set_compile(self->after, model, found) : NULL;
    if (!self->policy)
        return kw_policy_file_report(found, ret_error);
    bool cancels = self->order.action == KW_CHANGE_CANCEL;
    kw_policy_set_version(self->policy, kw_policy_version(gateway->policy) + (cancels ? 1 : 0));
    return true;
}

static void
change_record(kw_change_action action, kw_change_record *record)
{
    record->version_at_ms = kw_clock_wall_ms();
    if (action == KW_CHANGE_CANCEL) {
        kw_change_cancel_record(record);
    } else if (action == KW_CHANGE_COMPLETE && record->version == KW_CHAIN_BOTH_NEW) {
        record->version = KW_CHAIN_BOTH_LAST;
    } else if (action == KW_CHANGE_COMPLETE) {
        record->version = KW_CHAIN_STORE_NEW;
        record->under_way = false;
    } else {
        record->version = action == KW_CHANGE_SWITCH ? KW_CHAIN_BOTH_NEW : KW_CHAIN_BOTH_OLD;
    }
}

/* Reads the record again: slices can have ended since the order was checked. */
static void
take_step(request *self)
{
    kw_gateway *gateway = self->coordinator->gateway;
    kw_error error;
    self->stepping = true;
    kw_change_set_unref(self->before);
    kw_change_set_unref(self->after);
    g_clear_pointer(&self->policy, kw_policy_unref);
    self->before = kw_change_set_ref(gateway->changes);
    size_t index = kw_change_set_find_under_way(self->before, self->order.table);
    self->record = self->before->records[index];
    change_record(self->order.action, &self->record);
    self->after = set_after(self);
    if (!compile(self, &error)) {
        finish(self, &error);
        return;
    }
    self->step = (kw_change_step){.records = self->after->records,
                                  .count = self->after->count,
                                  .base = self->before->records,
                                  .base_count = self->before->count};
    kw_prepare(gateway, self->policy, self->order.action == KW_CHANGE_CANCEL ? &self->draft : NULL,
               &self->step, on_prepared, self);
}

void
kw_change_orders_tick(kw_coordinator *coordinator)
{
    request *self = coordinator->running;
    if (!self || self->stepping)
        return;
    if (kw_coordinator_is_drained(coordinator))
        take_step(self);
    else if (kw_clock_mono_ns() >= self->until_ns)
        refuse(
            self, KW_UNAVAILABLE,
            "calls that began before the last step of the change still run; try again when they have ended");
}

/* --- orders that make a step ----------------------------------------------------------------------- */

static void
order_switch(request *self)
{
    if (self->record.version != KW_CHAIN_BOTH_OLD) {
        refuse(self, KW_REFUSED, "reads use the new key rule already");
        return;
    }
    const char *why = kw_change_why_not_switch(&self->record, self->order.leave_foreign, self->arena);
    if (why)
        refuse(self, KW_REFUSED, why);
    else
        wait_to_step(self);
}

static void
order_reverse(request *self)
{
    if (self->record.version == KW_CHAIN_BOTH_OLD)
        refuse(self, KW_REFUSED, "reads use the old key rule already");
    else if (self->record.version == KW_CHAIN_BOTH_LAST)
        refuse(self, KW_REFUSED, "its change is being completed and cannot go back; order complete again");
    else
        wait_to_step(self);
}

static const char *
time_text(kw_arena *arena, int64_t wall_ms)
{
    g_autoptr(GDateTime) at = g_date_time_new_from_unix_utc(wall_ms / 1000);
    g_autofree char *text = at ? g_date_time_format(at, "%Y-%m-%dT%H:%M:%SZ") : g_strdup("an unknown time");
    return kw_arena_text(arena, kw_bytes_of_text(text));
}

static void
order_complete(request *self)
{
    int64_t until_ms = kw_change_cursors_until_ms(self->coordinator, &self->record);
    if (self->record.version == KW_CHAIN_BOTH_OLD) {
        refuse(self, KW_REFUSED, "reads use the old key rule; order the switch first: keyway change switch");
    } else if (kw_clock_wall_ms() < until_ms && !self->order.expire_cursors) {
        refuse(self, KW_REFUSED,
               kw_arena_printf(
                   self->arena,
                   "cursors of the old key rule are valid until %s: complete the change then, or let "
                   "them expire now (--expire-cursors)",
                   time_text(self->arena, until_ms)));
    } else {
        wait_to_step(self);
    }
}

static void
order_cancel(request *self)
{
    int64_t current = kw_policy_version(self->coordinator->gateway->policy);
    if (self->record.version != KW_CHAIN_BOTH_OLD) {
        refuse(self, KW_REFUSED, "reads use the new key rule; go back first: keyway change reverse");
        return;
    }
    if (current != self->record.new_version) {
        refuse(self, KW_REFUSED,
               kw_arena_printf(
                   self->arena,
                   "policy version %" G_GINT64_FORMAT " was applied after version %" G_GINT64_FORMAT
                   ", which began the change. To cancel it, apply a policy that has the old key rule",
                   current, self->record.new_version));
        return;
    }
    wait_to_step(self);
}

/* --- orders that only change the record -------------------------------------------------------------- */

static void
on_written(void *user, const kw_error *error)
{
    finish(user, error);
}

static void
order_record(request *self)
{
    kw_gateway *gateway = self->coordinator->gateway;
    kw_change_record *record = &self->record;
    record->paused =
        self->order.action == KW_CHANGE_PAUSE || (record->paused && self->order.action != KW_CHANGE_RESUME);
    if (self->order.action == KW_CHANGE_THROTTLE)
        record->rows_per_second = self->order.rows_per_second;
    if (self->order.action == KW_CHANGE_COMPARE) {
        record->compared = false;
        record->compare_cursor = KW_BYTES_NONE;
        record->rows_compared = record->missing = record->different = record->extra = record->repaired = 0;
    }
    kw_change_work_of(self->coordinator, record->table, record->path)->not_before_ns = 0;
    kw_coordinator_update(self->coordinator, record);
    kw_catalog_write_progress(gateway->catalog, gateway->changes->records, gateway->changes->count,
                              kw_deadline_in_ms(kw_gateway_model(gateway)->timeouts.call_ms), on_written,
                              self);
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
        refuse(self, KW_UNAVAILABLE, "the gateway is starting or shutting down");
        return;
    }
    size_t index = set ? kw_change_set_find_under_way(set, self->order.table) : 0;
    if (!set || index == set->count) {
        refuse(self, KW_REFUSED, "no key rule of it is being changed");
        return;
    }
    self->before = kw_change_set_ref(gateway->changes); /* it has the texts of the record */
    self->record = set->records[index];
    const char *version = kw_chain_version_of(self->record.version)->name;
    if (self->order.expected && !g_str_equal(self->order.expected, version))
        refuse(self, KW_REFUSED,
               kw_arena_printf(self->arena, "its change has version %s, not %s; nothing was changed", version,
                               kw_show(kw_bytes_of_text(self->order.expected)).text));
    else
        execute(self);
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
        finish(coordinator->running, &ending);
}
