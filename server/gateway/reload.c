#include "gateway/reload.h"

#include "base/container.h"
#include "base/log.h"
#include "base/metrics.h"
#include "catalog/zones.h"
#include "config/file.h"
#include "gateway/cursor_keys.h"
#include "gateway/notify.h"
#include "gateway/serving.h"
#include "policy/file.h"
#include "policy/prepare.h"
#include "policy/restart_settings.h"
#include "policy/stored.h"
#include "policy/zone_warnings.h"

#include <glib.h>

/* A caller who requested a reload. */
typedef struct caller {
    kw_control_request request;
    struct caller *next;
    kw_reload *reload;
    void (*done)(void *user, const kw_error *error);
} caller;

struct kw_reload {
    kw_gateway *gateway;
    kw_job job;
    bool queued;
    bool running;
    caller *served;  /* callers of the running reload */
    caller *waiting; /* callers of the next reload */
    kw_policy *policy;
    kw_keyring *keyring;
};

static void
reply(kw_control_request *request, const kw_error *error)
{
    KW_CONTAINER(request, caller, request)->done(request->user, error);
}

static void
answer(caller *all, const kw_error *error)
{
    while (all) {
        caller *next = all->next;
        kw_control_request_finish(&all->request, error);
        all = next;
    }
}

/* For /readyz and /metrics. error: NULL if the reload succeeded. */
static void
publish_outcome(kw_gateway *gateway, const kw_error *error)
{
    kw_error shown = error ? *error : KW_ERROR_NONE;
    if (error)
        kw_error_prefix(&shown, "the last reload failed, so the policy from before it is in service");
    kw_mutex_lock(&gateway->control.lock);
    gateway->not_reloaded = shown;
    kw_mutex_unlock(&gateway->control.lock);
    kw_metrics_add(KW_METRIC_policy_reload_failed,
                   (error != NULL) - kw_metrics_read(KW_METRIC_policy_reload_failed));
}

static void
finish(kw_reload *reload, const kw_error *error)
{
    publish_outcome(reload->gateway, error);
    if (error) {
        kw_metrics_add(KW_METRIC_policy_refusals, 1);
        kw_log(KW_LOG_ERROR, "gateway", "policy refused, the old one stays in service",
               KW_LOG_FACT("reason", error->text));
    }
    for (size_t i = 0; i < reload->gateway->listeners.count; i++)
        if (reload->gateway->listeners.tls[i])
            kw_tls_context_discard(reload->gateway->listeners.tls[i]);
    kw_policy_unref(reload->policy);
    if (reload->keyring)
        kw_keyring_unref(reload->keyring);
    reload->policy = NULL;
    reload->keyring = NULL;
    caller *served = reload->served;
    reload->served = NULL;
    reload->running = false;
    kw_notify_ready();
    answer(served, error);
    kw_jobs_next(&reload->gateway->control.jobs);
}

static void on_prepared(void *user, const kw_error *error);

/* Tries again if another gateway was the first to use a time zone, with other data of it. */
static void
fail(kw_reload *reload, const kw_error *error)
{
    kw_gateway *gateway = reload->gateway;
    bool again = gateway->net && !kw_control_policy_is_stored(&gateway->control) &&
                 kw_catalog_has_old_zones(reload->policy);
    kw_error problem = *error;
    kw_policy *fresh = again ? kw_zones_compile_again(reload->policy, &problem) : NULL;
    if (!fresh) {
        finish(reload, &problem);
        return;
    }
    kw_policy_unref(reload->policy);
    reload->policy = fresh;
    kw_prepare(&gateway->control, fresh, NULL, NULL, false, on_prepared, reload);
}

static void
on_prepared(void *user, const kw_error *error)
{
    kw_reload *reload = user;
    kw_gateway *gateway = reload->gateway;
    if (!gateway->net)
        error = &kw_error_shutting_down; /* the gateway has drained */
    if (error) {
        fail(reload, error);
        return;
    }
    kw_metrics_add(KW_METRIC_policy_reloads, 1);
    kw_restart_settings_report(kw_control_model(&gateway->control), kw_policy_model(reload->policy));
    for (size_t i = 0; i < gateway->listeners.count; i++)
        if (gateway->listeners.tls[i])
            kw_tls_context_apply(gateway->listeners.tls[i]);
    kw_serving_serve(&gateway->control, reload->policy, reload->keyring);
    kw_store_reload(gateway->control.store);
    kw_log(KW_LOG_INFO, "gateway", "policy reloaded", KW_LOG_FACT("file", gateway->settings.config_file),
           KW_LOG_FACT("tables", kw_policy_table_count(gateway->control.policy)));
    finish(reload, NULL);
}

