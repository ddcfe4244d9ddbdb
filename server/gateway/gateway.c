#include "gateway/gateway.h"

#include "base/budget.h"
#include "base/log.h"
#include "config/shared.h"
#include "gateway/catalog_jobs.h"
#include "gateway/cursor_keys.h"
#include "gateway/follower.h"
#include "gateway/gateway_internal.h"
#include "gateway/memory.h"
#include "gateway/notify.h"
#include "gateway/policy_requests.h"
#include "gateway/port_file.h"
#include "gateway/prepare.h"
#include "gateway/reload.h"
#include "gateway/stored_policy.h"
#include "gateway/stores.h"

#include <glib.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

/* How long the gateway waits for the store before it listens without it. */
#define STORE_WAIT_MS 3000
#define RETRY_MS 1000
/* When to retry after a gateway lost its registration and was not admitted again. */
#define ADMISSION_RETRY_MS 5000
/* Time limit for writing the queued log lines at the end. */
#define LOG_DRAIN_MS 1000
/* How often freed memory may be returned to the system: at rest, and while callers use memory. */
#define TRIM_REST_MS 500
#define TRIM_BUSY_MS 100
/* Open files reserved for the store, logs and libraries, but at most half of all. The rest is for
 * connections. */
#define FILES_RESERVED 2048
#define FILES_MAX 1048576

const kw_model *
kw_gateway_model(const kw_gateway *gateway)
{
    return kw_policy_model(gateway->policy);
}

bool
kw_gateway_is_stored(const kw_gateway *gateway)
{
    return kw_gateway_model(gateway)->policy_in_store;
}

kw_model *
kw_gateway_own_model(const kw_gateway *gateway)
{
    return kw_model_own(kw_policy_model(gateway->policy));
}

/* The number of files that the process can open, minus a reserve. */
static size_t
connections_by_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return SIZE_MAX;
    return (size_t)(limit.rlim_cur - MIN(limit.rlim_cur / 2, FILES_RESERVED));
}

kw_net_limits
kw_gateway_limits(const kw_model *model)
{
    size_t connections = MIN((size_t)model->limits.connections, connections_by_files());
    size_t of_peer = model->limits.peer_connections > 0 ? (size_t)model->limits.peer_connections
                                                        : MAX(connections / 5 * 4, 1);
    return (kw_net_limits){.connections = connections,
                           .peer_connections = of_peer,
                           .frame_bytes = (size_t)model->limits.frame_bytes,
                           .in_flight = (uint32_t)model->limits.in_flight,
                           .frame_ms = (uint64_t)model->timeouts.frame_ms,
                           .idle_ms = (uint64_t)model->timeouts.idle_ms,
                           .handshake_ms = (uint64_t)model->timeouts.handshake_ms};
}

/* --- states -------------------------------------------------------------------------------------- */

#define TO(state) (1u << KW_GATEWAY_##state)
static const unsigned moves[] = {
    [KW_GATEWAY_STARTING] = TO(WAITING) | TO(SERVING) | TO(DRAINING),
    [KW_GATEWAY_WAITING] = TO(SERVING) | TO(DRAINING),
    [KW_GATEWAY_SERVING] = TO(DRAINING),
    [KW_GATEWAY_DRAINING] = TO(DONE),
    [KW_GATEWAY_DONE] = 0,
};

static const char *const state_texts[] = {"starting", "waiting for the store", "serving", "draining", "done"};

static void
move(kw_gateway *gateway, kw_gateway_state to)
{
    g_assert(moves[gateway->state] & (1u << to));
    gateway->state = to;
    kw_notify_status(state_texts[to]);
}

static void
end(kw_gateway *gateway)
{
    move(gateway, KW_GATEWAY_DONE);
    kw_loop_stop(gateway->loop);
}

static void
on_handle_closed(void *user)
{
    kw_gateway *gateway = user;
    gateway->handle = NULL;
    end(gateway);
}

static void
on_catalog_closed(void *user)
{
    kw_gateway *gateway = user;
    kw_store_handle_close(gateway->handle, on_handle_closed, gateway);
}

static void
on_sequences_closed(void *user)
{
    kw_gateway *gateway = user;
    if (gateway->catalog)
        kw_catalog_close(gateway->catalog, on_catalog_closed, gateway);
    else
        on_catalog_closed(gateway);
}

