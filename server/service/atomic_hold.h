/* Internal to service: atomic operations of a table whose key rule is being changed. Some versions of the
 * change allow none (kw_table.atomics_held). Then they wait in a queue of their loop, in order, until the
 * loop gets a policy that allows them. Other calls of the table do not wait.
 *
 *   start --> the table holds them --> queued --> another policy is in service --> start, in order
 *                                        |
 *                                        '--> the deadline passes: UNAVAILABLE, with retry_after_ms
 *
 * A call in the queue does not keep the policy under which it arrived, so the next version of the change does
 * not wait for it. Its memory is charged to its connection, and the queue has a maximum length.
 */
#pragma once

#include "service/exchange.h"

/* True if the call was queued, or answered because the queue is full. */
bool kw_atomic_hold_catch(kw_exchange *exchange);
/* Ends a queued call whose deadline has passed. False if it is not queued. */
bool kw_atomic_hold_end(kw_exchange *exchange);
/* The loop has another policy: begins the calls that it allows. */
void kw_atomic_hold_release(kw_service_worker *worker);
/* Call this when the loop closes: answers queued calls with an error. */
void kw_atomic_hold_close(kw_service_worker *worker);
