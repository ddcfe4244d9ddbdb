#include "gateway/serving.h"

#include "base/container.h"
#include "base/log.h"
#include "base/units.h"
#include "catalog/zones.h"
#include "coordinator/coordinator.h"
#include "gateway/connections.h"
#include "gateway/drain.h"
#include "gateway/listeners.h"
#include "gateway/state.h"
#include "gateway/stores.h"
#include "policy/memory.h"
#include "policy/prepare.h"
#include "policy/row_checks.h"
#include "policy/stored.h"
#include "policy/table_states.h"
#include "policy/zone_warnings.h"
#include "schema/progress.h"

#include <glib.h>
#include <stdatomic.h>
#include <stddef.h>

/* How long the gateway waits for the store before it listens without it. */
#define STORE_WAIT_MS 3000
#define RETRY_MS 1000
/* When to retry after a gateway lost its registration and was not admitted again. */
#define ADMISSION_RETRY_MS 5000
#define CHECKED_PAUSE_MS 100

static void
set_why_not(kw_gateway *gateway, const kw_error *error)
{
    kw_mutex_lock(&gateway->control.lock);
    gateway->serving.why_not = *error;
    kw_mutex_unlock(&gateway->control.lock);
}

static void
wait_to_serve(kw_gateway *gateway, const kw_error *error)
{
    if (gateway->control.state == KW_CONTROL_STARTING) {
        kw_log(KW_LOG_WARN, "gateway", "cannot serve yet, calls fail with UNAVAILABLE until it can",
               KW_LOG_FACT("reason", error->text));
        kw_gateway_move(gateway, KW_CONTROL_WAITING);
    }
    set_why_not(gateway, error);
    kw_error shown = {.code = KW_UNAVAILABLE, .retry_after_ms = RETRY_MS};
    g_strlcpy(shown.text, error->text, sizeof shown.text);
    kw_error_prefix(&shown, "the gateway cannot serve yet");
    kw_service_shut_gate(gateway->control.service, &shown);
    if (kw_listeners_start(gateway) && kw_listeners_report(gateway))
        kw_timer_start_ms(gateway->serving.timer, RETRY_MS);
}

/* If the catalog keeps the policy, the gateway can recover from every error, because the policy can be
 * changed through this gateway and through others. */
static bool
can_recover(const kw_gateway *gateway, const kw_error *error)
{
    if (kw_control_policy_is_stored(&gateway->control))
        return true;
    return kw_control_model(&gateway->control)->store.kind == KW_STORE_HBASE &&
           (error->code == KW_UNAVAILABLE || error->code == KW_TIMEOUT || error->code == KW_BUSY);
}

/* True if gateways must know the store's clock: for tables whose writes they stamp, or will stamp in a later
 * place of a change. */
static bool
needs_time(const kw_policy *policy)
{
    bool needs = false;
    for (size_t i = 0; i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i);
        needs = needs || table->ordering.regime.order != KW_WRITE_ORDER_STORE || table->regime_of_change;
    }
    return needs;
}

/* Must be called before calls under the policy begin. */
static void
announce_policy(kw_gateway *gateway)
{
    int64_t version = kw_policy_version(gateway->control.policy);
    kw_audit_write(gateway->control.audit, &(kw_audit_event){.kind = KW_AUDIT_POLICY, .version = version});
    atomic_store(&gateway->serving.policy_loaded_at_ms, kw_policy_loaded_at_ms(gateway->control.policy));
    kw_metrics_add(KW_METRIC_policy_version, version - kw_metrics_read(KW_METRIC_policy_version));
    kw_store_expect_stamps(gateway->control.store, needs_time(gateway->control.policy));
    kw_sequences_begin_use(gateway->control.sequences);
    kw_table_states_publish(&gateway->control);
}

/* The reason why a table is not served can end without a command to this gateway, for example if another
 * gateway ends. After a check of rows, the gateway waits for a short time only, but long enough to admit
 * several tables at once: an admission compares all tables. */
static void
retry_tables_later(kw_gateway *gateway)
{
    bool waits = gateway->control.state == KW_CONTROL_SERVING && !gateway->serving.preparing &&
                 kw_policy_count_unserved(gateway->control.policy) > 0;
    if (!waits || gateway->serving.tables_soon)
        return;
    gateway->serving.tables_soon = gateway->serving.rows_checked;
    kw_timer_start_ms(gateway->serving.timer,
                      gateway->serving.rows_checked
                          ? MAX(CHECKED_PAUSE_MS, 2 * gateway->serving.took_ns / KW_NS_PER_MS)
                          : KW_TABLES_RETRY_MS);
}

void
kw_serving_rows_checked(void *user)
{
    kw_gateway *gateway = KW_CONTAINER(user, kw_gateway, control);
    gateway->serving.rows_checked = true;
    if (kw_control_is_in_service(&gateway->control) && !kw_row_checks_are_open(gateway->control.row_checks)) {
        kw_row_checks_show(gateway->control.row_checks, gateway->control.policy);
        kw_table_states_publish(&gateway->control);
    }
    retry_tables_later(gateway);
}

