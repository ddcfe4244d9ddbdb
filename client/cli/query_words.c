#include "cli/query_words.h"

#include "cli/value.h"

#include <string.h>

void
kw_query_words_clear(kw_query_words *words)
{
    g_strfreev(words->where);
    g_strfreev(words->any);
    g_free(words->from);
    g_free(words->after);
    g_free(words->to);
    g_free(words->through);
    g_free(words->path);
    g_free(words->columns);
    g_free(words->filter);
}

/* Parses one end of the range. */
static gboolean
parse_end(const char *option, const char *value, gpointer user, GError **error)
{
    kw_query_words *words = user;
    char **end = g_str_equal(option, "--from")    ? &words->from
                 : g_str_equal(option, "--after") ? &words->after
                 : g_str_equal(option, "--to")    ? &words->to
                                                  : &words->through;

    if (*end != NULL) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "%s is given twice; a query has only one range", option);
        return FALSE;
    }
    *end = g_strdup(value);
    return TRUE;
}

void
kw_query_words_add_options(kw_query_words *words, kw_options *options)
{
    const gint only_rows = words->only_selects ? G_OPTION_FLAG_HIDDEN : 0;
    const GOptionEntry entries[] = {
        {"where", 'w', 0, G_OPTION_ARG_STRING_ARRAY, &words->where, "The field has this value (repeatable)",
         "FIELD=VALUE"},
        {"any", 0, 0, G_OPTION_ARG_STRING_ARRAY, &words->any,
         "The field has one of these values; \\, is a comma", "FIELD=VALUE,..."},
        {"from", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)parse_end,
         "The field is greater than or equal to VALUE", "FIELD=VALUE"},
        {"after", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)parse_end, "The field is greater than VALUE",
         "FIELD=VALUE"},
        {"to", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)parse_end, "The field is less than VALUE",
         "FIELD=VALUE"},
        {"through", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)parse_end,
         "The field is less than or equal to VALUE", "FIELD=VALUE"},
        {"asc", 0, only_rows, G_OPTION_ARG_NONE, &words->ascending, "Ascending order", NULL},
        {"desc", 0, only_rows, G_OPTION_ARG_NONE, &words->descending, "Descending order", NULL},
        {"limit", 'n', 0, G_OPTION_ARG_INT64, &words->limit, "Maximum number of rows; 0: no limit", "ROWS"},
        {"columns", 'c', only_rows, G_OPTION_ARG_STRING, &words->columns,
         "Fields and entries (MAP.NAME) to print in addition to the key", "FIELD,..."},
        {"path", 'p', 0, G_OPTION_ARG_STRING, &words->path, "Path to use [the gateway's choice]", "PATH"},
        {"filter", 0, 0, G_OPTION_ARG_STRING, &words->filter, "Filter in HBase's filter language", "FILTER"},
        {"full-scan", 0, only_rows, G_OPTION_ARG_NONE, &words->full_scan, "Allow reading a whole table",
         NULL},
        {"skip-undecodable", 0, 0, G_OPTION_ARG_NONE, &words->skip_undecodable,
         "Skip and count rows that cannot be decoded", NULL},
        {"page-rows", 0, 0, G_OPTION_ARG_INT, &words->page_rows, "Rows per page", "ROWS"},
        {"page-bytes", 0, 0, G_OPTION_ARG_INT, &words->page_bytes, "Approximate bytes per page", "BYTES"},
        G_OPTION_ENTRY_NULL};

    kw_options_add(options, "query", "Query options:", words, entries);
}

/* Removes the next value from *text and returns it. It ends at a comma that no backslash precedes. *text is
 * NULL after the last value. */
static char *
next_value(const char **text)
{
    GString *value = g_string_new(NULL);

    for (; **text != '\0' && **text != ','; ++*text) {
        if ((*text)[0] == '\\' && (*text)[1] == ',')
            ++*text;
        g_string_append_c(value, **text);
    }
    *text = **text == ',' ? *text + 1 : NULL;
    return g_string_free(value, FALSE);
}

char **
kw_columns_split(const kw_table_info *table, const char *text, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    const char *entry;

    while (text != NULL && *text != '\0') {
        char *name = g_strstrip(next_value(&text));

        g_ptr_array_add(names, name);
        if (kw_field_named(table, name, &entry, error) == NULL)
            return NULL;
    }
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}

/* The arguments and the words of --where bind fields in the same way. */
static bool
add_where(kw_query *query, const kw_table_info *table, char *const *words, int count, char *const *more,
          GError **error)
{
    g_autoptr(kw_record) bound = kw_record_new();
    g_autofree const char **fields = NULL;
    int more_count = more == NULL ? 0 : (int)g_strv_length((char **)more);

    if (!kw_record_parse(table, words, count, bound, error) ||
        !kw_record_parse(table, more, more_count, bound, error))
        return false;
    fields = kw_record_fields(bound);
    for (const char **field = fields; *field != NULL; field++)
        kw_query_where(query, *field, kw_record_get(bound, *field));
    return true;
}

