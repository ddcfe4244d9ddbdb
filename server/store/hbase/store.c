/* The store that all store handles share: settings, TLS, readiness. */
#include "store/hbase/hbase.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/hbase/handle.h"

#include <signal.h>
#include <stdio.h>

static kw_hbase_store *
store_of(const kw_store *store)
{
    return (kw_hbase_store *)store;
}

static const char *
about(const kw_store *store)
{
    return store_of(store)->about;
}

static bool
ready(kw_store *base, kw_error *ret_error)
{
    kw_hbase_store *store = store_of(base);
    if (atomic_load(&store->ready))
        return true;
    kw_mutex_lock(&store->mutex);
    kw_error_set(ret_error, KW_UNAVAILABLE, "no Thrift2 server can be reached%s%s", *store->why ? "; " : "",
                 store->why);
    kw_mutex_unlock(&store->mutex);
    return false;
}

static bool
clock_offset_ms(kw_store *store, int64_t *ret_offset_ms)
{
    return kw_hbase_clock_offset(&store_of(store)->clock, ret_offset_ms);
}

static bool
store_time(kw_store *store, bool estimate, kw_span *ret_span)
{
    return kw_hbase_clock_time(&store_of(store)->clock, estimate, ret_span);
}

static void
keep_time_known(kw_store *store)
{
    kw_hbase_clock_use(&store_of(store)->clock);
}

static kw_store_handle *
open_handle(kw_store *store, kw_loop *loop)
{
    return kw_hbase_handle_new(store_of(store), loop);
}

static void
reload(kw_store *base)
{
    kw_hbase_store *store = store_of(base);
    kw_error error;
    if (store->tls && !kw_tls_context_reload(store->tls, &error))
        kw_log(KW_LOG_ERROR, "hbase", "cannot reload the certificates, keeping the old ones",
               KW_LOG_FACT("reason", error.text));
}

static void
copy_tls(kw_model_tls *tls)
{
    tls->certificate = g_strdup(tls->certificate ? tls->certificate : "");
    tls->key = g_strdup(tls->key ? tls->key : "");
    tls->ca = g_strdup(tls->ca ? tls->ca : "");
    tls->server_name = g_strdup(tls->server_name ? tls->server_name : "");
}

static void
copy_settings(kw_hbase_store *store, const kw_model_hbase *settings)
{
    kw_model_server *servers = g_memdup2(settings->servers, settings->servers_count * sizeof *servers);
    for (size_t i = 0; i < settings->servers_count; i++)
        servers[i].host = g_strdup(servers[i].host);
    store->settings = *settings;
    store->settings.servers = servers;
    store->settings.channels = MAX(settings->channels, 1);
    copy_tls(&store->settings.tls);
}

static void
free_store(kw_store *base)
{
    kw_hbase_store *store = store_of(base);
    g_assert(atomic_load(&store->handles) == 0);
    for (size_t i = 0; i < store->settings.servers_count; i++)
        g_free((char *)store->settings.servers[i].host);
    g_free((kw_model_server *)store->settings.servers);
    g_free((char *)store->settings.tls.certificate);
    g_free((char *)store->settings.tls.key);
    g_free((char *)store->settings.tls.ca);
    g_free((char *)store->settings.tls.server_name);
    g_free(store->channels);
    g_free(store->forms);
    g_free(store->failing);
    kw_tls_context_free(store->tls);
    kw_mutex_clear(&store->mutex);
    kw_mutex_clear(&store->clock.lock);
    g_free(store->about);
    g_free(store);
}

static void
set_fence(kw_store *store, const kw_fence *fence)
{
    atomic_store(&((kw_hbase_store *)store)->fence, fence);
}

static const kw_store_class store_class = {.name = "hbase",
                                           .shared = true,
                                           .about = about,
                                           .ready = ready,
                                           .clock_offset_ms = clock_offset_ms,
                                           .time = store_time,
                                           .keep_time_known = keep_time_known,
                                           .set_fence = set_fence,
                                           .open_handle = open_handle,
                                           .reload = reload,
                                           .free = free_store};

