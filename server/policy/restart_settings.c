#include "policy/restart_settings.h"

#include "base/log.h"

#include <string.h>

static bool
same_text(const char *a, const char *b)
{
    return g_strcmp0(a, b) == 0;
}

static bool
same_tls(const kw_model_tls *a, const kw_model_tls *b)
{
    return a->enabled == b->enabled && a->require_client == b->require_client &&
           same_text(a->certificate, b->certificate) && same_text(a->key, b->key) &&
           same_text(a->ca, b->ca) && same_text(a->server_name, b->server_name);
}

static bool
same_listener(const kw_model_listener *a, const kw_model_listener *b)
{
    return same_text(a->host, b->host) && a->port == b->port && same_text(a->mode, b->mode) &&
           same_tls(&a->tls, &b->tls);
}

static bool
same_listeners(const kw_model *a, const kw_model *b)
{
    bool same = a->listeners_count == b->listeners_count;
    for (size_t i = 0; same && i < a->listeners_count; i++)
        same = same_listener(&a->listeners[i], &b->listeners[i]);
    return same;
}

static bool
same_embedded(const kw_model_embedded *a, const kw_model_embedded *b)
{
    return same_text(a->path, b->path) && a->cache_bytes == b->cache_bytes &&
           same_text(a->backup_folder, b->backup_folder);
}

static bool
same_hbase(const kw_model_hbase *a, const kw_model_hbase *b)
{
    bool same = a->servers_count == b->servers_count && same_tls(&a->tls, &b->tls) &&
                a->channels == b->channels && a->max_clock_skew_ms == b->max_clock_skew_ms &&
                a->client_pause_ms == b->client_pause_ms && a->late_ms == b->late_ms;
    for (size_t i = 0; same && i < a->servers_count; i++)
        same = same_text(a->servers[i].host, b->servers[i].host) && a->servers[i].port == b->servers[i].port;
    return same;
}

static bool
same_store(const kw_model_store *a, const kw_model_store *b)
{
    if (a->kind != b->kind || !same_text(a->catalog, b->catalog))
        return false;
    switch (a->kind) {
    case KW_STORE_EMBEDDED:
        return same_embedded(&a->embedded, &b->embedded);
    case KW_STORE_HBASE:
        return same_hbase(&a->hbase, &b->hbase);
    }
    g_assert_not_reached();
}

static void
report(bool same, const char *setting)
{
    if (!same)
        kw_log(KW_LOG_WARN, "gateway", "a changed setting waits for a restart",
               KW_LOG_FACT("setting", setting));
}

static bool
same_sequences(const kw_model_sequences *a, const kw_model_sequences *b)
{
    return same_text(a->redis_url, b->redis_url) &&
           same_text(a->redis_password_file, b->redis_password_file) && a->keep_ms == b->keep_ms;
}

void
kw_restart_settings_report(const kw_model *old, const kw_model *fresh)
{
    report(same_listeners(old, fresh), "listen");
    report(old->admin_enabled == fresh->admin_enabled && same_listener(&old->admin, &fresh->admin), "admin");
    report(old->loops == fresh->loops, "loops");
    report(same_text(old->gateway_id, fresh->gateway_id), "gateway_id");
    report(same_text(old->audit_file, fresh->audit_file), "audit_file");
    report(same_store(&old->store, &fresh->store), "store");
    report(same_sequences(&old->sequences, &fresh->sequences), "sequences");
}
