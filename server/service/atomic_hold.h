/* Internal to service: holds atomic operations of a table while its key rule, its paths or its setting
 * atomics are being changed. Some places of the change allow none (KW_ATOMICS_HELD). Then these
 * operations wait in a queue of their loop, in order, until the loop gets a policy that allows them. Other
 * calls of the table do not wait.
 *
 *   start --> the table holds them --> queued --> another policy is in service --> start, in order
 *                                        |
 *                                        '--> the deadline passes: UNAVAILABLE, with retry_after_ms
 *
 * A call in the queue does not keep the policy under which it arrived, so the next place of the change does
 * not wait for it. Its memory is charged to its connection. The queue has a maximum length; a call that finds
 * it full is answered as if its deadline had passed. So that one caller cannot fill the queue, the calls of
 * one peer (the client certificate or address that limits.peer_connections counts) occupy at most a quarter
 * of it: its further calls get BUSY.
 */
#pragma once

#include "service/exchange.h"

#define KW_ATOMIC_HOLD_MAX 4096
#define KW_ATOMIC_HOLD_PEER_MAX (KW_ATOMIC_HOLD_MAX / 4)

/* Call this when the loop opens. */
void kw_atomic_hold_open(kw_service_worker *worker);
/* True if the call was queued, or answered because the queue or the part of its peer is full. */
bool kw_atomic_hold_try_queue(kw_exchange *exchange);
/* Ends a queued call whose deadline has passed. */
void kw_atomic_hold_expire(kw_exchange *exchange);
/* Call this when a call enters or leaves the queue, so that it counts for its peer or no longer. */
void kw_atomic_hold_count(kw_exchange *exchange, bool enters);
/* The loop has another policy: begins the calls that it allows. */
void kw_atomic_hold_release(kw_service_worker *worker);
/* Call this when the loop closes: answers queued calls with an error, and frees the queue. */
void kw_atomic_hold_close(kw_service_worker *worker);
