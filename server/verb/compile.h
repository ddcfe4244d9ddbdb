/* Compiling the expressions of a scan's filter, off the event loop. */
#pragma once

#include "filter/prepared.h"
#include "verb/call.h"

/* One compilation under way. */
typedef struct kw_compiling kw_compiling;

/* error set: INVALID, or BUSY when too much waits already. */
typedef void (*kw_compiled)(void *user, const kw_error *error);

/* Calls done when the filter is ready: later, or at once when there is nothing to compile, or nowhere else to
 * do it (call->compiler). *ret_compiling is set while it is under way, and NULL when done is called. */
void kw_compile(kw_call *call, kw_prepared *prepared, kw_compiled done, void *user,
                kw_compiling **ret_compiling);

/* Its owner goes: it stays silent. NULL is fine. */
void kw_compiling_give_up(kw_compiling *compiling);
