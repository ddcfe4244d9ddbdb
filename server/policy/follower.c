#include "policy/follower.h"

#include "base/log.h"
#include "base/metrics.h"
#include "policy/prepare.h"
#include "policy/restart_settings.h"
#include "policy/stored.h"

#define POLL_MS 1000
#define POLL_CHANGE_MS 100
/* The same while all changes wait for `switch`, perhaps for days. */
#define POLL_SWITCH_MS 250
/* Often one step of a change follows another one, and atomic operations are held meanwhile. So this gateway
 * polls more often for some time after it has seen a step or a new goal. A change that waits for `switch`
 * also makes steps, once a minute. They hold nothing and do not count. */
#define POLL_STEPS_MS 20
#define STEPS_NS (UINT64_C(3) * 1000 * 1000 * 1000)
/* A version that could not be served is tried again after this time; the second one is for changes. */
#define AGAIN_NS (UINT64_C(10) * 1000 * 1000 * 1000)
#define AGAIN_CHANGE_NS (UINT64_C(1) * 1000 * 1000 * 1000)

struct kw_follower {
    kw_control *control;
    kw_timer *timer;
    kw_job job;
    bool queued; /* the job is queued or running */
    bool stopped;
    bool polling;
    uint64_t revision; /* control->stored_revision when the poll began */
    kw_policy *policy; /* being prepared */
    /* What the last poll found. */
    int64_t seen;
    kw_change_set *seen_changes;
    uint64_t step_seen_ns; /* when a poll last found a step after which others follow; 0: never */
    /* The version and changes that could not be served; 0: none. */
    int64_t failed;
    kw_change_set *failed_changes;
    uint64_t again_ns; /* when it is tried again */
};

/* --- serving a version ----------------------------------------------------------------------------- */

/* True if what the last poll found is what could not be served. */
static bool
is_failed(const kw_follower *self)
{
    return self->failed > 0 && self->failed == self->seen &&
           !kw_change_set_differs(self->failed_changes, self->seen_changes);
}

/* True if what the last poll found is in service. */
static bool
is_in_service(const kw_follower *self)
{
    const kw_control *control = self->control;
    return self->seen == kw_policy_version(control->policy) && control->served_changes &&
           !kw_change_set_differs(control->served_changes, self->seen_changes);
}

static void
set_not_followed(kw_control *control, const kw_error *error)
{
    kw_mutex_lock(&control->lock);
    control->not_followed = *error;
    kw_mutex_unlock(&control->lock);
}

static void
note_failure(kw_follower *self, const kw_error *error)
{
    kw_control *control = self->control;
    kw_error shown = *error;
    int64_t served = kw_policy_version(control->policy);
    bool change_only = self->seen == served; /* the policy is the same; a change of a key rule has reached
                                                another place */
    if (change_only)
        kw_error_prefix(&shown,
                        "a change of a key rule is at another place, but this gateway still serves the "
                        "one before");
    else
        kw_error_prefix(&shown,
                        "policy version %" G_GINT64_FORMAT
                        " is current, but this gateway still serves policy version %" G_GINT64_FORMAT,
                        self->seen, served);
    if (!is_failed(self)) {
        kw_metrics_add(KW_METRIC_policy_refusals, 1);
        kw_log(KW_LOG_ERROR, "gateway",
               change_only
                   ? "a new place of a change of a key rule cannot be served, the old one stays in service"
                   : "a new policy version cannot be served, the old one stays in service",
               KW_LOG_FACT("policy_version", self->seen), KW_LOG_FACT("served_version", served),
               KW_LOG_FACT("code", kw_code_name(error->code)), KW_LOG_FACT("reason", error->text));
    }
    set_not_followed(control, &shown);
    self->failed = self->seen;
    kw_change_set_unref(self->failed_changes);
    self->failed_changes = kw_change_set_ref(self->seen_changes);
    self->again_ns = kw_clock_mono_ns() +
                     (kw_change_set_has_several_writers(self->seen_changes) ? AGAIN_CHANGE_NS : AGAIN_NS);
}

static void
finish(kw_follower *self, const kw_error *error)
{
    g_clear_pointer(&self->policy, kw_policy_unref);
    self->queued = false;
    if (error && self->control->state < KW_CONTROL_DRAINING)
        note_failure(self, error);
    kw_jobs_next(&self->control->jobs);
}

static void
on_prepared(void *user, const kw_error *error)
{
    kw_follower *self = user;
    kw_control *control = self->control;
    if (!error && control->open) {
        kw_metrics_add(KW_METRIC_policy_reloads, 1);
        bool change_only = kw_policy_version(self->policy) == kw_policy_version(control->policy);
        kw_restart_settings_report(kw_control_model(control), kw_policy_model(self->policy));
        control->calls->serve(control, self->policy, control->keyring);
        kw_log(KW_LOG_INFO, "gateway",
               change_only ? "new place of a change of a key rule in service"
                           : "new policy version in service",
               KW_LOG_FACT("policy_version", kw_policy_version(control->policy)),
               KW_LOG_FACT("tables", kw_policy_table_count(control->policy)));
    }
    finish(self, error);
}

