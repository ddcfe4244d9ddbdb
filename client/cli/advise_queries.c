/* Reads queries from a file: one per line, as JSON or as the arguments of a command. */
#include "cli/advise.h"
#include "cli/file.h"
#include "cli/json_text.h"
#include "cli/query_words.h"

#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX (4 << 20)

static void
query_free(gpointer item)
{
    kw_advise_query *query = item;

    g_free(query->name);
    kw_query_free(query->query);
    g_free(query);
}

static bool
wrong(GError **error, const char *what, const char *word)
{
    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "%s \"%s\"", what, word);
    return false;
}

/* Applies `latest`: descending order and one row, unless the query sets asc or a limit. */
static void
limit_to_latest(kw_query_words *words)
{
    words->descending = !words->ascending;
    if (words->limit == 0)
        words->limit = 1;
}

/* --- arguments ------------------------------------------------------------------------------------ */

/* Removes "keyway", the command and the table's name from the beginning, as far as they are there. */
static bool
skip_command(const kw_table_info *table, char ***words, int *count, bool *ret_latest, GError **error)
{
    static const char *const commands[] = {"scan", "latest", "get", "explain", NULL};

    *ret_latest = false;
    if (*count > 0 && g_str_equal(**words, "keyway")) {
        ++*words;
        --*count;
    }
    if (*count > 0 && g_strv_contains(commands, **words)) {
        *ret_latest = g_str_equal(**words, "latest");
        ++*words;
        --*count;
    }
    if (*count > 0 && (**words)[0] != '-' && strchr(**words, '=') == NULL) {
        if (!g_str_equal(**words, table->name))
            return wrong(error, "all queries must be on the same table, not on", **words);
        ++*words;
        --*count;
    }
    return true;
}

static kw_query *
query_of_words(const char *line, const kw_table_info *table, GError **error)
{
    g_auto(kw_query_words) words = {0};
    g_auto(GStrv) split = NULL;
    g_autofree char **all = NULL;
    char **rest;
    int count;
    bool latest;
    g_autoptr(kw_options) options = NULL;

    if (!g_shell_parse_argv(line, &count, &split, error))
        return NULL;
    rest = split;
    if (!skip_command(table, &rest, &count, &latest, error))
        return NULL;
    all = g_new0(char *, (gsize)count + 2); /* the option parser reorders arguments */
    all[0] = (char *)"query";
    memcpy(all + 1, rest, (gsize)count * sizeof *all);
    count++;
    options = kw_options_new(NULL, NULL);
    kw_query_words_add_options(&words, options);
    if (!kw_options_parse(options, &count, all, error))
        return NULL;
    if (latest)
        limit_to_latest(&words);
    return kw_query_from_words(&words, table, all + 1, count - 1, error);
}

/* The name of a query: the comment after the arguments, otherwise the whole line. */
static char *
name_of_words(const char *line)
{
    const char *comment = strstr(line, " #");

    return g_strstrip(g_strdup(comment == NULL ? line : comment + 2));
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* The values of an array as one text, separated by commas; a comma within a value is escaped by a backslash.
 * Not an array: the value alone. NULL: a value is missing. */
static char *
text_of_list(JsonNode *node)
{
    g_autoptr(GString) text = g_string_new(NULL);
    JsonArray *array = JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;

    for (guint i = 0; array != NULL && i < json_array_get_length(array); i++) {
        g_autofree char *one = kw_text_of_json(json_array_get_element(array, i));

        if (one == NULL)
            return NULL;
        g_string_append(text, i == 0 ? "" : ",");
        for (const char *at = one; *at != '\0'; at++)
            g_string_append_printf(text, *at == ',' ? "\\%c" : "%c", *at);
    }
    return array == NULL ? kw_text_of_json(node) : g_string_free(g_steal_pointer(&text), FALSE);
}

/* Converts {"FIELD": VALUE, ...} to arguments FIELD=VALUE. */
static char **
words_of_object(const char *key, JsonNode *node, bool lists, GError **error)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    g_autoptr(GList) names = object == NULL ? NULL : json_object_get_members(object);

    for (GList *name = names; name != NULL; name = name->next) {
        JsonNode *value = json_object_get_member(object, name->data);
        g_autofree char *text = lists ? text_of_list(value) : kw_text_of_json(value);

        if (text == NULL) {
            wrong(error, "there is no value for", name->data);
            return NULL;
        }
        g_ptr_array_add(words, g_strdup_printf("%s=%s", (char *)name->data, text));
    }
    if (object == NULL) {
        wrong(error, "an object of fields is required for", key);
        return NULL;
    }
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_steal(words, NULL);
}

static void
replace_text(char **place, const char *text)
{
    g_free(*place);
    *place = g_strdup(text);
}

