/* Inside of the room: the records of a call. */
#pragma once

#include "service/exchange.h"

/* Items without a record and without an error. */
kw_item *kw_items_new(kw_exchange *exchange, size_t count);

/* One item per record, in order; a record that cannot be read carries its error. LIMIT beyond
 * limits.batch_records. */
bool kw_items_of_records(kw_exchange *exchange, const kw_table *table, const kw_api_Record *records,
                         size_t count, kw_item **ret_items, kw_error *ret_error);
