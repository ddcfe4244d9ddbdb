/* Internal to service: names the calls of a loop for base/stall.h. */
#pragma once

#include "service/exchange.h"

/* Watches the loop from its next iteration on. */
void kw_service_watch(kw_service_worker *worker);

/* A piece of work for the exchange begins. */
void kw_exchange_watch(const kw_exchange *exchange);

/* The present piece, which was for the exchange, ends. The exchange is about to be freed. */
void kw_exchange_unwatch(const kw_exchange *exchange);
