/* Inside of the room: a caller's Query as the scan verb wants it. */
#pragma once

#include "service/exchange.h"
#include "verb/verb.h"

/* Takes the deadline, too. Everything is in the call's arena. INVALID or NOT_FOUND, naming what is wrong. */
bool kw_question_of_query(kw_exchange *exchange, bool given, const kw_api_Query *query,
                          kw_scan_request *ret_request, kw_error *ret_error);

/* The same about a table of any policy; query->table and the deadline are left to the caller. */
bool kw_question_on_table(const kw_table *table, const kw_model_limits *limits, const kw_api_Query *query,
                          kw_arena *arena, kw_scan_request *ret_request, kw_error *ret_error);
