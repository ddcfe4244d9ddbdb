#include "policy/apply.h"

#include "base/container.h"
#include "base/log.h"
#include "base/metrics.h"
#include "config/shared.h"
#include "policy/file.h"
#include "policy/hazards.h"
#include "policy/plan_text.h"
#include "policy/prepare.h"
#include "policy/propose.h"
#include "policy/row_checks.h"
#include "policy/stored.h"
#include "policy/table_states.h"
#include "policy/targets.h"
#include "store/check.h"

#include <string.h>

#define WAIT_POLL_MS 10
#define TRIES_MOST 10
#define BUSY_MS 300 /* until another gateway follows: less than a second */

typedef struct apply_request {
    kw_control_request request;
    kw_apply_done done;
    kw_apply_command command;
    kw_change_set *base;    /* the records that the catalog has; NULL: no change begins or ends */
    kw_change_set *changes; /* those that it will have */
    kw_change_step step;    /* if `base` is set */
    kw_policy *policy;      /* with the placements of `changes` */
    const char *advice;     /* see targets.h; NULL: none */
    kw_admission *preview;  /* while the rows of new tables are checked; otherwise NULL */
    kw_timer *wait;         /* until calls under earlier policies have ended; NULL: it does not wait */
    uint64_t wait_until_ns;
    kw_policy *old; /* the current version; NULL: none, or this gateway cannot read it */
    kw_version_draft draft;
    kw_applied applied;
    kw_error failure;
    /* how often it began again: another change had made a step, or a gateway did not follow yet */
    unsigned tries;
} apply_request;

static void
finish(apply_request *self, const kw_error *error)
{
    kw_control_request_finish(&self->request, error);
}

static void
fail(apply_request *self, kw_code code, const char *text)
{
    kw_error error;
    kw_error_set(&error, code, "%s", text);
    finish(self, &error);
}

/* --- another version is current -------------------------------------------------------------------- */

/* Answers with the version that is current, and who applied it. */
static void
on_other_version(void *user, const kw_version *version, const kw_error *error)
{
    apply_request *self = user;
    kw_error conflict;
    if (error) {
        finish(self, error);
        return;
    }
    g_autoptr(GDateTime) at = g_date_time_new_from_unix_utc(version->at_ms / 1000);
    g_autofree char *when = at ? g_date_time_format(at, "%Y-%m-%dT%H:%M:%SZ") : g_strdup("an unknown time");
    kw_error_set(
        &conflict, KW_REFUSED,
        "policy version %" G_GINT64_FORMAT " is current, not %" G_GINT64_FORMAT
        ", on which this change is based; %s applied the current policy version at %s (\"%s\"). Nothing was "
        "changed; compare the policy versions, and apply the change to policy version %" G_GINT64_FORMAT,
        version->name.number, self->command.expected, kw_show(kw_bytes_of_text(version->author)).text, when,
        kw_show(kw_bytes_of_text(version->reason)).text, version->name.number);
    finish(self, &conflict);
}

static void
refuse_version(apply_request *self, const kw_version_name *current)
{
    kw_error none;
    kw_control *control = self->request.control;
    if (current->number > 0) {
        kw_catalog_read_version(control->catalog, current, kw_control_call_deadline(control),
                                on_other_version, self);
        return;
    }
    kw_error_set(&none, KW_REFUSED,
                 "the catalog has no policy yet, so policy version %" G_GINT64_FORMAT
                 " is not current; run `keyway policy import FILE`",
                 self->command.expected);
    finish(self, &none);
}

/* --- after a failure ------------------------------------------------------------------------------- */

static void begin(apply_request *self);

/* The catalog's records were read again. If another change has made a step since, the step of this apply has
 * an outdated base. So the apply begins again. */
static void
on_changes_read(void *user, kw_policy *policy, const kw_error *error)
{
    apply_request *self = user;
    const kw_change_set *changes = self->request.control->changes;
    bool stepped = !error && changes && kw_change_set_differs(self->base, changes);
    kw_policy_unref(policy);
    if (!stepped || ++self->tries >= TRIES_MOST) {
        finish(self, &self->failure);
        return;
    }
    g_clear_pointer(&self->old, kw_policy_unref);
    g_clear_pointer(&self->policy, kw_policy_unref);
    g_clear_pointer(&self->base, kw_change_set_unref);
    g_clear_pointer(&self->changes, kw_change_set_unref);
    self->advice = NULL;
    begin(self);
}

