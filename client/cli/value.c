/* Values as text for people. */
#include "cli/value.h"

#include "cli/json_text.h"
#include "cli/number.h"
#include "cli/stamp.h"
#include "cli/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

void
kw_held_value_clear(kw_held_value *held)
{
    g_clear_pointer(&held->bytes, g_byte_array_unref);
    g_clear_pointer(&held->entries, kw_record_unref);
}

static const kw_field_info *
find_field(const kw_table_info *table, const char *name, GError **error)
{
    const kw_field_info *field = kw_table_info_field(table, name);
    g_autofree const char **names = g_new0(const char *, table->fields->len + 1);
    const char *nearest;

    if (field != NULL)
        return field;
    for (guint i = 0; i < table->fields->len; i++)
        names[i] = ((const kw_field_info *)table->fields->pdata[i])->name;
    nearest = kw_text_nearest(name, names);
    if (*name != 0 && strchr("<>!", name[strlen(name) - 1]) != NULL)
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                    "table %s has no field \"%s\"; a query compares with --from, --after, --to and --through",
                    table->name, name);
    else if (nearest != NULL)
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                    "table %s has no field \"%s\"; did you mean \"%s\"?", table->name, name, nearest);
    else
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                    "table %s has no field \"%s\"; `keyway describe %s` lists them", table->name, name,
                    table->name);
    return NULL;
}

const kw_field_info *
kw_field_named(const kw_table_info *table, const char *name, const char **ret_entry, GError **error)
{
    const char *dot = strchr(name, '.');
    g_autofree char *own = dot == NULL ? g_strdup(name) : g_strndup(name, (gsize)(dot - name));
    const kw_field_info *field = find_field(table, own, error);

    *ret_entry = dot == NULL ? NULL : dot + 1;
    if (field == NULL || dot == NULL || (field->of != NULL && dot[1] != '\0'))
        return field;
    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                field->of == NULL ? "table %s: field %s is not a map and has no entries"
                                  : "table %s, field %s: the name of an entry is missing after the dot",
                table->name, field->name);
    return NULL;
}

/* The type of the values or entries. */
static const char *
type_of(const kw_field_info *field)
{
    return field->of == NULL ? field->type : field->of;
}

static bool
parse_flag(const char *text, kw_value *ret_value)
{
    const char *const yes[] = {"true", "yes", "t", "y", "1", NULL};
    const char *const no[] = {"false", "no", "f", "n", "0", NULL};
    g_autofree char *lower = g_ascii_strdown(text, -1); /* programs print true, True and TRUE */

    *ret_value = kw_flag(g_strv_contains(yes, lower));
    return ret_value->flag || g_strv_contains(no, lower);
}

/* Returns the expected form; NULL if the text is valid. */
static const char *
parse_real(const char *text, kw_value *ret_value)
{
    char *end = NULL;

    errno = 0;
    *ret_value = kw_real(g_ascii_strtod(text, &end));
    if (end == text || *end != '\0' || g_ascii_isspace(text[0]))
        return "a number";
    /* ERANGE is also set for small numbers that a double can hold with fewer digits. */
    if (errno != ERANGE || (ret_value->real != 0 && isfinite(ret_value->real)))
        return NULL;
    return ret_value->real == 0 ? "a number that a double can hold: it is too close to 0"
                                : "a number that a double can hold";
}

/* Returns what the text must be; NULL if it is valid. The caller frees the result. */
static char *
parse_stamp(const kw_field_info *field, const char *text, kw_held_value *held)
{
    g_autofree char *reason = NULL;
    gint64 number = 0;
    bool ok = kw_stamp_parse(text, field->unit, &number, &reason);

    held->value = kw_number(number);
    return ok ? NULL
              : g_strdup_printf("a timestamp like 2026-11-21T10:00:00Z, now-1h, or a number%s%s: %s",
                                field->unit == NULL ? "" : " in ", field->unit == NULL ? "" : field->unit,
                                reason);
}

static const char *
parse_bytes(const char *text, kw_held_value *held)
{
    held->bytes = kw_text_to_bytes(text);
    if (held->bytes == NULL)
        return "text in which two hexadecimal digits follow each \\x";
    held->value = kw_bytes_of(held->bytes->data, held->bytes->len);
    return NULL;
}

