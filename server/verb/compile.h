/* Compiles the expressions of a scan's filter off the event loop. */
#pragma once

#include "filter/prepared.h"
#include "path/call.h"

/* A compilation in progress. */
typedef struct kw_compiling kw_compiling;

/* error, if set: INVALID; BUSY when too many compilations are waiting or the port is closed; TIMEOUT;
 * UNAVAILABLE for a compilation that waits when the gateway stops. */
typedef void (*kw_compiled)(void *user, const kw_error *error);

/* Calls done when the filter is ready or cannot be compiled. Calls it before returning if there is nothing to
 * compile, if there is no worker (call->compiler is NULL), or if the error is BUSY; otherwise later. *slot is
 * set while the compilation is in progress, and is NULL when done is called. slot must stay valid until done
 * is called or the compilation is given up. */
void kw_compile(kw_call *call, kw_prepared *prepared, kw_compiled done, void *user, kw_compiling **slot);

/* Cancels the callback; the owner of the compilation is being freed. NULL is ignored. */
void kw_compiling_give_up(kw_compiling *compiling);
