#include "gateway/serving.h"

#include "base/container.h"
#include "base/log.h"
#include "base/units.h"
#include "catalog/zones.h"
#include "gateway/connections.h"
#include "gateway/coordinator.h"
#include "gateway/drain.h"
#include "gateway/listeners.h"
#include "gateway/memory.h"
#include "gateway/prepare.h"
#include "gateway/row_checks.h"
#include "gateway/state.h"
#include "gateway/stored_policy.h"
#include "gateway/stores.h"
#include "gateway/table_states.h"
#include "gateway/zone_warnings.h"

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
    kw_mutex_lock(&gateway->lock);
    gateway->why_not = *error;
    kw_mutex_unlock(&gateway->lock);
}

static void
wait_to_serve(kw_gateway *gateway, const kw_error *error)
{
    if (gateway->state == KW_GATEWAY_STARTING) {
        kw_log(KW_LOG_WARN, "gateway", "cannot serve yet, calls fail with UNAVAILABLE until it can",
               KW_LOG_FACT("reason", error->text));
        kw_gateway_move(gateway, KW_GATEWAY_WAITING);
    }
    set_why_not(gateway, error);
    kw_error shown = {.code = KW_UNAVAILABLE, .retry_after_ms = RETRY_MS};
    g_strlcpy(shown.text, error->text, sizeof shown.text);
    kw_error_prefix(&shown, "the gateway cannot serve yet");
    kw_service_shut_gate(gateway->service, &shown);
    if (kw_listeners_start(gateway) && kw_listeners_report(gateway))
        kw_timer_start_ms(gateway->timer, RETRY_MS);
}

/* If the catalog keeps the policy, the gateway can recover from every error, because the policy can be
 * changed through this gateway and through others. */
static bool
can_recover(const kw_gateway *gateway, const kw_error *error)
{
    if (kw_gateway_policy_is_stored(gateway))
        return true;
    return kw_gateway_model(gateway)->store.kind == KW_STORE_HBASE &&
           (error->code == KW_UNAVAILABLE || error->code == KW_TIMEOUT || error->code == KW_BUSY);
}

bool
kw_serving_needs_time(const kw_policy *policy)
{
    bool needs = false;
    for (size_t i = 0; i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i);
        needs = needs || table->ordering.order != KW_WRITE_ORDER_STORE || table->changing_order;
    }
    return needs;
}

/* Must be called before calls under the policy begin. */
static void
announce_policy(kw_gateway *gateway)
{
    int64_t version = kw_policy_version(gateway->policy);
    atomic_store(&gateway->policy_loaded_at_ms, kw_policy_loaded_at_ms(gateway->policy));
    kw_metrics_add(KW_METRIC_policy_version, version - kw_metrics_read(KW_METRIC_policy_version));
    kw_store_expect_stamps(gateway->store, kw_serving_needs_time(gateway->policy));
    kw_sequences_begin_use(gateway->sequences);
    kw_table_states_publish(gateway);
}

void
kw_gateway_set_changes(kw_gateway *gateway, kw_change_set *changes)
{
    kw_change_set *old = gateway->changes;
    gateway->changes = kw_change_set_ref(changes);
    gateway->changes_revision++;
    kw_change_set_unref(old);
}

void
kw_gateway_set_stored(kw_gateway *gateway, kw_change_set *stored)
{
    kw_change_set *old = gateway->stored_changes;
    gateway->stored_changes = kw_change_set_ref(stored);
    gateway->stored_revision++;
    kw_change_set_unref(old);
}

/* The progress in the catalog can be two seconds old, so a slice that runs continues from this gateway's own
 * progress. */
void
kw_gateway_note_stored(kw_gateway *gateway, kw_change_set *stored)
{
    g_autoptr(kw_change_set) fresh = kw_change_set_merge(gateway->stored_changes, gateway->changes, stored);
    kw_gateway_set_changes(gateway, fresh);
    kw_gateway_set_stored(gateway, stored);
}

