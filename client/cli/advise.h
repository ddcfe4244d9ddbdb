/* Inside of keyway advise: its questions, and the forms of its answer.
 *
 *   advise.c            the command: files, gateway, call
 *   advise_questions.c  a file of questions
 *   advise_table.c      tables for people; advise_json.c for programs
 *   advise_html.c       the page; advise_plot.c its plots
 */
#pragma once

#include "cli/cli.h"

/* A question of the file, with its name. */
typedef struct kw_advise_question {
    char *name;
    kw_query *query;
} kw_advise_question;

/* Of kw_advise_question, frees them. One a line: a JSON object, or the words of `keyway scan`. The error
 * names the line. path "-" is standard input. */
GPtrArray *kw_advise_questions_read(const char *path, const kw_table_info *table, GError **error);

/* The same of text; path names it in errors. */
GPtrArray *kw_advise_questions_parse(const char *text, const char *path, const kw_table_info *table,
                                     GError **error);

/* What every form shows. */
typedef struct kw_advise_view {
    const kw_advice *advice;
    const char *table;
    const char *const *candidates; /* names */
    gsize candidates_count;
    const GPtrArray *questions;
    guint records;
    const char *sample; /* name of the file */
} kw_advise_view;

/* "minute", "5 minutes", "1/60 of the sample". The caller's. */
char *kw_advise_window(const kw_advice *advice);

/* Rows in the ranges per row asked for; 0 when none is. */
double kw_advise_real(const kw_advised_question *question);

/* "merge", "concat", "one range", ... */
const char *kw_advise_reading(const kw_advised_question *question);

/* "ts, newest first, from 16 ranges" or "-". The caller's. */
char *kw_advise_order(const kw_advised_path *path);

bool kw_advise_print_tables(const kw_cli *cli, const kw_advise_view *view);
bool kw_advise_print_json(const kw_advise_view *view);

/* The page, complete in itself. The caller's. */
GString *kw_advise_page(const kw_advise_view *view);

/* --- plots: inline SVG, appended ------------------------------------------------------------------- */

/* Text for HTML and SVG. */
void kw_html_append(GString *to, const char *text);

void kw_plot_spread(GString *to, const kw_spread *spread, const char *places);
void kw_plot_heat(GString *to, const kw_advice *advice, const kw_advised_path *path);
/* One group of bars per question, one bar per candidate. */
void kw_plot_ranges(GString *to, const kw_advise_view *view);

/* Class of a candidate's colour. */
#define KW_CANDIDATE_COLOURS 8
