/* Writes lines of the log to standard error without blocking the caller.
 *
 *   line --> the queue is empty and standard error accepts the line: the caller writes it
 *       \--> otherwise it is queued (256 KiB); a thread writes the queue
 *       \--> the queue is full: it is dropped; a later line reports how many were lost
 *
 * Only log.c uses this. Any thread.
 */
#pragma once

#include "base/bytes.h"

/* Appends the log line that reports `count` lost lines. */
typedef void kw_log_lost(uint64_t count, kw_buffer *line);

/* Starts the thread. Before start, and after stop, kw_log_writer_put writes directly and can block. */
void kw_log_writer_start(kw_log_lost *describe_lost);

/* Writes the queued lines for at most timeout_ms (0: without a limit), drops the rest and stops the
 * thread. */
void kw_log_writer_stop(uint32_t timeout_ms);

/* Writes or queues one whole line. False if it was dropped. */
bool kw_log_writer_put(kw_bytes line);
