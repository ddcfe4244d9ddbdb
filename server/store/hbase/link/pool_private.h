/* Shared by pool.c (calls), sweep.c (deadlines), reject.c (rejections), server.c (channels) and answer.c
 * (replies).
 */
#pragma once

#include "store/hbase/link/pool.h"

/* pool.c */
void kw_hbase_pool_finish(kw_hbase_pool *pool, kw_hbase_call *call, const void *result,
                          const kw_hbase_failure *failure);
/* The same for a call that ends in another state than IDLE. */
void kw_hbase_pool_finish_as(kw_hbase_pool *pool, kw_hbase_call *call, kw_hbase_call_state state,
                             const void *result, const kw_hbase_failure *failure);
/* Sends an active call, or queues it until a channel can take it, or rejects it. */
void kw_hbase_pool_submit(kw_hbase_pool *pool, kw_hbase_call *call);
/* A sent call whose reply is lost or a temporary failure: sends it again or fails it. */
void kw_hbase_pool_retry_or_fail(kw_hbase_pool *pool, kw_hbase_call *call, const kw_hbase_failure *failure);
/* Sends waiting calls on the channel while its pipeline allows. */
void kw_hbase_pool_feed(kw_hbase_pool *pool, kw_hbase_channel *channel);
void kw_hbase_pool_feed_all(kw_hbase_pool *pool);

/* sweep.c */
/* Makes sure that the sweep runs at `when_ns` at the latest. */
void kw_hbase_pool_sweep_by(kw_hbase_pool *pool, uint64_t when_ns);
/* Fails calls whose deadline has passed, and sends those again whose delay is over. Callback of the pool's
 * timer; `pool` is a kw_hbase_pool. */
void kw_hbase_pool_sweep(void *pool);

/* reject.c: fails a call that is in no queue but in the list of active calls; done is called in the next loop
 * iteration. */
void kw_hbase_reject(kw_hbase_pool *pool, kw_hbase_call *call, const kw_hbase_failure *failure);
void kw_hbase_reject_lost(kw_hbase_pool *pool, kw_hbase_call *call);
void kw_hbase_reject_unreachable(kw_hbase_pool *pool, kw_hbase_call *call);
void kw_hbase_reject_late(kw_hbase_pool *pool, kw_hbase_call *call);
void kw_hbase_reject_fenced(kw_hbase_pool *pool, kw_hbase_call *call);
/* BUSY: too many calls wait, or the call would wait for too long. */
void kw_hbase_reject_busy(kw_hbase_pool *pool, kw_hbase_call *call);
/* The task of the pool that calls done of rejected calls. */
void kw_hbase_finish_rejected(kw_task *task);

/* server.c */
void kw_hbase_server_init(kw_hbase_server *server, kw_hbase_pool *pool, size_t index);
/* The channel for the next call, NULL if none can take one. */
kw_hbase_channel *kw_hbase_servers_choose(kw_hbase_pool *pool);
/* Opens missing channels. wanted: true if calls wait for a channel. */
void kw_hbase_servers_grow(kw_hbase_pool *pool, bool wanted);
void kw_hbase_servers_tick(kw_hbase_pool *pool);
/* The time until the first backoff ends. */
uint32_t kw_hbase_servers_backoff_ms(const kw_hbase_pool *pool);
/* Closes a retired channel if no call or scanner needs it. */
void kw_hbase_channel_close_if_done(kw_hbase_channel *channel);
/* Closes the channels that no call or scanner needs; if `now` is true, closes all. True if no channel is
 * left. */
bool kw_hbase_servers_close(kw_hbase_pool *pool, bool now);

/* answer.c: decodes a reply and finishes the call or sends it again. */
void kw_hbase_answer(kw_hbase_pool *pool, kw_hbase_channel *channel, kw_hbase_call *call,
                     const kw_wire_message *message);
void kw_hbase_answer_late(kw_hbase_pool *pool, kw_hbase_channel *channel, kw_hbase_call *call,
                          const kw_wire_message *message);
