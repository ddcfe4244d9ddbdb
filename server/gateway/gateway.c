/* Opens the modules in the order of their dependencies, runs the main loop until the gateway has drained, and
 * closes the modules in the reverse order.
 *
 *   open_all -> serve: signals, admin interface, serving.c -> loop, until drain.c stops it -> close_all
 */
#include "gateway/gateway.h"

#include "base/log.h"
#include "config/shared.h"
#include "gateway/catalog_jobs.h"
#include "gateway/change_publication.h"
#include "gateway/connections.h"
#include "gateway/coordinator.h"
#include "gateway/cursor_keys.h"
#include "gateway/drain.h"
#include "gateway/follower.h"
#include "gateway/gateway_internal.h"
#include "gateway/listeners.h"
#include "gateway/memory.h"
#include "gateway/memory_trim.h"
#include "gateway/policy_requests.h"
#include "gateway/readiness.h"
#include "gateway/reload.h"
#include "gateway/row_checks.h"
#include "gateway/serving.h"
#include "gateway/signals.h"
#include "gateway/stores.h"
#include "gateway/watchdog.h"

#include <glib.h>
#include <unistd.h>

/* Time limit for writing the queued log lines at the end. */
#define LOG_DRAIN_MS 1000
#define CORES_PER_LOOP 4 /* with HBase */

const kw_model *
kw_gateway_model(const kw_gateway *gateway)
{
    return kw_policy_model(gateway->policy);
}

kw_deadline
kw_gateway_call_deadline(const kw_gateway *gateway)
{
    return kw_deadline_in_ms(kw_gateway_model(gateway)->timeouts.call_ms);
}

bool
kw_gateway_policy_is_stored(const kw_gateway *gateway)
{
    return kw_gateway_model(gateway)->policy_in_store;
}

kw_model *
kw_gateway_own_model(const kw_gateway *gateway)
{
    return kw_model_own(kw_policy_model(gateway->policy));
}

static void
on_reload_asked(void *user, kw_loop *loop, void (*done)(void *done_user, const kw_error *error),
                void *done_user)
{
    kw_reload_request(((kw_gateway *)user)->reload, loop, done, done_user);
}

/* The number of loops if it is not set. For each call, HBase needs several times as much CPU time as the
 * gateway. Loops do not share batches, so fewer loops have larger batches, in which a row costs HBase less.
 */
static unsigned
loops_of(const kw_model *model)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long wanted = model->store.kind == KW_STORE_HBASE ? (cores + CORES_PER_LOOP - 1) / CORES_PER_LOOP : cores;
    return model->loops > 0 ? (unsigned)model->loops : (unsigned)CLAMP(wanted, 1, 256);
}

/* By this id, a restarted gateway recognizes the registration of its previous process. A gateway on an
 * arbitrary port has no stable id. */
static char *
gateway_id(const kw_model *model)
{
    if (model->gateway_id[0])
        return g_strdup(model->gateway_id);
    uint16_t port = model->listeners[0].port;
    return port ? g_strdup_printf("%s:%u", g_get_host_name(), port)
                : g_strdup_printf("%s:pid%d", g_get_host_name(), (int)getpid());
}

static kw_catalog *
open_catalog(kw_gateway *gateway)
{
    const kw_model *model = kw_gateway_model(gateway);
    if (model->store.kind == KW_STORE_NULL)
        return NULL;
    return kw_catalog_new(&(kw_catalog_settings){.loop = gateway->loop,
                                                 .handle = gateway->handle,
                                                 .store_table = model->store.catalog,
                                                 .gateway_id = gateway->id,
                                                 .shared = kw_store_is_shared(gateway->store),
                                                 .follows = kw_gateway_policy_is_stored(gateway),
                                                 .lost = kw_serving_registration_lost,
                                                 .user = gateway});
}

static void
open_loops(kw_gateway *gateway)
{
    const kw_model *model = kw_gateway_model(gateway);
    unsigned loops = loops_of(model);
    gateway->loop = kw_loop_new();
    gateway->jobs.loop = gateway->loop;
    gateway->timer = kw_timer_new(gateway->loop, kw_serving_on_timer, gateway);
    gateway->lame_duck = kw_timer_new(gateway->loop, kw_drain_on_lame_duck_over, gateway);
    kw_watchdog_open(gateway);
    kw_memory_trim_start(gateway);
    gateway->handle = kw_store_open_handle(gateway->store, gateway->loop);
    kw_model *settings = kw_gateway_policy_is_stored(gateway) ? NULL : kw_policy_model(gateway->policy);
    gateway->sequences = kw_sequences_new(settings, gateway->loop, gateway->handle);
    gateway->id = gateway_id(model);
    gateway->catalog = open_catalog(gateway);
    if (gateway->catalog)
        kw_store_set_fence(gateway->store, kw_catalog_fence(gateway->catalog));
    gateway->row_checks = kw_row_checks_new(gateway, kw_serving_rows_checked);
    gateway->reload = kw_reload_new(gateway);
    gateway->follower = kw_follower_new(gateway);
    gateway->coordinator = kw_coordinator_new(gateway);
    const kw_fence *fence = gateway->catalog ? kw_catalog_fence(gateway->catalog) : NULL;
    gateway->service = kw_service_new(&(kw_service_settings){.store = gateway->store,
                                                             .sequences = gateway->sequences,
                                                             .loops = loops,
                                                             .reload = on_reload_asked,
                                                             .forget = kw_catalog_jobs_forget,
                                                             .verified = kw_catalog_jobs_verified,
                                                             .created = kw_catalog_jobs_created,
                                                             .apply = kw_policy_requests_apply,
                                                             .history = kw_policy_requests_history,
                                                             .version = kw_policy_requests_version,
                                                             .transfer = kw_policy_requests_transfer,
                                                             .change = kw_coordinator_run_command,
                                                             .user = gateway,
                                                             .fence = fence},
                                      gateway->policy, gateway->keyring);
    kw_net_handler handler = kw_service_handler(gateway->service);
    gateway->net = kw_net_new(loops, kw_connections_limits(model), &handler);
}

