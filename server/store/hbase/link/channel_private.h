/* Shared by channel.c (messages) and connect.c (opening and closing a connection). */
#pragma once

#include "store/hbase/link/channel.h"

#define KW_HBASE_READ_BYTES ((size_t)64 * 1024)

/* channel.c */
/* Charges the memory budget with the present size of the buffers. */
void kw_hbase_channel_charge(kw_hbase_channel *channel);
void kw_hbase_channel_flush(kw_hbase_channel *channel);
void kw_hbase_channel_read_start(kw_hbase_channel *channel);

/* connect.c: handles the reply to the first ping. */
void kw_hbase_channel_greeted(kw_hbase_channel *channel, const kw_wire_message *message);
