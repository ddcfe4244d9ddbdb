#include "service/methods/convert.h"

#include "service/show.h"

#include <inttypes.h>

/* Maximum number of columns in one call. */
#define COLUMNS_MAX 10000

bool
kw_convert_field(const kw_table *table, kw_bytes name, size_t *ret_field, kw_error *ret_error)
{
    char shown[KW_SHOWN_MAX];
    int found = kw_table_find_field(table, name);
    if (found >= 0) {
        *ret_field = (size_t)found;
        return true;
    }
    const char *near = kw_table_nearest_field(table, name);
    return kw_error_set(ret_error, KW_INVALID, "table %s has no field %s%s%s%s", table->name,
                        kw_show_name(name, shown), near ? "; did you mean \"" : "", near ? near : "",
                        near ? "\"?" : "");
}

bool
kw_convert_pick(const kw_table *table, kw_bytes name, kw_pick *ret_pick, kw_error *ret_error)
{
    const uint8_t *dot = name.size ? memchr(name.data, '.', name.size) : NULL;
    kw_bytes own = dot ? kw_bytes_of(name.data, (size_t)(dot - name.data)) : name;
    size_t field = 0;
    if (!kw_convert_field(table, own, &field, ret_error))
        return false;
    const char *wrong = !dot                          ? NULL
                        : !table->fields[field].entry ? "is not a map and has no entries"
                        : own.size + 1 == name.size   ? "the name of an entry is missing after the dot"
                        : name.size > UINT16_MAX      ? "the name of an entry is too long"
                                                      : NULL;
    if (wrong)
        return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: %s", table->name,
                            table->fields[field].name, wrong);
    return kw_table_find_pick(table, name, ret_pick);
}

/* Reads the only member that is set; of a map, only the kind. False if none or several are set. */
static bool
read_union(const kw_api_Value *from, kw_value *ret_value)
{
    int members = from->has_flag + from->has_number + from->has_real + from->has_text + from->has_bytes +
                  from->has_entries;
    if (members != 1)
        return false;
    if (from->has_flag)
        *ret_value = (kw_value){.kind = KW_VALUE_FLAG, .flag = from->flag};
    else if (from->has_number)
        *ret_value = (kw_value){.kind = KW_VALUE_NUMBER, .number = from->number};
    else if (from->has_real) /* -0.0 equals 0.0, so it must not be another key */
        *ret_value = (kw_value){.kind = KW_VALUE_REAL, .real = from->real == 0 ? 0 : from->real};
    else if (from->has_text)
        *ret_value = (kw_value){.kind = KW_VALUE_TEXT, .bytes = from->text};
    else if (from->has_bytes)
        *ret_value = (kw_value){.kind = KW_VALUE_BYTES, .bytes = from->bytes};
    else
        *ret_value = (kw_value){.kind = KW_VALUE_MAP};
    return true;
}

static bool
read_one(const kw_table *table, const kw_field *field, const kw_api_Value *from, kw_value *ret_value,
         kw_error *ret_error)
{
    if (!read_union(from, ret_value))
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s, field %s: the value must have exactly one member set", table->name,
                            field->name);
    if (ret_value->kind != KW_VALUE_NUMBER || field->type != KW_FIELD_DOUBLE)
        return true;
    int64_t number = ret_value->number;
    double real;
    if (!kw_number_as_real(number, &real) && field->identity)
        return kw_error_set(
            ret_error, KW_INVALID,
            "table %s, field %s: value %" PRId64
            " cannot be held exactly by a double, and the field is part of the identity of a record",
            table->name, field->name, number);
    *ret_value = (kw_value){.kind = KW_VALUE_REAL, .real = real};
    return true;
}

static bool
read_entries(const kw_table *table, const kw_field *map, const kw_api_Record *from, kw_arena *arena,
             kw_value *ret_value, kw_error *ret_error)
{
    char shown[KW_SHOWN_MAX];
    kw_bytes twice;
    kw_entry *entries = KW_ARENA_ARRAY(arena, kw_entry, from->count);
    for (uint32_t i = 0; i < from->count; i++) {
        entries[i].name = from->items[i].key;
        if (!read_one(table, map->entry, &from->items[i].value, &entries[i].value, ret_error))
            return kw_error_prefix(ret_error, "entry %s", kw_show_name(entries[i].name, shown));
    }
    if (!kw_entries_sort(entries, from->count, &twice))
        return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: the entry %s is given twice",
                            table->name, map->name, kw_show_name(twice, shown));
    ret_value->entries = entries;
    ret_value->entries_count = from->count;
    return true;
}

bool
kw_convert_value(const kw_table *table, kw_pick pick, const kw_api_Value *from, kw_arena *arena,
                 kw_value *ret_value, kw_error *ret_error)
{
    kw_value value;
    const kw_field *field = kw_pick_field(table, pick);
    if (!read_one(table, field, from, &value, ret_error))
        return false;
    bool is_map = value.kind == KW_VALUE_MAP && field->entry;
    if (is_map && !read_entries(table, field, &from->entries, arena, &value, ret_error))
        return false;
    if (!kw_table_check_pick(table, pick, value, ret_error))
        return false;
    *ret_value = value;
    return true;
}

