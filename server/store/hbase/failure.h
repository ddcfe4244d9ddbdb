/* Translation of HBase's error texts into errors for callers.
 *
 * Thrift2 returns the text of a Java exception (a message, often with class names, sometimes with a whole
 * stack) and a flag that says if HBase's own client would retry. Exceptions that a caller can act on get an
 * error of their own. Of all others the caller gets the first line without class names. The log gets more of
 * the text (answer.c).
 */
#pragma once

#include "store/hbase/call.h"

/* A TIOError. `table` is the table of the call, empty if it has none; changes: the call was a write. */
void kw_hbase_failure_of_io(kw_bytes message, bool can_retry, kw_bytes table, bool changes,
                            kw_hbase_failure *ret_failure);

/* A TIllegalArgument. */
void kw_hbase_failure_of_argument(kw_bytes message, kw_hbase_failure *ret_failure);

/* A TApplicationException: "Internal error processing put", unknown methods, protocol errors. */
void kw_hbase_failure_of_exception(kw_wire_exception_type type, kw_bytes text, kw_hb_method method,
                                   bool changes, kw_hbase_failure *ret_failure);

/* TIMEOUT for an operation whose deadline passed. sent: it may have reached the store. */
void kw_hbase_timeout_error(bool sent, bool changes, kw_error *ret_error);

/* The first line without class names and stack, at most size - 1 bytes. size must not be 0. */
void kw_hbase_plain_text(kw_bytes message, char *to, size_t size);