static void
on_drained(void *user)
{
    kw_gateway *gateway = user;
    kw_net_free(gateway->net);
    gateway->net = NULL;
    kw_sequences_close(gateway->sequences, on_sequences_closed, gateway);
}

static void
drain(kw_gateway *gateway, int exit_code)
{
    if (gateway->state >= KW_GATEWAY_DRAINING) {
        if (gateway->net)
            kw_net_close_now(gateway->net);
        return;
    }
    move(gateway, KW_GATEWAY_DRAINING);
    gateway->exit_code = exit_code;
    kw_notify_stopping();
    kw_timer_stop(gateway->timer);
    kw_prepare_end(gateway);
    kw_reload_end(gateway->reload);
    kw_catalog_jobs_end(gateway);
    kw_policy_requests_end(gateway);
    kw_follower_stop(gateway->follower);
    if (!gateway->listening)
        kw_net_start(gateway->net); /* so that the loops can close their handles */
    gateway->listening = true;
    kw_net_drain(gateway->net, (uint64_t)kw_gateway_model(gateway)->timeouts.drain_ms, gateway->loop,
                 on_drained, gateway);
}

/* --- starting ------------------------------------------------------------------------------------ */

static bool
listen_all(kw_gateway *gateway, kw_error *ret_error)
{
    const kw_model *model = kw_gateway_model(gateway);
    for (size_t i = 0; i < gateway->listeners_count; i++)
        if (!kw_net_listen(gateway->net, model->listeners[i].host, model->listeners[i].port, gateway->tls[i],
                           &gateway->ports[i], ret_error))
            return false;
    return true;
}

/* False if the gateway drains because of an error. */
static bool
start_listening(kw_gateway *gateway)
{
    kw_error error = KW_ERROR_NONE;
    if (gateway->listening)
        return true;
    if (!listen_all(gateway, &error)) {
        kw_log(KW_LOG_ERROR, "gateway", "cannot listen", "reason=\"%s\"", error.text);
        drain(gateway, KW_EXIT_FAILED);
        return false;
    }
    gateway->listening = true;
    kw_net_start(gateway->net);
    return true;
}

/* Reports the ports, once, and after the change of state: a client that waits for the ports then finds
 * /readyz up to date. False if the gateway drains because of an error. */
static bool
report_ports(kw_gateway *gateway)
{
    kw_error error = KW_ERROR_NONE;
    if (gateway->ports_reported)
        return true;
    if (!kw_port_file_write(gateway, &error)) {
        kw_log(KW_LOG_ERROR, "gateway", "cannot report the ports", "reason=\"%s\"", error.text);
        drain(gateway, KW_EXIT_FAILED);
        return false;
    }
    gateway->ports_reported = true;
    kw_notify_ready();
    return true;
}

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
               "reason=\"%s\"", error->text);
        move(gateway, KW_GATEWAY_WAITING);
    }
    set_why_not(gateway, error);
    kw_error shown = {.code = KW_UNAVAILABLE, .retry_after_ms = RETRY_MS};
    g_strlcpy(shown.text, error->text, sizeof shown.text);
    kw_error_prefix(&shown, "the gateway cannot serve yet");
    kw_service_shut_gate(gateway->service, &shown);
    if (start_listening(gateway) && report_ports(gateway))
        kw_timer_start_ms(gateway->timer, RETRY_MS);
}

/* A policy in the catalog can be changed through this gateway and through others. */
static bool
can_recover(const kw_gateway *gateway, const kw_error *error)
{
    if (kw_gateway_is_stored(gateway))
        return true;
    return kw_gateway_model(gateway)->store.kind == KW_STORE_HBASE &&
           (error->code == KW_UNAVAILABLE || error->code == KW_TIMEOUT || error->code == KW_BUSY);
}

/* Keeps the store's clock synchronized while the policy needs it. */
static void
expect_stamps(kw_gateway *gateway)
{
    bool stamps = false;
    for (size_t i = 0; i < kw_policy_table_count(gateway->policy); i++)
        stamps = stamps || kw_policy_table(gateway->policy, i)->ordering.order == KW_WRITE_ORDER_STAMP;
    kw_store_expect_stamps(gateway->store, stamps);
}

/* Call it before the calls under the policy begin. */
static void
announce_policy(kw_gateway *gateway)
{
    int64_t version = kw_policy_version(gateway->policy);
    atomic_store(&gateway->policy_loaded_at_ms, kw_policy_loaded_at_ms(gateway->policy));
    kw_metrics_add(KW_METRIC_policy_version, version - kw_metrics_read(KW_METRIC_policy_version));
    expect_stamps(gateway);
    kw_sequences_begin_use(gateway->sequences);
}

