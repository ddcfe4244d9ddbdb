#include "service/items.h"

#include "service/convert.h"

bool
kw_items_of_records(kw_exchange *exchange, const kw_table *table, const kw_api_Record *records, size_t count,
                    kw_item **ret_items, kw_error *ret_error)
{
    size_t most = (size_t)kw_exchange_model(exchange)->limits.batch_records;
    if (count > most)
        return kw_error_set(ret_error, KW_LIMIT, "table %s: %zu records in one call, at most %zu are allowed",
                            table->name, count, most);
    kw_item *items = KW_ARENA_ARRAY(exchange->call.arena, kw_item, count);
    for (size_t i = 0; i < count; i++)
        kw_convert_record(table, &records[i], exchange->call.arena, &items[i].record, &items[i].error);
    *ret_items = items;
    return true;
}
