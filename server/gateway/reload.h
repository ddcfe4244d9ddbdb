/* Inside of the room: reading the policy again, on SIGHUP or when Admin.reload asks.
 *
 * read and compile -> certificates -> prepare (tables, guard) -> into service. Whatever fails on the way
 * leaves the old policy in service and is told to the log and to who asked. One at a time: what is asked
 * meanwhile is answered by the next one. */
#pragma once

#include "gateway/inside.h"

kw_reload *kw_reload_new(kw_gateway *gateway);
void kw_reload_free(kw_reload *reload);

/* Main thread. Whoever asks while the gateway ends is told so. */
void kw_reload_start(kw_reload *reload);

/* Main thread: the first preparation is over, what was asked meanwhile begins. */
void kw_reload_resume(kw_reload *reload);

/* Any thread: the same, and done is called on `loop`. */
void kw_reload_ask(kw_reload *reload, kw_loop *loop, void (*done)(void *user, const kw_error *error),
                   void *user);
