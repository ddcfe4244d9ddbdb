/* Internal: declarations shared by exchange.c, which begins calls, answer.c, which ends them, and
 * list_reply.c. */
#pragma once

#include "service/exchange.h"

/* Results up to this size are sent even if no memory is left. Messages up to a quarter of it are accepted as
 * long as any memory is left. */
#define KW_EXCHANGE_SMALL ((size_t)64 * 1024)

/* The error for a call whose caller has left before it was answered. */
extern const kw_error kw_exchange_caller_left;

/* True if the caller has left, and the call changes nothing: then it is not needed. */
bool kw_exchange_is_unwanted(const kw_exchange *exchange);

/* True, with UNAVAILABLE, if the gateway has lost the lease under which the call began. */
bool kw_exchange_is_fenced(const kw_exchange *exchange, kw_error *ret_error);

/* Decides again about a call that has waited, if a policy was served meanwhile: false, and a denial is
 * recorded, if its access rules do not allow the call. The call keeps its own policy otherwise. */
bool kw_exchange_may_still(const kw_exchange *exchange, kw_error *ret_error);

/* Maximum bytes of a reply: limits.frame. */
size_t kw_exchange_max_reply_bytes(const kw_exchange *exchange);

/* Appends the frame and message head of a reply. Returns the mark for kw_wire_frame_end. */
size_t kw_exchange_begin_message(const kw_exchange *exchange, kw_buffer *out);

/* True if memory is short for a large reply. Always false for a call that changed something. */
bool kw_exchange_lacks_memory(const kw_exchange *exchange);

/* Answers with a whole message, which it moves: *message is empty afterwards. The call must be neither oneway
 * nor answered. Frees the exchange. */
void kw_exchange_reply_encoded(kw_exchange *exchange, kw_buffer *message);

/* Answers with LIMIT: the reply would be too large. Frees the exchange. */
void kw_exchange_fail_for_size(kw_exchange *exchange);

/* Answers with BUSY: memory is short. Frees the exchange. */
void kw_exchange_fail_for_memory(kw_exchange *exchange);

/* Moves the exchange to ENDED, ends its request and frees it. NULL: the request has ended already. Every
 * exchange ends with this. */
void kw_exchange_leave(kw_exchange *exchange, void (*end_request)(kw_request *request));