static bool
add_any(kw_query *query, const kw_table_info *table, const char *word, GError **error)
{
    const kw_field_info *field;
    const char *rest;

    if (!kw_word_split(table, word, &field, &rest, error))
        return false;
    while (rest != NULL) {
        g_autofree char *text = next_value(&rest);
        g_auto(kw_held_value) held = {0};

        if (!kw_value_parse(table, field, NULL, text, &held, error))
            return false;
        kw_query_where_any(query, field->name, held.value);
    }
    return true;
}

typedef void (*set_end)(kw_query *query, const char *field, kw_value value, bool inclusive);

static bool
add_end(kw_query *query, const kw_table_info *table, const char *word, set_end set, bool inclusive,
        const char **range_field, GError **error)
{
    g_auto(kw_held_value) held = {0};
    const kw_field_info *field;
    const char *text;

    if (word == NULL)
        return true;
    if (!kw_word_split(table, word, &field, &text, error) ||
        !kw_value_parse(table, field, NULL, text, &held, error))
        return false;
    if (*range_field != NULL && !g_str_equal(*range_field, field->name)) {
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                    "the range starts on field %s and ends on field %s; use one field for both ends",
                    *range_field, field->name);
        return false;
    }
    *range_field = field->name;
    set(query, field->name, held.value, inclusive);
    return true;
}

static bool
add_range(kw_query *query, const kw_query_words *words, const kw_table_info *table, GError **error)
{
    const char *field = NULL;

    return add_end(query, table, words->from, kw_query_from, true, &field, error) &&
           add_end(query, table, words->after, kw_query_from, false, &field, error) &&
           add_end(query, table, words->to, kw_query_to, false, &field, error) &&
           add_end(query, table, words->through, kw_query_to, true, &field, error);
}

/* Rejects options that exclude each other, and invalid numbers. */
static bool
check_words(const kw_query_words *words, GError **error)
{
    const char *wrong = NULL;

    if (words->only_selects && (words->ascending || words->descending || words->columns != NULL))
        wrong = "--asc, --desc and --columns do not change the count";
    else if (words->ascending && words->descending)
        wrong = "--asc and --desc cannot be combined";
    else if (words->from != NULL && words->after != NULL)
        wrong = "--from and --after cannot be combined";
    else if (words->to != NULL && words->through != NULL)
        wrong = "--to and --through cannot be combined";
    else if (words->limit < 0 || words->page_rows < 0 || words->page_bytes < 0)
        wrong = "--limit, --page-rows and --page-bytes must not be negative";
    if (wrong != NULL)
        g_set_error_literal(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, wrong);
    return wrong == NULL;
}

static bool
add_columns(kw_query *query, const kw_query_words *words, const kw_table_info *table, GError **error)
{
    g_auto(GStrv) names = kw_columns_split(table, words->columns, error);

    for (char **name = names; name != NULL && *name != NULL; name++)
        kw_query_column(query, *name);
    return names != NULL;
}

static void
add_rest(kw_query *query, const kw_query_words *words)
{
    if (words->ascending || words->descending)
        kw_query_order(query, words->descending);
    if (words->path != NULL)
        kw_query_path(query, words->path);
    if (words->filter != NULL)
        kw_query_filter(query, words->filter);
    if (words->limit > 0)
        kw_query_limit(query, words->limit);
    if (words->full_scan)
        kw_query_full_scan(query, true);
    if (words->skip_undecodable)
        kw_query_skip_undecodable(query, true);
    kw_query_page(query, words->page_rows, words->page_bytes);
}

kw_query *
kw_query_from_words(const kw_query_words *words, const kw_table_info *table, char *const *bound,
                    int bound_count, GError **error)
{
    g_autoptr(kw_query) query = kw_query_new(table->name);

    if (!check_words(words, error) || !add_where(query, table, bound, bound_count, words->where, error) ||
        !add_range(query, words, table, error) || !add_columns(query, words, table, error))
        return NULL;
    for (char **word = words->any; word != NULL && *word != NULL; word++)
        if (!add_any(query, table, *word, error))
            return NULL;
    add_rest(query, words);
    return g_steal_pointer(&query);
}

void
kw_query_report_skipped(gint64 rows)
{
    if (rows > 0)
        g_printerr("keyway: skipped %" G_GINT64_FORMAT " row%s that cannot be decoded\n", rows,
                   rows == 1 ? "" : "s");
}
