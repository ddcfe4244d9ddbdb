/* Internal to gateway: what the admin interface asks the gateway, from its own thread: whether the gateway is
 * ready and why not, its warnings, and when its policy was loaded. */
#pragma once

#include "gateway/gateway_internal.h"

/* Starts the admin interface, if the settings enable it. */
bool kw_readiness_start_admin(kw_gateway *gateway, kw_error *ret_error);
