/* Splits short options from their values before GOption parses them. */
#include "cli/options.h"

#include <string.h>

typedef struct known_option {
    char letter; /* 0: none */
    const char *name;
    bool valued;
} known_option;

struct kw_options {
    GOptionContext *context;
    GArray *known; /* of known_option */
    bool stop_at_argument;
};

kw_options *
kw_options_new(const char *words, const char *about)
{
    kw_options *options = g_new0(kw_options, 1);

    options->context = g_option_context_new(words);
    options->known = g_array_new(FALSE, FALSE, sizeof(known_option));
    g_option_context_set_summary(options->context, about);
    g_option_context_set_help_enabled(options->context, FALSE);
    return options;
}

void
kw_options_free(kw_options *options)
{
    g_option_context_free(options->context);
    g_array_unref(options->known);
    g_free(options);
}

void
kw_options_stop_at_argument(kw_options *options)
{
    options->stop_at_argument = true;
    g_option_context_set_strict_posix(options->context, TRUE);
}

void
kw_options_add(kw_options *options, const char *name, const char *title, gpointer user,
               const GOptionEntry *entries)
{
    GOptionGroup *group = g_option_group_new(name, title, title, user, NULL);

    g_option_group_add_entries(group, entries);
    g_option_context_add_group(options->context, group);
    for (const GOptionEntry *entry = entries; entry->long_name != NULL; entry++) {
        known_option option = {.letter = entry->short_name,
                               .name = entry->long_name,
                               .valued = entry->arg != G_OPTION_ARG_NONE &&
                                         (entry->flags & G_OPTION_FLAG_NO_ARG) == 0};

        g_array_append_val(options->known, option);
    }
}

static bool
letter_has_value(const kw_options *options, char letter)
{
    for (guint i = 0; i < options->known->len; i++) {
        const known_option *option = &g_array_index(options->known, known_option, i);

        if (option->letter == letter)
            return option->valued;
    }
    return false;
}

static bool
name_has_value(const kw_options *options, const char *name)
{
    for (guint i = 0; i < options->known->len; i++) {
        const known_option *option = &g_array_index(options->known, known_option, i);

        if (g_str_equal(option->name, name))
            return option->valued;
    }
    return false;
}

/* Adds a word such as -n1 or -en1 (flags come first), in two parts if it has a value. True: the value is the
 * next word. */
static bool
add_letters(const kw_options *options, const char *word, GPtrArray *to)
{
    gsize at = 1;

    while (word[at] != '\0' && !letter_has_value(options, word[at]))
        at++;
    if (word[at] == '\0' || word[at + 1] == '\0') {
        g_ptr_array_add(to, g_strdup(word));
        return word[at] != '\0';
    }
    g_ptr_array_add(to, g_strndup(word, at + 1));
    g_ptr_array_add(to, g_strdup(word + at + 1));
    return false;
}

static GPtrArray *
split(const kw_options *options, int argc, char **argv)
{
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    bool is_value = true; /* also the program's name */
    bool at_end = false;

    for (int i = 0; i < argc; i++) {
        bool is_option = !is_value && !at_end && argv[i][0] == '-' && argv[i][1] != '\0';

        if (!is_option && !is_value && options->stop_at_argument)
            at_end = true;
        at_end = at_end || (is_option && g_str_equal(argv[i], "--"));
        if (is_option && argv[i][1] != '-') {
            is_value = add_letters(options, argv[i], words);
            continue;
        }
        g_ptr_array_add(words, g_strdup(argv[i]));
        is_value = is_option && !at_end && name_has_value(options, argv[i] + 2);
    }
    return words;
}

/* Removes from the caller's array the words that GOption has consumed. The words that it left are words of
 * this array, because every part of a split word is an option or its value. The array ends with NULL. */
static void
keep_arguments(char *const *left, int left_count, int *argc, char **argv)
{
    int from = 1;

    for (int i = 1; i < left_count; i++) {
        while (from < *argc && !g_str_equal(argv[from], left[i]))
            from++;
        g_assert(from < *argc);
        argv[i] = argv[from++];
    }
    argv[left_count] = NULL;
    *argc = left_count;
}

bool
kw_options_parse(kw_options *options, int *argc, char **argv, GError **error)
{
    g_autoptr(GPtrArray) words = split(options, *argc, argv);
    g_autofree char **left = g_new0(char *, words->len + 1);
    char **parsed = left;
    int count = (int)words->len;

    memcpy(left, words->pdata, words->len * sizeof *left);
    if (!g_option_context_parse(options->context, &count, &parsed, error))
        return false;
    keep_arguments(parsed, count, argc, argv);
    return true;
}

char *
kw_options_help(kw_options *options)
{
    return g_option_context_get_help(options->context, FALSE, NULL);
}
