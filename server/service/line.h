/* Inside of the module: reads of one connection that wait for those before them. Replies leave in the order
 * of the calls, so a caller gains nothing when all that it has pipelined is read at once, while each result
 * takes memory:
 *
 *   - a read does not start while the caller leaves KW_LINE_UNSENT_MAX bytes of replies untaken;
 *   - of reads that may be large, KW_LINE_LARGE_MAX run at a time; before the caller has taken a reply, one.
 *
 * They start in order. One loop.
 */
#pragma once

#include "service/exchange.h"

#define KW_LINE_UNSENT_MAX ((size_t)1024 * 1024)
#define KW_LINE_LARGE_MAX 4

kw_lines *kw_lines_new(kw_loop *loop);
/* Nothing may wait. NULL is fine. */
void kw_lines_free(kw_lines *lines);

/* Calls start(exchange) now or later; an exchange that ends before is never started. large: its result may be
 * a large one. */
void kw_line_enter(kw_exchange *exchange, bool large, void (*start)(kw_exchange *exchange));

/* The exchange ends, started or not; one that never entered is fine, too. */
void kw_line_leave(kw_exchange *exchange);

/* It has not been started yet. */
bool kw_line_is_waiting(const kw_exchange *exchange);
