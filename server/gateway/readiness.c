#include "gateway/readiness.h"

#include "coordinator/publication.h"
#include "gateway/drain.h"
#include "gateway/state.h"
#include "policy/table_states.h"

#include <glib.h>
#include <stdatomic.h>

static bool
is_ready(void *user, void (*add_reason)(void *list, const char *reason), void *list)
{
    kw_gateway *gateway = user;
    kw_control_state state = atomic_load(&gateway->control.state);
    kw_error error = KW_ERROR_NONE;
    bool leaving = atomic_load(&gateway->leaving) && state < KW_CONTROL_DRAINING;
    bool ready = state == KW_CONTROL_SERVING && !leaving;
    if (!ready)
        add_reason(list, leaving ? KW_DRAIN_LEAVING : kw_gateway_state_text(state));
    const kw_fence *fence = kw_catalog_fence(gateway->control.catalog);
    if (ready && fence && !kw_fence_is_open(fence)) {
        add_reason(list, "this gateway's lease in the catalog has expired");
        ready = false;
    }
    kw_mutex_lock(&gateway->control.lock);
    if (ready && gateway->control.checking_all) {
        add_reason(list, "the rows of its tables are being checked");
        ready = false;
    }
    if (!ready && gateway->serving.why_not.code != KW_OK)
        add_reason(list, gateway->serving.why_not.text);
    kw_mutex_unlock(&gateway->control.lock);
    if (!kw_store_ready(gateway->control.store, &error)) {
        add_reason(list, error.text);
        ready = false;
    }
    return ready;
}

static void
add_all(const GPtrArray *texts, void (*add_warning)(void *list, const char *text), void *list)
{
    for (guint i = 0; texts && i < texts->len; i++)
        add_warning(list, texts->pdata[i]);
}

/* Listeners that other machines can reach, while everybody who connects can do everything. */
static void
warn_of_open_listeners(const kw_model *model, void (*add_warning)(void *list, const char *text), void *list)
{
    for (size_t i = 0; i < model->listeners_count; i++) {
        const kw_model_listener *listener = &model->listeners[i];
        g_autofree char *text = g_strdup_printf("everybody who can connect to %s:%u can read, write and "
                                                "administer everything: the policy has no access",
                                                listener->host, listener->port);
        if (kw_model_listener_is_open(model, listener))
            add_warning(list, text);
    }
}

static void
list_warnings(void *user, void (*add_warning)(void *list, const char *text), void *list)
{
    kw_gateway *gateway = user;
    kw_mutex_lock(&gateway->control.lock);
    add_all(gateway->control.zone_warnings, add_warning, list);
    add_all(gateway->listeners.not_listening, add_warning, list);
    if (!kw_audit_works(gateway->control.audit))
        add_warning(list, "the audit log cannot be written");
    warn_of_open_listeners(kw_control_model(&gateway->control), add_warning, list);
    if (gateway->not_reloaded.code != KW_OK)
        add_warning(list, gateway->not_reloaded.text);
    if (gateway->control.not_followed.code != KW_OK)
        add_warning(list, gateway->control.not_followed.text);
    kw_mutex_unlock(&gateway->control.lock);
    kw_table_states_list_warnings(&gateway->control, add_warning, list);
}

static void
list_degraded(void *user, void (*add)(void *list, const char *text), void *list)
{
    kw_gateway *gateway = user;
    kw_table_states_list(&gateway->control, add, list);
}

static void
list_changes(void *user, void (*add)(void *list, const kw_change_status *change), void *list)
{
    kw_gateway *gateway = user;
    kw_change_publication_read(&gateway->control, add, list);
}

static int64_t
policy_loaded_at_ms(void *user)
{
    return atomic_load(&((kw_gateway *)user)->serving.policy_loaded_at_ms);
}

bool
kw_readiness_start_admin(kw_gateway *gateway, kw_error *ret_error)
{
    const kw_model *model = kw_control_model(&gateway->control);
    kw_http_sources sources = {.user = gateway,
                               .service = gateway->control.service,
                               .store = gateway->control.store,
                               .ready = is_ready,
                               .warnings = list_warnings,
                               .degraded = list_degraded,
                               .policy_loaded_at_ms = policy_loaded_at_ms,
                               .changes = list_changes,
                               .started_at_ms = gateway->started_at_ms};
    if (!model->admin_enabled)
        return true;
    gateway->http = kw_http_start(model->admin.host, model->admin.port, &sources,
                                  &gateway->listeners.admin_port, ret_error);
    return gateway->http != NULL;
}
