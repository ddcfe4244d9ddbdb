/* Internal to gateway: SIGHUP reloads the policy, SIGTERM and SIGINT drain the gateway, SIGPIPE is ignored.
 */
#pragma once

#include "gateway/gateway_internal.h"

/* Handles the signals on the main loop, until kw_signals_close. After that they are ignored, so that a
 * repeated signal does not kill the process while it closes the store. */
void kw_signals_watch(kw_gateway *gateway);
void kw_signals_close(kw_gateway *gateway);
