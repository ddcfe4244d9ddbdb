/* What pool.c (calls), server.c (channels) and answer.c (replies) share. */
#pragma once

#include "store/hbase/pool.h"

/* pool.c */
void kw_hbase_pool_finish(kw_hbase_pool *pool, kw_hbase_call *call, const void *result,
                          const kw_hbase_failure *failure);
/* A call that was sent and will not be answered: sent again or failed. */
void kw_hbase_pool_lost(kw_hbase_pool *pool, kw_hbase_call *call, const kw_hbase_failure *failure);
/* Gives the channel the next call, if it has room. */
void kw_hbase_pool_feed(kw_hbase_pool *pool, kw_hbase_channel *channel);
void kw_hbase_pool_feed_all(kw_hbase_pool *pool);

/* server.c */
void kw_hbase_server_init(kw_hbase_server *server, kw_hbase_pool *pool, size_t index);
/* The channel to send a call to, NULL when none has room. */
kw_hbase_channel *kw_hbase_servers_choose(kw_hbase_pool *pool);
/* Opens channels where some are missing; `wanted`: calls wait. */
void kw_hbase_servers_grow(kw_hbase_pool *pool, bool wanted);
void kw_hbase_servers_tick(kw_hbase_pool *pool);
/* Until the first resting server is tried again. */
uint32_t kw_hbase_servers_rest_ms(const kw_hbase_pool *pool);
/* Closes a retired channel that has nothing left to wait for. */
void kw_hbase_channel_settle(kw_hbase_channel *channel);
kw_hbase_server *kw_hbase_channel_server(const kw_hbase_channel *channel);
/* Closes every channel that nobody waits for (all of them when `now`); true when none is left. */
bool kw_hbase_servers_close(kw_hbase_pool *pool, bool now);

/* answer.c: decodes a reply and ends or repeats the call. */
void kw_hbase_answer(kw_hbase_pool *pool, kw_hbase_channel *channel, kw_hbase_call *call,
                     const kw_wire_message *message);
void kw_hbase_answer_late(kw_hbase_pool *pool, kw_hbase_channel *channel, kw_hbase_call *call,
                          const kw_wire_message *message);
