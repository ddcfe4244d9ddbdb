/* Hands the lines of the log to standard error without making their callers wait for it.
 *
 *   line --> nothing waits, and standard error takes it now: written by the caller
 *       \--> queued (256 KiB); a thread waits for standard error in the caller's place
 *       \--> the queue is full: dropped and counted; a line says how many as soon as standard error takes
 * more
 *
 * Inside of the log (log.c). Any thread.
 */
#pragma once

#include "base/bytes.h"

/* Writes the line that reports lost ones. */
typedef void kw_log_lost(uint64_t count, kw_buffer *line);

/* From here on nobody waits. Before, and after stop, the caller of put does. */
void kw_log_writer_start(kw_log_lost *describe_lost);

/* Gives what is queued so long to leave; then it is dropped. */
void kw_log_writer_stop(uint32_t patience_ms);

/* One whole line. */
void kw_log_writer_put(kw_bytes line);
