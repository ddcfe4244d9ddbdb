/* The options of a query, shared by scan, latest, count, explain, and the query file of advise. */
#pragma once

#include "cli/cli.h"
#include "cli/options.h"

struct kw_query_words {
    char **where;
    char **any;
    char *from, *after, *to, *through;
    gboolean ascending, descending, full_scan, skip_undecodable;
    char *path;
    char *columns;
    char *filter;
    gint64 limit;
    int page_rows;
    int page_bytes;
    bool only_selects; /* set by count, which rejects the options that sort rows and choose columns */
};

void kw_query_words_clear(kw_query_words *words);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(kw_query_words, kw_query_words_clear)

/* Adds the options of a query. They are parsed into *words. */
void kw_query_words_add_options(kw_query_words *words, kw_options *options);

/* bound: more conditions FIELD=VALUE, as in --where. On failure returns NULL, and the error names the invalid
 * argument. */
kw_query *kw_query_from_words(const kw_query_words *words, const kw_table_info *table, char *const *bound,
                              int bound_count, GError **error);

/* Prints to standard error how many rows the scan skipped; nothing if none. */
void kw_query_report_skipped(gint64 rows);

/* Splits a list of fields at its commas, for example that of --columns. Each name must be a field of the
 * table, or an entry of a map field. text NULL: an empty list. The caller frees the result, which ends with
 * NULL. */
char **kw_columns_split(const kw_table_info *table, const char *text, GError **error);