/* Checks whether another version was applied in between. */
static void
on_current(void *user, const kw_version_name *current, const kw_error *error)
{
    apply_request *self = user;
    kw_control *control = self->request.control;
    if (!error && current->number != self->command.expected)
        refuse_version(self, current);
    else if (!error && self->base && self->failure.code == KW_UNAVAILABLE &&
             control->state < KW_CONTROL_DRAINING)
        kw_stored_policy_load(control, kw_control_own_model(control), on_changes_read, self);
    else
        finish(self, &self->failure);
}

static void
note_failure(apply_request *self, const kw_error *error)
{
    self->failure = *error;
    kw_catalog_read_current(self->request.control->catalog, kw_control_call_deadline(self->request.control),
                            on_current, self);
}

/* --- applying -------------------------------------------------------------------------------------- */

/* The catalog keeps its own records of changes that the policy does not begin or end. */
static void
note_step(apply_request *self)
{
    kw_control *control = self->request.control;
    g_autoptr(kw_change_set) stored =
        kw_change_set_with_step(control->stored_changes, self->base, self->changes);
    kw_control_note_stored(control, stored);
}

static void
on_prepared(void *user, const kw_error *error)
{
    apply_request *self = user;
    kw_control *control = self->request.control;
    if (error) {
        note_failure(self, error);
        return;
    }
    kw_metrics_add(KW_METRIC_policy_reloads, 1);
    kw_log(KW_LOG_INFO, "gateway", "policy version applied",
           KW_LOG_FACT("policy_version", self->applied.version), KW_LOG_FACT("author", self->command.author),
           KW_LOG_FACT("reason", self->command.reason));
    if (self->base) /* otherwise the coordinator's records are newer */
        note_step(self);
    if (control->open)
        control->calls->serve_version(control, self->policy);
    finish(self, NULL);
}

static void
prepare(apply_request *self)
{
    kw_version_draft_init(&self->draft);
    self->draft.text = self->command.text;
    self->draft.author = self->command.author;
    self->draft.reason = self->command.reason;
    self->draft.at_ms = kw_clock_wall_ms();
    kw_policy_set_version(self->policy, self->applied.version);
    kw_prepare(self->request.control, self->policy, &self->draft, self->base ? &self->step : NULL, false,
               on_prepared, self);
}

/* --- the preview ----------------------------------------------------------------------------------- */

static bool
is_unchanged(const apply_request *self)
{
    const char *text = self->old ? kw_policy_model(self->old)->shared_text : NULL;
    return text && kw_bytes_equal(kw_bytes_of_text(text), self->command.text);
}

/* Refuses a policy that moves the counters of the current version. */
static bool
check_counters(const apply_request *self, kw_error *ret_error)
{
    return !self->old || kw_model_same_counters(kw_policy_model(self->old), kw_policy_model(self->policy)) ||
           kw_error_set(ret_error, KW_REFUSED,
                        "sequences: the counters would be at another place, where they start again, so that "
                        "numbers would repeat");
}

/* The first reason why the policy cannot be applied; KW_OK: there is none. Tables that are not served can
 * remain so (table_states.h). */
static kw_error
find_refusal(const apply_request *self, kw_admission *admission)
{
    kw_error found = KW_ERROR_NONE;
    const bool *optional =
        kw_table_states_optional(self->request.control, self->policy, false, self->request.arena);
    for (size_t i = 0; i < kw_policy_table_count(self->policy); i++)
        if (kw_admission_refusal(admission, i) && !optional[i])
            return *kw_admission_refusal(admission, i);
    if (kw_admission_conflict(admission))
        return *kw_admission_conflict(admission);
    if (check_counters(self, &found))
        kw_hazards_check(self->policy, admission, optional, &found);
    return found;
}

/* The proposal for what the policy changes in addition to what this request has already proposed. */
static kw_change_proposal
proposal_of(const apply_request *self, const kw_admission *preview)
{
    const kw_control *control = self->request.control;
    bool shared = kw_store_is_shared(control->store);
    return (kw_change_proposal){.old = self->old,
                                .fresh = self->policy,
                                .changes = self->changes,
                                .preview = preview,
                                .author = self->command.author,
                                .reason = self->command.reason,
                                .writers = shared ? KW_CHANGE_SEVERAL_WRITERS : KW_CHANGE_ONE_WRITER,
                                .holder = kw_catalog_instance(control->catalog),
                                .only_writer = self->command.only_writer,
                                .late_given = kw_control_own_model(control)->store.hbase.late_given};
}

static void wait_before_preview(apply_request *self, uint64_t wait_ms);

