/* Inside of the module: reading the policy again, on SIGHUP or when Admin.reload asks.
 *
 * read and compile -> read certificates -> prepare (catalog, store tables) -> into service. Whatever fails on
 * the way leaves the old policy and the old certificates in service, and is reported in the log and to the
 * callers who asked. Requests that come while a reload runs are answered by one further reload. */
#pragma once

#include "gateway/gateway_internal.h"

kw_reload *kw_reload_new(kw_gateway *gateway);
void kw_reload_free(kw_reload *reload);

/* Main thread. Callers who ask while the gateway ends get an error. */
void kw_reload_start(kw_reload *reload);
/* Any thread: the same, and done is called on `loop`. */
void kw_reload_ask(kw_reload *reload, kw_loop *loop, void (*done)(void *user, const kw_error *error),
                   void *user);

/* Main thread: the gateway begins to drain; callers who wait for a reload are answered now. */
void kw_reload_end(kw_reload *reload);
