/* Lookups in a table, and the check of a value against its field. */
#include "schema/policy.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

int
kw_table_find_field(const kw_table *table, kw_bytes name)
{
    return kw_field_set_find(table->field_set, name);
}

const char *
kw_table_nearest_field(const kw_table *table, kw_bytes name)
{
    return kw_field_set_nearest(table->field_set, name);
}

static int
find_path(const kw_table *table, size_t count, kw_bytes name)
{
    for (size_t index = 0; index < count; index++) {
        if (kw_bytes_equal(kw_bytes_of_text(table->paths[index].name), name))
            return (int)index;
    }
    return -1;
}

int
kw_table_find_path(const kw_table *table, kw_bytes name)
{
    return find_path(table, table->paths_count, name);
}

int
kw_table_find_queried_path(const kw_table *table, kw_bytes name)
{
    return find_path(table, table->queried_paths_count, name);
}

int
kw_table_find_column(const kw_table *table, kw_bytes family, kw_bytes qualifier)
{
    for (size_t index = 0; index < table->fields_count; index++) {
        const kw_field *field = &table->fields[index];
        if (field->entry ? kw_field_has_column(field, family, qualifier)
                         : field->stored && kw_bytes_equal(field->qualifier, qualifier) &&
                               kw_bytes_equal(field->family, family))
            return (int)index;
    }
    return -1;
}

kw_record
kw_record_new(const kw_table *table, kw_arena *arena)
{
    return kw_record_over(table->field_set, arena);
}

static const char *
kind_name(kw_value_kind kind)
{
    switch (kind) {
    case KW_VALUE_NONE:
        return "nothing";
    case KW_VALUE_FLAG:
        return "flag";
    case KW_VALUE_NUMBER:
        return "number";
    case KW_VALUE_REAL:
        return "real";
    case KW_VALUE_TEXT:
        return "text";
    case KW_VALUE_BYTES:
        return "bytes";
    case KW_VALUE_MAP:
        return "map";
    }
    g_assert_not_reached();
}

static bool
check_kind(const kw_table *table, const kw_field *field, kw_value value, kw_error *ret_error)
{
    kw_value_kind wanted = kw_field_value_kind(field->type);
    if (value.kind == wanted || (wanted == KW_VALUE_REAL && value.kind == KW_VALUE_NUMBER))
        return true;
    return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: needs a value of kind %s, not %s",
                        table->name, field->name, kind_name(wanted), kind_name(value.kind));
}

static bool
fits_four_bytes(const kw_field *field, kw_value value)
{
    if (value.kind == KW_VALUE_NUMBER && field->type != KW_FIELD_DOUBLE)
        return value.number >= INT32_MIN && value.number <= INT32_MAX;
    double real = value.kind == KW_VALUE_NUMBER ? (double)value.number : value.real;
    return !isfinite(real) || isfinite((float)real);
}

static bool
check_size(const kw_table *table, const kw_field *field, kw_value value, kw_error *ret_error)
{
    bool short_cell = field->stored && (field->form == KW_CELL_RAW_BE4 || field->form == KW_CELL_PHOENIX4);
    if (short_cell && !fits_four_bytes(field, value)) {
        char shown[80];
        kw_value_print(value, shown, sizeof shown);
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s, field %s: value %s does not fit into its column's 4 bytes",
                            table->name, field->name, shown);
    }
    if (value.kind != KW_VALUE_TEXT && value.kind != KW_VALUE_BYTES)
        return true;
    if (field->max_bytes > 0 && value.bytes.size > field->max_bytes)
        return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: has %zu bytes; the maximum is %zu",
                            table->name, field->name, value.bytes.size, field->max_bytes);
    if (value.kind == KW_VALUE_TEXT && !kw_utf8_valid(value.bytes))
        return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: is not UTF-8", table->name,
                            field->name);
    return true;
}

