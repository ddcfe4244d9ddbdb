#include "orders.h"

#include <stdio.h>

void
log_step(world *in, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    g_string_append_vprintf(in->trace, format, list);
    g_string_append_c(in->trace, '\n');
    va_end(list);
}

void
violation(world *in, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    g_autofree char *text = g_strdup_vprintf(format, list);
    va_end(list);
    g_print("# plan %s\n%s", in->plan->name, in->trace->str);
    g_error("%s", text);
}

void
settle_loop(world *in)
{
    for (int i = 0; i < 3; i++)
        uv_run(kw_loop_uv(in->loop), UV_RUN_NOWAIT);
}

const kw_table *
node_answers(const node *self, size_t index)
{
    if (!self->serving || !self->gate_open || self->holds || self->phase == STOPPING ||
        !kw_fence_is_open(kw_catalog_fence(self->catalog)))
        return NULL;
    return index < kw_policy_table_count(self->serving) ? kw_policy_table(self->serving, index) : NULL;
}

kw_facts *
world_facts(world *in, const char *table, kw_arena *arena)
{
    g_autofree char *qualifier = g_strdup_printf("table/%s", table);
    kw_bytes text = kw_memory_store_cell(in->memory, CATALOG, KW_CATALOG_FACTS_ROW, "d", qualifier);
    kw_facts *facts = NULL;
    kw_error error;
    if (text.size)
        g_assert_true(kw_facts_parse(text, arena, &facts, &error));
    return facts;
}

/* Digests by table of a policy, and by text of the catalog, cached because most steps change neither. */
static GHashTable *digests;

static const char *
digest_of_table(const kw_table *table)
{
    if (!digests)
        digests = g_hash_table_new(NULL, NULL);
    const char *known = g_hash_table_lookup(digests, table);
    if (known)
        return known;
    g_autoptr(kw_arena) arena = kw_arena_new();
    char *printed = g_strdup(kw_facts_digest(kw_facts_of_table(table, arena), arena));
    g_hash_table_insert(digests, (gpointer)(uintptr_t)table, printed);
    return printed;
}

/* "" when the catalog does not know the table. */
static const char *
digest_of_catalog(world *in, const char *table)
{
    static GHashTable *known;
    g_autofree char *qualifier = g_strdup_printf("table/%s", table);
    kw_bytes text = kw_memory_store_cell(in->memory, CATALOG, KW_CATALOG_FACTS_ROW, "d", qualifier);
    if (text.size == 0)
        return "";
    if (!known)
        known = g_hash_table_new(g_str_hash, g_str_equal);
    g_autofree char *key = g_strndup((const char *)text.data, text.size);
    const char *found = g_hash_table_lookup(known, key);
    if (found)
        return found;
    g_autoptr(kw_arena) arena = kw_arena_new();
    char *printed = g_strdup(kw_facts_digest(world_facts(in, table, arena), arena));
    g_hash_table_insert(known, g_steal_pointer(&key), printed);
    return printed;
}

static void
check_rows(world *in, const node *self, const kw_table *table)
{
    size_t rows = kw_memory_store_rows(in->memory, kw_layout_store_table(table->paths[0].layout));
    for (size_t i = 1; i < table->paths_count; i++) {
        const char *other = kw_layout_store_table(table->paths[i].layout);
        if (kw_memory_store_rows(in->memory, other) != rows)
            violation(in, "%s: %zu rows of table %s, and %zu by path %s", self->id, rows, table->name,
                      kw_memory_store_rows(in->memory, other), table->paths[i].name);
    }
}

static bool
shares_store_table(const kw_table *a, const kw_table *b)
{
    for (size_t i = 0; i < a->paths_count; i++)
        for (size_t j = 0; j < b->paths_count; j++)
            if (g_str_equal(kw_layout_store_table(a->paths[i].layout),
                            kw_layout_store_table(b->paths[j].layout)))
                return true;
    return false;
}