/* Logs the reason, which names files and has texts of the system, and sets another one for callers. */
static bool
hide_reason(const char *what, kw_error *ret_error)
{
    kw_log(KW_LOG_ERROR, "gateway", "cannot read files that the policy names", KW_LOG_FACT("what", what),
           KW_LOG_FACT("reason", ret_error->text));
    return kw_error_set(ret_error, ret_error->code,
                        "the %s cannot be read; the log of the gateway has the reason", what);
}

static bool
read_policy(kw_reload *reload, kw_error *ret_error)
{
    kw_gateway *gateway = reload->gateway;
    const char *file = gateway->settings.config_file;
    if (!file)
        return kw_error_set(ret_error, KW_INVALID,
                            "there is no policy file to read: keywayd runs on the built-in policy");
    char why[KW_FILE_WHY_MAX];
    if (!kw_file_is_readable(file, SIZE_MAX, why)) {
        kw_error_set(ret_error, KW_INVALID, "%s: %s", file, why);
        return hide_reason("policy file", ret_error);
    }
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new(file);
    reload->policy = kw_policy_file_load(file, found);
    if (!reload->policy)
        return kw_policy_file_report(found, ret_error);
    const kw_model *model = kw_policy_model(reload->policy);
    if (model->policy_in_store != kw_control_policy_is_stored(&gateway->control))
        return kw_error_set(ret_error, KW_INVALID,
                            "policy.source has changed; restart the gateway to apply it");
    if (!kw_cursor_keys_are_configured(model)) {
        reload->keyring = kw_keyring_ref(gateway->control.keyring);
        return true;
    }
    reload->keyring = kw_cursor_keys_open(model, ret_error);
    return reload->keyring != NULL || hide_reason("cursor keys", ret_error);
}

static bool
read_certificates(kw_gateway *gateway, kw_error *ret_error)
{
    for (size_t i = 0; i < gateway->listeners.count; i++)
        if (gateway->listeners.tls[i] && !kw_tls_context_prepare(gateway->listeners.tls[i], ret_error))
            return hide_reason("files of the setting tls", ret_error);
    return true;
}

/* The settings of the file were read; now the tables were added to them. */
static void
on_loaded(void *user, kw_policy *policy, const kw_error *error)
{
    kw_reload *reload = user;
    if (error) {
        finish(reload, error);
        return;
    }
    kw_policy_unref(reload->policy);
    reload->policy = policy;
    kw_prepare(&reload->gateway->control, policy, NULL, NULL, false, on_prepared, reload);
}

static void
run(kw_job *job)
{
    kw_reload *reload = KW_CONTAINER(job, kw_reload, job);
    kw_gateway *gateway = reload->gateway;
    kw_error error = KW_ERROR_NONE;
    reload->queued = false;
    reload->running = true;
    reload->served = reload->waiting;
    reload->waiting = NULL;
    kw_notify_reloading();
    if (gateway->control.state >= KW_CONTROL_DRAINING)
        error = kw_error_shutting_down;
    if (error.code != KW_OK || !read_policy(reload, &error) || !read_certificates(gateway, &error)) {
        finish(reload, &error);
        return;
    }
    if (kw_control_policy_is_stored(&gateway->control))
        kw_stored_policy_load(&gateway->control, kw_policy_model(reload->policy), on_loaded, reload);
    else
        kw_prepare(&gateway->control, reload->policy, NULL, NULL, false, on_prepared, reload);
}

void
kw_reload_start(kw_reload *reload)
{
    if (reload->gateway->control.state >= KW_CONTROL_DRAINING || reload->queued)
        return;
    reload->queued = true;
    reload->job.run = run;
    kw_jobs_add(&reload->gateway->control.jobs, &reload->job);
}

static void
add_caller(kw_control_request *request)
{
    caller *asking = KW_CONTAINER(request, caller, request);
    kw_reload *reload = asking->reload;
    asking->next = reload->waiting;
    reload->waiting = asking;
    kw_reload_start(reload);
}

void
kw_reload_request(kw_reload *reload, kw_loop *loop, void (*done)(void *user, const kw_error *error),
                  void *user)
{
    static const kw_control_request_kind kind = {
        .group = KW_REQUESTS_OTHER, .run = add_caller, .reply = reply};
    caller *asking = kw_control_request_new(sizeof *asking, &kind, &reload->gateway->control, loop, user);
    asking->reload = reload;
    asking->done = done;
    kw_control_request_send(&asking->request);
}

kw_reload *
kw_reload_new(kw_gateway *gateway)
{
    kw_reload *reload = g_new0(kw_reload, 1);
    reload->gateway = gateway;
    return reload;
}

void
kw_reload_free(kw_reload *reload)
{
    g_assert(!reload->running && !reload->waiting);
    g_free(reload);
}
