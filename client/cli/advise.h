/* Private to keyway advise: its queries, and its output formats.
 *
 *   advise.c          the command: files, gateway, call
 *   advise_queries.c  a file of queries
 *   advise_table.c    tables for people; advise_json.c for programs
 *   advise_html.c     the page; advise_plot.c its plots
 */
#pragma once

#include "cli/cli.h"

/* A query of the file, with its name. */
typedef struct kw_advise_query {
    char *name;
    kw_query *query;
} kw_advise_query;

/* Returns an array of kw_advise_query. Each line is a JSON object, or the arguments of `keyway scan` or
 * `keyway latest`; empty lines and lines that begin with # are skipped. Errors name the line. path "-" is
 * standard input. */
GPtrArray *kw_advise_queries_read(const char *path, const kw_table_info *table, GError **error);

/* The same for a text; path names it in errors. */
GPtrArray *kw_advise_queries_parse(const char *text, const char *path, const kw_table_info *table,
                                   GError **error);

/* The data of every output format. */
typedef struct kw_advise_view {
    const kw_advice *advice;
    const char *table;
    const char *const *candidates; /* names */
    gsize candidates_count;
    const GPtrArray *queries;
    guint records;
    const char *sample; /* name of the file */
} kw_advise_view;

/* "minute", "5 minutes", "1/60 of the sample". The caller frees it. */
char *kw_advise_window(const kw_advice *advice);

/* Rows read per row returned; 0 if no row is returned. */
double kw_advise_measured_reads_per_row(const kw_advised_query *query);

/* "merge", "concat", "one range", ... */
const char *kw_advise_reading(const kw_advised_query *query);

/* The order of a full scan: "ts desc, 16 ranges", "-", or "- (ts lost)". The caller frees it. */
char *kw_advise_order(const kw_advised_path *path);

bool kw_advise_print_tables(const kw_cli *cli, const kw_advise_view *view);
bool kw_advise_print_json(const kw_advise_view *view);

/* The complete page. The caller frees it. */
GString *kw_advise_page(const kw_advise_view *view);

/* --- plots: inline SVG, appended ------------------------------------------------------------------- */

/* Appends text, escaped for HTML and SVG. */
void kw_html_append(GString *to, const char *text);

void kw_plot_spread(GString *to, const kw_spread *spread, const char *places);
void kw_plot_heat(GString *to, const kw_advice *advice, const kw_advised_path *path);
/* One group of bars per query, one bar per candidate. */
void kw_plot_ranges(GString *to, const kw_advise_view *view);

/* Number of CSS classes for the colours of candidates. */
#define KW_CANDIDATE_COLOURS 8
