/* Opens the modules in the order of their dependencies, runs the main loop until the gateway has drained, and
 * closes the modules in the reverse order.
 *
 *   open_all -> serve: signals, admin interface, serving.c -> loop, until drain.c stops it -> close_all
 */
#include "gateway/gateway.h"

#include "base/container.h"
#include "base/log.h"
#include "config/shared.h"
#include "coordinator/coordinator.h"
#include "coordinator/publication.h"
#include "gateway/connections.h"
#include "gateway/cursor_keys.h"
#include "gateway/drain.h"
#include "gateway/gateway_internal.h"
#include "gateway/listeners.h"
#include "gateway/memory_trim.h"
#include "gateway/readiness.h"
#include "gateway/reload.h"
#include "gateway/serving.h"
#include "gateway/signals.h"
#include "gateway/stores.h"
#include "gateway/watchdog.h"
#include "policy/apply.h"
#include "policy/catalog_jobs.h"
#include "policy/follower.h"
#include "policy/memory.h"
#include "policy/row_checks.h"
#include "policy/transfers.h"
#include "policy/versions.h"

#include <glib.h>
#include <unistd.h>

/* Time limit for writing the queued log lines at the end. */
#define LOG_DRAIN_MS 1000
#define CORES_PER_LOOP 4 /* with HBase */

static void
on_reload_asked(void *user, kw_loop *loop, void (*done)(void *done_user, const kw_error *error),
                void *done_user)
{
    kw_gateway *gateway = KW_CONTAINER(user, kw_gateway, control);
    kw_reload_request(gateway->reload, loop, done, done_user);
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
    uint16_t port = 0;
    for (size_t i = 0; port == 0 && i < model->listeners_count; i++)
        port = model->listeners[i].port;
    return port ? g_strdup_printf("%s:%u", g_get_host_name(), port)
                : g_strdup_printf("%s:pid%d", g_get_host_name(), (int)getpid());
}

static const kw_control_calls control_calls = {.serve = kw_serving_serve,
                                               .serve_version = kw_serving_serve_version,
                                               .earlier_in_use = kw_coordinator_earlier_in_use,
                                               .guess = kw_coordinator_guess,
                                               .note_stored = kw_coordinator_note_stored};

static kw_catalog *
open_catalog(kw_gateway *gateway)
{
    kw_control *control = &gateway->control;
    const kw_model *model = kw_control_model(control);
    return kw_catalog_new(&(kw_catalog_settings){.loop = control->loop,
                                                 .handle = control->handle,
                                                 .store_table = model->store.catalog,
                                                 .gateway_id = control->id,
                                                 .shared = kw_store_is_shared(control->store),
                                                 .follows = kw_control_policy_is_stored(control),
                                                 .lost = kw_serving_registration_lost,
                                                 .user = gateway});
}

static void
open_loops(kw_gateway *gateway)
{
    kw_control *control = &gateway->control;
    const kw_model *model = kw_control_model(control);
    unsigned loops = loops_of(model);
    control->loop = kw_loop_new();
    control->jobs.loop = control->loop;
    gateway->serving.timer = kw_timer_new(control->loop, kw_serving_on_timer, gateway);
    gateway->lame_duck = kw_timer_new(control->loop, kw_drain_on_lame_duck_over, gateway);
    kw_watchdog_open(gateway);
    control->handle = kw_store_open_handle(control->store, control->loop);
    kw_model *settings = kw_control_policy_is_stored(control) ? NULL : kw_policy_model(control->policy);
    control->sequences = kw_sequences_new(settings, control->loop, control->handle);
    control->id = gateway_id(model);
    control->catalog = open_catalog(gateway);
    const kw_fence *fence = kw_catalog_fence(control->catalog);
    kw_store_set_fence(control->store, fence);
    control->row_checks = kw_row_checks_new(control, kw_serving_rows_checked);
    gateway->reload = kw_reload_new(gateway);
    control->follower = kw_follower_new(control);
    control->coordinator = kw_coordinator_new(control);
    control->service = kw_service_new(&(kw_service_settings){.store = control->store,
                                                             .audit = control->audit,
                                                             .sequences = control->sequences,
                                                             .loops = loops,
                                                             .reload = on_reload_asked,
                                                             .forget = kw_catalog_jobs_forget,
                                                             .verified = kw_catalog_jobs_verified,
                                                             .created = kw_catalog_jobs_created,
                                                             .apply = kw_policy_apply,
                                                             .history = kw_policy_versions_list,
                                                             .version = kw_policy_versions_read,
                                                             .transfer = kw_policy_transfer,
                                                             .change = kw_coordinator_run_command,
                                                             .user = control,
                                                             .fence = fence},
                                      control->policy, control->keyring);
    kw_net_handler handler = kw_service_handler(control->service);
    gateway->net = kw_net_new(loops, kw_connections_limits(model), &handler);
    control->open = true;
}