/* Converts {"FIELD": VALUE}, which must have exactly one field, to FIELD=VALUE. */
static bool
word_of_object(const char *key, JsonNode *node, char **place, GError **error)
{
    g_auto(GStrv) words = words_of_object(key, node, false, error);

    if (words == NULL)
        return false;
    if (g_strv_length(words) != 1)
        return wrong(error, "exactly one field is required in", key);
    replace_text(place, words[0]);
    return true;
}

static bool
read_order(JsonNode *node, kw_query_words *words, GError **error)
{
    g_autofree char *text = kw_text_of_json(node);

    words->ascending = text != NULL && g_str_has_prefix(text, "asc");
    words->descending = text != NULL && g_str_has_prefix(text, "desc");
    return words->ascending || words->descending || wrong(error, "asc or desc is required for", "order");
}

/* Reads the other members, which have one value or a list of values. Rejects unknown members. */
static bool
read_text(const char *key, JsonNode *node, kw_query_words *words, const kw_table_info *table, GError **error)
{
    g_autofree char *text = text_of_list(node);

    if (text == NULL)
        return wrong(error, "there is no value for", key);
    if (g_str_equal(key, "limit"))
        words->limit = g_ascii_strtoll(text, NULL, 10);
    else if (g_str_equal(key, "path"))
        replace_text(&words->path, text);
    else if (g_str_equal(key, "columns"))
        replace_text(&words->columns, text);
    else if (g_str_equal(key, "filter"))
        replace_text(&words->filter, text);
    else if (g_str_equal(key, "full_scan"))
        words->full_scan = g_str_equal(text, "true");
    else if (g_str_equal(key, "table"))
        return g_str_equal(text, table->name) ||
               wrong(error, "all queries must be on the same table, not on", text);
    else if (!g_str_equal(key, "name") && !g_str_equal(key, "latest"))
        return wrong(error, "unknown member", key);
    return true;
}

static bool
read_member(const char *key, JsonNode *node, kw_query_words *words, const kw_table_info *table,
            GError **error)
{
    if (g_str_equal(key, "where"))
        return (words->where = words_of_object(key, node, false, error)) != NULL;
    if (g_str_equal(key, "any"))
        return (words->any = words_of_object(key, node, true, error)) != NULL;
    if (g_str_equal(key, "from"))
        return word_of_object(key, node, &words->from, error);
    if (g_str_equal(key, "after"))
        return word_of_object(key, node, &words->after, error);
    if (g_str_equal(key, "to"))
        return word_of_object(key, node, &words->to, error);
    if (g_str_equal(key, "through"))
        return word_of_object(key, node, &words->through, error);
    if (g_str_equal(key, "order"))
        return read_order(node, words, error);
    return read_text(key, node, words, table, error);
}

static kw_query *
query_of_json(const char *line, const kw_table_info *table, char **ret_name, GError **error)
{
    g_auto(kw_query_words) words = {0};
    g_autoptr(JsonNode) root = kw_json_read(line, strlen(line), error);
    JsonObject *object;
    g_autoptr(GList) names = NULL;

    if (root == NULL)
        return NULL;
    object = json_node_get_object(root);
    names = json_object_get_members(object);
    for (GList *name = names; name != NULL; name = name->next)
        if (!read_member(name->data, json_object_get_member(object, name->data), &words, table, error))
            return NULL;
    if (json_object_get_boolean_member_with_default(object, "latest", FALSE))
        limit_to_latest(&words);
    *ret_name = g_strdup(json_object_get_string_member_with_default(object, "name", line));
    return kw_query_from_words(&words, table, NULL, 0, error);
}

/* --- the file --------------------------------------------------------------------------------- */

static bool
add_line(GPtrArray *queries, char *line, const kw_table_info *table, GError **error)
{
    kw_advise_query *named;
    kw_query *query;
    char *name = NULL;

    g_strstrip(line);
    if (line[0] == '\0' || line[0] == '#')
        return true;
    if (line[0] == '{')
        query = query_of_json(line, table, &name, error);
    else
        query = query_of_words(line, table, error);
    if (query == NULL) {
        g_free(name);
        return false;
    }
    named = g_new0(kw_advise_query, 1);
    named->name = name != NULL ? name : name_of_words(line);
    named->query = query;
    g_ptr_array_add(queries, named);
    return true;
}

GPtrArray *
kw_advise_queries_parse(const char *text, const char *path, const kw_table_info *table, GError **error)
{
    g_autoptr(GPtrArray) queries = g_ptr_array_new_with_free_func(query_free);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (guint i = 0; lines[i] != NULL; i++)
        if (!add_line(queries, lines[i], table, error)) {
            g_prefix_error(error, "%s:%u: ", path, i + 1);
            return NULL;
        }
    return g_steal_pointer(&queries);
}

GPtrArray *
kw_advise_queries_read(const char *path, const kw_table_info *table, GError **error)
{
    g_autofree char *text = kw_file_text(path, FILE_BYTES_MAX, error);

    return text == NULL ? NULL : kw_advise_queries_parse(text, path, table, error);
}
