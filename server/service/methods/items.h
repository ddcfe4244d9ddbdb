/* Internal to service: converts the records of a call to items. */
#pragma once

#include "service/exchange.h"

/* Returns items without records and errors. */
kw_item *kw_items_new(kw_exchange *exchange, size_t count);

/* Returns one item per record, in order. The item of an unreadable record contains its error. LIMIT if there
 * are more than limits.batch_records. */
bool kw_items_of_records(kw_exchange *exchange, const kw_table *table, const kw_api_Record *records,
                         size_t count, kw_item **ret_items, kw_error *ret_error);