void
kw_hbase_store_note_failure(kw_hbase_store *store, const char *server, const char *why)
{
    kw_mutex_lock(&store->mutex);
    snprintf(store->why, sizeof store->why, "%s: %s", server, why);
    kw_mutex_unlock(&store->mutex);
}

static uint32_t
share(kw_hbase_store *store)
{
    uint32_t handles = MAX(atomic_load_explicit(&store->handles, memory_order_relaxed), 1);
    return MAX((uint32_t)store->settings.channels / handles, 1);
}

bool
kw_hbase_store_allows_channel(kw_hbase_store *store, size_t server, uint32_t own)
{
    return own < share(store) || atomic_load(&store->channels[server]) < (uint32_t)store->settings.channels;
}

bool
kw_hbase_store_has_excess(kw_hbase_store *store, size_t server, uint32_t own)
{
    return own > share(store) && atomic_load(&store->channels[server]) > (uint32_t)store->settings.channels;
}

/* libuv writes without MSG_NOSIGNAL, so a connection closed by the server would end the process. */
static void
ignore_sigpipe(void)
{
    struct sigaction action;
    if (sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL)
        signal(SIGPIPE, SIG_IGN);
}

static char *
describe(const kw_hbase_store *store)
{
    const kw_model_hbase *settings = &store->settings;
    return g_strdup_printf("hbase via %zu Thrift2 server%s%s", settings->servers_count,
                           settings->servers_count == 1 ? "" : "s", store->tls ? " (TLS)" : "");
}

const kw_hbase_tuning kw_hbase_tuning_default = {
    /* Thrift2 executes the calls of a connection one after the other, so a second call would only wait there.
     */
    .pipeline = 1,
    /* HBase's servers pause for seconds when they collect garbage. A shorter time would drop the channels of
     * servers that work; a longer one delays the change to another server. */
    .connect_timeout_ms = 5000,
    /* Thrift2 closes a connection that is idle for 60 s (hbase.thrift.server.socket.read.timeout). */
    .ping_ms = 20000,
    /* A server that restarts is used again soon. Doubled, it spares one that stays away. */
    .backoff_ms = 1000,
    /* Thrift2 closes a connection that sends a frame of more than 2 MiB. */
    .batch_bytes = 1 << 20,
    /* Retries of an overloaded HBase must not be a large part of its load. */
    .retry_percent = 20};

kw_store *
kw_hbase_open(const kw_model_hbase *settings, kw_error *ret_error)
{
    return kw_hbase_open_tuned(settings, &kw_hbase_tuning_default, ret_error);
}

kw_store *
kw_hbase_open_tuned(const kw_model_hbase *settings, const kw_hbase_tuning *tuning, kw_error *ret_error)
{
    g_assert(tuning->pipeline >= 1 && tuning->pipeline <= KW_HBASE_PIPELINE_MAX);
    if (settings->servers_count == 0) {
        kw_error_set(ret_error, KW_INVALID,
                     "store hbase: no Thrift2 server; list at least one in store.servers");
        return NULL;
    }
    kw_tls_context *tls = NULL;
    if (settings->tls.enabled && !(tls = kw_tls_context_new_client(&settings->tls, ret_error)))
        return NULL;
    kw_hbase_store *store = g_new0(kw_hbase_store, 1);
    store->base.class = &store_class;
    store->tls = tls;
    store->tuning = *tuning;
    copy_settings(store, settings);
    store->channels = g_new0(_Atomic uint32_t, settings->servers_count);
    store->forms = g_new0(_Atomic uint8_t, settings->servers_count);
    store->failing = g_new0(_Atomic bool, settings->servers_count);
    kw_mutex_init(&store->mutex);
    kw_mutex_init(&store->clock.lock);
    kw_known_time_init(&store->clock.known, KW_TIME_FRESH_NS);
    snprintf(store->clock.name, sizeof store->clock.name, "%016llx", (unsigned long long)kw_random_u64());
    store->about = describe(store);
    ignore_sigpipe();
    return &store->base;
}
