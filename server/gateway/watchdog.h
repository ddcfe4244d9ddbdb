/* Internal to gateway: notifies systemd's watchdog while all event loops run. A hanging event loop ends the
 * notifications, and systemd restarts the gateway. */
#pragma once

#include "gateway/gateway_internal.h"

/* Creates the timer. The caller frees it. */
void kw_watchdog_open(kw_gateway *gateway);
/* Begins to notify, if systemd has a watchdog for this process. */
void kw_watchdog_start(kw_gateway *gateway);