bool
kw_convert_queried(const kw_table *table, size_t field, const kw_api_Value *from, kw_arena *arena,
                   kw_value *ret_value, kw_error *ret_error)
{
    const char *name = table->fields[field].name;
    if (table->fields[field].entry)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s, field %s: is a map, which cannot be queried; select entries as "
                            "columns (%s.NAME) or with a filter",
                            table->name, name, name);
    return kw_convert_value(table, (kw_pick){.field = field}, from, arena, ret_value, ret_error);
}

bool
kw_convert_record(const kw_table *table, const kw_api_Record *from, kw_arena *arena, kw_record *ret_record,
                  kw_error *ret_error)
{
    kw_record record = kw_record_new(table, arena);
    for (uint32_t i = 0; i < from->count; i++) {
        size_t field = 0;
        if (!kw_convert_field(table, from->items[i].key, &field, ret_error))
            return false;
        if (record.values[field].kind != KW_VALUE_NONE)
            return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: is given twice", table->name,
                                table->fields[field].name);
        if (!kw_convert_value(table, (kw_pick){.field = field}, &from->items[i].value, arena,
                              &record.values[field], ret_error))
            return false;
    }
    *ret_record = record;
    return true;
}

static guint
hash_pick(gconstpointer key)
{
    const kw_pick *pick = key;
    guint hash = 5381 + (guint)pick->field;
    for (size_t i = 0; i < pick->entry.size; i++)
        hash = hash * 33 + pick->entry.data[i];
    return hash;
}

static gboolean
same_pick(gconstpointer left, gconstpointer right)
{
    const kw_pick *a = left, *b = right;
    return a->field == b->field && kw_bytes_equal(a->entry, b->entry);
}

bool
kw_convert_columns(const kw_table *table, const kw_bytes *names, size_t count, kw_arena *arena,
                   const kw_pick **ret_picks, size_t *ret_count, kw_error *ret_error)
{
    if (count > COLUMNS_MAX)
        return kw_error_set(ret_error, KW_LIMIT, "table %s: %zu columns are named, at most %d are allowed",
                            table->name, count, COLUMNS_MAX);
    kw_pick *picks = KW_ARENA_ARRAY(arena, kw_pick, count);
    g_autoptr(GHashTable) seen = g_hash_table_new(hash_pick, same_pick);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!kw_convert_pick(table, names[i], &picks[kept], ret_error))
            return false;
        if (!g_hash_table_contains(seen, &picks[kept]))
            g_hash_table_add(seen, &picks[kept++]);
    }
    *ret_picks = picks;
    *ret_count = kept;
    return true;
}

static kw_api_Value value_out(kw_value value, kw_arena *arena);

static kw_api_Record
entries_out(kw_value map, kw_arena *arena)
{
    kw_api_Record out = {.items = kw_arena_alloc(arena, map.entries_count * sizeof(kw_api_Record_item)),
                         .count = (uint32_t)map.entries_count};
    for (size_t i = 0; i < map.entries_count; i++)
        out.items[i] =
            (kw_api_Record_item){.key = map.entries[i].name, .value = value_out(map.entries[i].value, arena)};
    return out;
}

static kw_api_Value
value_out(kw_value value, kw_arena *arena)
{
    switch (value.kind) {
    case KW_VALUE_FLAG:
        return (kw_api_Value){.has_flag = true, .flag = value.flag};
    case KW_VALUE_NUMBER:
        return (kw_api_Value){.has_number = true, .number = value.number};
    case KW_VALUE_REAL:
        return (kw_api_Value){.has_real = true, .real = value.real};
    case KW_VALUE_TEXT:
        return (kw_api_Value){.has_text = true, .text = value.bytes};
    case KW_VALUE_BYTES:
        return (kw_api_Value){.has_bytes = true, .bytes = value.bytes};
    case KW_VALUE_MAP:
        return (kw_api_Value){.has_entries = true, .entries = entries_out(value, arena)};
    case KW_VALUE_NONE:
        break;
    }
    g_assert_not_reached();
}

kw_api_Record
kw_convert_record_out(const kw_table *table, const kw_record *record, kw_arena *arena)
{
    kw_api_Record out = {0};
    uint32_t there = 0;
    for (size_t i = 0; i < table->fields_count; i++)
        there += record->values[i].kind != KW_VALUE_NONE;
    out.items = kw_arena_alloc(arena, there * sizeof *out.items);
    for (size_t i = 0; i < table->fields_count; i++) {
        if (record->values[i].kind == KW_VALUE_NONE)
            continue;
        out.items[out.count].key = kw_bytes_of_text(table->fields[i].name);
        out.items[out.count++].value = value_out(record->values[i], arena);
    }
    return out;
}
