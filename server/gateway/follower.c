#include "gateway/follower.h"

#include "base/log.h"
#include "base/metrics.h"
#include "gateway/prepare.h"
#include "gateway/restart_settings.h"
#include "gateway/stored_policy.h"

#define POLL_MS 1000
/* A version that could not be served is tried again after this many polls. */
#define POLLS_AFTER_FAILURE 10

struct kw_follower {
    kw_gateway *gateway;
    kw_timer *timer;
    kw_job job;
    bool queued; /* the job is queued or running */
    bool stopped;
    kw_policy *policy; /* being prepared */
    int64_t seen;      /* the version that the last poll found */
    int64_t failed;    /* the version that could not be served; 0: none */
    unsigned polls_left;
};

/* --- serving a version ----------------------------------------------------------------------------- */

static void
set_not_followed(kw_gateway *gateway, const kw_error *error)
{
    kw_mutex_lock(&gateway->lock);
    gateway->not_followed = *error;
    kw_mutex_unlock(&gateway->lock);
}

static void
note_failure(kw_follower *self, const kw_error *error)
{
    kw_gateway *gateway = self->gateway;
    kw_error shown = *error;
    int64_t served = kw_policy_version(gateway->policy);
    kw_error_prefix(&shown,
                    "policy version %" G_GINT64_FORMAT " is current, but this gateway still serves version "
                    "%" G_GINT64_FORMAT,
                    self->seen, served);
    if (self->failed != self->seen) {
        kw_metrics_add(KW_METRIC_policy_refusals, 1);
        kw_log(KW_LOG_ERROR, "gateway", "a new policy version cannot be served, the old one stays in service",
               "version=%" G_GINT64_FORMAT " served=%" G_GINT64_FORMAT " code=%s reason=\"%s\"", self->seen,
               served, kw_code_name(error->code), error->text);
    }
    set_not_followed(gateway, &shown);
    self->failed = self->seen;
    self->polls_left = POLLS_AFTER_FAILURE;
}

static void
finish(kw_follower *self, const kw_error *error)
{
    g_clear_pointer(&self->policy, kw_policy_unref);
    self->queued = false;
    if (error && self->gateway->state < KW_GATEWAY_DRAINING)
        note_failure(self, error);
    kw_jobs_next(&self->gateway->jobs);
}

static void
on_prepared(void *user, const kw_error *error)
{
    kw_follower *self = user;
    kw_gateway *gateway = self->gateway;
    if (!error && gateway->net) {
        kw_metrics_add(KW_METRIC_policy_reloads, 1);
        kw_restart_settings_report(kw_gateway_model(gateway), kw_policy_model(self->policy));
        kw_gateway_serve_policy(gateway, self->policy, gateway->keyring);
        kw_log(KW_LOG_INFO, "gateway", "new policy version in service",
               "version=%" G_GINT64_FORMAT " tables=%zu", kw_policy_version(gateway->policy),
               kw_policy_table_count(gateway->policy));
    }
    finish(self, error);
}

static void
on_loaded(void *user, kw_policy *policy, const kw_error *error)
{
    kw_follower *self = user;
    self->policy = policy;
    if (error || policy == self->gateway->policy)
        finish(self, error);
    else
        kw_prepare(self->gateway, policy, NULL, NULL, on_prepared, self);
}

static void
run(kw_job *job)
{
    kw_follower *self = (kw_follower *)((char *)job - offsetof(kw_follower, job));
    kw_gateway *gateway = self->gateway;
    if (gateway->state == KW_GATEWAY_SERVING)
        kw_stored_policy_load(gateway, kw_gateway_own_model(gateway), on_loaded, self);
    else
        finish(self, NULL);
}

/* --- polling --------------------------------------------------------------------------------------- */

/* True if the version found by the last poll must be tried now. */
static bool
is_due(kw_follower *self)
{
    if (self->seen == 0 || self->seen == kw_policy_version(self->gateway->policy))
        return false;
    return self->seen != self->failed || self->polls_left-- <= 1;
}

static void
on_current(void *user, const kw_version_name *current, const kw_error *error)
{
    kw_follower *self = user;
    if (self->stopped)
        return;
    kw_timer_start_ms(self->timer, POLL_MS);
    if (error)
        return; /* the store's problem: /readyz names it */
    self->seen = current->number;
    if (self->failed && self->seen == kw_policy_version(self->gateway->policy)) {
        self->failed = 0;
        set_not_followed(self->gateway, &KW_ERROR_NONE);
    }
    if (!is_due(self))
        return;
    self->queued = true;
    self->job.run = run;
    kw_jobs_add(&self->gateway->jobs, &self->job);
}

/* Until the gateway serves, it reads the current version at each attempt to begin. */
static void
on_timer(void *user)
{
    kw_follower *self = user;
    kw_gateway *gateway = self->gateway;
    if (gateway->state == KW_GATEWAY_SERVING && !self->queued)
        kw_catalog_read_current(gateway->catalog,
                                kw_deadline_in_ms(kw_gateway_model(gateway)->timeouts.call_ms), on_current,
                                self);
    else
        kw_timer_start_ms(self->timer, POLL_MS);
}

kw_follower *
kw_follower_new(kw_gateway *gateway)
{
    if (!kw_gateway_is_stored(gateway) || !kw_store_is_shared(gateway->store))
        return NULL;
    kw_follower *self = g_new0(kw_follower, 1);
    self->gateway = gateway;
    self->timer = kw_timer_new(gateway->loop, on_timer, self);
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
    g_free(self);
}
