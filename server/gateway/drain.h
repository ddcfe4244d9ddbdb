/* Internal to gateway: ends the gateway.
 *
 *   stop timers, jobs, reloads and the follower -> answer the calls in flight (net) -> close the sequences
 *     -> leave the catalog -> close the store handle -> stop the main loop
 */
#pragma once

#include "gateway/gateway_internal.h"

/* Begins to drain, on the main thread; kw_gateway_run returns exit_code. If the gateway drains already, its
 * connections are closed now, without waiting for calls; exit_code does not change. */
void kw_drain_start(kw_gateway *gateway, int exit_code);