void
kw_gateway_serve_policy(kw_gateway *gateway, kw_policy *policy, kw_keyring *keyring)
{
    const kw_model *model = kw_policy_model(policy);
    kw_policy *old = gateway->policy;
    kw_keyring *old_keyring = gateway->keyring;
    gateway->policy = kw_policy_ref(policy);
    gateway->keyring = kw_keyring_ref(keyring);
    kw_policy_unref(old);
    kw_keyring_unref(old_keyring);
    kw_policy_set_loaded_at_ms(policy, kw_clock_wall_ms());
    kw_stores_configure_log(model);
    kw_memory_configure(model);
    announce_policy(gateway);
    kw_service_set_policy(gateway->service, policy, keyring);
    if (gateway->state == KW_GATEWAY_SERVING && !gateway->lost)
        kw_service_open_gate(gateway->service); /* was shut because an admission was refused */
    kw_net_set_limits(gateway->net, kw_gateway_limits(model));
}

/* Keeps the gateway out of service until it is registered again; the fence rejects calls. */
static void
remain_fenced(kw_gateway *gateway, const kw_error *error)
{
    kw_log(KW_LOG_ERROR, "gateway", "not admitted again, calls fail with UNAVAILABLE",
           "code=%s reason=\"%s\"", kw_code_name(error->code), error->text);
    set_why_not(gateway, error);
    kw_timer_start_ms(gateway->timer, ADMISSION_RETRY_MS);
}

static void on_registration_lost(void *user);

static void
resume_serving(kw_gateway *gateway)
{
    if (gateway->lost) {
        on_registration_lost(gateway); /* lost once more, after the facts were written */
        return;
    }
    kw_log(KW_LOG_INFO, "gateway", "admitted again", "gateway=%s", gateway->id);
    kw_service_open_gate(gateway->service);
}

static void
start_serving(kw_gateway *gateway)
{
    announce_policy(gateway);
    kw_service_open_gate(gateway->service);
    if (!start_listening(gateway))
        return;
    move(gateway, KW_GATEWAY_SERVING);
    kw_log(KW_LOG_INFO, "gateway", "serving", "store=\"%s\" tables=%zu policy=\"%s\"",
           kw_store_about(gateway->store), kw_policy_table_count(gateway->policy),
           kw_gateway_model(gateway)->tables_file);
    if (report_ports(gateway) && gateway->lost)
        on_registration_lost(gateway);
}

void
kw_gateway_serve_version(kw_gateway *gateway, kw_policy *policy)
{
    kw_gateway_serve_policy(gateway, policy, gateway->keyring);
    if (gateway->state != KW_GATEWAY_WAITING)
        return;
    set_why_not(gateway, &KW_ERROR_NONE);
    kw_timer_stop(gateway->timer);
    start_serving(gateway);
}

static void
refuse_to_start(kw_gateway *gateway, const kw_error *error)
{
    kw_log(KW_LOG_ERROR, "gateway", "the policy cannot be served", "code=%s reason=\"%s\"",
           kw_code_name(error->code), error->text);
    drain(gateway, error->code == KW_REFUSED   ? KW_EXIT_REFUSED
                   : error->code == KW_INVALID ? KW_EXIT_POLICY
                                               : KW_EXIT_FAILED);
}

static void
on_prepared(void *user, const kw_error *error)
{
    kw_gateway *gateway = user;
    gateway->preparing = false;
    if (!error)
        set_why_not(gateway, &KW_ERROR_NONE);
    if (gateway->state < KW_GATEWAY_DRAINING) {
        kw_timer_stop(gateway->timer);
        if (gateway->state == KW_GATEWAY_SERVING && error)
            remain_fenced(gateway, error);
        else if (gateway->state == KW_GATEWAY_SERVING)
            resume_serving(gateway);
        else if (error && can_recover(gateway, error))
            wait_to_serve(gateway, error);
        else if (error)
            refuse_to_start(gateway, error);
        else
            start_serving(gateway);
    }
    kw_jobs_next(&gateway->jobs);
}