static void
on_loaded(void *user, kw_policy *policy, const kw_error *error)
{
    kw_follower *self = user;
    self->policy = policy;
    if (error || policy == self->control->policy)
        finish(self, error);
    else
        kw_prepare(self->control, policy, NULL, NULL, false, on_prepared, self);
}

static void
run(kw_job *job)
{
    kw_follower *self = (kw_follower *)((char *)job - offsetof(kw_follower, job));
    kw_control *control = self->control;
    if (kw_control_is_in_service(control))
        kw_stored_policy_load(control, kw_control_own_model(control), on_loaded, self);
    else
        finish(self, NULL);
}

/* --- polling --------------------------------------------------------------------------------------- */

/* True if what the last poll found must be tried now. */
static bool
must_try_now(const kw_follower *self)
{
    if (self->seen == 0 || is_in_service(self))
        return false;
    return !is_failed(self) || kw_clock_mono_ns() >= self->again_ns;
}

static uint64_t
poll_ms(const kw_follower *self)
{
    if (!kw_change_set_has_several_writers(self->seen_changes))
        return POLL_MS;
    bool recent = self->step_seen_ns > 0 && kw_clock_mono_ns() - self->step_seen_ns < STEPS_NS;
    return recent                                               ? POLL_STEPS_MS
           : kw_change_set_waits_for_switch(self->seen_changes) ? POLL_SWITCH_MS
                                                                : POLL_CHANGE_MS;
}

/* What is in service is current, so nothing has to be loaded. The records of changes can still have another
 * goal, holder or progress. */
static void
note_in_service(kw_follower *self)
{
    if (self->failed) {
        self->failed = 0;
        set_not_followed(self->control, &KW_ERROR_NONE);
    }
    self->control->calls->note_stored(self->control->coordinator, self->seen_changes);
}

static void
note_current(kw_follower *self, const kw_current *current)
{
    kw_change_set *seen = kw_change_set_new(current->changes, current->changes_count, self->control->changes);
    self->seen = current->version.number;
    if (kw_change_set_expects_step(seen, self->seen_changes))
        self->step_seen_ns = kw_clock_mono_ns();
    kw_change_set_unref(self->seen_changes);
    self->seen_changes = seen;
    if (is_in_service(self))
        note_in_service(self);
    if (!must_try_now(self) || self->queued)
        return;
    self->queued = true;
    self->job.run = run;
    kw_jobs_add(&self->control->jobs, &self->job);
}

static void
on_current(void *user, const kw_current *current, const kw_error *error)
{
    kw_follower *self = user;
    self->polling = false;
    if (self->stopped)
        return;
    bool outdated = self->revision != self->control->stored_revision; /* this gateway has written records
                                                                         since the poll began */
    if (!error && !outdated) /* /readyz reports errors of the store */
        note_current(self, current);
    kw_timer_start_ms(self->timer, poll_ms(self));
}

/* Polls only while the gateway serves. Before that, each attempt to begin serving reads the current
 * version. */
static void
on_timer(void *user)
{
    kw_follower *self = user;
    kw_control *control = self->control;
    if (self->polling)
        return;
    if (!kw_control_is_in_service(control) || self->queued) {
        kw_timer_start_ms(self->timer, poll_ms(self));
        return;
    }
    self->polling = true;
    self->revision = control->stored_revision;
    kw_catalog_read_current_changes(control->catalog, kw_control_call_deadline(control), on_current, self);
}

void
kw_follower_wake(kw_follower *self)
{
    if (self && !self->stopped && !self->polling)
        kw_timer_start_ms(self->timer, 0);
}

kw_follower *
kw_follower_new(kw_control *control)
{
    if (!kw_control_policy_is_stored(control) || !kw_store_is_shared(control->store))
        return NULL;
    kw_follower *self = g_new0(kw_follower, 1);
    self->control = control;
    self->timer = kw_timer_new(control->loop, on_timer, self);
    kw_timer_start_ms(self->timer, POLL_MS);
    return self;
}

void
kw_follower_stop(kw_follower *self)
{
    if (!self)
        return;
    self->stopped = true;
    kw_timer_stop(self->timer);
}

void
kw_follower_close(kw_follower *self)
{
    if (self)
        kw_timer_free(g_steal_pointer(&self->timer));
}

void
kw_follower_free(kw_follower *self)
{
    if (!self)
        return;
    kw_policy_unref(self->policy);
    kw_change_set_unref(self->seen_changes);
    kw_change_set_unref(self->failed_changes);
    g_free(self);
}
