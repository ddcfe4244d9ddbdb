/* Records as a client sends and receives them: the fields a and b are texts, n and m are counters. In a table
 * with a map, a and b are entries of this map. */
#include "histories/client_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[OPERATION_FIELDS] = {"a", "b", "n", "m"};
/* The same in a table whose field `map` is a map. */
static const char map_field[] = "map";
static const char *const map_names[OPERATION_FIELDS] = {"map.a", "map.b", "n", "m"};

#define MAP_FIELDS 3 /* the entries, as bits */

/* --- sent ------------------------------------------------------------------------------------- */

kw_api_Value
client_text(client *with, const char *text)
{
    return (kw_api_Value){.has_text = true, .text = kw_arena_copy(with->arena, kw_bytes_of_text(text))};
}

kw_api_Value
client_value(client *with, int field, int64_t value)
{
    char text[32];
    if (field >= 2)
        return (kw_api_Value){.has_number = true, .number = value};
    snprintf(text, sizeof text, "%" PRId64, value);
    return client_text(with, text);
}

static void
add_item(kw_api_Record *to, const char *name, kw_api_Value value)
{
    item *added = (item *)(void *)to->items + to->count++;
    added->key = kw_bytes_of_text(name);
    added->value = value;
}

static kw_api_Record
record_new(client *with)
{
    return (kw_api_Record){.items = (void *)KW_ARENA_ARRAY(with->arena, item, 2 + OPERATION_FIELDS)};
}

char *
client_id(client *with, const client_table *table, unsigned record)
{
    return kw_arena_printf(with->arena, "h%06u-%04u", table->prefix, record);
}

kw_api_Record
client_key(client *with, const client_table *table, unsigned record)
{
    kw_api_Record key = record_new(with);
    add_item(&key, "id", client_text(with, client_id(with, table, record)));
    if (table->second_path)
        add_item(&key, "part", client_text(with, kw_arena_printf(with->arena, "p%u", record % 7)));
    return key;
}

static void
add_fields(client *with, kw_api_Record *to, const operation *of, uint8_t fields)
{
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (of->fields & fields & 1u << i)
            add_item(to, names[i], client_value(with, i, of->values[i]));
}

kw_api_Record
client_record(client *with, const client_table *table, const operation *of)
{
    kw_api_Record made = client_key(with, table, of->record);
    add_fields(with, &made, of, table->has_map ? (uint8_t)~MAP_FIELDS : UINT8_MAX);
    if (table->has_map && of->fields & MAP_FIELDS) {
        kw_api_Value entries = {.has_entries = true, .entries = record_new(with)};
        add_fields(with, &entries.entries, of, MAP_FIELDS);
        add_item(&made, map_field, entries);
    }
    return made;
}

const char *
client_field_name(const client_table *table, int field)
{
    return table->has_map ? map_names[field] : names[field];
}

/* If both entries of a map are selected, the result has the name of the map instead. */
kw_bytes *
client_columns(client *with, const client_table *table, uint8_t fields, uint32_t *ret_count)
{
    kw_bytes *columns = KW_ARENA_ARRAY(with->arena, kw_bytes, OPERATION_FIELDS);
    *ret_count = 0;
    if (table->has_map && (fields & MAP_FIELDS) == MAP_FIELDS) {
        columns[(*ret_count)++] = kw_bytes_of_text(map_field);
        fields &= (uint8_t)~MAP_FIELDS;
    }
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (fields >> i & 1)
            columns[(*ret_count)++] = kw_bytes_of_text(client_field_name(table, i));
    return columns;
}

/* --- received --------------------------------------------------------------------------------- */

static const kw_api_Value *
find(const kw_api_Record *in, const char *name)
{
    for (uint32_t i = 0; in && i < in->count; i++) {
        const item *at = (const item *)(const void *)in->items + i;
        if (kw_bytes_equal(at->key, kw_bytes_of_text(name)))
            return &at->value;
    }
    return NULL;
}

static int64_t
number_in(const kw_api_Value *value)
{
    char text[32] = "";
    if (value->has_number)
        return value->number;
    if (value->text.size)
        memcpy(text, value->text.data, MIN(value->text.size, sizeof text - 1));
    return g_ascii_strtoll(text, NULL, 10);
}

void
client_read_record(const client_table *table, const kw_api_Record *from, int64_t *ret_values)
{
    const kw_api_Value *map = table->has_map ? find(from, map_field) : NULL;
    for (int field = 0; field < OPERATION_FIELDS; field++) {
        bool in_map = table->has_map && MAP_FIELDS >> field & 1;
        const kw_api_Value *value = find(in_map ? map ? &map->entries : NULL : from, names[field]);
        ret_values[field] = value ? number_in(value) : OPERATION_ABSENT;
    }
}
