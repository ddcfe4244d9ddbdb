/* The options of a query, shared by scan, latest, count and explain. */
#pragma once

#include "cli/cli.h"
#include "cli/options.h"

struct kw_query_words {
    char **where;
    char **any;
    char *from, *after, *to, *through;
    gboolean ascending, descending, full_scan;
    char *path;
    char *columns;
    char *filter;
    gint64 limit;
    int page_rows;
    int page_bytes;
    bool only_selects; /* set by the command: the options that sort rows and choose columns are rejected */
};

void kw_query_words_clear(kw_query_words *words);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(kw_query_words, kw_query_words_clear)

/* Adds the options of a query, which store their values in *words. */
void kw_query_words_add_options(kw_query_words *words, kw_options *options);

/* bound: further arguments FIELD=VALUE, as in --where. NULL: the error names the invalid argument. */
kw_query *kw_query_from_words(const kw_query_words *words, const kw_table_info *table, char *const *bound,
                              int bound_count, GError **error);

/* The names of --columns, or of any list with commas; NULL-terminated, freed by the caller. Each must be a
 * field of the table. text NULL: none. */
char **kw_columns_split(const kw_table_info *table, const char *text, GError **error);
