/* A connection of an anonymous caller. The linker replaces kw_request_principal, kw_request_grants and
 * kw_request_peer by functions of caller.c. */
#pragma once

#include "net/net.h"

/* What the connection keeps to decide about its calls. Free it at the end of a test. */
extern kw_grants *caller_grants;