static void
on_candidate_prepared(void *user, const kw_error *error)
{
    kw_gateway *gateway = user;
    kw_policy *candidate = g_steal_pointer(&gateway->candidate);
    if (!error && gateway->net && candidate != gateway->policy)
        kw_gateway_serve_policy(gateway, candidate, gateway->keyring);
    kw_policy_unref(candidate);
    on_prepared(gateway, error);
}

static void
on_candidate_loaded(void *user, kw_policy *policy, const kw_error *error)
{
    kw_gateway *gateway = user;
    if (error) {
        on_prepared(gateway, error);
        return;
    }
    gateway->candidate = policy;
    kw_prepare(gateway, policy, NULL, on_candidate_prepared, gateway);
}

static void
run_prepare(kw_job *job)
{
    kw_gateway *gateway = (kw_gateway *)((char *)job - offsetof(kw_gateway, prepare_job));
    gateway->lost = false;
    if (gateway->state >= KW_GATEWAY_DRAINING) {
        kw_jobs_next(&gateway->jobs);
        return;
    }
    if (kw_gateway_is_stored(gateway))
        kw_stored_policy_load(gateway, kw_gateway_own_model(gateway), on_candidate_loaded, gateway);
    else
        kw_prepare(gateway, gateway->policy, NULL, on_prepared, gateway);
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

/* Called when the registration in the catalog was lost: the policy must be admitted again. */
static void
on_registration_lost(void *user)
{
    static const kw_error lost = {
        .code = KW_UNAVAILABLE,
        .retry_after_ms = RETRY_MS,
        .text = "this gateway lost its registration in the catalog; it serves again once it is admitted"};
    kw_gateway *gateway = user;
    gateway->lost = true;
    if (gateway->state != KW_GATEWAY_SERVING)
        return; /* start_serving checks `lost` */
    kw_service_shut_gate(gateway->service, &lost);
    prepare(gateway);
}

/* STARTING: the store has not answered in time. WAITING, or SERVING with a shut fence: the next attempt. */
static void
on_timer(void *user)
{
    kw_gateway *gateway = user;
    if (!gateway->preparing) {
        prepare(gateway);
    } else if (gateway->state == KW_GATEWAY_STARTING &&
               kw_gateway_model(gateway)->store.kind == KW_STORE_HBASE) {
        kw_error error;
        kw_error_set(&error, KW_UNAVAILABLE, "no answer from the store within %d ms", STORE_WAIT_MS);
        wait_to_serve(gateway, &error);
    }
}

/* --- signals and watchdog ------------------------------------------------------------------------ */

static void
on_signal(uv_signal_t *handle, int number)
{
    kw_gateway *gateway = handle->data;
    kw_log(KW_LOG_INFO, "gateway", "signal", "name=%s state=\"%s\"", strsignal(number),
           state_texts[gateway->state]);
    if (number != SIGHUP)
        drain(gateway, KW_EXIT_OK);
    else if (gateway->state < KW_GATEWAY_DRAINING)
        kw_reload_start(gateway->reload);
}

static void
watch_signals(kw_gateway *gateway)
{
    static const int numbers[] = {SIGHUP, SIGTERM, SIGINT};
    signal(SIGPIPE, SIG_IGN);
    gateway->signals_count = G_N_ELEMENTS(numbers);
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        uv_signal_init(kw_loop_uv(gateway->loop), &gateway->signals[i]);
        gateway->signals[i].data = gateway;
        uv_signal_start(&gateway->signals[i], on_signal, numbers[i]);
    }
}

/* Notifies systemd's watchdog unless an event loop hangs. */
static void
on_watchdog(void *user)
{
    kw_gateway *gateway = user;
    if (!gateway->listening || !gateway->net || kw_net_alive(gateway->net, gateway->watchdog_ms / 2 + 2000))
        kw_notify_watchdog();
    kw_timer_start_ms(gateway->watchdog, gateway->watchdog_ms / 3);
}

/* Returns freed memory to the system. */
static void
on_trim(void *user)
{
    kw_gateway *gateway = user;
    if (kw_trim_memory(&gateway->trimmed))
        kw_log(KW_LOG_DEBUG, "gateway", "freed memory was returned to the system", "used=%" G_GINT64_FORMAT,
               kw_budget_used());
    bool busy = kw_budget_used() - kw_metrics_read(KW_METRIC_memory_caches) >= KW_TRIM_LEAST;
    kw_timer_start_ms(gateway->trim, busy ? TRIM_BUSY_MS : TRIM_REST_MS);
}

