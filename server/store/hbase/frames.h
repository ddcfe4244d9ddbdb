/* createTable with split keys to a framed server, in more frames than one.
 *
 * HBase's Thrift2 (seen in 2.6.1) takes a split key with ByteBuffer.array(). When the whole key was
 * in the transport's buffer, which in framed mode it always is, that is not the key but the whole
 * frame: the table would be split at garbage, or refused for equal split keys. When a binary value
 * reaches over the end of a frame, Java's Thrift has to copy it, and array() is exactly the value.
 * So the message is cut into frames just before the last byte of each key. For TFramedTransport that
 * is one stream of bytes all the same. Nonblocking servers, which take a frame for a message, refuse
 * it and make no table.
 */
#pragma once

#include "wire/wire.h"

/* The bytes from mark on are one frame that holds a createTable call whose last argument are these keys. */
void kw_hbase_frames_cut(kw_buffer *out, size_t mark, kw_wire_protocol protocol, const kw_bytes *keys,
                         size_t count);
