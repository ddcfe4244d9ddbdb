/* Maps: fields with any number of named values, each in a column of its own, and the parsing of names such as
 * "followed.bob". A map's columns are those of its family that begin with its qualifier and are longer:
 *
 *   column: "f:follow_*"    f:follow_bob  =  followed.bob
 */
#include "base/sorting.h"
#include "schema/policy.h"

bool
kw_field_has_column(const kw_field *map, kw_bytes family, kw_bytes qualifier)
{
    g_assert(map->entry);
    return qualifier.size > map->qualifier.size && kw_bytes_equal(map->family, family) &&
           (map->qualifier.size == 0 ||
            memcmp(qualifier.data, map->qualifier.data, map->qualifier.size) == 0);
}

kw_bytes
kw_pick_qualifier(const kw_table *table, kw_pick pick, kw_arena *arena)
{
    g_assert(pick.field < table->fields_count);
    kw_bytes before = table->fields[pick.field].qualifier;
    if (pick.entry.size == 0)
        return before;
    if (before.size == 0)
        return pick.entry;
    uint8_t *bytes = kw_arena_alloc(arena, before.size + pick.entry.size);
    memcpy(bytes, before.data, before.size);
    memcpy(bytes + before.size, pick.entry.data, pick.entry.size);
    return kw_bytes_of(bytes, before.size + pick.entry.size);
}

bool
kw_table_find_pick(const kw_table *table, kw_bytes name, kw_pick *ret_pick)
{
    const uint8_t *dot = name.size ? memchr(name.data, '.', name.size) : NULL;
    kw_bytes own = dot ? kw_bytes_of(name.data, (size_t)(dot - name.data)) : name;
    int field = kw_table_find_field(table, own);
    if (field < 0 || (dot && (!table->fields[field].entry || own.size + 1 == name.size)))
        return false;
    *ret_pick = (kw_pick){.field = (size_t)field};
    if (dot)
        ret_pick->entry = kw_bytes_skip(name, own.size + 1);
    return true;
}

const kw_field *
kw_pick_field(const kw_table *table, kw_pick pick)
{
    g_assert(pick.field < table->fields_count);
    const kw_field *field = &table->fields[pick.field];
    g_assert(pick.entry.size == 0 || field->entry);
    return pick.entry.size ? field->entry : field;
}

const char *
kw_pick_text(const kw_table *table, kw_pick pick, kw_arena *arena)
{
    g_assert(pick.field < table->fields_count);
    const char *name = table->fields[pick.field].name;
    if (pick.entry.size == 0)
        return name;
    char shown[80];
    kw_value_print((kw_value){.kind = KW_VALUE_BYTES, .bytes = pick.entry}, shown, sizeof shown);
    return kw_arena_printf(arena, "%s.%s", name, shown);
}

static void
sort(kw_entry *entries, size_t count)
{
    g_autofree kw_sort_item *items = g_new(kw_sort_item, count);
    g_autofree kw_entry *sorted = g_new(kw_entry, count);
    for (size_t i = 0; i < count; i++)
        items[i] = (kw_sort_item){.bytes = entries[i].name, .index = i};
    kw_sort_items(items, count);
    for (size_t i = 0; i < count; i++)
        sorted[i] = entries[items[i].index];
    memcpy(entries, sorted, count * sizeof *entries);
}

bool
kw_entries_sort(kw_entry *entries, size_t count, kw_bytes *ret_twice)
{
    bool sorted = true;
    for (size_t i = 1; sorted && i < count; i++)
        sorted = kw_bytes_compare(entries[i - 1].name, entries[i].name) < 0;
    if (sorted)
        return true;
    sort(entries, count);
    for (size_t i = 1; i < count; i++) {
        if (kw_bytes_compare(entries[i - 1].name, entries[i].name) != 0)
            continue;
        *ret_twice = entries[i].name;
        return false;
    }
    return true;
}