static void
decide(apply_request *self, kw_admission *admission)
{
    if (self->old) {
        const kw_change_proposal proposal = proposal_of(self, admission);
        kw_change_explain(&proposal, admission);
    }
    kw_error refusal = find_refusal(self, admission);
    if (refusal.code == KW_BUSY && !self->command.dry_run && ++self->tries < TRIES_MOST) {
        wait_before_preview(self, BUSY_MS);
        return;
    }
    self->applied =
        (kw_applied){.version = self->command.expected + 1,
                     .changed = true,
                     .guess = self->request.control->calls->guess(self->request.control->coordinator),
                     .refused = refusal.code != KW_OK};
    kw_policy_plan(&(kw_plan_of_policy){self->old, self->policy, self->command.policy, admission,
                                        self->request.control->service, &refusal, self->advice},
                   self->request.arena, &self->applied);
    if (self->command.dry_run)
        finish(self, NULL);
    else if (self->applied.refused)
        finish(self, &refusal);
    else
        prepare(self);
}

static void
on_rows_checked(void *user)
{
    apply_request *self = user;
    kw_error ignored;
    kw_admission *admission = g_steal_pointer(&self->preview);
    kw_row_checks_apply(self->request.control->row_checks, self->policy, admission, true, &ignored);
    if (self->request.control->state >= KW_CONTROL_DRAINING)
        finish(self, &kw_error_shutting_down);
    else
        decide(self, admission);
    kw_admission_abandon(admission);
}

/* Takes over the admission. */
static void
check_rows(apply_request *self, kw_admission *admission)
{
    kw_row_checks *checks = self->request.control->row_checks;
    self->preview = admission;
    kw_row_checks_start(checks, self->policy, admission, true);
    kw_row_checks_wait(checks, on_rows_checked, self);
}

/* --- changes of key rules -------------------------------------------------------------------------- */

/* Compiles the policy with the placements of self->changes. */
static bool
compile(apply_request *self, kw_error *ret_error)
{
    kw_model *model = kw_policy_model(self->command.policy);
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new(model->tables_file);
    kw_policy_unref(self->policy);
    self->policy = kw_change_set_compile(self->changes, model, found);
    return self->policy || kw_policy_file_report(found, ret_error);
}

/* True if the current version is known, and no change was proposed yet. */
static bool
can_change(const apply_request *self)
{
    return self->old && !self->base;
}

static bool
cancels(const kw_change_set *before, const kw_change_set *after)
{
    bool ends = false;
    for (size_t i = 0; i < before->count; i++)
        ends = ends || (before->records[i].under_way &&
                        kw_change_set_find_under_way(after, before->records[i].table) == after->count);
    return ends;
}

static void preview(apply_request *self);

/* A change that the policy cancels ends only when no call uses an earlier policy. */
static void
on_wait(void *user)
{
    apply_request *self = user;
    if (self->request.control->state >= KW_CONTROL_DRAINING) {
        finish(self, &kw_error_shutting_down);
    } else if (kw_clock_mono_ns() >= self->wait_until_ns) {
        fail(self, KW_UNAVAILABLE, KW_EARLIER_IN_USE);
    } else if (self->request.control->calls->earlier_in_use(self->request.control->coordinator)) {
        kw_timer_start_ms(self->wait, WAIT_POLL_MS);
    } else {
        g_clear_pointer(&self->wait, kw_timer_free);
        preview(self);
    }
}

static void
wait_before_preview(apply_request *self, uint64_t wait_ms)
{
    self->wait_until_ns = kw_clock_mono_ns() + KW_EARLIER_WAIT_NS;
    self->wait = kw_timer_new(self->request.control->loop, on_wait, self);
    kw_timer_start_ms(self->wait, wait_ms);
}

static void
stop(kw_control_request *request)
{
    apply_request *self = KW_CONTAINER(request, apply_request, request);
    if (self->preview) {
        kw_row_checks_cancel_wait(self->request.control->row_checks);
        on_rows_checked(self);
    } else if (self->wait) {
        on_wait(self);
    }
}

static void
on_targets_checked(void *user, const char *advice, const kw_error *error)
{
    apply_request *self = user;
    self->advice = advice;
    if (error)
        finish(self, error);
    else
        preview(self);
}

/* If the policy begins or cancels changes, previews it again with their placements; before it cancels one, it
 * can wait for calls. False: it does neither. */
