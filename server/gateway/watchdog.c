#include "gateway/watchdog.h"

#include "gateway/notify.h"

/* Notifies systemd's watchdog unless an event loop hangs. */
static void
on_watchdog(void *user)
{
    kw_gateway *gateway = user;
    if (!gateway->listeners.listening || !gateway->net ||
        kw_net_alive(gateway->net, gateway->watchdog_ms / 2 + 2000))
        kw_notify_watchdog();
    kw_timer_start_ms(gateway->watchdog, gateway->watchdog_ms / 3);
}

void
kw_watchdog_open(kw_gateway *gateway)
{
    gateway->watchdog = kw_timer_new(gateway->control.loop, on_watchdog, gateway);
    gateway->watchdog_ms = kw_notify_watchdog_ms();
}

void
kw_watchdog_start(kw_gateway *gateway)
{
    if (gateway->watchdog_ms > 0)
        on_watchdog(gateway);
}
