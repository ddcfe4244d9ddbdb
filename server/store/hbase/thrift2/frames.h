/* What createTable needs for a framed server.
 *
 * HBase's Thrift2 (seen in 2.6.1) reads a split key with ByteBuffer.array(). If the whole key is in the
 * transport's buffer, which is always so in framed mode, array() is not the key but the whole frame. The
 * table would be split at garbage, or rejected because of equal split keys. If a binary value continues in
 * the next frame, Java's Thrift must copy it, and array() is exactly the value. So the message is cut into
 * frames just before the last byte of each key. TFramedTransport still reads one stream of bytes. Nonblocking
 * servers, for which a frame is a message, reject it and create no table.
 *
 * HBase 2.6 reads the names and values of attributes in the same way, and stores the whole frame instead.
 * They are left out. Only those are lost that have no member of their own in the Thrift2 struct, and no
 * configuration with the same meaning (in_memory.c).
 */
#pragma once

#include "thrift/hbase2_wire.h"
#include "wire/wire.h"

/* The arguments without attributes of families, in the arena. */
const kw_hb_THBaseService_createTable_args *
kw_hbase_frames_args(const kw_hb_THBaseService_createTable_args *args, kw_arena *arena);

/* Cuts the frame at out->data + mark. It must contain a createTable call with these keys, none empty, as the
 * last argument. */
void kw_hbase_frames_cut(kw_buffer *out, size_t mark, kw_wire_protocol protocol, const kw_bytes *keys,
                         size_t count);
