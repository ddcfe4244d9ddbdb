/* The column families of store tables, as HBase describes them: see handle.h. */
#include "store/hbase/handle.h"

/* The time before another request if the last one did not return the families. */
#define RETRY_AFTER_NS (UINT64_C(1000) * 1000 * 1000)

typedef struct described_table {
    kw_hbase_handle *handle;
    kw_bytes table;        /* stored after the struct */
    kw_table_facts *facts; /* NULL: unknown */
    bool requesting;
    bool stale; /* the table may have changed since the request was sent */
    uint64_t requested_ns;
} described_table;

static guint
table_hash(gconstpointer key)
{
    return (guint)kw_bytes_hash(((const described_table *)key)->table);
}

static gboolean
table_equal(gconstpointer a, gconstpointer b)
{
    return kw_bytes_equal(((const described_table *)a)->table, ((const described_table *)b)->table);
}

static void
table_free(gpointer user)
{
    described_table *table = user;
    kw_table_facts_free(table->facts);
    g_free(table);
}

GHashTable *
kw_hbase_families_new(void)
{
    return g_hash_table_new_full(table_hash, table_equal, table_free, NULL);
}

static described_table *
find_or_add(kw_hbase_handle *handle, kw_bytes name)
{
    described_table key = {.table = name};
    described_table *table = g_hash_table_lookup(handle->families, &key);
    if (table)
        return table;
    table = g_malloc0(sizeof *table + name.size);
    memcpy(table + 1, name.data, name.size);
    table->handle = handle;
    table->table = kw_bytes_of(table + 1, name.size);
    g_hash_table_add(handle->families, table);
    return table;
}

static void
on_described(void *user, kw_table_facts *facts, const kw_error *error)
{
    described_table *table = user;
    (void)error;
    table->requesting = false;
    if (facts && facts->exists && !table->stale)
        table->facts = facts;
    else
        kw_table_facts_free(facts);
}

static void
request(described_table *table)
{
    uint64_t now_ns = kw_clock_mono_ns();
    if (table->requesting || (table->requested_ns && now_ns - table->requested_ns < RETRY_AFTER_NS))
        return;
    table->requesting = true;
    table->stale = false;
    table->requested_ns = now_ns;
    kw_hbase_describe_table(&table->handle->base, table->table, KW_DEADLINE_NONE, on_described, table);
}

static bool
has_family(const kw_table_facts *facts, kw_bytes name)
{
    for (size_t i = 0; i < facts->families_count; i++)
        if (kw_bytes_equal(kw_bytes_of_text(facts->families[i].name), name))
            return true;
    return false;
}

bool
kw_hbase_families_include(kw_hbase_handle *handle, const kw_write *put)
{
    described_table *table = find_or_add(handle, put->table);
    if (!table->facts) {
        request(table);
        return false;
    }
    for (size_t i = 0; i < put->cells_count; i++)
        if (!has_family(table->facts, put->cells[i].family))
            return false;
    return true;
}

void
kw_hbase_families_forget(kw_hbase_handle *handle, kw_bytes name)
{
    described_table *table = find_or_add(handle, name);
    kw_table_facts_free(g_steal_pointer(&table->facts));
    table->stale = true;
    if (!table->requesting)
        table->requested_ns = 0;
}
