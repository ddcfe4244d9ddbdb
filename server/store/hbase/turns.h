/* Rows with a write under way: a later write to the same row waits for its turn, so that what one caller
 * pipelines arrives in order, whatever it leaves together with.
 *
 *   arrive --> nothing of the row is under way, or only waits in the same lane: WAIT there, in order
 *         \--> else FOLLOW; when the row's last write is done, the followers enter their lane
 *
 * A turn lives while its row has writes. One loop.
 */
#pragma once

#include "store/hbase/lane.h"

typedef struct kw_hbase_turn kw_hbase_turn;

GHashTable *kw_hbase_turns_new(void);

/* The rider's turn is set. True: it may wait in its lane, or leave when it has none. False: it follows. */
bool kw_hbase_turn_arrive(GHashTable *turns, kw_bytes table, kw_bytes row, kw_hbase_rider *rider);

/* A rider that was taken out of its lane: may it leave in the batch of this number? False: it is held back,
 * because an earlier write of its row is under way in another. */
bool kw_hbase_turn_leave(kw_hbase_rider *rider, uint64_t batch);

/* A write that had left is done. */
void kw_hbase_turn_done(GHashTable *turns, kw_hbase_turn *turn);

/* A rider that waits in its lane (already unlinked there) or follows gives up. */
void kw_hbase_turn_give_up(GHashTable *turns, kw_hbase_rider *rider);
