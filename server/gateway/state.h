/* Internal to gateway: the states of the gateway; gateway.h has the picture. Main thread only; other threads
 * can read the state. */
#pragma once

#include "gateway/gateway_internal.h"

/* The only function that changes the state. Asserts that the move is allowed, and reports it to systemd. */
void kw_gateway_move(kw_gateway *gateway, kw_control_state to);

/* The text of a state for /readyz, systemd and the log. */
const char *kw_gateway_state_text(kw_control_state state);
