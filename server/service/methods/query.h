/* Internal to service: converts a caller's Query to a request of the scan verb. */
#pragma once

#include "service/exchange.h"
#include "verb/verb.h"

/* Converts the query, and sets the call's deadline. Everything is allocated in the call's arena. The error
 * names the problem. */
bool kw_scan_request_of_query(kw_exchange *exchange, bool given, const kw_api_Query *query,
                              kw_scan_request *ret_request, kw_error *ret_error);

/* The same for a table of any policy; ignores query->table and the deadline. */
bool kw_scan_request_on_table(const kw_table *table, const kw_model_limits *limits, const kw_api_Query *query,
                              kw_arena *arena, kw_scan_request *ret_request, kw_error *ret_error);
