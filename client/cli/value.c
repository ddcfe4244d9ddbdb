/* Values as people write them. */
#include "cli/value.h"

#include "cli/stamp.h"
#include "cli/text.h"

#include <errno.h>
#include <string.h>

void
kw_held_value_clear(kw_held_value *held)
{
    g_clear_pointer(&held->bytes, g_byte_array_unref);
}

const kw_field_info *
kw_field_named(const kw_table_info *table, const char *name, GError **error)
{
    const kw_field_info *field = kw_table_info_field(table, name);
    g_autofree const char **names = g_new0(const char *, table->fields->len + 1);
    const char *nearest;

    if (field != NULL)
        return field;
    for (guint i = 0; i < table->fields->len; i++)
        names[i] = ((const kw_field_info *)table->fields->pdata[i])->name;
    nearest = kw_text_nearest(name, names);
    if (nearest != NULL)
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                    "table %s has no field \"%s\"; did you mean \"%s\"?", table->name, name, nearest);
    else
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                    "table %s has no field \"%s\"; `keyway describe %s` lists them", table->name, name,
                    table->name);
    return NULL;
}

static bool
parse_flag(const char *text, kw_value *ret_value)
{
    const char *const yes[] = {"true", "yes", "1", NULL};
    const char *const no[] = {"false", "no", "0", NULL};

    *ret_value = kw_flag(g_strv_contains(yes, text));
    return ret_value->flag || g_strv_contains(no, text);
}

static bool
parse_real(const char *text, kw_value *ret_value)
{
    char *end = NULL;
    double real;

    errno = 0;
    real = g_ascii_strtod(text, &end);
    *ret_value = kw_real(real);
    return end != text && *end == '\0' && !g_ascii_isspace(text[0]) && errno == 0;
}

/* What the text should have been, or NULL when it is fine. */
static const char *
parse_as(const kw_field_info *field, const char *text, kw_held_value *held)
{
    gint64 number = 0;

    if (g_str_equal(field->type, "bool"))
        return parse_flag(text, &held->value) ? NULL : "true or false";
    if (g_str_equal(field->type, "double"))
        return parse_real(text, &held->value) ? NULL : "a number";
    if (g_str_equal(field->type, "int")) {
        bool ok =
            g_ascii_string_to_signed(text + (text[0] == '+'), 10, G_MININT64, G_MAXINT64, &number, NULL);

        held->value = kw_number(number);
        return ok ? NULL : "an integer of 64 bits";
    }
    if (g_str_equal(field->type, "timestamp")) {
        bool ok = kw_stamp_parse(text, field->unit, &number);

        held->value = kw_number(number);
        return ok ? NULL : "a timestamp like 2026-11-21T10:00:00Z, now-1h, or a number";
    }
    if (g_str_equal(field->type, "bytes")) {
        held->bytes = kw_text_to_bytes(text);
        held->value = kw_bytes_of(held->bytes->data, held->bytes->len);
        return NULL;
    }
    held->value = kw_text(text);
    return g_utf8_validate(text, -1, NULL) ? NULL : "text in UTF-8";
}

bool
kw_value_parse(const kw_table_info *table, const kw_field_info *field, const char *text,
               kw_held_value *ret_held, GError **error)
{
    const char *expected = parse_as(field, text, ret_held);
    g_autofree char *shown = NULL;

    if (expected == NULL)
        return true;
    shown = kw_text_for_terminal(text);
    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "table %s, field %s: \"%s\" is not %s%s%s",
                table->name, field->name, shown, expected, field->unit == NULL ? "" : " in ",
                field->unit == NULL ? "" : field->unit);
    return false;
}

bool
kw_word_split(const kw_table_info *table, const char *word, const kw_field_info **ret_field,
              const char **ret_text, GError **error)
{
    const char *equals = strchr(word, '=');
    g_autofree char *name = NULL;

    if (equals == NULL || equals == word) {
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "\"%s\" is not of the form FIELD=VALUE", word);
        return false;
    }
    name = g_strndup(word, (gsize)(equals - word));
    *ret_field = kw_field_named(table, name, error);
    *ret_text = equals + 1;
    return *ret_field != NULL;
}

bool
kw_record_parse(const kw_table_info *table, char *const *words, int count, kw_record *record, GError **error)
{
    for (int i = 0; i < count; i++) {
        g_auto(kw_held_value) held = {0};
        const kw_field_info *field;
        const char *text;

        if (!kw_word_split(table, words[i], &field, &text, error) ||
            !kw_value_parse(table, field, text, &held, error))
            return false;
        if (kw_record_get(record, field->name).kind != KW_VALUE_NONE) {
            g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "field %s is given twice", field->name);
            return false;
        }
        kw_record_set(record, field->name, held.value);
    }
    return true;
}

char *
kw_value_print(kw_value value, const kw_field_info *field, bool raw)
{
    switch (value.kind) {
    case KW_VALUE_NONE:
        return g_strdup("");
    case KW_VALUE_FLAG:
        return g_strdup(value.flag ? "true" : "false");
    case KW_VALUE_NUMBER:
        if (!raw && field != NULL && g_str_equal(field->type, "timestamp"))
            return kw_stamp_print(value.number, field->unit);
        return g_strdup_printf("%" G_GINT64_FORMAT, value.number);
    case KW_VALUE_REAL:
        return kw_text_from_real(value.real);
    case KW_VALUE_TEXT:
        return g_strdup(value.text);
    case KW_VALUE_BYTES:
        return kw_text_from_bytes(value.bytes.data, value.bytes.size);
    }
    g_assert_not_reached();
}