/* Returns what the text must be; NULL if it is valid. The caller frees the result. */
static char *
parse_as(const kw_field_info *field, const char *text, kw_held_value *held)
{
    const char *type = type_of(field);
    gint64 number = 0;

    if (g_str_equal(type, "bool"))
        return parse_flag(text, &held->value) ? NULL : g_strdup("true or false");
    if (g_str_equal(type, "double"))
        return g_strdup(parse_real(text, &held->value));
    if (g_str_equal(type, "int")) {
        bool ok = kw_integer_parse(text, &number);

        held->value = kw_number(number);
        return ok ? NULL : g_strdup("an integer of 64 bits");
    }
    if (g_str_equal(type, "timestamp"))
        return parse_stamp(field, text, held);
    if (g_str_equal(type, "bytes"))
        return g_strdup(parse_bytes(text, held));
    held->value = kw_text(text);
    return g_utf8_validate(text, -1, NULL) ? NULL : g_strdup("text in UTF-8");
}

static bool
not_a_value(const kw_table_info *table, const kw_field_info *field, const char *entry, const char *text,
            const char *expected, GError **error)
{
    g_autofree char *shown = kw_text_for_terminal(text);
    g_autofree char *of = entry == NULL ? g_strdup("") : kw_text_for_terminal(entry);

    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "table %s, field %s%s%s: \"%s\" is not %s",
                table->name, field->name, entry == NULL ? "" : ".", of, shown, expected);
    return false;
}

bool
kw_entries_parse(const kw_table_info *table, const kw_field_info *field, JsonObject *object,
                 kw_held_value *ret_held, GError **error)
{
    g_autoptr(GList) names = json_object_get_members(object);

    ret_held->entries = kw_record_new();
    ret_held->value = kw_map(ret_held->entries);
    for (GList *at = names; at != NULL; at = at->next) {
        JsonNode *node = json_object_get_member(object, at->data);
        g_autofree char *text = kw_text_of_json(node);
        g_auto(kw_held_value) held = {0};

        if (JSON_NODE_HOLDS_NULL(node))
            continue;
        if (text == NULL || *(const char *)at->data == '\0') {
            g_set_error(
                error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "table %s, field %s: %s", table->name, field->name,
                text == NULL ? "the value of an entry cannot be an array or object" : "an entry has no name");
            return false;
        }
        if (!kw_value_parse(table, field, at->data, text, &held, error))
            return false;
        kw_record_set(ret_held->entries, at->data, held.value);
    }
    return true;
}

static bool
parse_map(const kw_table_info *table, const kw_field_info *field, const char *text, kw_held_value *ret_held,
          GError **error)
{
    g_autoptr(JsonNode) root = kw_json_read(text, strlen(text), NULL);

    if (root == NULL || !JSON_NODE_HOLDS_OBJECT(root))
        return not_a_value(table, field, NULL, text, "a JSON object of entries", error);
    return kw_entries_parse(table, field, json_node_get_object(root), ret_held, error);
}

bool
kw_value_parse(const kw_table_info *table, const kw_field_info *field, const char *entry, const char *text,
               kw_held_value *ret_held, GError **error)
{
    g_autofree char *expected = NULL;

    if (field->of != NULL && entry == NULL)
        return parse_map(table, field, text, ret_held, error);
    expected = parse_as(field, text, ret_held);
    return expected == NULL || not_a_value(table, field, entry, text, expected, error);
}

/* Splits at the first '='. */
static const kw_field_info *
split_word(const kw_table_info *table, const char *word, const char **ret_entry, char **ret_name,
           const char **ret_text, GError **error)
{
    const char *equals = strchr(word, '=');

    if (equals == NULL || equals == word) {
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "\"%s\" is not of the form FIELD=VALUE", word);
        return NULL;
    }
    *ret_name = g_strndup(word, (gsize)(equals - word));
    *ret_text = equals + 1;
    return kw_field_named(table, *ret_name, ret_entry, error);
}

bool
kw_word_split(const kw_table_info *table, const char *word, const kw_field_info **ret_field,
              const char **ret_text, GError **error)
{
    g_autofree char *name = NULL;
    const char *entry;

    *ret_field = split_word(table, word, &entry, &name, ret_text, error);
    if (*ret_field == NULL || entry == NULL)
        return *ret_field != NULL;
    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                "table %s: %s is an entry of a map; a field is expected", table->name, name);
    return false;
}

kw_value
kw_record_find(const kw_record *record, const char *field, const char *entry)
{
    kw_value value = kw_record_get(record, field);

    if (entry == NULL)
        return value;
    return value.kind == KW_VALUE_MAP ? kw_record_get(value.entries, entry)
                                      : (kw_value){.kind = KW_VALUE_NONE};
}

