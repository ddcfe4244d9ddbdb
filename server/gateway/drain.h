/* Internal to gateway: ends the gateway.
 *
 *   (lame duck: serve, with /readyz 503) -> stop timers, jobs, reloads and the follower
 *     -> answer the calls in flight (net) -> close the sequences -> leave the catalog
 *     -> close the store handle -> stop the main loop
 */
#pragma once

#include "gateway/gateway_internal.h"

/* For /readyz and systemd, while the lame duck runs. */
#define KW_DRAIN_LEAVING "shutting down, but still serving"

/* Handles a signal to end. The first one begins the lame duck (timeouts.lame_duck): the gateway still serves
 * but is not ready, and drains afterwards. The gateway drains at once if timeouts.lame_duck is 0, if it does
 * not listen yet, or at a second signal. A signal while it drains closes its connections. */
void kw_drain_request(kw_gateway *gateway);

/* The function of the timer `lame_duck`. */
void kw_drain_on_lame_duck_over(void *gateway);

/* Begins to drain, on the main thread; kw_gateway_run returns exit_code. If the gateway drains already, its
 * connections are closed now, without waiting for calls; exit_code does not change. */
void kw_drain_start(kw_gateway *gateway, int exit_code);
