/* Inside of the module: how much of a reply each record of a many-call may fill, so that the reply stays
 * within limits.frame. Every record has room for an outcome without a text, and for the fields that the
 * gateway makes; what is left over is given to records and texts as they come. Sizes are upper bounds for
 * both protocols. */
#pragma once

#include "service/exchange.h"

typedef struct kw_reply_budget {
    size_t left;
    size_t most; /* limits.frame */
} kw_reply_budget;

/* Least room for each record. */
#define KW_REPLY_BUDGET_LEAST ((size_t)64)

/* each: of the gateway's own fields. LIMIT when not even the least fits for `count` records. */
bool kw_reply_budget_begin(const kw_exchange *exchange, size_t count, size_t each,
                           kw_reply_budget *ret_reply_budget, kw_error *ret_error);

/* Records of the table that can be answered in one reply when each gets the fields that the gateway makes;
 * ret_each: room for these. */
size_t kw_reply_budget_for_made(const kw_exchange *exchange, const kw_table *table, size_t count,
                                size_t *ret_each);

/* A call that changes something: is its reply certain to fit, with these fields and entries of a record?
 * LIMIT, so that it is refused before. */
bool kw_reply_budget_holds(const kw_exchange *exchange, const kw_table *table, const kw_pick *picks,
                           size_t count, kw_error *ret_error);

/* Takes room for a record; false: it does not fit. */
bool kw_reply_budget_take_record(kw_reply_budget *reply_budget, const kw_table *table,
                                 const kw_record *record);

/* The failure as it fits: its text is left out when there is no room for it. */
const kw_api_Failure *kw_reply_budget_take_failure(kw_reply_budget *reply_budget, const kw_error *error,
                                                   kw_arena *arena);

/* LIMIT of a record that does not fit. */
void kw_reply_budget_refuse(const kw_reply_budget *reply_budget, kw_error *ret_error);