/* Declared values are texts in the policy. */
static bool
is_declared(const kw_value value, const char *text)
{
    switch (value.kind) {
    case KW_VALUE_FLAG:
        return strcmp(text, value.flag ? "true" : "false") == 0;
    case KW_VALUE_NUMBER:
        return strtoll(text, NULL, 10) == value.number;
    case KW_VALUE_REAL:
        return g_ascii_strtod(text, NULL) == value.real;
    case KW_VALUE_TEXT:
    case KW_VALUE_BYTES:
        return kw_bytes_equal(kw_bytes_of_text(text), value.bytes);
    case KW_VALUE_MAP:
    case KW_VALUE_NONE:
        return false;
    }
    g_assert_not_reached();
}

#define DECLARED_SHOWN 8

/* "; use one of a, b, c, or 5 more". */
static char *
list_declared(const kw_model_field *field)
{
    GString *text = g_string_new("; use one of ");
    for (size_t index = 0; index < MIN(field->values_count, DECLARED_SHOWN); index++)
        g_string_append_printf(text, "%s%s", index ? ", " : "", field->values[index]);
    if (field->values_count > DECLARED_SHOWN)
        g_string_append_printf(text, ", or %zu more", field->values_count - DECLARED_SHOWN);
    return g_string_free(text, FALSE);
}

static bool
check_declared(const kw_table *table, const kw_field *field, kw_value value, kw_error *ret_error)
{
    const kw_model_field *model = field->model;
    for (size_t index = 0; index < model->values_count; index++) {
        if (is_declared(value, model->values[index]))
            return true;
    }
    if (model->values_count == 0)
        return true;
    char shown[80];
    kw_value_print(value, shown, sizeof shown);
    g_autofree char *wrong = value.kind == KW_VALUE_TEXT && value.bytes.size <= KW_GUESS_MAX
                                 ? g_strndup((const char *)value.bytes.data, value.bytes.size)
                                 : NULL;
    g_autofree const char **names = g_new0(const char *, model->values_count + 1);
    memcpy(names, model->values, model->values_count * sizeof *names);
    const char *near = wrong ? kw_nearest_name(wrong, names) : NULL;
    g_autofree char *help = near ? g_strdup_printf("; did you mean \"%s\"?", near) : list_declared(model);
    return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: value %s is not a declared value%s",
                        table->name, field->name, shown, help);
}

static bool
check_one(const kw_table *table, const kw_field *field, kw_value value, kw_error *ret_error)
{
    return check_kind(table, field, value, ret_error) && check_size(table, field, value, ret_error) &&
           check_declared(table, field, value, ret_error);
}

static bool
check_entry(const kw_table *table, const kw_field *map, kw_entry entry, kw_error *ret_error)
{
    char shown[80];
    if (entry.name.size == 0)
        return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: an entry has no name", table->name,
                            map->name);
    if (!kw_utf8_valid(entry.name))
        return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: the name of an entry is not UTF-8",
                            table->name, map->name);
    if (check_one(table, map->entry, entry.value, ret_error))
        return true;
    kw_value_print((kw_value){.kind = KW_VALUE_TEXT, .bytes = entry.name}, shown, sizeof shown);
    return kw_error_prefix(ret_error, "entry %s", shown);
}

bool
kw_table_check_value(const kw_table *table, size_t number, kw_value value, kw_error *ret_error)
{
    g_assert(number < table->fields_count);
    const kw_field *field = &table->fields[number];
    if (!field->entry || value.kind != KW_VALUE_MAP)
        return check_one(table, field, value, ret_error);
    for (size_t index = 0; index < value.entries_count; index++)
        if (!check_entry(table, field, value.entries[index], ret_error))
            return false;
    return true;
}

bool
kw_table_check_pick(const kw_table *table, kw_pick pick, kw_value value, kw_error *ret_error)
{
    g_assert(pick.field < table->fields_count);
    if (pick.entry.size == 0)
        return kw_table_check_value(table, pick.field, value, ret_error);
    return check_entry(table, &table->fields[pick.field], (kw_entry){pick.entry, value}, ret_error);
}