/* Ends FENCED, unless the registration was lost once more since the gateway prepared. */
static void
end_fence(kw_gateway *gateway)
{
    if (!kw_control_is_in_service(&gateway->control) || gateway->control.lost)
        return;
    if (gateway->control.state == KW_CONTROL_FENCED)
        kw_gateway_move(gateway, KW_CONTROL_SERVING);
    kw_service_open_gate(gateway->control.service);
}

static void
stop_timer(kw_gateway *gateway)
{
    gateway->serving.tables_soon = false;
    kw_timer_stop(gateway->serving.timer);
}

void
kw_serving_serve(kw_control *control, kw_policy *policy, kw_keyring *keyring)
{
    kw_gateway *gateway = KW_CONTAINER(control, kw_gateway, control);
    const kw_model *model = kw_policy_model(policy);
    kw_policy *old = control->policy;
    kw_keyring *old_keyring = control->keyring;
    bool had_access = kw_policy_model(old)->access.enabled;
    control->policy = kw_policy_ref(policy);
    control->keyring = kw_keyring_ref(keyring);
    kw_control_set_served(control);
    kw_coordinator_note_served(control->coordinator, old);
    kw_policy_unref(old);
    kw_keyring_unref(old_keyring);
    kw_policy_set_loaded_at_ms(policy, kw_clock_wall_ms());
    kw_stores_configure_log(model);
    kw_memory_configure(model);
    announce_policy(gateway);
    if (had_access)
        kw_listeners_warn_of_open(model);
    kw_service_set_policy(control->service, policy, keyring);
    end_fence(gateway);
    kw_net_set_limits(gateway->net, kw_connections_limits(model));
    retry_tables_later(gateway);
}

/* Keeps the gateway out of service until it is registered again; the fence rejects calls. */
static void
remain_fenced(kw_gateway *gateway, const kw_error *error)
{
    kw_log(KW_LOG_ERROR, "gateway", "not admitted again, calls fail with UNAVAILABLE",
           KW_LOG_FACT("code", kw_code_name(error->code)), KW_LOG_FACT("reason", error->text));
    set_why_not(gateway, error);
    kw_timer_start_ms(gateway->serving.timer, ADMISSION_RETRY_MS);
}

static void
resume_serving(kw_gateway *gateway)
{
    if (gateway->control.lost) {
        kw_serving_registration_lost(gateway); /* lost once more, after the facts were written */
        return;
    }
    end_fence(gateway);
    kw_log(KW_LOG_INFO, "gateway", "admitted again", KW_LOG_FACT("gateway", gateway->control.id));
}

static void
start_serving(kw_gateway *gateway)
{
    announce_policy(gateway);
    kw_service_open_gate(gateway->control.service);
    if (!kw_listeners_start(gateway))
        return;
    kw_gateway_move(gateway, KW_CONTROL_SERVING);
    kw_log(KW_LOG_INFO, "gateway", "serving", KW_LOG_FACT("store", kw_store_about(gateway->control.store)),
           KW_LOG_FACT("tables", kw_policy_table_count(gateway->control.policy)),
           KW_LOG_FACT("policy", kw_control_model(&gateway->control)->tables_file));
    kw_coordinator_wake(gateway->control.coordinator, 0);
    if (kw_listeners_report(gateway) && gateway->control.lost)
        kw_serving_registration_lost(gateway);
    else
        retry_tables_later(gateway);
}

void
kw_serving_serve_version(kw_control *control, kw_policy *policy)
{
    kw_gateway *gateway = KW_CONTAINER(control, kw_gateway, control);
    kw_serving_serve(control, policy, control->keyring);
    if (gateway->control.state != KW_CONTROL_WAITING)
        return;
    set_why_not(gateway, &KW_ERROR_NONE);
    stop_timer(gateway);
    start_serving(gateway);
}

static void
refuse_to_start(kw_gateway *gateway, const kw_error *error)
{
    kw_log(KW_LOG_ERROR, "gateway", "the policy cannot be served",
           KW_LOG_FACT("code", kw_code_name(error->code)), KW_LOG_FACT("reason", error->text));
    kw_drain_start(gateway, error->code == KW_REFUSED   ? KW_EXIT_REFUSED
                            : error->code == KW_INVALID ? KW_EXIT_POLICY
                                                        : KW_EXIT_FAILED);
}

/* The gateway serves already: it was to be admitted again after it lost its registration, or it has tables
 * that are not served. */
static void
on_prepared_again(kw_gateway *gateway, const kw_error *error)
{
    if (!error)
        announce_policy(gateway);
    if (error && gateway->control.state == KW_CONTROL_FENCED)
        remain_fenced(gateway, error);
    else if (gateway->control.state == KW_CONTROL_FENCED)
        resume_serving(gateway);
    retry_tables_later(gateway);
}

