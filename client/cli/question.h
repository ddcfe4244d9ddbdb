/* The options that make a question: scan, latest and explain share them. */
#pragma once

#include "cli/cli.h"

typedef struct kw_question_words {
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
} kw_question_words;

void kw_question_words_clear(kw_question_words *words);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(kw_question_words, kw_question_words_clear)

/* With places in *words. */
GOptionGroup *kw_question_options(kw_question_words *words);

/* bound: more words FIELD=VALUE, as in --where. NULL: the error tells which word is wrong. */
kw_query *kw_question_query(const kw_question_words *words, const kw_table_info *table, char *const *bound,
                            int bound_count, GError **error);

/* The names of --columns, or of any list with commas; NULL-terminated, the caller's. Each must be a
 * field of the table. text NULL: none. */
char **kw_columns_split(const kw_table_info *table, const char *text, GError **error);
