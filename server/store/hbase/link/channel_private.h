/* Shared by channel.c (messages), connect.c (opening and closing a connection) and server.c. */
#pragma once

#include "store/hbase/link/channel.h"

#define KW_HBASE_READ_BYTES ((size_t)64 * 1024)

/* channel.c */
/* Charges the memory budget with the present size of the buffers. */
void kw_hbase_channel_charge(kw_hbase_channel *channel);
void kw_hbase_channel_flush(kw_hbase_channel *channel);
void kw_hbase_channel_read_start(kw_hbase_channel *channel);

/* server.c */
/* The channel has become READY. */
void kw_hbase_server_ready(kw_hbase_channel *channel);
/* A reply has arrived. call NULL: it was forgotten, or is a ping. */
void kw_hbase_server_answered(kw_hbase_channel *channel, kw_hbase_call *call, const kw_wire_message *message);
/* The socket of a LOST channel is closed. The caller frees the channel afterwards. */
void kw_hbase_server_lost(kw_hbase_channel *channel);

/* connect.c: handles the reply to the first ping. */
void kw_hbase_channel_greeted(kw_hbase_channel *channel, const kw_wire_message *message);