static void
on_prepared(void *user, const kw_error *error)
{
    kw_gateway *gateway = user;
    gateway->serving.preparing = false;
    gateway->serving.took_ns = kw_clock_mono_ns() - gateway->serving.began_ns;
    if (!error)
        set_why_not(gateway, &KW_ERROR_NONE);
    if (gateway->control.state < KW_CONTROL_DRAINING) {
        stop_timer(gateway);
        if (kw_control_is_in_service(&gateway->control))
            on_prepared_again(gateway, error);
        else if (error && can_recover(gateway, error))
            wait_to_serve(gateway, error);
        else if (error)
            refuse_to_start(gateway, error);
        else
            start_serving(gateway);
    }
    kw_jobs_next(&gateway->control.jobs);
}

static void prepare_candidate(kw_gateway *gateway, kw_policy *candidate);
static void load_candidate(kw_gateway *gateway);

/* True if the candidate is prepared once more, compiled with the catalog's data of time zones. False: *why
 * says why it cannot be served; with the catalog's data, its text can be invalid. */
static bool
try_with_other_zones(kw_gateway *gateway, kw_policy *candidate, kw_error *why)
{
    if (!kw_catalog_has_old_zones(candidate))
        return false;
    if (kw_control_policy_is_stored(&gateway->control)) {
        load_candidate(gateway);
        return true;
    }
    kw_policy *fresh = kw_zones_compile_again(candidate, why);
    if (fresh)
        prepare_candidate(gateway, fresh);
    return fresh != NULL;
}

static void
on_candidate_prepared(void *user, const kw_error *error)
{
    kw_gateway *gateway = user;
    g_autoptr(kw_policy) candidate = g_steal_pointer(&gateway->serving.candidate);
    kw_error why = error ? *error : KW_ERROR_NONE;
    if (error && gateway->control.state < KW_CONTROL_DRAINING &&
        try_with_other_zones(gateway, candidate, &why))
        return;
    if (!error && gateway->net && candidate != gateway->control.policy)
        kw_serving_serve(&gateway->control, candidate, gateway->control.keyring);
    on_prepared(gateway, error ? &why : NULL);
}

/* Owns the candidate. */
static void
prepare_candidate(kw_gateway *gateway, kw_policy *candidate)
{
    bool begins = gateway->control.state != KW_CONTROL_SERVING;
    gateway->serving.candidate = candidate;
    kw_prepare(&gateway->control, candidate, NULL, NULL, begins, on_candidate_prepared, gateway);
}

static void
on_candidate_loaded(void *user, kw_policy *policy, const kw_error *error)
{
    kw_gateway *gateway = user;
    if (error)
        on_prepared(gateway, error);
    else
        prepare_candidate(gateway, policy);
}

static void
load_candidate(kw_gateway *gateway)
{
    if (kw_control_policy_is_stored(&gateway->control))
        kw_stored_policy_load(&gateway->control, kw_control_own_model(&gateway->control), on_candidate_loaded,
                              gateway);
    else
        prepare_candidate(gateway, kw_policy_ref(gateway->control.policy));
}

static void
run_prepare(kw_job *job)
{
    kw_gateway *gateway = KW_CONTAINER(job, kw_gateway, serving.prepare_job);
    gateway->control.lost = false;
    gateway->serving.rows_checked = false;
    gateway->serving.began_ns = kw_clock_mono_ns();
    if (gateway->control.state >= KW_CONTROL_DRAINING)
        kw_jobs_next(&gateway->control.jobs);
    else
        load_candidate(gateway);
}

static void
prepare(kw_gateway *gateway)
{
    if (gateway->serving.preparing)
        return;
    gateway->serving.preparing = true;
    gateway->serving.prepare_job.run = run_prepare;
    kw_jobs_add(&gateway->control.jobs, &gateway->serving.prepare_job);
}

void
kw_serving_begin(kw_gateway *gateway)
{
    kw_timer_start_ms(gateway->serving.timer, STORE_WAIT_MS);
    prepare(gateway);
}

void
kw_serving_registration_lost(void *user)
{
    static const kw_error lost = {
        .code = KW_UNAVAILABLE,
        .retry_after_ms = RETRY_MS,
        .text = "this gateway lost its registration in the catalog; it serves again once it is admitted"};
    kw_gateway *gateway = user;
    gateway->control.lost = true;
    if (!kw_control_is_in_service(&gateway->control))
        return; /* start_serving checks `lost` */
    if (gateway->control.state == KW_CONTROL_SERVING)
        kw_gateway_move(gateway, KW_CONTROL_FENCED);
    kw_service_shut_gate(gateway->control.service, &lost);
    prepare(gateway);
}

void
kw_serving_on_timer(void *user)
{
    kw_gateway *gateway = user;
    bool complete = gateway->control.state == KW_CONTROL_SERVING &&
                    kw_policy_count_unserved(gateway->control.policy) == 0;
    gateway->serving.tables_soon = false;
    if (complete)
        return; /* a reload has put the tables into service that the timer was for */
    if (!gateway->serving.preparing) {
        prepare(gateway);
    } else if (gateway->control.state == KW_CONTROL_STARTING &&
               kw_control_model(&gateway->control)->store.kind == KW_STORE_HBASE) {
        kw_error error;
        kw_error_set(&error, KW_UNAVAILABLE, "no answer from the store within %d ms", STORE_WAIT_MS);
        wait_to_serve(gateway, &error);
    }
}
