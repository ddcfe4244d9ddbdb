#include "gateway/signals.h"

#include "base/log.h"
#include "gateway/drain.h"
#include "gateway/reload.h"
#include "gateway/state.h"

#include <glib.h>
#include <string.h>

static const int numbers[] = {SIGHUP, SIGTERM, SIGINT};

static void
on_signal(uv_signal_t *handle, int number)
{
    kw_gateway *gateway = handle->data;
    kw_log(KW_LOG_INFO, "gateway", "signal", KW_LOG_FACT("name", strsignal(number)),
           KW_LOG_FACT("state", kw_gateway_state_text(gateway->state)));
    if (number != SIGHUP)
        kw_drain_request(gateway);
    else if (gateway->state < KW_GATEWAY_DRAINING)
        kw_reload_start(gateway->reload);
}

void
kw_signals_watch(kw_gateway *gateway)
{
    signal(SIGPIPE, SIG_IGN);
    gateway->signals_count = G_N_ELEMENTS(numbers);
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        uv_signal_init(kw_loop_uv(gateway->loop), &gateway->signals[i]);
        gateway->signals[i].data = gateway;
        uv_signal_start(&gateway->signals[i], on_signal, numbers[i]);
    }
}

void
kw_signals_close(kw_gateway *gateway)
{
    for (size_t i = 0; i < gateway->signals_count; i++)
        uv_close((uv_handle_t *)&gateway->signals[i], NULL);
    for (size_t i = 0; i < gateway->signals_count; i++)
        signal(numbers[i], SIG_IGN);
}
