/* What channel.c (messages) and connect.c (how a connection comes and goes) share. */
#pragma once

#include "store/hbase/channel.h"

#define KW_HBASE_READ_BYTES ((size_t)64 * 1024)

/* channel.c */
/* Charges the memory budget with what the buffers have now. */
void kw_hbase_channel_charge(kw_hbase_channel *channel);
void kw_hbase_channel_flush(kw_hbase_channel *channel);
void kw_hbase_channel_read_start(kw_hbase_channel *channel);

/* connect.c: the ping after TLS was answered (or not as it must be). */
void kw_hbase_channel_greeted(kw_hbase_channel *channel, const kw_wire_message *message);
