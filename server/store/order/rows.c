/* Hash tables with rows as keys: see order_internal.h. */
#include "store/order/order_internal.h"

static guint
row_hash(gconstpointer key)
{
    const kw_order_row_key *name = key;
    return (guint)(kw_bytes_hash(name->table) * 31 + kw_bytes_hash(name->row));
}

static gboolean
row_equal(gconstpointer a, gconstpointer b)
{
    const kw_order_row_key *one = a, *other = b;
    return kw_bytes_equal(one->row, other->row) && kw_bytes_equal(one->table, other->table);
}

GHashTable *
kw_order_row_table_new(void)
{
    return g_hash_table_new(row_hash, row_equal);
}

void *
kw_order_row_table_find(GHashTable *rows, kw_bytes table, kw_bytes row)
{
    kw_order_row_key key = {.table = table, .row = row};
    return g_hash_table_lookup(rows, &key);
}

void *
kw_order_row_table_add(GHashTable *rows, size_t size, kw_bytes table, kw_bytes row)
{
    kw_order_row_key *entry = g_malloc0(size + table.size + row.size);
    uint8_t *text = (uint8_t *)entry + size;
    memcpy(text, table.data, table.size);
    memcpy(text + table.size, row.data, row.size);
    entry->table = kw_bytes_of(text, table.size);
    entry->row = kw_bytes_of(text + table.size, row.size);
    g_hash_table_add(rows, entry);
    kw_budget_charge(KW_MEMORY_STORE, (int64_t)(size + table.size + row.size));
    return entry;
}

void
kw_order_row_table_remove(GHashTable *rows, void *entry, size_t size)
{
    const kw_order_row_key *name = entry;
    kw_budget_charge(KW_MEMORY_STORE, -(int64_t)(size + name->table.size + name->row.size));
    g_hash_table_remove(rows, entry);
    g_free(entry);
}
