/* Internal to gateway: the ports that the gateway listens on.
 *
 *   open: read the certificates -> start: listen, start the event loops -> report the ports
 *
 * The last two steps happen once, when the gateway begins to serve or to wait for the store. The ports are
 * reported after the change to this state. */
#pragma once

#include "gateway/gateway_internal.h"

/* Reads the certificates of all listeners. */
bool kw_listeners_open(kw_gateway *gateway, kw_error *ret_error);

/* Listens on all ports, once. Skips addresses that the machine does not have; it is an error if the machine
 * has none of the addresses. False if the gateway drains because of an error. */
bool kw_listeners_start(kw_gateway *gateway);

/* Reports the ports, once, and after the change of state: a client that waits for the ports then finds
 * /readyz up to date. False if the gateway drains because of an error. */
bool kw_listeners_report(kw_gateway *gateway);

/* Logs each listener that other machines can reach if the policy lets everybody do everything. */
void kw_listeners_warn_of_open(const kw_model *model);

/* Frees what kw_listeners_open allocated. */
void kw_listeners_close(kw_gateway *gateway);
