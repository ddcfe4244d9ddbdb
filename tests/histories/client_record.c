/* Records as a client sends and receives them: the fields a and b are texts, n and m are counters. In a table
 * with a map, a and b are entries of this map. In one with hint paths, the fields side_a and side_b have the
 * sides of a and b, and the records of a history have its name as `run`. */
#include "histories/client_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[OPERATION_FIELDS] = {"a", "b", "n", "m"};
/* The same in a table whose field `map` is a map. */
static const char map_field[] = "map";
static const char *const map_names[OPERATION_FIELDS] = {"map.a", "map.b", "n", "m"};

#define MAP_FIELDS 3 /* the entries, as bits */

/* Of tables with hint paths. */
#define SIDED_FIELDS 2
static const char *const side_names[SIDED_FIELDS] = {"side_a", "side_b"};
static const char *const sides[] = {"even", "odd"};
#define OUT_OF_STEP (-1)

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
    return (kw_api_Record){
        .items = (void *)KW_ARENA_ARRAY(with->arena, item, 2 + OPERATION_FIELDS + SIDED_FIELDS)};
}

char *
client_id(client *with, const client_table *table, unsigned record)
{
    return kw_arena_printf(with->arena, "h%06u-%04u", table->prefix, record);
}

static void
add_run(client *with, kw_api_Record *to, const client_table *table)
{
    add_item(to, "run", client_text(with, kw_arena_printf(with->arena, "h%06u", table->prefix)));
}

kw_api_Record
client_key(client *with, const client_table *table, unsigned record)
{
    kw_api_Record key = record_new(with);
    if (table->has_sides)
        add_run(with, &key, table);
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

static void
add_side(client *with, kw_api_Record *to, int field, unsigned side)
{
    add_item(to, side_names[field], client_text(with, sides[side]));
}

kw_api_Record
client_place(client *with, const client_table *table, const operation *query)
{
    kw_api_Record made = record_new(with);
    if (query->kind == OPERATION_FIND)
        made = client_key(with, table, query->record);
    else
        add_run(with, &made, table);
    for (int i = 0; i < SIDED_FIELDS; i++)
        if (query->on >> i & 1 && operation_is_of_texts(query->view))
            add_item(&made, names[i], client_value(with, i, query->results[i]));
        else if (query->on >> i & 1)
            add_side(with, &made, i, query->expected >> i & 1);
    return made;
}

const char *
client_path_name(uint32_t view)
{
    static const char *const paths[] = {NULL, "by_a", "by_both", "by_text", "by_texts"};
    g_assert(view > 0 && view < G_N_ELEMENTS(paths));
    return paths[view];
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
    for (int i = 0; table->has_sides && i < SIDED_FIELDS; i++)
        if (of->fields >> i & 1)
            add_side(with, &made, i, operation_side(of->values[i]));
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
    kw_bytes *columns = KW_ARENA_ARRAY(with->arena, kw_bytes, OPERATION_FIELDS + SIDED_FIELDS);
    *ret_count = 0;
    if (table->has_map && (fields & MAP_FIELDS) == MAP_FIELDS) {
        columns[(*ret_count)++] = kw_bytes_of_text(map_field);
        fields &= (uint8_t)~MAP_FIELDS;
    }
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (fields >> i & 1)
            columns[(*ret_count)++] = kw_bytes_of_text(client_field_name(table, i));
    for (int i = 0; table->has_sides && i < SIDED_FIELDS; i++)
        if (fields >> i & 1)
            columns[(*ret_count)++] = kw_bytes_of_text(side_names[i]);
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

/* The value, or one that nobody put if the side in the record is another one. */
static int64_t
checked_value(const kw_api_Record *in, int field, int64_t value)
{
    const kw_api_Value *side = find(in, side_names[field]);
    bool right = value == OPERATION_ABSENT
                     ? !side
                     : side && kw_bytes_equal(side->text, kw_bytes_of_text(sides[operation_side(value)]));
    return right ? value : OUT_OF_STEP;
}

void
client_read_record(const client_table *table, const kw_api_Record *from, int64_t *ret_values)
{
    const kw_api_Value *map = table->has_map ? find(from, map_field) : NULL;
    for (int field = 0; field < OPERATION_FIELDS; field++) {
        bool in_map = table->has_map && MAP_FIELDS >> field & 1;
        const kw_api_Value *value = find(in_map ? map ? &map->entries : NULL : from, names[field]);
        ret_values[field] = value ? number_in(value) : OPERATION_ABSENT;
        if (table->has_sides && field < SIDED_FIELDS)
            ret_values[field] = checked_value(from, field, ret_values[field]);
    }
}
