/* The next place of a change.
 *
 *   one writer:       a command -> wait until no call uses an earlier policy --+
 *   several writers:  the holder's decision, which is checked again ----------+
 *                                                                             v
 *                     the records with the next place -> the policy with its roles
 *                         -> prepare (the catalog gets both in one put) -> serve
 *
 * The holder decides on a step only after all gateways, itself included, have reported that calls under
 * earlier policies have ended. So it waits for little more than the slice in progress.
 */
#include "base/log.h"
#include "config/shared.h"
#include "coordinator/request.h"
#include "policy/file.h"
#include "policy/prepare.h"
#include "store/check.h"

typedef kw_change_request request;

/* The catalog keeps its own records of the other changes. They have less progress than this gateway's own. If
 * the set counted as stored, the catalog's records would seem to be edited by others, and replace that
 * progress. */
static void
note_step(const request *self)
{
    kw_control *control = self->coordinator->control;
    g_autoptr(kw_change_set) changes = kw_change_set_with_step(control->changes, self->before, self->after),
                             stored =
                                 kw_change_set_with_step(control->stored_changes, self->before, self->after);
    kw_control_set_changes(control, changes);
    kw_control_set_stored(control, stored);
}

static void
on_prepared(void *user, const kw_error *error)
{
    request *self = user;
    kw_control *control = self->coordinator->control;
    if (error) {
        kw_change_request_finish(self, error);
        return;
    }
    kw_log(KW_LOG_INFO, "change", "the change has a new place", KW_LOG_FACT("table", self->record.table),
           KW_LOG_FACT("path", self->record.path),
           KW_LOG_FACT("place", self->record.under_way ? kw_change_place_name(self->record.place) : "ended"),
           KW_LOG_FACT("author", self->command.author));
    note_step(self);
    if (self->as_holder)
        kw_change_work_of(self->coordinator, &self->record)->problem = KW_ERROR_NONE;
    if (control->open)
        control->calls->serve(control, self->policy, control->keyring);
    if (self->record.under_way && !self->as_holder && self->record.place == KW_NEW(CLOSING))
        kw_change_step_wait(self);
    else
        kw_change_request_finish(self, NULL);
}

/* The text of the policy after the step. It is that of the old policy version if the change is cancelled. */
static kw_model *
model_after(request *self, kw_diagnostics *found)
{
    kw_control *control = self->coordinator->control;
    size_t index = kw_change_set_find_under_way(self->before, self->record.table);
    if (self->command.action != KW_CHANGE_CANCEL)
        return kw_model_ref(kw_policy_model(control->policy));
    kw_model *shared = kw_model_shared(self->before->old_models[index]);
    kw_version_draft_init(&self->draft);
    self->draft.text = kw_arena_copy(self->request.arena, kw_bytes_of_text(shared->text));
    self->draft.author = self->command.author;
    self->draft.reason =
        kw_arena_printf(self->request.arena, "the change of table %s is cancelled", self->command.table);
    self->draft.at_ms = kw_clock_wall_ms();
    return kw_model_share(kw_control_own_model(control), shared, found);
}

static bool
compile(request *self, kw_error *ret_error)
{
    kw_control *control = self->coordinator->control;
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new("policy");
    g_autoptr(kw_model) model = model_after(self, found);
    self->policy = model ? kw_change_set_compile(self->after, model, found) : NULL;
    if (!self->policy)
        return kw_policy_file_report(found, ret_error);
    bool cancels = self->command.action == KW_CHANGE_CANCEL;
    kw_policy_set_version(self->policy, kw_policy_version(control->policy) + (cancels ? 1 : 0));
    return true;
}

/* Sets the place that the holder has decided on. False: the store's clock, which the place needs, is
 * unknown. */
static bool
set_as_holder(const kw_coordinator *coordinator, const kw_change_next *next, kw_change_record *record)
{
    bool ends = next->act == KW_CHANGE_ACT_END;
    int64_t set_at_ms = 0;
    if (!ends && kw_change_needs_set_at(kw_change_ladder_of(record), next->to) &&
        !kw_change_set_at(coordinator, &set_at_ms)) {
        kw_store_keep_time_known(coordinator->control->store);
        return false;
    }
    if (!ends) {
        kw_change_set_place(record, next->to, kw_clock_wall_ms(), set_at_ms);
    } else if (kw_change_ends_as_before(record)) {
        kw_change_cancel_record(record);
    } else {
        record->under_way = record->atomics = false;
    }
    return true;
}

/* Sets the next place of the ladder, as the command says. */
static void
change_record(kw_change_action action, kw_change_record *record)
{
    bool back = action == KW_CHANGE_REVERSE || action == KW_CHANGE_CANCEL;
    kw_change_place to = kw_change_next_move(record, back ? KW_CHANGE_BACK : KW_CHANGE_FORWARD).to;
    if (to == KW_OLD(UNSTAMPED))
        kw_change_cancel_record(record);
    record->place = to;
    record->place_at_ms = kw_clock_wall_ms();
    record->completing = record->completing && !back;
    record->under_way = record->under_way && to != KW_NEW(UNSTAMPED) && to != KW_OLD(FILLED);
}

/* The records after the step. A cancellation makes the text from before the change current, so it also
 * cancels the changes of other tables that the same policy version began. */
static kw_change_set *
records_after(const request *self)
{
    kw_change_set *after = kw_change_set_replace(self->before, &self->record);
    bool cancels = !self->as_holder && self->command.action == KW_CHANGE_CANCEL;
    for (size_t i = 0; cancels && i < self->before->count; i++) {
        kw_change_record other = self->before->records[i];
        if (!other.under_way || other.new_version != self->record.new_version ||
            g_str_equal(other.table, self->record.table))
            continue;
        change_record(KW_CHANGE_CANCEL, &other);
        kw_change_set *more = kw_change_set_replace(after, &other);
        kw_change_set_unref(after);
        after = more;
    }
    return after;
}

