/* Shared by exchange.c, where calls begin, and answer.c, where they end. */
#pragma once

#include "service/exchange.h"

/* Messages and results up to this size are let in, and replied, without a look at how much memory is left. */
#define KW_EXCHANGE_SMALL ((size_t)64 * 1024)

/* Has the lease ended under which the call began? UNAVAILABLE then. */
bool kw_exchange_is_fenced(const kw_exchange *exchange, kw_error *ret_error);

/* Answers with BUSY: there is no memory for the call. The exchange is gone after it. */
void kw_exchange_fail_for_memory(kw_exchange *exchange);

/* Frees what the exchange holds; its request has ended. */
void kw_exchange_dispose(kw_exchange *exchange);
