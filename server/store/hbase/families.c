/* The column families of store tables, as HBase described them: see store handle.h. */
#include "store/hbase/handle.h"

/* After an answer that did not help. */
#define ASK_AGAIN_NS (UINT64_C(1000) * 1000 * 1000)

typedef struct described {
    kw_hbase_handle *handle;
    kw_bytes table;        /* after the struct */
    kw_table_facts *facts; /* NULL: not known */
    bool asking;
    bool stale; /* what is being asked was refused meanwhile */
    uint64_t asked_ns;
} described;

static guint
table_hash(gconstpointer key)
{
    return (guint)kw_bytes_hash(((const described *)key)->table);
}

static gboolean
table_equal(gconstpointer a, gconstpointer b)
{
    return kw_bytes_equal(((const described *)a)->table, ((const described *)b)->table);
}

static void
table_free(gpointer user)
{
    described *table = user;
    kw_table_facts_free(table->facts);
    g_free(table);
}

GHashTable *
kw_hbase_families_new(void)
{
    return g_hash_table_new_full(table_hash, table_equal, table_free, NULL);
}

static described *
find(kw_hbase_handle *handle, kw_bytes name)
{
    described like = {.table = name};
    described *table = g_hash_table_lookup(handle->families, &like);
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
arrived(void *user, kw_table_facts *facts, const kw_error *error)
{
    described *table = user;
    (void)error;
    table->asking = false;
    if (facts && facts->exists && !table->stale)
        table->facts = facts;
    else
        kw_table_facts_free(facts);
}

static void
ask(described *table)
{
    uint64_t now_ns = kw_clock_mono_ns();
    if (table->asking || (table->asked_ns && now_ns - table->asked_ns < ASK_AGAIN_NS))
        return;
    table->asking = true;
    table->stale = false;
    table->asked_ns = now_ns;
    kw_hbase_describe_table(&table->handle->base, table->table, KW_DEADLINE_NONE, arrived, table);
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
kw_hbase_families_allow(kw_hbase_handle *handle, const kw_write *put)
{
    described *table = find(handle, put->table);
    if (!table->facts) {
        ask(table);
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
    described *table = find(handle, name);
    kw_table_facts_free(g_steal_pointer(&table->facts));
    table->stale = true;
    if (!table->asking)
        table->asked_ns = 0;
}
