/* Rows that hash tables hold by their names: see order_internal.h. */
#include "store/order/order_internal.h"

static guint
row_hash(gconstpointer key)
{
    const kw_row_name *name = key;
    return (guint)(kw_bytes_hash(name->table) * 31 + kw_bytes_hash(name->row));
}

static gboolean
row_equal(gconstpointer a, gconstpointer b)
{
    const kw_row_name *one = a, *other = b;
    return kw_bytes_equal(one->row, other->row) && kw_bytes_equal(one->table, other->table);
}

GHashTable *
kw_row_names_new(void)
{
    return g_hash_table_new(row_hash, row_equal);
}

void *
kw_row_names_find(GHashTable *rows, kw_bytes table, kw_bytes row)
{
    kw_row_name like = {.table = table, .row = row};
    return g_hash_table_lookup(rows, &like);
}

void *
kw_row_names_add(GHashTable *rows, size_t size, kw_bytes table, kw_bytes row)
{
    kw_row_name *held = g_malloc0(size + table.size + row.size);
    uint8_t *text = (uint8_t *)held + size;
    memcpy(text, table.data, table.size);
    memcpy(text + table.size, row.data, row.size);
    held->table = kw_bytes_of(text, table.size);
    held->row = kw_bytes_of(text + table.size, row.size);
    g_hash_table_add(rows, held);
    kw_budget_charge(KW_MEMORY_STORE, (int64_t)(size + table.size + row.size));
    return held;
}

void
kw_row_names_remove(GHashTable *rows, void *held, size_t size)
{
    const kw_row_name *name = held;
    kw_budget_charge(KW_MEMORY_STORE, -(int64_t)(size + name->table.size + name->row.size));
    g_hash_table_remove(rows, held);
    g_free(held);
}
