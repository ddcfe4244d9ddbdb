#include "service/convert.h"

#include "service/show.h"

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

/* The union's one member. False: none or several are set. */
static bool
read_union(const kw_api_Value *from, kw_value *ret_value)
{
    int members = from->has_flag + from->has_number + from->has_real + from->has_text + from->has_bytes;
    if (members != 1)
        return false;
    if (from->has_flag)
        *ret_value = (kw_value){.kind = KW_VALUE_FLAG, .flag = from->flag};
    else if (from->has_number)
        *ret_value = (kw_value){.kind = KW_VALUE_NUMBER, .number = from->number};
    else if (from->has_real)
        *ret_value = (kw_value){.kind = KW_VALUE_REAL, .real = from->real};
    else if (from->has_text)
        *ret_value = (kw_value){.kind = KW_VALUE_TEXT, .bytes = from->text};
    else
        *ret_value = (kw_value){.kind = KW_VALUE_BYTES, .bytes = from->bytes};
    return true;
}

bool
kw_convert_value(const kw_table *table, size_t field, const kw_api_Value *from, kw_value *ret_value,
                 kw_error *ret_error)
{
    kw_value value;
    if (!read_union(from, &value))
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s, field %s: the value must have exactly one member set", table->name,
                            table->fields[field].name);
    if (value.kind == KW_VALUE_NUMBER && table->fields[field].type == KW_FIELD_DOUBLE)
        value = (kw_value){.kind = KW_VALUE_REAL, .real = (double)value.number};
    if (!kw_table_check_value(table, field, value, ret_error))
        return false;
    *ret_value = value;
    return true;
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
        if (!kw_convert_value(table, field, &from->items[i].value, &record.values[field], ret_error))
            return false;
    }
    *ret_record = record;
    return true;
}

bool
kw_convert_columns(const kw_table *table, const kw_bytes *names, size_t count, kw_arena *arena,
                   size_t **ret_fields, size_t *ret_count, kw_error *ret_error)
{
    size_t *fields = KW_ARENA_ARRAY(arena, size_t, MIN(count, table->fields_count));
    bool *seen = KW_ARENA_ARRAY(arena, bool, table->fields_count);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        size_t field = 0;
        if (!kw_convert_field(table, names[i], &field, ret_error))
            return false;
        if (!seen[field])
            fields[kept++] = field;
        seen[field] = true;
    }
    *ret_fields = fields;
    *ret_count = kept;
    return true;
}

static kw_api_Value
value_out(kw_value value)
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
        out.items[out.count++].value = value_out(record->values[i]);
    }
    return out;
}
