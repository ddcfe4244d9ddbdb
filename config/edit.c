/* See edit.h. The parser counts positions in characters, and the text is bytes: the copy walks through both.
 */
#include "config/edit.h"

#include "config/node.h"

#include <string.h>

/* Replaces the characters from `start` to `end`. */
typedef struct edit {
    size_t start, end;
    char *text;
    size_t number; /* in the order of the settings, which edits of the same place keep */
} edit;

static void
edit_clear(void *item)
{
    g_free(((edit *)item)->text);
}

static int
compare_edits(const void *a, const void *b)
{
    const edit *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static const kw_node *
find_map(const kw_node *map, const char *key)
{
    const kw_node *found = map ? kw_node_find(map, key) : NULL;
    return found && found->kind == KW_NODE_MAP && found->count > 0 ? found : NULL;
}

static const kw_node *
find_place(const kw_node *root, const kw_table_setting *setting)
{
    const kw_node *table = find_map(find_map(root, "tables"), setting->table);
    return strcmp(setting->path, "primary") == 0 ? table : find_map(find_map(table, "paths"), setting->path);
}

/* A map in braces begins before its first key; another one begins with it. */
static edit
add_setting(const kw_node *place, const kw_table_setting *setting, size_t number)
{
    const kw_node *first = place->keys[0];
    bool braces = place->mark.line != first->mark.line || place->mark.column != first->mark.column;
    char *text = braces ? g_strdup_printf("%s: %s, ", setting->name, setting->value)
                        : g_strdup_printf("%s: %s\n%*s", setting->name, setting->value,
                                          (int)first->mark.column - 1, "");
    return (edit){first->start, first->start, text, number};
}

static bool
plan(const kw_node *root, const kw_table_setting *settings, size_t count, GArray *edits)
{
    for (size_t i = 0; i < count; i++) {
        const kw_node *place = find_place(root, &settings[i]);
        const kw_node *value = place ? kw_node_find(place, settings[i].name) : NULL;
        if (!place || (value && value->kind != KW_NODE_SCALAR))
            return false;
        edit planned = value ? (edit){value->start, value->end, g_strdup(settings[i].value), i}
                             : add_setting(place, &settings[i], i);
        g_array_append_val(edits, planned);
    }
    g_array_sort(edits, compare_edits);
    return true;
}

static void
copy_characters(GString *to, const char **from, const char *end, size_t *at, size_t until)
{
    const char *start = *from;
    while (*at < until && *from < end) {
        *from = g_utf8_next_char(*from);
        (*at)++;
    }
    g_string_append_len(to, start, *from - start);
}

static char *
apply(const char *text, size_t size, const GArray *edits)
{
    GString *to = g_string_sized_new(size);
    const char *from = text, *end = text + size;
    size_t at = 0;
    for (guint i = 0; i < edits->len; i++) {
        const edit *each = &g_array_index(edits, edit, i);
        copy_characters(to, &from, end, &at, each->start);
        g_string_append(to, each->text);
        for (; at < each->end && from < end; at++)
            from = g_utf8_next_char(from);
    }
    g_string_append_len(to, from, end - from);
    return g_string_free(to, FALSE);
}

char *
kw_text_with_settings(const char *text, size_t size, const kw_table_setting *settings, size_t count)
{
    static const char mark[] = "\xef\xbb\xbf"; /* a byte order mark, which the parser does not count */
    if (size >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0)
        text += strlen(mark), size -= strlen(mark);
    g_autoptr(kw_diagnostics) ignored = kw_diagnostics_new("");
    g_autoptr(kw_memory) nodes = kw_memory_new();
    const kw_node *root = kw_node_parse(nodes, text, size, ignored);
    if (!root || root->kind != KW_NODE_MAP || kw_diagnostics_count(ignored))
        return NULL;
    g_autoptr(GArray) edits = g_array_new(FALSE, FALSE, sizeof(edit));
    g_array_set_clear_func(edits, edit_clear);
    return plan(root, settings, count, edits) ? apply(text, size, edits) : NULL;
}
