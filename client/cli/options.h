/* Options of a command line: GOption, which accepts `-n 1` and `--limit=1`, and in addition `-n1`.
 *
 * The word after an option that needs a value is its value, even if it begins with a dash.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct kw_options kw_options;

/* words: the arguments in the usage line, such as "TABLE FIELD=VALUE..."; about: the text below it. Both can
 * be NULL. The caller adds the option --help itself. */
kw_options *kw_options_new(const char *words, const char *about);
void kw_options_free(kw_options *options);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_options, kw_options_free)

/* Only words before the first argument are options. */
void kw_options_stop_at_argument(kw_options *options);

/* Adds a group: its name for GOption, the title in the help, the last parameter of its callbacks, and the
 * entries, whose names must outlive the options. */
void kw_options_add(kw_options *options, const char *name, const char *title, gpointer user,
                    const GOptionEntry *entries);

/* Leaves the arguments in argv[1..argc-1]. argv[argc] must be writable. */
bool kw_options_parse(kw_options *options, int *argc, char **argv, GError **error);

/* The text of --help, freed by the caller. */
char *kw_options_help(kw_options *options);
