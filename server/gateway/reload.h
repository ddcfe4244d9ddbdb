/* Internal to gateway: reloads the policy on SIGHUP or Admin.reload.
 *
 * Reads and compiles the policy, reads the certificates, prepares the store (catalog, store tables) and
 * begins to serve the policy. If the catalog keeps the tables, only the gateway's own settings come from the
 * file. If a step fails, the old policy and the old certificates stay in service, and the error is logged and
 * returned to the callers. Requests that arrive during a reload are answered by one further reload. */
#pragma once

#include "gateway/gateway_internal.h"

kw_reload *kw_reload_new(kw_gateway *gateway);
void kw_reload_free(kw_reload *reload);

/* Starts a reload, on the main thread. Ignored while the gateway drains. */
void kw_reload_start(kw_reload *reload);
/* The same from any thread; calls done on `loop`. */
void kw_reload_request(kw_reload *reload, kw_loop *loop, void (*done)(void *user, const kw_error *error),
                       void *user);
