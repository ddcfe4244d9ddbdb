#include "gateway/signals.h"

#include "base/log.h"
#include "gateway/drain.h"
#include "gateway/reload.h"
#include "gateway/state.h"

#include <glib.h>
#include <string.h>

static const int numbers[] = {SIGHUP, SIGTERM, SIGINT};

/* libuv restores the default action of a signal together with its last handle, and a repeated SIGTERM would
 * then kill the process while it closes the store. These handles stay until the process ends; their loop
 * never runs. */
static uv_loop_t lasting_loop;
static uv_signal_t lasting[G_N_ELEMENTS(numbers)];

static void
on_late_signal(uv_signal_t *handle, int number)
{
    (void)handle;
    (void)number;
    g_assert_not_reached();
}

static void
keep_handling(void)
{
    static bool begun = false;
    if (begun || uv_loop_init(&lasting_loop) != 0)
        return;
    begun = true;
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        uv_signal_init(&lasting_loop, &lasting[i]);
        uv_signal_start(&lasting[i], on_late_signal, numbers[i]);
    }
}

static void
on_signal(uv_signal_t *handle, int number)
{
    kw_gateway *gateway = handle->data;
    kw_log(KW_LOG_INFO, "gateway", "signal", KW_LOG_FACT("name", strsignal(number)),
           KW_LOG_FACT("state", kw_gateway_state_text(gateway->control.state)));
    if (number != SIGHUP)
        kw_drain_request(gateway);
    else if (gateway->control.state < KW_CONTROL_DRAINING) {
        kw_audit_reopen(gateway->control.audit);
        kw_reload_start(gateway->reload);
    }
}

void
kw_signals_watch(kw_gateway *gateway)
{
    signal(SIGPIPE, SIG_IGN);
    keep_handling();
    gateway->signals_count = G_N_ELEMENTS(numbers);
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        uv_signal_init(kw_loop_uv(gateway->control.loop), &gateway->signals[i]);
        gateway->signals[i].data = gateway;
        uv_signal_start(&gateway->signals[i], on_signal, numbers[i]);
    }
}

void
kw_signals_close(kw_gateway *gateway)
{
    for (size_t i = 0; i < gateway->signals_count; i++)
        uv_close((uv_handle_t *)&gateway->signals[i], NULL);
}
