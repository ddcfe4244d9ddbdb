#include "gateway/notify.h"

#include <glib.h>
#include <systemd/sd-daemon.h>

void
kw_notify_ready(void)
{
    sd_notify(0, "READY=1");
}

void
kw_notify_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" G_GINT64_FORMAT, g_get_monotonic_time());
}

void
kw_notify_stopping(void)
{
    sd_notify(0, "STOPPING=1");
}

void
kw_notify_status(const char *status)
{
    sd_notifyf(0, "STATUS=%s", status);
}

void
kw_notify_watchdog(void)
{
    sd_notify(0, "WATCHDOG=1");
}

uint64_t
kw_notify_watchdog_ms(void)
{
    uint64_t wait_us = 0;
    return sd_watchdog_enabled(0, &wait_us) > 0 ? wait_us / 1000 : 0;
}