/* Opens the store before it reads the cursor key, because the key can be in the store's folder. */
static bool
open_all(kw_gateway *gateway, kw_error *ret_error)
{
    kw_control *control = &gateway->control;
    const kw_model *model = kw_control_model(control);
    if (!kw_listeners_open(gateway, ret_error))
        return false;
    control->store = kw_stores_open(model, ret_error);
    if (!control->store)
        return false;
    control->keyring = kw_cursor_keys_open(model, ret_error);
    if (!control->keyring)
        return false;
    open_loops(gateway);
    return true;
}

static void
close_all(kw_gateway *gateway)
{
    kw_control *control = &gateway->control;
    kw_http_stop(gateway->http);
    if (control->loop) {
        kw_signals_close(gateway);
        kw_timer_free(gateway->serving.timer);
        kw_timer_free(gateway->lame_duck);
        kw_row_checks_close(control->row_checks);
        kw_timer_free(gateway->watchdog);
        kw_follower_close(control->follower);
        kw_coordinator_close(control->coordinator);
        kw_loop_free(control->loop); /* runs tasks still posted, for example the end of a reload */
        kw_reload_free(gateway->reload);
        kw_follower_free(control->follower);
        kw_coordinator_free(control->coordinator);
        kw_row_checks_free(control->row_checks);
    }
    kw_change_publication_free(control);
    kw_service_free(control->service);
    if (control->store)
        kw_store_set_fence(control->store, NULL);
    kw_catalog_free(control->catalog);
    kw_sequences_free(control->sequences);
    if (control->store)
        kw_store_free(control->store);
    kw_listeners_close(gateway);
    kw_control_clear(control);
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
    kw_loop_run(gateway->control.loop);
}

static bool
open_audit(kw_control *control, kw_error *ret_error)
{
    const char *file = kw_control_model(control)->audit_file;
    control->audit = *file ? kw_audit_open(file, ret_error) : NULL;
    return control->audit || !*file;
}

int
kw_gateway_run(const kw_gateway_settings *settings, kw_policy *policy)
{
    kw_gateway gateway = {.settings = *settings, .started_at_ms = kw_clock_wall_ms()};
    kw_error error = KW_ERROR_NONE;
    kw_control_init(&gateway.control, &control_calls, policy);
    kw_log_start();
    kw_stores_configure_log(kw_policy_model(policy));
    kw_memory_configure(kw_policy_model(policy));
    kw_connections_raise_file_limit(kw_policy_model(policy));
    kw_memory_trim_start();
    if (open_audit(&gateway.control, &error) && open_all(&gateway, &error)) {
        serve(&gateway);
        kw_log(KW_LOG_INFO, "gateway", "ended", KW_LOG_FACT("exit_code", gateway.exit_code));
    } else {
        kw_log(KW_LOG_ERROR, "gateway", "cannot start", KW_LOG_FACT("reason", error.text));
        gateway.exit_code = KW_EXIT_FAILED;
    }
    close_all(&gateway);
    kw_memory_trim_stop();
    kw_log_stop(LOG_DRAIN_MS);
    return gateway.exit_code;
}
