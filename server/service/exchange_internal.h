/* Shared by exchange.c, where calls begin, and answer.c, where they end. */
#pragma once

#include "service/exchange.h"

/* Messages and results up to this size are let in, and replied, without a look at how much memory is left. */
#define KW_EXCHANGE_SMALL ((size_t)64 * 1024)

/* Has the lease ended under which the call began? UNAVAILABLE then. */
bool kw_exchange_is_fenced(const kw_exchange *exchange, kw_error *ret_error);

/* What a reply may have: limits.frame. */
size_t kw_exchange_reply_most(const kw_exchange *exchange);

/* Appends what precedes the result in a reply; returns the mark for kw_wire_frame_end. */
size_t kw_exchange_begin_message(const kw_exchange *exchange, kw_buffer *out);

/* Is there no memory for a large reply? Never true of a call that changed something. */
bool kw_exchange_lacks_memory(const kw_exchange *exchange);

/* Answers with a whole message, of a call that is neither oneway nor late; *message is empty after it. The
 * exchange is gone after it. */
void kw_exchange_reply_encoded(kw_exchange *exchange, kw_buffer *message);

/* Answers with LIMIT: the reply would be too large. The exchange is gone after it. */
void kw_exchange_fail_for_size(kw_exchange *exchange);

/* Answers with BUSY: there is no memory for the call. The exchange is gone after it. */
void kw_exchange_fail_for_memory(kw_exchange *exchange);

/* Frees what the exchange holds; its request has ended. */
void kw_exchange_dispose(kw_exchange *exchange);
