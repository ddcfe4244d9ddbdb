/* Internal to service: holds the calls of some tables while their policy changes.
 *
 *   gateway                       each loop
 *   kw_service_hold  ---------->  queues new calls of these tables; waits for those in flight
 *   done             <----------  (called when no loop has such calls in flight)
 *   kw_service_set_policy ----->  new calls use the new policy
 *   kw_service_release  ------->  begins the queued calls, in order and in turn with other work; further calls
 *                                 are queued until the queue is empty
 *
 * A queued call is answered with TIMEOUT when its deadline passes. One hold at a time.
 */
#pragma once

#include "service/exchange.h"

typedef struct kw_hold kw_hold;

/* True if the call was queued; it begins when the tables are released. False for a call that does not read or
 * write rows of a held table. */
bool kw_hold_catch(kw_exchange *exchange);
/* Call this when a call that ran has ended, which can be later than its answer. */
void kw_hold_note_end(kw_exchange *exchange);

/* Call this when the loop closes: answers queued calls with an error. */
void kw_hold_close(kw_service_worker *worker);
/* Call this when the service is freed, after the loops were freed. */
void kw_hold_drop(kw_service *service);
