/* Internal to service: limits the size of each record's part in the reply of a call with many records, so
 * that the reply stays within limits.frame. Space for an outcome without text, and for generated fields, is
 * reserved for every record. The rest is used by records and error texts in their order. Sizes are upper
 * bounds for both protocols. */
#pragma once

#include "service/exchange.h"

typedef struct kw_reply_budget {
    size_t left;
    size_t most; /* limits.frame */
} kw_reply_budget;

/* Minimum space for each record. */
#define KW_REPLY_BUDGET_LEAST ((size_t)64)

/* `each` is the space for generated fields of a record. LIMIT if a reply cannot hold the minimum for `count`
 * records. */
bool kw_reply_budget_begin(const kw_exchange *exchange, size_t count, size_t each,
                           kw_reply_budget *ret_reply_budget, kw_error *ret_error);

/* The number of records of the table, at most `count`, whose generated fields fit into one reply. *ret_each
 * is the space for these fields of one record. */
size_t kw_reply_budget_for_generated(const kw_exchange *exchange, const kw_table *table, size_t count,
                                     size_t *ret_each);

/* For a call that changes something: true if its reply is certain to fit with these fields and entries of a
 * record. Otherwise LIMIT, so that the call is rejected before it changes anything. */
bool kw_reply_budget_holds(const kw_exchange *exchange, const kw_table *table, const kw_pick *picks,
                           size_t count, kw_error *ret_error);

/* Uses space for a record. False if it does not fit. */
bool kw_reply_budget_add_record(kw_reply_budget *reply_budget, const kw_table *table,
                                const kw_record *record);

/* Returns the failure and uses space for its text. Leaves the text out if it does not fit. */
const kw_api_Failure *kw_reply_budget_add_failure(kw_reply_budget *reply_budget, const kw_error *error,
                                                  kw_arena *arena);

/* Sets LIMIT for a record that does not fit. */
void kw_reply_budget_refuse(const kw_reply_budget *reply_budget, kw_error *ret_error);