bool
kw_record_add(kw_record *record, const kw_field_info *field, const char *entry, kw_value value,
              GError **error)
{
    g_autoptr(kw_record) entries = NULL;
    kw_value had = kw_record_get(record, field->name);

    if (kw_record_find(record, field->name, entry).kind != KW_VALUE_NONE) {
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "field %s%s%s is given twice", field->name,
                    entry == NULL ? "" : ".", entry == NULL ? "" : entry);
        return false;
    }
    if (entry == NULL) {
        kw_record_set(record, field->name, value);
        return true;
    }
    entries = kw_record_new();
    if (had.kind == KW_VALUE_MAP) {
        g_autofree const char **names = kw_record_fields(had.entries);

        for (const char **name = names; *name != NULL; name++)
            kw_record_set(entries, *name, kw_record_get(had.entries, *name));
    }
    kw_record_set(entries, entry, value);
    kw_record_set(record, field->name, kw_map(entries));
    return true;
}

bool
kw_record_parse(const kw_table_info *table, char *const *words, int count, kw_record *record, GError **error)
{
    for (int i = 0; i < count; i++) {
        g_auto(kw_held_value) held = {0};
        g_autofree char *name = NULL;
        const char *text, *entry;
        const kw_field_info *field = split_word(table, words[i], &entry, &name, &text, error);

        if (field == NULL || !kw_value_parse(table, field, entry, text, &held, error) ||
            !kw_record_add(record, field, entry, held.value, error))
            return false;
    }
    return true;
}

static bool
is_stamp(kw_value value, const kw_field_info *field, bool raw)
{
    return !raw && value.kind == KW_VALUE_NUMBER && field != NULL && g_str_equal(type_of(field), "timestamp");
}

static void
append_entries(GString *to, const kw_record *entries, const kw_field_info *field, bool raw)
{
    g_autofree const char **names = kw_record_fields(entries);

    g_string_append_c(to, '{');
    for (const char **name = names; *name != NULL; name++) {
        g_string_append(to, name == names ? "" : ", ");
        kw_text_append_json(to, *name);
        g_string_append(to, ": ");
        kw_value_append_json(to, kw_record_get(entries, *name), field, raw);
    }
    g_string_append_c(to, '}');
}

void
kw_value_append_json(GString *to, kw_value value, const kw_field_info *field, bool raw)
{
    g_autofree char *text = NULL;
    bool bare = value.kind == KW_VALUE_FLAG ||
                (value.kind == KW_VALUE_NUMBER && !is_stamp(value, field, raw)) ||
                (value.kind == KW_VALUE_REAL && isfinite(value.real));

    if (value.kind == KW_VALUE_MAP) {
        append_entries(to, value.entries, field, raw);
        return;
    }
    text = kw_value_print(value, field, raw);
    if (bare)
        g_string_append(to, text);
    else
        kw_text_append_json(to, text);
}

char *
kw_value_print(kw_value value, const kw_field_info *field, bool raw)
{
    GString *text;

    switch (value.kind) {
    case KW_VALUE_NONE:
        return g_strdup("");
    case KW_VALUE_FLAG:
        return g_strdup(value.flag ? "true" : "false");
    case KW_VALUE_NUMBER:
        if (is_stamp(value, field, raw))
            return kw_stamp_print(value.number, field->unit);
        return g_strdup_printf("%" G_GINT64_FORMAT, value.number);
    case KW_VALUE_REAL:
        return kw_text_from_real(value.real);
    case KW_VALUE_TEXT:
        return g_strdup(value.text);
    case KW_VALUE_BYTES:
        return kw_text_from_bytes(value.bytes.data, value.bytes.size);
    case KW_VALUE_MAP:
        text = g_string_new(NULL);
        append_entries(text, value.entries, field, raw);
        return g_string_free(text, FALSE);
    }
    g_assert_not_reached();
}

char *
kw_record_print(const kw_table_info *table, const kw_record *record, bool raw)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < table->fields->len; i++) {
        const kw_field_info *field = table->fields->pdata[i];
        kw_value value = kw_record_get(record, field->name);

        if (value.kind != KW_VALUE_NONE) {
            g_autofree char *shown = kw_value_print(value, field, raw);

            g_string_append_printf(text, "%s%s=%s", text->len == 0 ? "" : " ", field->name, shown);
        }
    }
    return g_string_free(text, FALSE);
}
