/* Internal to net: what sessions do when memory is short (base/budget.h).
 *
 * Reading pauses for a session that holds more than its share, and, when memory is used up, for one that
 * holds more than a small amount.
 *
 * An unfinished message is one of which the gateway has some bytes, but not all. While the blocks of more
 * than KW_FRAME_BLOCK bytes for unfinished messages hold
 *
 *   1/8 of the memory for callers   only the oldest messages of each loop get more space
 *   2/8                             only messages on proven connections get more space: on those that have
 *                                   finished messages of that size
 *   3/8                             no message gets more space
 *
 * except for one message, so that messages are finished even if unfinished ones have used up all space. A
 * message that lacks space for its next bytes waits: its session is not read. Space is given to the oldest
 * messages first.
 *
 * Connections that make no progress are closed to free memory, in this order, those without progress for the
 * longest time first:
 *
 *   1. unfinished messages that the peer does not continue: at 80 % of the budget, or while messages wait
 *   2. peers that do not read their replies: at 85 % if they hold more than their share, at 90 % otherwise
 */
#pragma once

#include "net/session.h"

/* Sets `paused` and returns it: true if the session is not to be read. */
bool kw_relief_update_paused(kw_session *session);

/* Call this when the present message is not complete; `wanted` is a lower bound of its size. Gives it space
 * for further bytes, or lets it wait. */
void kw_relief_continue_message(kw_session *session, size_t wanted);

/* Call this when the present message is complete, with its size, and with 0 when the session's block was
 * freed. */
void kw_relief_end_message(kw_session *session, size_t bytes);

/* Maximum bytes to read at once into memory that is not reserved for the present message. */
size_t kw_relief_read_max(const kw_session *session);

/* Call this for all sessions of a worker while memory is short. */
void kw_relief_run(kw_net_worker *worker, uint64_t now_ms);
/* True while kw_relief_run is to be called. */
bool kw_relief_is_needed(const kw_net_worker *worker);

/* Updates the limits above to the present budget. */
void kw_relief_configure(kw_net_worker *worker);
