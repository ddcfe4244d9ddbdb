/* Inside of the module: calls of some tables wait while the policy changes under them.
 *
 *   gateway                       each loop
 *   kw_service_hold  ---------->  new calls of these tables queue; calls under way are counted down
 *                    <----------  none is left on any loop: done(true)
 *   kw_service_set_policy ----->  the loop's calls begin under the new policy
 *   kw_service_release  ------->  the queued calls run, in order
 *
 * A queued call is answered with TIMEOUT when its deadline passes. One hold at a time.
 */
#pragma once

#include "service/exchange.h"

typedef struct kw_hold kw_hold;

/* True if the call was queued; it begins when the tables are released. Not for calls without a table. */
bool kw_hold_catch(kw_exchange *exchange);
/* Takes a call out whose deadline has passed; false: it is not in a hold. */
bool kw_hold_leave(kw_exchange *exchange);
/* A call that began is about to be answered. */
void kw_hold_note_end(kw_exchange *exchange);

/* The loop closes: queued calls get an error. */
void kw_hold_close(kw_service_worker *worker);
/* The service ends: the loops are gone. */
void kw_hold_drop(kw_service *service);
