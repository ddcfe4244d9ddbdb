#include "gateway/listeners.h"

#include "base/log.h"
#include "gateway/drain.h"
#include "gateway/notify.h"
#include "gateway/port_file.h"

#include <glib.h>
#include <stdlib.h>

bool
kw_listeners_open(kw_gateway *gateway, kw_error *ret_error)
{
    const kw_model *model = kw_control_model(&gateway->control);
    gateway->listeners.count = model->listeners_count;
    gateway->listeners.tls = g_new0(kw_tls_context *, model->listeners_count);
    gateway->listeners.ports = g_new0(uint16_t, model->listeners_count);
    for (size_t i = 0; i < model->listeners_count; i++) {
        const kw_model_listener *listener = &model->listeners[i];
        if (!listener->tls.enabled)
            continue;
        gateway->listeners.tls[i] = kw_tls_context_new_server(&listener->tls, ret_error);
        if (!gateway->listeners.tls[i])
            return kw_error_prefix(ret_error, "listener %s:%u", listener->host, listener->port);
    }
    return true;
}

void
kw_listeners_close(kw_gateway *gateway)
{
    for (size_t i = 0; i < gateway->listeners.count; i++)
        kw_tls_context_free(gateway->listeners.tls[i]);
    g_free(gateway->listeners.tls);
    g_free(gateway->listeners.ports);
    if (gateway->listeners.not_listening)
        g_ptr_array_unref(gateway->listeners.not_listening);
}

/* Skips a listener whose address this machine does not have, for example because its network is down. */
static void
skip(kw_gateway *gateway, const kw_model_listener *listener, const kw_error *error)
{
    kw_log(KW_LOG_WARN, "gateway", "not listening on an address that this machine does not have",
           KW_LOG_FACT("host", listener->host), KW_LOG_FACT("port", listener->port),
           KW_LOG_FACT("reason", error->text));
    kw_mutex_lock(&gateway->control.lock);
    if (!gateway->listeners.not_listening)
        gateway->listeners.not_listening = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(gateway->listeners.not_listening, g_strdup(error->text));
    kw_mutex_unlock(&gateway->control.lock);
}

static bool
listen_one(kw_gateway *gateway, size_t index, kw_error *ret_error)
{
    const kw_model_listener *listener = &kw_control_model(&gateway->control)->listeners[index];
    const char *path = kw_model_listener_path(listener);
    if (path)
        return kw_net_listen_unix(gateway->net, path, (mode_t)strtol(listener->mode, NULL, 8), ret_error);
    return kw_net_listen(gateway->net, listener->host, listener->port, gateway->listeners.tls[index],
                         &gateway->listeners.ports[index], ret_error);
}

/* False if a port cannot be opened, or if the machine has none of the addresses. */
static bool
listen_all(kw_gateway *gateway, kw_error *ret_error)
{
    const kw_model *model = kw_control_model(&gateway->control);
    size_t opened = 0;
    for (size_t i = 0; i < gateway->listeners.count; i++) {
        const kw_model_listener *listener = &model->listeners[i];
        if (listen_one(gateway, i, ret_error))
            opened++;
        else if (ret_error->code == KW_NOT_FOUND && gateway->listeners.count > 1)
            skip(gateway, listener, ret_error);
        else
            return false;
    }
    return opened > 0;
}

void
kw_listeners_warn_of_open(const kw_model *model)
{
    for (size_t i = 0; i < model->listeners_count; i++)
        if (kw_model_listener_is_open(model, &model->listeners[i]))
            kw_log(
                KW_LOG_WARN, "gateway", "everybody who can connect can read, write and administer everything",
                KW_LOG_FACT("host", model->listeners[i].host), KW_LOG_FACT("port", model->listeners[i].port));
}

bool
kw_listeners_start(kw_gateway *gateway)
{
    kw_error error = KW_ERROR_NONE;
    if (gateway->listeners.listening)
        return true;
    if (!listen_all(gateway, &error)) {
        kw_log(KW_LOG_ERROR, "gateway", "cannot listen", KW_LOG_FACT("reason", error.text));
        kw_drain_start(gateway, KW_EXIT_FAILED);
        return false;
    }
    kw_listeners_warn_of_open(kw_control_model(&gateway->control));
    gateway->listeners.listening = true;
    kw_net_start(gateway->net);
    return true;
}

bool
kw_listeners_report(kw_gateway *gateway)
{
    kw_error error = KW_ERROR_NONE;
    if (gateway->listeners.reported)
        return true;
    if (!kw_port_file_write(gateway, &error)) {
        kw_log(KW_LOG_ERROR, "gateway", "cannot report the ports", KW_LOG_FACT("reason", error.text));
        kw_drain_start(gateway, KW_EXIT_FAILED);
        return false;
    }
    gateway->listeners.reported = true;
    kw_notify_ready();
    return true;
}
