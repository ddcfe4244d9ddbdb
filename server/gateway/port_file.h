/* Inside of the room: telling where the gateway listens. */
#pragma once

#include "gateway/gateway_internal.h"

/* One line on standard output, and the port file: "listener=HOST:PORT" for each in order, then
 * "admin=HOST:PORT". The file appears whole. */
bool kw_ports_tell(const kw_gateway *gateway, kw_error *ret_error);
