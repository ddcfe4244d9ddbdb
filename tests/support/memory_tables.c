/* Tables of the memory store. Rows can exist without a table. */
#include "support/memory_internal.h"

static memory_table *
find_table(const memory_store *store, kw_bytes name)
{
    for (guint i = 0; i < store->tables->len; i++) {
        memory_table *each = store->tables->pdata[i];
        if (kw_bytes_equal(each->name, name))
            return each;
    }
    return NULL;
}

static kw_family_spec *
keep_family(const kw_family_spec *family)
{
    kw_family_spec *kept = g_new0(kw_family_spec, 1);
    kept->name = g_strdup(family->name);
    kept->ttl_seconds = family->ttl_seconds;
    return kept;
}

static void
free_family(gpointer data)
{
    kw_family_spec *kept = data;
    g_free((char *)kept->name);
    g_free(kept);
}

void
memory_create_table(kw_store_handle *handle, const kw_table_spec *spec, kw_create_done done, void *user)
{
    memory_store *store = memory_store_of(handle);
    memory_answer *what = memory_start(handle, ANSWER_CREATE, (void (*)(void))done, user);
    if (what->failed || find_table(store, spec->name))
        return;
    memory_table *made = g_new0(memory_table, 1);
    made->name = memory_copy(spec->name);
    made->families = g_ptr_array_new_with_free_func(free_family);
    made->splits = g_array_new(FALSE, TRUE, sizeof(kw_bytes));
    for (size_t i = 0; i < spec->families_count; i++)
        g_ptr_array_add(made->families, keep_family(&spec->families[i]));
    for (size_t i = 0; i < spec->split_keys_count; i++) {
        kw_bytes key = memory_copy(spec->split_keys[i]);
        g_array_append_val(made->splits, key);
    }
    g_ptr_array_add(store->tables, made);
    store->control.tables_made++;
    store->control.last_split_keys = (int64_t)spec->split_keys_count;
    what->applied = true;
}

void
memory_describe_table(kw_store_handle *handle, kw_bytes name, kw_deadline deadline, kw_table_facts_done done,
                      void *user)
{
    (void)deadline;
    memory_answer *what = memory_start(handle, ANSWER_FACTS, (void (*)(void))done, user);
    if (what->failed)
        return;
    const memory_table *found = find_table(memory_store_of(handle), name);
    kw_arena *arena = kw_arena_new();
    kw_table_facts *facts = KW_ARENA_NEW(arena, kw_table_facts);
    facts->arena = arena;
    facts->exists = !!found;
    facts->families_count = found ? found->families->len : 0;
    kw_family_spec *families = KW_ARENA_ARRAY(arena, kw_family_spec, facts->families_count);
    for (size_t i = 0; i < facts->families_count; i++) {
        const kw_family_spec *kept = found->families->pdata[i];
        families[i].name = kw_arena_text(arena, kw_bytes_of_text(kept->name));
        families[i].ttl_seconds = kept->ttl_seconds;
    }
    facts->families = families;
    what->facts = facts;
}

void
memory_free_table(gpointer data)
{
    memory_table *old = data;
    memory_drop(old->name);
    g_ptr_array_free(old->families, TRUE);
    for (guint i = 0; i < old->splits->len; i++)
        memory_drop(g_array_index(old->splits, kw_bytes, i));
    g_array_free(old->splits, TRUE);
    g_free(old);
}

void
memory_drop_table(kw_store_handle *handle, kw_bytes name, kw_deadline deadline, kw_simple_done done,
                  void *user)
{
    (void)deadline;
    memory_store *store = memory_store_of(handle);
    const memory_answer *what = memory_start(handle, ANSWER_SIMPLE, (void (*)(void))done, user);
    memory_table *found = find_table(store, name);
    if (what->failed && what->outcome != KW_OUTCOME_UNKNOWN)
        return;
    if (found)
        g_ptr_array_remove(store->tables, found);
    for (guint i = store->rows->len; i > 0; i--)
        if (kw_bytes_equal(((const memory_row *)store->rows->pdata[i - 1])->table, name))
            g_ptr_array_remove_index(store->rows, i - 1);
}

void
memory_regions(kw_store_handle *handle, kw_bytes name, kw_deadline deadline, kw_regions_done done, void *user)
{
    kw_memory_control *control = &memory_store_of(handle)->control;
    control->regions_asked++;
    control->regions_deadline = deadline;
    memory_answer *what = memory_start(handle, ANSWER_REGIONS, (void (*)(void))done, user);
    if (what->failed)
        return;
    const memory_table *found = find_table(memory_store_of(handle), name);
    kw_arena *arena = kw_arena_new();
    kw_regions *regions = KW_ARENA_NEW(arena, kw_regions);
    regions->arena = arena;
    size_t cuts = found ? found->splits->len : 0;
    regions->count = found ? cuts + 1 : 0;
    kw_region *list = KW_ARENA_ARRAY(arena, kw_region, cuts + 1);
    for (size_t i = 0; i < regions->count; i++) {
        list[i].server = KW_BYTES_LITERAL("memory:1");
        if (i > 0)
            list[i].start = kw_arena_copy(arena, g_array_index(found->splits, kw_bytes, i - 1));
        if (i < cuts)
            list[i].stop = kw_arena_copy(arena, g_array_index(found->splits, kw_bytes, i));
    }
    regions->regions = list;
    what->regions = regions;
}
