/* The states of the channels and of the calls of a pool; channel.h and pool.h have the pictures. The
 * functions here are the only ones that change a state, and with it the lists and counts that depend on it.
 * They assert that the move is allowed. Only the sweep takes active calls out of their list while it works.
 */
#pragma once

#include "store/hbase/link/pool.h"

/* Lists and counts of a channel:
 *
 *   RESOLVING to LOST   the server's channels; the number of channels of the server
 *   READY, RETIRED      ready channels of the pool, of the store and in the metric
 *   server->opening     from RESOLVING until the channel is READY or GONE, so that the server gets its backoff
 *                       before another channel is opened */
void kw_hbase_channel_move(kw_hbase_channel *channel, kw_hbase_channel_state to);

/* Lists and counts of a call:
 *
 *   all but IDLE and ABANDONED   the pool's active calls
 *   QUEUED                       the pool's queue, or the channel's pinned calls if the call has a pin
 *   IN_FLIGHT                    the outstanding calls of the channel's server
 *   REJECTED                     the pool's rejected calls
 *
 * `channel`: IN_FLIGHT, and QUEUED with a pin; NULL for the others. */
void kw_hbase_call_move(kw_hbase_pool *pool, kw_hbase_call *call, kw_hbase_call_state to,
                        kw_hbase_channel *channel);
