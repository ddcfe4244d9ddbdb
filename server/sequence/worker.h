/* A worker number for snowflakes, leased from the store by one gateway and shared by its loops.
 *
 *            row acquired                               another gateway owns it
 *   SEEKING -----------> HELD ------------------------------------------> SEEKING
 *                         |  renewed in time: HELD
 *                         |  not renewed in time: fenced, issues no ids until it is renewed
 *
 * The row worker/BITS/NUMBER of the table of sequences holds "OWNER UNTIL": the owner, and the time (ms since
 * 1970) up to which it may have issued ids. The row changes only by a conditional write on the value read,
 * and ids are issued only up to a stored UNTIL. So the next owner of the number begins after every issued id,
 * even if the clocks of the two gateways disagree; clocks only determine when a number can be taken over.
 *
 * The lease runs on its own loop; kw_worker_allocate can be called from any thread.
 */
#pragma once

#include "sequence/snowflake.h"
#include "store/store.h"

typedef struct kw_worker kw_worker;

/* Copies table and form, borrows store handle and loop. */
/* How long a gateway keeps a worker number without renewing its lease. It renews it after a third of this
 * time, so two renewals can fail or a pause can last some seconds before snowflakes fail. After a crash,
 * nobody can use the number for twice this time. */
#define KW_WORKER_LEASE_MS 10000

kw_worker *kw_worker_new(const char *table, kw_snowflake_form form, int64_t lease_ms, kw_loop *loop,
                         kw_store_handle *handle);

/* Seeks a number and then keeps its lease. done is called once: when there is a number (at once if there
 * already is one), or with the error of the first attempt that fails, for example because no number is free.
 * The worker then continues to seek. */
void kw_worker_start(kw_worker *self, void (*done)(void *user, const kw_error *error), void *user);

/* At most `want` sequence numbers of one tick. UNAVAILABLE with the reason while there is no lease; BUSY if
 * ids are requested faster than the form allows, or the clock jumped beyond the end of the lease. */
bool kw_worker_allocate(kw_worker *self, uint32_t want, uint32_t *ret_worker, kw_tick_part *ret_part,
                        kw_error *ret_error);

/* Releases the number, then calls stopped, after two seconds at the latest; issues no more ids. Call it
 * before the store handle is closed. */
void kw_worker_stop(kw_worker *self, void (*stopped)(void *user), void *user);

/* Call it after the store handle is closed. */
void kw_worker_free(kw_worker *self);
