/* A worker number for snowflakes, leased from the store by one gateway and shared by its loops.
 *
 *            row taken                                  somebody else has it
 *   SEEKING -----------> HELD ------------------------------------------> SEEKING
 *                         |  renewed in time: HELD
 *                         |  not renewed in time: fenced, gives out nothing until it is renewed
 *
 * The row worker/BITS/NUMBER of the table of sequences holds "OWNER UNTIL": who has it, and up to which time
 * (ms since 1970) ids may have been given out. It only changes by a conditional write on what was read, and
 * ids are given out only up to an UNTIL that is stored. So whoever takes the number over begins behind every
 * id that was given out, whatever the clocks of the two say; clocks only decide when a number may be taken
 * over.
 *
 * The lease runs on the loop that it was made for; kw_worker_take is for any thread.
 */
#pragma once

#include "sequence/snowflake.h"
#include "store/store.h"

typedef struct kw_worker kw_worker;

/* table and form are copied; door and loop are borrowed. */
kw_worker *kw_worker_new(const char *table, kw_snowflake_form form, int64_t lease_ms, kw_loop *loop,
                         kw_door *door);

/* Seeks a number and then keeps it; done once, when there is one or none can be had now (which it goes on
 * seeking). At once when it has one already. */
void kw_worker_start(kw_worker *self, void (*done)(void *user, const kw_error *error), void *user);

/* At most `want` sequence numbers of one tick. UNAVAILABLE with the reason while there is no lease, BUSY
 * while ids are asked for faster than the form has them. */
bool kw_worker_take(kw_worker *self, uint32_t want, uint32_t *ret_worker, kw_tick_part *ret_part,
                    kw_error *ret_error);

/* Gives the number back, then calls stopped, after two seconds at the latest; nothing is given out any more.
 * Before the door closes. */
void kw_worker_stop(kw_worker *self, void (*stopped)(void *user), void *user);

/* After the door was closed. */
void kw_worker_free(kw_worker *self);
