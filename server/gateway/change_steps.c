/* The next version of a change.
 *
 *   wait until no call uses an earlier policy -> the records with the next version -> the policy with its
 * roles
 *     -> prepare (the catalog gets both in one put) -> serve
 */
#include "base/log.h"
#include "config/shared.h"
#include "gateway/change_request.h"
#include "gateway/policy_file.h"
#include "gateway/prepare.h"
#include "store/check.h"

#define WAIT_NS (UINT64_C(10) * 1000 * 1000 * 1000)

typedef kw_change_request request;

static const kw_error ending = {.code = KW_UNAVAILABLE, .text = "the gateway is shutting down"};

static void
on_prepared(void *user, const kw_error *error)
{
    request *self = user;
    kw_gateway *gateway = self->coordinator->gateway;
    if (error) {
        kw_change_request_finish(self, error);
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
        kw_change_step_wait(self);
    else
        kw_change_request_finish(self, NULL);
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
        record->completing = false;
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
        kw_change_request_finish(self, &error);
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
kw_change_step_wait(kw_change_request *self)
{
    kw_coordinator *coordinator = self->coordinator;
    self->stepping = false;
    self->until_ns = kw_clock_mono_ns() + WAIT_NS;
    coordinator->running = self;
    if (coordinator->stopped)
        kw_change_request_finish(self, &ending);
    else
        kw_coordinator_wake(coordinator, 0);
}

void
kw_change_step_tick(kw_change_request *self)
{
    if (self->stepping)
        return;
    if (kw_coordinator_is_drained(self->coordinator))
        take_step(self);
    else if (kw_clock_mono_ns() >= self->until_ns)
        kw_change_request_refuse(
            self, KW_UNAVAILABLE,
            "calls that began before the last step of the change still run; try again when they have ended");
}