static void
set_served(kw_gateway *gateway)
{
    kw_change_set *old = gateway->served_changes;
    gateway->served_changes = gateway->changes ? kw_change_set_ref(gateway->changes) : NULL;
    kw_change_set_unref(old);
}

/* The reason why a table is not served can end without a command to this gateway, for example if another
 * gateway ends. After a check of rows, the gateway waits for a short time only, but long enough to admit
 * several tables at once: an admission compares all tables. */
static void
retry_tables_later(kw_gateway *gateway)
{
    bool waits = gateway->state == KW_GATEWAY_SERVING && !gateway->fenced && !gateway->preparing &&
                 kw_policy_count_unserved(gateway->policy) > 0;
    if (!waits || gateway->tables_soon)
        return;
    gateway->tables_soon = gateway->rows_checked;
    kw_timer_start_ms(gateway->timer, gateway->rows_checked
                                          ? MAX(CHECKED_PAUSE_MS, 2 * gateway->prepare_took_ns / KW_NS_PER_MS)
                                          : KW_TABLES_RETRY_MS);
}

void
kw_serving_rows_checked(void *user)
{
    kw_gateway *gateway = user;
    gateway->rows_checked = true;
    if (gateway->state == KW_GATEWAY_SERVING && !kw_row_checks_are_open(gateway->row_checks)) {
        kw_row_checks_show(gateway->row_checks, gateway->policy);
        kw_table_states_publish(gateway);
    }
    retry_tables_later(gateway);
}

static void
stop_timer(kw_gateway *gateway)
{
    gateway->tables_soon = false;
    kw_timer_stop(gateway->timer);
}

void
kw_gateway_serve_policy(kw_gateway *gateway, kw_policy *policy, kw_keyring *keyring)
{
    const kw_model *model = kw_policy_model(policy);
    kw_policy *old = gateway->policy;
    kw_keyring *old_keyring = gateway->keyring;
    gateway->policy = kw_policy_ref(policy);
    gateway->keyring = kw_keyring_ref(keyring);
    set_served(gateway);
    kw_coordinator_note_served(gateway->coordinator, old);
    kw_policy_unref(old);
    kw_keyring_unref(old_keyring);
    kw_policy_set_loaded_at_ms(policy, kw_clock_wall_ms());
    kw_stores_configure_log(model);
    kw_memory_configure(model);
    announce_policy(gateway);
    kw_service_set_policy(gateway->service, policy, keyring);
    if (gateway->state == KW_GATEWAY_SERVING && !gateway->lost) {
        gateway->fenced = false;
        kw_service_open_gate(gateway->service); /* the gate can be shut since the registration was lost */
    }
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
    kw_timer_start_ms(gateway->timer, ADMISSION_RETRY_MS);
}

static void
resume_serving(kw_gateway *gateway)
{
    if (gateway->lost) {
        kw_serving_registration_lost(gateway); /* lost once more, after the facts were written */
        return;
    }
    gateway->fenced = false;
    kw_log(KW_LOG_INFO, "gateway", "admitted again", KW_LOG_FACT("gateway", gateway->id));
    kw_service_open_gate(gateway->service);
}

static void
start_serving(kw_gateway *gateway)
{
    announce_policy(gateway);
    kw_service_open_gate(gateway->service);
    if (!kw_listeners_start(gateway))
        return;
    kw_gateway_move(gateway, KW_GATEWAY_SERVING);
    kw_log(KW_LOG_INFO, "gateway", "serving", KW_LOG_FACT("store", kw_store_about(gateway->store)),
           KW_LOG_FACT("tables", kw_policy_table_count(gateway->policy)),
           KW_LOG_FACT("policy", kw_gateway_model(gateway)->tables_file));
    kw_coordinator_wake(gateway->coordinator, 0);
    if (kw_listeners_report(gateway) && gateway->lost)
        kw_serving_registration_lost(gateway);
    else
        retry_tables_later(gateway);
}