static bool
is_ready(void *user, void (*add_reason)(void *list, const char *reason), void *list)
{
    kw_gateway *gateway = user;
    kw_gateway_state state = atomic_load(&gateway->state);
    kw_error error = KW_ERROR_NONE;
    bool ready = state == KW_GATEWAY_SERVING;
    if (!ready)
        add_reason(list, state_texts[state]);
    const kw_fence *fence = gateway->catalog ? kw_catalog_fence(gateway->catalog) : NULL;
    if (ready && fence && !kw_fence_is_open(fence)) {
        add_reason(list, "this gateway's lease in the catalog has expired");
        ready = false;
    }
    kw_mutex_lock(&gateway->lock);
    if (!ready && gateway->why_not.code != KW_OK)
        add_reason(list, gateway->why_not.text);
    kw_mutex_unlock(&gateway->lock);
    if (!kw_store_ready(gateway->store, &error)) {
        add_reason(list, error.text);
        ready = false;
    }
    return ready;
}

static void
list_warnings(void *user, void (*add_warning)(void *list, const char *text), void *list)
{
    kw_gateway *gateway = user;
    kw_mutex_lock(&gateway->lock);
    for (guint i = 0; gateway->warnings && i < gateway->warnings->len; i++)
        add_warning(list, gateway->warnings->pdata[i]);
    if (gateway->not_followed.code != KW_OK)
        add_warning(list, gateway->not_followed.text);
    kw_mutex_unlock(&gateway->lock);
}

static int64_t
policy_loaded_at_ms(void *user)
{
    return atomic_load(&((kw_gateway *)user)->policy_loaded_at_ms);
}

/* --- opening ------------------------------------------------------------------------------------- */

/* Raises the limit of open files to what the policy's connections need, if the system allows it. */
static void
raise_file_limit(const kw_model *model)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)model->limits.connections + FILES_RESERVED;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = MIN(limit.rlim_max, MAX((rlim_t)FILES_MAX, wanted));
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur < wanted)
        kw_log(KW_LOG_WARN, "gateway",
               "the limit of open files allows fewer connections than limits.connections",
               "open_files=%lu connections=%zu", (unsigned long)limit.rlim_cur,
               kw_gateway_limits(model).connections);
}

static bool
open_tls(kw_gateway *gateway, kw_error *ret_error)
{
    const kw_model *model = kw_gateway_model(gateway);
    gateway->listeners_count = model->listeners_count;
    gateway->tls = g_new0(kw_tls_context *, model->listeners_count);
    gateway->ports = g_new0(uint16_t, model->listeners_count);
    for (size_t i = 0; i < model->listeners_count; i++) {
        const kw_model_listener *listener = &model->listeners[i];
        if (!listener->tls.enabled)
            continue;
        gateway->tls[i] = kw_tls_context_new_server(&listener->tls, ret_error);
        if (!gateway->tls[i])
            return kw_error_prefix(ret_error, "listener %s:%u", listener->host, listener->port);
    }
    return true;
}

static void
on_reload_asked(void *user, kw_loop *loop, void (*done)(void *done_user, const kw_error *error),
                void *done_user)
{
    kw_reload_request(((kw_gateway *)user)->reload, loop, done, done_user);
}

static unsigned
loops_of(const kw_model *model)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return model->loops > 0 ? (unsigned)model->loops : (unsigned)CLAMP(cores, 1, 256);
}

static bool
open_admin(kw_gateway *gateway, kw_error *ret_error)
{
    const kw_model *model = kw_gateway_model(gateway);
    kw_admin_sources sources = {.user = gateway,
                                .service = gateway->service,
                                .store = gateway->store,
                                .ready = is_ready,
                                .warnings = list_warnings,
                                .policy_loaded_at_ms = policy_loaded_at_ms,
                                .started_at_ms = gateway->started_at_ms};
    if (!model->admin_enabled)
        return true;
    gateway->admin =
        kw_admin_start(model->admin.host, model->admin.port, &sources, &gateway->admin_port, ret_error);
    return gateway->admin != NULL;
}

/* A gateway that restarts must find its registration by this id. A gateway on an arbitrary port has no stable
 * id. */
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
                                                 .lost = on_registration_lost,
                                                 .user = gateway});
}

