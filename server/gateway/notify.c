/* Reports to the service manager; does nothing in a build without libsystemd. */
#include "gateway/notify.h"

#include <glib.h>

#ifdef KW_HAVE_SYSTEMD
#include <systemd/sd-daemon.h>

static void
notify(const char *state)
{
    sd_notify(0, state);
}

uint64_t
kw_notify_watchdog_ms(void)
{
    uint64_t wait_us = 0;
    return sd_watchdog_enabled(0, &wait_us) > 0 ? wait_us / 1000 : 0;
}
#else
static void
notify(const char *state)
{
    (void)state;
}

uint64_t
kw_notify_watchdog_ms(void)
{
    return 0;
}
#endif

void
kw_notify_ready(void)
{
    notify("READY=1");
}

void
kw_notify_reloading(void)
{
    g_autofree char *state =
        g_strdup_printf("RELOADING=1\nMONOTONIC_USEC=%" G_GINT64_FORMAT, g_get_monotonic_time());
    notify(state);
}

void
kw_notify_stopping(void)
{
    notify("STOPPING=1");
}

void
kw_notify_status(const char *status)
{
    g_autofree char *state = g_strconcat("STATUS=", status, NULL);
    notify(state);
}

void
kw_notify_watchdog(void)
{
    notify("WATCHDOG=1");
}