static bool
begin_changes(apply_request *self, const kw_admission *admission)
{
    kw_error error;
    const kw_change_proposal proposal = proposal_of(self, admission);
    kw_change_set *proposed = can_change(self) ? kw_change_propose(&proposal) : NULL;
    if (!proposed)
        return false;
    if (cancels(self->changes, proposed) &&
        self->request.control->calls->earlier_in_use(self->request.control->coordinator)) {
        kw_change_set_unref(proposed);
        wait_before_preview(self, WAIT_POLL_MS);
        return true;
    }
    for (size_t i = kw_change_set_find_missing(proposed); i < proposed->count;
         i = kw_change_set_find_missing(proposed))
        kw_change_set_add_model(proposed, i, kw_policy_model(self->old));
    self->base = self->changes;
    self->changes = proposed;
    self->step = (kw_change_step){.records = proposed->records,
                                  .count = proposed->count,
                                  .base = self->base->records,
                                  .base_count = self->base->count};
    if (compile(self, &error))
        kw_change_check_targets(self->request.control, self->policy, &self->step, self->request.arena,
                                on_targets_checked, self);
    else
        finish(self, &error);
    return true;
}

/* --- the preview ----------------------------------------------------------------------------------- */

static void
on_preview(void *user, kw_admission *admission, const kw_error *error)
{
    apply_request *self = user;
    if (error) {
        note_failure(self, error);
        return;
    }
    kw_version_name current = *kw_admission_version(admission);
    if (current.number != self->command.expected) {
        refuse_version(self, &current);
    } else if (is_unchanged(self)) {
        self->applied = (kw_applied){.version = current.number, .plan = "nothing changes\n"};
        finish(self, NULL);
    } else if (!begin_changes(self, admission)) {
        check_rows(self, admission);
        return;
    }
    kw_admission_abandon(admission);
}

static void
preview(apply_request *self)
{
    kw_control *control = self->request.control;
    kw_catalog_preview(control->catalog, self->policy, self->base ? &self->step : NULL,
                       kw_control_call_deadline(control), on_preview, self);
}

static void
on_old_loaded(void *user, kw_policy *policy, const kw_error *error)
{
    apply_request *self = user;
    kw_control *control = self->request.control;
    kw_error refusal;
    (void)error; /* no policy was imported yet, or this gateway cannot read the version: compares only with
                    the facts in the catalog */
    self->old = policy;
    if (control->state >= KW_CONTROL_DRAINING) {
        finish(self, &kw_error_shutting_down);
        return;
    }
    self->changes = control->changes ? kw_change_set_ref(control->changes) : kw_change_set_new(NULL, 0, NULL);
    if (compile(self, &refusal))
        preview(self);
    else
        finish(self, &refusal);
}

static void
begin(apply_request *self)
{
    kw_stored_policy_load(self->request.control, kw_control_own_model(self->request.control), on_old_loaded,
                          self);
}

static void
run(kw_control_request *request)
{
    apply_request *self = KW_CONTAINER(request, apply_request, request);
    kw_control *control = request->control;
    kw_model *own = kw_control_own_model(control);
    if (control->state == KW_CONTROL_STARTING)
        fail(self, KW_UNAVAILABLE, "the gateway is starting");
    else if (kw_model_own(kw_policy_model(self->command.policy)) != own)
        fail(self, KW_BUSY, "the file of the gateway was read again in the meantime; try again");
    else
        begin(self);
}

/* --- the request ----------------------------------------------------------------------------------- */

static void
reply(kw_control_request *request, const kw_error *error)
{
    const apply_request *self = KW_CONTAINER(request, apply_request, request);
    self->done(request->user, error ? NULL : &self->applied, error);
}

static void
clear(kw_control_request *request)
{
    apply_request *self = KW_CONTAINER(request, apply_request, request);
    kw_policy_unref(self->command.policy);
    kw_timer_free(self->wait);
    kw_policy_unref(self->old);
    kw_policy_unref(self->policy);
    kw_change_set_unref(self->base);
    kw_change_set_unref(self->changes);
}

void
kw_policy_apply(void *user, const kw_apply_command *command, kw_loop *loop, kw_apply_done done,
                void *done_user)
{
    static const kw_control_request_kind kind = {
        .group = KW_REQUESTS_APPLY, .is_job = true, .run = run, .reply = reply, .stop = stop, .clear = clear};
    apply_request *self = kw_control_request_new(sizeof *self, &kind, user, loop, done_user);
    self->done = done;
    self->command = *command;
    self->command.policy = kw_policy_ref(command->policy);
    self->command.text = kw_arena_copy(self->request.arena, command->text);
    self->command.author = kw_control_request_text(&self->request, command->author);
    self->command.reason = kw_control_request_text(&self->request, command->reason);
    kw_control_request_send(&self->request);
}