static void
open_loops(kw_gateway *gateway)
{
    const kw_model *model = kw_gateway_model(gateway);
    unsigned loops = loops_of(model);
    gateway->loop = kw_loop_new();
    gateway->jobs.loop = gateway->loop;
    gateway->timer = kw_timer_new(gateway->loop, on_timer, gateway);
    gateway->watchdog = kw_timer_new(gateway->loop, on_watchdog, gateway);
    gateway->watchdog_ms = kw_notify_watchdog_ms();
    gateway->trim = kw_timer_new(gateway->loop, on_trim, gateway);
    kw_timer_start_ms(gateway->trim, TRIM_REST_MS);
    gateway->handle = kw_store_open_handle(gateway->store, gateway->loop);
    kw_model *settings = kw_gateway_is_stored(gateway) ? NULL : kw_policy_model(gateway->policy);
    gateway->sequences = kw_sequences_new(settings, gateway->loop, gateway->handle);
    gateway->id = gateway_id(model);
    gateway->catalog = open_catalog(gateway);
    gateway->reload = kw_reload_new(gateway);
    gateway->follower = kw_follower_new(gateway);
    const kw_fence *fence = gateway->catalog ? kw_catalog_fence(gateway->catalog) : NULL;
    gateway->service = kw_service_new(&(kw_service_settings){.store = gateway->store,
                                                             .sequences = gateway->sequences,
                                                             .loops = loops,
                                                             .reload = on_reload_asked,
                                                             .forget = kw_catalog_jobs_forget,
                                                             .created = kw_catalog_jobs_created,
                                                             .apply = kw_policy_requests_apply,
                                                             .history = kw_policy_requests_history,
                                                             .version = kw_policy_requests_version,
                                                             .user = gateway,
                                                             .fence = fence},
                                      gateway->policy, gateway->keyring);
    kw_net_handler handler = kw_service_handler(gateway->service);
    gateway->net = kw_net_new(loops, kw_gateway_limits(model), &handler);
}

/* Opens the store first, because the cursor key is in its folder. */
static bool
open_all(kw_gateway *gateway, kw_error *ret_error)
{
    const kw_model *model = kw_gateway_model(gateway);
    if (!open_tls(gateway, ret_error))
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
    kw_admin_stop(gateway->admin);
    if (gateway->loop) {
        for (size_t i = 0; i < gateway->signals_count; i++)
            uv_close((uv_handle_t *)&gateway->signals[i], NULL);
        kw_timer_free(gateway->timer);
        kw_timer_free(gateway->watchdog);
        kw_timer_free(gateway->trim);
        kw_follower_close(gateway->follower);
        kw_loop_free(gateway->loop); /* runs tasks still posted, for example the end of a reload */
        kw_reload_free(gateway->reload);
        kw_follower_free(gateway->follower);
    }
    kw_service_free(gateway->service);
    kw_catalog_free(gateway->catalog);
    kw_sequences_free(gateway->sequences);
    if (gateway->store)
        kw_store_free(gateway->store);
    for (size_t i = 0; i < gateway->listeners_count; i++)
        kw_tls_context_free(gateway->tls[i]);
    g_free(gateway->tls);
    g_free(gateway->ports);
    g_free(gateway->id);
    if (gateway->warnings)
        g_ptr_array_unref(gateway->warnings);
    if (gateway->keyring)
        kw_keyring_unref(gateway->keyring);
    kw_policy_unref(gateway->policy);
    kw_mutex_clear(&gateway->lock);
}

static void
serve(kw_gateway *gateway)
{
    kw_error error = KW_ERROR_NONE;
    watch_signals(gateway);
    if (gateway->watchdog_ms > 0)
        on_watchdog(gateway);
    if (open_admin(gateway, &error)) {
        kw_timer_start_ms(gateway->timer, STORE_WAIT_MS);
        prepare(gateway);
    } else {
        kw_log(KW_LOG_ERROR, "gateway", "cannot start", "reason=\"%s\"", error.text);
        drain(gateway, KW_EXIT_FAILED);
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
    raise_file_limit(kw_policy_model(policy));
    if (open_all(&gateway, &error)) {
        serve(&gateway);
        kw_log(KW_LOG_INFO, "gateway", "ended", "code=%d", gateway.exit_code);
    } else {
        kw_log(KW_LOG_ERROR, "gateway", "cannot start", "reason=\"%s\"", error.text);
        gateway.exit_code = KW_EXIT_FAILED;
    }
    close_all(&gateway);
    kw_log_stop(LOG_DRAIN_MS);
    return gateway.exit_code;
}
