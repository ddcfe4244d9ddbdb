/* Translation of HBase's error texts into errors for callers.
 *
 * Thrift2 returns the text of a Java exception (a message, often with class names and the names of servers,
 * sometimes with a whole stack) and a flag that says if HBase's own client would retry. No part of the text
 * gets into an error: the tables in failure.c have a text of our own for each message that they recognize.
 * The log gets HBase's text (answer.c).
 */
#pragma once

#include "store/hbase/link/call.h"

/* A TIOError, the reply to the call. */
void kw_hbase_failure_of_io(kw_bytes message, bool can_retry, const kw_hbase_call *call,
                            kw_hbase_failure *ret_failure);

/* A TIllegalArgument. */
void kw_hbase_failure_of_argument(kw_bytes message, kw_hbase_failure *ret_failure);

/* A TApplicationException: "Internal error processing put", unknown methods, protocol errors. changes: the
 * call was a write. */
void kw_hbase_failure_of_exception(kw_wire_exception_type type, kw_hb_method method, bool changes,
                                   kw_hbase_failure *ret_failure);

/* TIMEOUT for an operation whose deadline passed. sent: it may have reached the store. */
void kw_hbase_timeout_error(bool sent, bool changes, kw_error *ret_error);