/* Opens the store before it reads the cursor key, because the key can be in the store's folder. */
static bool
open_all(kw_gateway *gateway, kw_error *ret_error)
{
    const kw_model *model = kw_gateway_model(gateway);
    if (!kw_listeners_open(gateway, ret_error))
        return false;
    gateway->store = kw_stores_open(model, ret_error);
    if (!gateway->store)
        return false;
    gateway->keyring = kw_cursor_keys_open(model, ret_error);
    if (!gateway->keyring)
        return false;
    open_loops(gateway);
    return true;
}

static void
close_all(kw_gateway *gateway)
{
    kw_http_stop(gateway->http);
    if (gateway->loop) {
        kw_signals_close(gateway);
        kw_timer_free(gateway->timer);
        kw_timer_free(gateway->lame_duck);
        kw_row_checks_close(gateway->row_checks);
        kw_timer_free(gateway->watchdog);
        kw_timer_free(gateway->trim);
        kw_follower_close(gateway->follower);
        kw_coordinator_close(gateway->coordinator);
        kw_loop_free(gateway->loop); /* runs tasks still posted, for example the end of a reload */
        kw_reload_free(gateway->reload);
        kw_follower_free(gateway->follower);
        kw_coordinator_free(gateway->coordinator);
        kw_row_checks_free(gateway->row_checks);
    }
    kw_change_publication_free(gateway);
    kw_change_set_unref(gateway->changes);
    kw_change_set_unref(gateway->stored_changes);
    kw_change_set_unref(gateway->served_changes);
    kw_service_free(gateway->service);
    if (gateway->store)
        kw_store_set_fence(gateway->store, NULL);
    kw_catalog_free(gateway->catalog);
    kw_sequences_free(gateway->sequences);
    if (gateway->store)
        kw_store_free(gateway->store);
    kw_listeners_close(gateway);
    g_free(gateway->id);
    g_clear_pointer(&gateway->zone_warnings, g_ptr_array_unref);
    g_clear_pointer(&gateway->unserved, g_ptr_array_unref);
    g_clear_pointer(&gateway->unverified, g_ptr_array_unref);
    g_clear_pointer(&gateway->differing, g_ptr_array_unref);
    if (gateway->keyring)
        kw_keyring_unref(gateway->keyring);
    kw_policy_unref(gateway->policy);
    kw_mutex_clear(&gateway->lock);
}

static void
serve(kw_gateway *gateway)
{
    kw_error error = KW_ERROR_NONE;
    kw_signals_watch(gateway);
    kw_watchdog_start(gateway);
    if (kw_readiness_start_admin(gateway, &error)) {
        kw_serving_begin(gateway);
    } else {
        kw_log(KW_LOG_ERROR, "gateway", "cannot start", KW_LOG_FACT("reason", error.text));
        kw_drain_start(gateway, KW_EXIT_FAILED);
    }
    kw_loop_run(gateway->loop);
}

int
kw_gateway_run(const kw_gateway_settings *settings, kw_policy *policy)
{
    kw_gateway gateway = {.settings = *settings, .policy = policy, .started_at_ms = kw_clock_wall_ms()};
    kw_error error = KW_ERROR_NONE;
    kw_mutex_init(&gateway.lock);
    kw_log_start();
    kw_stores_configure_log(kw_policy_model(policy));
    kw_memory_configure(kw_policy_model(policy));
    kw_connections_raise_file_limit(kw_policy_model(policy));
    if (open_all(&gateway, &error)) {
        serve(&gateway);
        kw_log(KW_LOG_INFO, "gateway", "ended", KW_LOG_FACT("exit_code", gateway.exit_code));
    } else {
        kw_log(KW_LOG_ERROR, "gateway", "cannot start", KW_LOG_FACT("reason", error.text));
        gateway.exit_code = KW_EXIT_FAILED;
    }
    close_all(&gateway);
    kw_log_stop(LOG_DRAIN_MS);
    return gateway.exit_code;
}
