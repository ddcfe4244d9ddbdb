/* The advice as tables and sentences for people, and short texts that all output formats share. */
#include "cli/advise.h"
#include "cli/output.h"

#include <stdio.h>

char *
kw_advise_window(const kw_advice *advice)
{
    static const struct {
        gint64 ms;
        const char *name;
    } units[] = {{86400000, "day"}, {3600000, "hour"}, {60000, "minute"}, {1000, "second"}, {1, "ms"}};

    for (gsize i = 0; advice->window_ms > 0 && i < G_N_ELEMENTS(units); i++) {
        gint64 count = advice->window_ms / units[i].ms;

        if (advice->window_ms % units[i].ms != 0)
            continue;
        return count == 1 ? g_strdup(units[i].name)
                          : g_strdup_printf("%" G_GINT64_FORMAT " %ss", count, units[i].name);
    }
    return g_strdup_printf("1/%d of the sample", advice->windows);
}

double
kw_advise_measured_reads_per_row(const kw_advised_query *query)
{
    return query->matching > 0 ? (double)query->scanned / (double)query->matching : 0;
}

const char *
kw_advise_reading(const kw_advised_query *query)
{
    if (query->ranges == 0)
        return "nothing";
    if (query->point)
        return query->ranges == 1 ? "one row" : "rows";
    if (query->ranges == 1)
        return "one range";
    if (query->groups == 1)
        return "merge";
    return query->groups == query->ranges ? "concat" : "concat of merges";
}

char *
kw_advise_order(const kw_advised_path *path)
{
    g_autofree char *lost = g_strjoinv(", ", path->order_lost);

    if (path->order_field == NULL)
        return lost[0] == '\0' ? g_strdup("-") : g_strdup_printf("- (%s lost)", lost);
    return g_strdup_printf("%s%s, %" G_GINT64_FORMAT " range%s", path->order_field,
                           path->order_descending ? " desc" : "", path->order_ranges,
                           path->order_ranges == 1 ? "" : "s");
}

/* --- paths ------------------------------------------------------------------------------------ */

/* "10 of 31" */
static char *
reached(const kw_spread *spread)
{
    return spread == NULL ? g_strdup("-") : g_strdup_printf("%d of %u", spread->reached, spread->counts->len);
}

static char *
times(double value)
{
    return value > 0 ? g_strdup_printf("%.2f", value) : g_strdup("-");
}

static char *
key_bytes(const kw_advised_path *path)
{
    return path->key_bytes_min == path->key_bytes_max
               ? g_strdup_printf("%d", path->key_bytes_min)
               : g_strdup_printf("%d..%d", path->key_bytes_min, path->key_bytes_max);
}

static void
path_row(kw_output *output, const kw_advise_view *view, const kw_advised_path *path)
{
    g_autofree char *bytes = key_bytes(path);
    g_autofree char *buckets = reached(path->buckets);
    g_autofree char *bucket_ratio = times(path->buckets == NULL ? 0 : path->buckets->hottest_to_mean);
    g_autofree char *regions = g_strdup_printf("%u %s", path->regions->counts->len, path->cut);
    g_autofree char *ratio = times(path->regions->hottest_to_mean);
    g_autofree char *share = g_strdup_printf("%.0f %%", 100 * path->regions->window_share);
    g_autofree char *places = times(path->regions->window_places);
    g_autofree char *order = kw_advise_order(path);
    const kw_value cells[] = {kw_text(view->candidates[path->candidate]),
                              kw_text(path->path),
                              kw_number(path->records),
                              kw_text(bytes),
                              kw_text(buckets),
                              kw_text(bucket_ratio),
                              kw_text(regions),
                              kw_text(ratio),
                              kw_text(share),
                              kw_text(places),
                              kw_text(order)};

    kw_output_row(output, cells);
}

static bool
print_paths(const kw_cli *cli, const kw_advise_view *view)
{
    g_autofree char *window = kw_advise_window(view->advice);
    g_autofree char *hottest = g_strdup_printf("hottest region per %s", window);
    g_autofree char *used = g_strdup_printf("effective regions per %s", window);
    const kw_output_column columns[] = {{.name = "candidate"},
                                        {.name = "path"},
                                        {.name = "records", .right = true},
                                        {.name = "key bytes", .right = true},
                                        {.name = "buckets reached", .right = true},
                                        {.name = "hottest bucket/mean", .right = true},
                                        {.name = "regions"},
                                        {.name = "hottest region/mean", .right = true},
                                        {.name = hottest, .right = true},
                                        {.name = used, .right = true},
                                        {.name = "full scan sorted by"}};
    kw_output *output = kw_output_new(KW_OUTPUT_TABLE, cli->raw, columns, G_N_ELEMENTS(columns));

    for (guint i = 0; i < view->advice->paths->len; i++)
        path_row(output, view, view->advice->paths->pdata[i]);
    return kw_output_end(output, NULL);
}

/* --- queries ---------------------------------------------------------------------------------- */

static void
query_row(kw_output *output, const kw_advise_view *view, const kw_advised_query *query)
{
    const kw_advise_query *named = view->queries->pdata[query->query];
    g_autofree char *expected = times(query->expected_reads_per_row);
    g_autofree char *real = times(kw_advise_measured_reads_per_row(query));
    bool planned = query->refusal == NULL;
    const kw_value nothing = {0};
    const kw_value cells[] = {kw_text(named->name),
                              kw_text(view->candidates[query->candidate]),
                              planned ? kw_text(query->path) : kw_text("rejected"),
                              planned ? kw_number(query->ranges) : nothing,
                              planned ? kw_text(kw_advise_reading(query)) : nothing,
                              planned ? kw_text(query->ordered ? "yes" : "no") : nothing,
                              planned ? kw_text(expected) : nothing,
                              planned ? kw_text(real) : nothing,
                              planned ? kw_number(query->scanned) : nothing,
                              planned ? kw_number(query->matching) : nothing};

    kw_output_row(output, cells);
}

static bool
print_queries(const kw_cli *cli, const kw_advise_view *view)
{
    static const kw_output_column columns[] = {{.name = "query"},
                                               {.name = "candidate"},
                                               {.name = "path"},
                                               {.name = "ranges", .right = true},
                                               {.name = "read as"},
                                               {.name = "sorted"},
                                               {.name = "expected rows read per row", .right = true},
                                               {.name = "sample rows read per row", .right = true},
                                               {.name = "rows read", .right = true},
                                               {.name = "rows returned", .right = true}};
    kw_output *output;

    if (view->queries->len == 0)
        return true;
    printf("\n");
    output = kw_output_new(KW_OUTPUT_TABLE, cli->raw, columns, G_N_ELEMENTS(columns));
    for (guint q = 0; q < view->queries->len; q++)
        for (guint i = 0; i < view->advice->queries->len; i++) {
            const kw_advised_query *query = view->advice->queries->pdata[i];

            if (query->query == (gint32)q)
                query_row(output, view, query);
        }
    return kw_output_end(output, NULL);
}

bool
kw_advise_print_tables(const kw_cli *cli, const kw_advise_view *view)
{
    g_autofree char *window = kw_advise_window(view->advice);

    printf("table %s: %u records, %u queries; writes are counted per %s%s%s\n\n", view->table, view->records,
           view->queries->len, window, view->advice->time_field == NULL ? "" : " of ",
           view->advice->time_field == NULL ? "" : view->advice->time_field);
    if (!print_paths(cli, view) || !print_queries(cli, view))
        return false;
    printf("\n");
    for (char **words = view->advice->words; *words != NULL; words++)
        printf("* %s\n", *words);
    return fflush(stdout) == 0;
}