/* A cancellation makes the text from before the change current. It is refused if another version was applied
 * since, because the text would replace that version. */
static bool
check_cancellation(const request *self, kw_error *ret_error)
{
    const kw_control *control = self->coordinator->control;
    int64_t current = kw_policy_version(control->policy);
    if (!self->as_holder || self->command.action != KW_CHANGE_CANCEL || current == self->record.new_version)
        return true;
    return kw_error_set(ret_error, KW_REFUSED,
                        "policy version %" G_GINT64_FORMAT " was applied after version %" G_GINT64_FORMAT
                        ", which began the change, so it cannot be cancelled",
                        current, self->record.new_version);
}

static bool
is_cancelled_too(const request *self, const char *table)
{
    size_t index = kw_change_set_find_under_way(self->before, table);
    return index < self->before->count &&
           self->before->records[index].new_version == self->record.new_version;
}

/* True if the path has another key rule in the text of the cancellation, or is not in it. */
static bool
is_undone(const kw_path_facts *path, const kw_facts *then)
{
    const kw_path_facts *old = kw_facts_find_path(then, path->name);
    return !old ||
           !g_str_equal(kw_path_facts_serving(old)->fingerprint, kw_path_facts_serving(path)->fingerprint);
}

/* Refuses a cancellation whose text would also undo the change of another table, which has ended. */
static bool
check_ended_changes(const request *self, kw_error *ret_error)
{
    const kw_policy *policy = self->coordinator->control->policy;
    for (size_t i = 0; i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i),
                       *old = kw_policy_find_table(self->policy, kw_bytes_of_text(table->name));
        if (!old || is_cancelled_too(self, table->name))
            continue;
        const kw_facts *now = kw_facts_of_table(table, self->request.arena),
                       *then = kw_facts_of_table(old, self->request.arena);
        for (size_t path = 0; path < now->paths_count; path++)
            if (is_undone(&now->paths[path], then))
                return kw_error_set(ret_error, KW_REFUSED,
                                    "table %s: policy version %" G_GINT64_FORMAT
                                    " also changed path %s of table %s, and that change has ended. "
                                    "A cancellation would undo it. Apply a policy that has the old key "
                                    "rule of table %s only",
                                    self->record.table, self->record.new_version, now->paths[path].name,
                                    table->name, self->record.table);
    }
    return true;
}

/* Checks again that the holder would decide on this step: while a slice ended, a command can have changed the
 * record. The catalog would not detect this, because the step is based on the changed record. */
static bool
is_still_decided(const request *self)
{
    if (!self->as_holder)
        return true;
    kw_coordinator *coordinator = self->coordinator;
    const kw_change_work *work = kw_change_work_of(coordinator, &self->record);
    kw_change_times times = kw_change_times_now(coordinator, &self->record);
    if (!work->is_holder)
        return false;
    kw_change_next next = kw_change_planner_next(&work->planner, &self->record, &times);
    return next.act == self->next.act && next.to == self->next.to;
}

/* Reads the record again: slices can have ended since the command was checked. */
static void
take_step(request *self)
{
    kw_control *control = self->coordinator->control;
    kw_error error;
    self->stepping = true;
    kw_change_set_unref(self->before);
    kw_change_set_unref(self->after);
    g_clear_pointer(&self->policy, kw_policy_unref);
    self->before = kw_change_set_ref(control->changes);
    size_t index = kw_change_set_find_under_way(self->before, self->command.table);
    self->record = self->before->records[index];
    if (!is_still_decided(self)) {
        kw_change_request_finish(self, NULL);
        return;
    }
    if (self->as_holder && !set_as_holder(self->coordinator, &self->next, &self->record)) {
        kw_change_request_finish(self, NULL);
        return;
    }
    if (!self->as_holder)
        change_record(self->command.action, &self->record);
    self->after = records_after(self);
    if (!compile(self, &error)) {
        kw_change_request_finish(self, &error);
        return;
    }
    bool cancels = !self->as_holder && self->command.action == KW_CHANGE_CANCEL;
    if (!check_cancellation(self, &error) || (cancels && !check_ended_changes(self, &error))) {
        kw_change_request_finish(self, &error);
        return;
    }
    self->step = (kw_change_step){.records = self->after->records,
                                  .count = self->after->count,
                                  .base = self->before->records,
                                  .base_count = self->before->count};
    kw_prepare(control, self->policy, self->command.action == KW_CHANGE_CANCEL ? &self->draft : NULL,
               &self->step, false, on_prepared, self);
}

void
kw_change_step_wait(kw_change_request *self)
{
    kw_coordinator *coordinator = self->coordinator;
    g_assert(!coordinator->running || coordinator->running == self); /* commands are jobs, one at a time */
    self->stepping = false;
    self->until_ns = kw_clock_mono_ns() + KW_EARLIER_WAIT_NS;
    coordinator->running = self;
    if (coordinator->stopped)
        kw_change_request_finish(self, &kw_error_shutting_down);
    else
        kw_coordinator_wake(coordinator, 0);
}

void
kw_change_step_tick(kw_change_request *self)
{
    g_assert(self->coordinator->running == self);
    if (self->stepping)
        return;
    if (kw_coordinator_is_drained(self->coordinator))
        take_step(self);
    else if (kw_clock_mono_ns() >= self->until_ns)
        kw_change_request_refuse(self, KW_UNAVAILABLE, KW_EARLIER_IN_USE);
}
