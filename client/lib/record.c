/* Values and records. */
#include "lib/record.h"

kw_value
kw_flag(bool flag)
{
    return (kw_value){.kind = KW_VALUE_FLAG, .flag = flag};
}

kw_value
kw_number(gint64 number)
{
    return (kw_value){.kind = KW_VALUE_NUMBER, .number = number};
}

kw_value
kw_real(double real)
{
    return (kw_value){.kind = KW_VALUE_REAL, .real = real};
}

kw_value
kw_text(const char *text)
{
    return (kw_value){.kind = KW_VALUE_TEXT, .text = text};
}

kw_value
kw_bytes_of(const void *data, gsize size)
{
    return (kw_value){.kind = KW_VALUE_BYTES, .bytes = {.data = data, .size = size}};
}

kw_value
kw_map(const kw_record *entries)
{
    return (kw_value){.kind = KW_VALUE_MAP, .entries = entries};
}

static void
copy_entries(const kw_record *from, GHashTable *to)
{
    GHashTableIter iter;
    gpointer name, value;

    g_hash_table_iter_init(&iter, kw_record_table(from));
    while (g_hash_table_iter_next(&iter, &name, &value))
        g_hash_table_insert(to, g_strdup(name), kw_value_to_thrift(kw_value_from_thrift(value)));
}

KeywayValue *
kw_value_to_thrift(kw_value value)
{
    KeywayValue *to = g_object_new(KEYWAY_TYPE_VALUE, NULL);

    switch (value.kind) {
    case KW_VALUE_NONE:
        break;
    case KW_VALUE_FLAG:
        to->flag = value.flag;
        to->__isset_flag = TRUE;
        break;
    case KW_VALUE_NUMBER:
        to->number = value.number;
        to->__isset_number = TRUE;
        break;
    case KW_VALUE_REAL:
        to->real = value.real;
        to->__isset_real = TRUE;
        break;
    case KW_VALUE_TEXT:
        g_assert(value.text != NULL);
        to->text = g_strdup(value.text);
        to->__isset_text = TRUE;
        break;
    case KW_VALUE_BYTES:
        g_assert(value.bytes.size <= G_MAXUINT);
        to->bytes = g_byte_array_sized_new((guint)value.bytes.size);
        g_byte_array_append(to->bytes, value.bytes.data, (guint)value.bytes.size);
        to->__isset_bytes = TRUE;
        break;
    case KW_VALUE_MAP:
        copy_entries(value.entries, to->entries);
        to->__isset_entries = TRUE;
        break;
    }
    return to;
}

kw_value
kw_value_from_thrift(const KeywayValue *value)
{
    if (value == NULL)
        return (kw_value){.kind = KW_VALUE_NONE};
    if (value->__isset_flag)
        return kw_flag(value->flag);
    if (value->__isset_number)
        return kw_number(value->number);
    if (value->__isset_real)
        return kw_real(value->real);
    if (value->__isset_text)
        return kw_text(value->text == NULL ? "" : value->text);
    if (value->__isset_bytes)
        return kw_bytes_of(value->bytes->data, value->bytes->len);
    if (value->__isset_entries)
        return kw_map((const kw_record *)value->entries);
    return (kw_value){.kind = KW_VALUE_NONE};
}

kw_record *
kw_record_new(void)
{
    return (kw_record *)g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
}

kw_record *
kw_record_steal(GHashTable **place)
{
    return (kw_record *)g_steal_pointer(place);
}

kw_record *
kw_record_ref(kw_record *record)
{
    return (kw_record *)g_hash_table_ref(kw_record_table(record));
}

void
kw_record_unref(kw_record *record)
{
    g_hash_table_unref(kw_record_table(record));
}

void
kw_record_set(kw_record *record, const char *field, kw_value value)
{
    if (value.kind == KW_VALUE_NONE)
        g_hash_table_remove(kw_record_table(record), field);
    else
        g_hash_table_insert(kw_record_table(record), g_strdup(field), kw_value_to_thrift(value));
}

kw_value
kw_record_get(const kw_record *record, const char *field)
{
    return kw_value_from_thrift(g_hash_table_lookup(kw_record_table(record), field));
}

guint
kw_record_size(const kw_record *record)
{
    return g_hash_table_size(kw_record_table(record));
}

static gint
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **
kw_record_fields(const kw_record *record)
{
    guint count = 0;
    const char **names = (const char **)g_hash_table_get_keys_as_array(kw_record_table(record), &count);

    qsort(names, count, sizeof *names, compare_names);
    return names;
}