void
kw_gateway_serve_version(kw_gateway *gateway, kw_policy *policy)
{
    kw_gateway_serve_policy(gateway, policy, gateway->keyring);
    if (gateway->state != KW_GATEWAY_WAITING)
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
    if (error && gateway->fenced)
        remain_fenced(gateway, error);
    else if (gateway->fenced)
        resume_serving(gateway);
    retry_tables_later(gateway);
}

static void
on_prepared(void *user, const kw_error *error)
{
    kw_gateway *gateway = user;
    gateway->preparing = false;
    gateway->prepare_took_ns = kw_clock_mono_ns() - gateway->prepare_began_ns;
    if (!error)
        set_why_not(gateway, &KW_ERROR_NONE);
    if (gateway->state < KW_GATEWAY_DRAINING) {
        stop_timer(gateway);
        if (gateway->state == KW_GATEWAY_SERVING)
            on_prepared_again(gateway, error);
        else if (error && can_recover(gateway, error))
            wait_to_serve(gateway, error);
        else if (error)
            refuse_to_start(gateway, error);
        else
            start_serving(gateway);
    }
    kw_jobs_next(&gateway->jobs);
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
    if (kw_gateway_policy_is_stored(gateway)) {
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
    g_autoptr(kw_policy) candidate = g_steal_pointer(&gateway->candidate);
    kw_error why = error ? *error : KW_ERROR_NONE;
    if (error && gateway->state < KW_GATEWAY_DRAINING && try_with_other_zones(gateway, candidate, &why))
        return;
    if (!error && gateway->net && candidate != gateway->policy)
        kw_gateway_serve_policy(gateway, candidate, gateway->keyring);
    on_prepared(gateway, error ? &why : NULL);
}

/* Owns the candidate. */
static void
prepare_candidate(kw_gateway *gateway, kw_policy *candidate)
{
    bool begins = gateway->state != KW_GATEWAY_SERVING || gateway->fenced;
    gateway->candidate = candidate;
    kw_prepare(gateway, candidate, NULL, NULL, begins, on_candidate_prepared, gateway);
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
    if (kw_gateway_policy_is_stored(gateway))
        kw_stored_policy_load(gateway, kw_gateway_own_model(gateway), on_candidate_loaded, gateway);
    else
        prepare_candidate(gateway, kw_policy_ref(gateway->policy));
}

static void
run_prepare(kw_job *job)
{
    kw_gateway *gateway = KW_CONTAINER(job, kw_gateway, prepare_job);
    gateway->lost = false;
    gateway->rows_checked = false;
    gateway->prepare_began_ns = kw_clock_mono_ns();
    if (gateway->state >= KW_GATEWAY_DRAINING)
        kw_jobs_next(&gateway->jobs);
    else
        load_candidate(gateway);
}

static void
prepare(kw_gateway *gateway)
{
    if (gateway->preparing)
        return;
    gateway->preparing = true;
    gateway->prepare_job.run = run_prepare;
    kw_jobs_add(&gateway->jobs, &gateway->prepare_job);
}

void
kw_serving_begin(kw_gateway *gateway)
{
    kw_timer_start_ms(gateway->timer, STORE_WAIT_MS);
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
    gateway->lost = gateway->fenced = true;
    if (gateway->state != KW_GATEWAY_SERVING)
        return; /* start_serving checks `lost` */
    kw_service_shut_gate(gateway->service, &lost);
    prepare(gateway);
}

void
kw_serving_on_timer(void *user)
{
    kw_gateway *gateway = user;
    bool complete = gateway->state == KW_GATEWAY_SERVING && !gateway->fenced &&
                    kw_policy_count_unserved(gateway->policy) == 0;
    gateway->tables_soon = false;
    if (complete)
        return; /* a reload has put the tables into service that the timer was for */
    if (!gateway->preparing) {
        prepare(gateway);
    } else if (gateway->state == KW_GATEWAY_STARTING &&
               kw_gateway_model(gateway)->store.kind == KW_STORE_HBASE) {
        kw_error error;
        kw_error_set(&error, KW_UNAVAILABLE, "no answer from the store within %d ms", STORE_WAIT_MS);
        wait_to_serve(gateway, &error);
    }
}
