/* Internal to gateway: reports the addresses that the gateway listens on. */
#pragma once

#include "gateway/gateway_internal.h"

/* Prints a line on standard output, and writes the port file atomically, if one is set: "listener=HOST:PORT"
 * for each open listener in order, then "admin=HOST:PORT". */
bool kw_port_file_write(const kw_gateway *gateway, kw_error *ret_error);