static void
check_pair(world *in, const node *a, const node *b)
{
    const kw_table *mine, *theirs;
    for (size_t i = 0; (mine = node_answers(a, i)); i++)
        for (size_t j = 0; (theirs = node_answers(b, j)); j++) {
            bool same = g_str_equal(mine->name, theirs->name);
            if (same && !g_str_equal(digest_of_table(mine), digest_of_table(theirs)))
                violation(in, "%s and %s serve table %s by different facts", a->id, b->id, mine->name);
            if (!same && shares_store_table(mine, theirs))
                violation(in, "%s serves %s and %s serves %s in one store table", a->id, mine->name, b->id,
                          theirs->name);
        }
}

/* --- versions -------------------------------------------------------------------------------------- */

kw_version_name
world_version(world *in)
{
    kw_version_name name;
    kw_error error;
    kw_bytes cell = kw_memory_store_cell(in->memory, CATALOG, KW_CATALOG_FACTS_ROW, "d", "policy");
    g_assert_true(kw_version_parse(cell, &name, &error));
    return name;
}

kw_policy *
world_policy(world *in)
{
    kw_version_name name = world_version(in);
    void *policy = NULL;
    if (name.number == 0)
        return NULL;
    g_autofree char *row = g_strdup_printf(KW_CATALOG_POLICY_PREFIX "%016" G_GINT64_MODIFIER "x/%s",
                                           (guint64)name.number, name.id);
    kw_bytes cell = kw_memory_store_cell(in->memory, CATALOG, kw_bytes_of_text(row), "d", "text");
    g_autofree char *text = g_strndup((const char *)cell.data, cell.size);
    if (sscanf(text, "%p", &policy) != 1)
        violation(in, "version %" G_GINT64_FORMAT " is current and has no text", name.number);
    return policy;
}

/* Versions follow one another, never change, and the facts are always those of the current one. */
static void
check_version(world *in)
{
    kw_version_name name = world_version(in);
    kw_policy *policy = world_policy(in);
    if (name.number < in->version || name.number > in->version + 1)
        violation(in, "version %" G_GINT64_FORMAT " follows version %" G_GINT64_FORMAT, name.number,
                  in->version);
    if (name.number > in->version)
        g_strlcpy(in->ids[name.number], name.id, sizeof in->ids[0]);
    in->version = name.number;
    if (strcmp(in->ids[name.number], name.id) != 0)
        violation(in, "version %" G_GINT64_FORMAT " was replaced", name.number);
    for (size_t i = 0; policy && i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i);
        if (!g_str_equal(digest_of_catalog(in, table->name), digest_of_table(table)))
            violation(in, "the facts of table %s are not those of version %" G_GINT64_FORMAT, table->name,
                      name.number);
    }
}

void
world_check(world *in)
{
    const kw_table *table;
    if (in->plan->versioned)
        check_version(in);
    for (size_t i = 0; i < NODES; i++) {
        const node *self = &in->nodes[i];
        for (size_t j = 0; (table = node_answers(self, j)); j++) {
            if (!g_str_equal(digest_of_catalog(in, table->name), digest_of_table(table)))
                violation(in, "%s serves table %s, and the catalog says something else", self->id,
                          table->name);
            check_rows(in, self, table);
        }
        for (size_t j = i + 1; j < NODES; j++)
            check_pair(in, self, &in->nodes[j]);
    }
}

void
node_put_row(node *self)
{
    world *in = self->in;
    const kw_table *table;
    g_autofree char *key = g_strdup_printf("row %u", in->rows++);
    for (size_t i = 0; (table = node_answers(self, i)); i++)
        for (size_t j = 0; j < table->paths_count; j++)
            kw_memory_store_set(in->memory, kw_layout_store_table(table->paths[j].layout),
                                kw_bytes_of_text(key), "d", "n", KW_BYTES_LITERAL("1"), 1);
}
