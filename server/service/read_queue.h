/* Internal to service: delays pipelined reads of one connection. Replies are sent in the order of the calls,
 * so a client gains nothing if all its pipelined reads are executed at once, but each result needs memory.
 * Therefore:
 *
 *   - A read does not start while more than KW_READ_QUEUE_UNSENT_MAX bytes of replies wait to be read by the
 *     client.
 *   - At most KW_READ_QUEUE_LARGE_MAX reads that can be large execute at a time. At first only one of them
 *     executes; the maximum increases by one each time that the client has read all replies.
 *   - Reads that waited start one by one, in turn with the work of other connections: a start can need
 *     milliseconds and megabytes for a plan.
 *   - A read does not start, but gets BUSY, while memory is used up.
 *
 * Reads start in order. One loop.
 */
#pragma once

#include "service/exchange.h"

#define KW_READ_QUEUE_UNSENT_MAX ((size_t)1024 * 1024)
#define KW_READ_QUEUE_LARGE_MAX 4

kw_read_queues *kw_read_queues_new(kw_loop *loop);
/* All queues must be empty. NULL is allowed. */
void kw_read_queues_free(kw_read_queues *queues);

/* Calls start_read(exchange) now or later; an exchange that ends before that is not started. large: true if
 * its result can be large. */
void kw_read_queue_enter(kw_exchange *exchange, bool large, void (*start_read)(kw_exchange *exchange));

/* Call this when an exchange has ended, even if it never entered a queue. waited: it was QUEUED until then.
 */
void kw_read_queue_leave(kw_exchange *exchange, bool waited);
