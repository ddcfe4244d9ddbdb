#include "service/methods/items.h"

#include "service/methods/convert.h"

kw_item *
kw_items_new(kw_exchange *exchange, size_t count)
{
    kw_item *items = kw_arena_alloc(exchange->call.arena, count * sizeof *items); /* count is limited */
    for (size_t i = 0; i < count; i++) {
        items[i].record = (kw_record){0};
        kw_error_clear(&items[i].error);
    }
    return items;
}

bool
kw_items_of_records(kw_exchange *exchange, const kw_table *table, const kw_api_Record *records, size_t count,
                    kw_item **ret_items, kw_error *ret_error)
{
    size_t most = (size_t)kw_exchange_model(exchange)->limits.batch_records;
    if (count > most)
        return kw_error_set(ret_error, KW_LIMIT, "table %s: %zu records in one call, at most %zu are allowed",
                            table->name, count, most);
    kw_item *items = kw_items_new(exchange, count);
    for (size_t i = 0; i < count; i++)
        kw_convert_record(table, &records[i], exchange->call.arena, &items[i].record, &items[i].error);
    *ret_items = items;
    return true;
}
