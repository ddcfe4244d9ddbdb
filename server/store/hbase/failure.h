/* What HBase's error texts mean to a caller.
 *
 * Thrift2 hands over the text of a Java exception: a message, often with class names, sometimes with a
 * whole stack, and whether HBase's own client would try again. Here the few that a caller can act on
 * are told apart; the rest becomes the first line without class names. The full text is the
 * operator's and goes to the log.
 */
#pragma once

#include "store/hbase/call.h"

/* A TIOError. `table` is what the call named (may be empty); changes: the call was a write. */
void kw_hbase_failure_of_io(kw_bytes message, bool can_retry, kw_bytes table, bool changes,
                            kw_hbase_failure *ret_failure);

/* A TIllegalArgument. */
void kw_hbase_failure_of_argument(kw_bytes message, kw_hbase_failure *ret_failure);

/* A TApplicationException: "Internal error processing put", unknown methods, protocol errors. */
void kw_hbase_failure_of_exception(kw_wire_exception_type type, kw_bytes text, kw_hb_method method,
                                   bool changes, kw_hbase_failure *ret_failure);

/* The first line without class names and stack, at most size - 1 bytes. */
void kw_hbase_plain_text(kw_bytes message, char *to, size_t size);
