/* keyway count: counts the records that match a query. */
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/query_words.h"

#include <stdio.h>

/* A field whose value is in the row key only, so that the store returns no columns; otherwise a field of the
 * key, whose column is small. */
static const char *
cheapest_field(const kw_table_info *table)
{
    const char *found = NULL;

    for (guint i = 0; i < table->fields->len; i++) {
        const kw_field_info *field = table->fields->pdata[i];

        if (field->key && field->column == NULL)
            return field->name;
        if (field->key && found == NULL)
            found = field->name;
    }
    return found;
}

static kw_query *
build_query(const kw_cli *cli, const kw_query_words *words, const kw_table_info *table, char *const *bound,
            int bound_count, GError **error)
{
    kw_query *query = kw_query_from_words(words, table, bound, bound_count, error);
    const char *field = cheapest_field(table);

    if (query == NULL)
        return NULL;
    if (field != NULL)
        kw_query_column(query, field);
    kw_query_full_scan(query, true);
    kw_query_deadline(query, cli->timeout_ms);
    return query;
}

static kw_scan *
begin(kw_cli *cli, const kw_query *query, GError **error)
{
    for (int tries = 1;; tries++) {
        g_autoptr(GError) failure = NULL;
        kw_scan *scan = kw_client_scan(cli->client, query, &failure);

        if (scan != NULL)
            return scan;
        if (!kw_cli_wait_to_retry(failure, tries)) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return NULL;
        }
    }
}

/* False at the end, and on an error. */
static bool
next(kw_scan *scan, GError **error)
{
    const kw_record *record;

    for (int tries = 1;; tries++) {
        g_autoptr(GError) failure = NULL;

        if (kw_scan_next(scan, &record, &failure))
            return true;
        if (failure == NULL)
            return false;
        if (!kw_cli_wait_to_retry(failure, tries)) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return false;
        }
    }
}

static guint64
count_rows(const char *table, kw_scan *scan, GError **error)
{
    kw_progress progress;
    guint64 count = 0;

    kw_progress_start(&progress, table);
    while (kw_interrupted() == 0 && next(scan, error))
        kw_progress_show(&progress, 0, 0, ++count);
    kw_progress_end(&progress);
    return count;
}

/* A plain number, for scripts. */
static bool
print_count(const kw_cli *cli, guint64 count)
{
    static const kw_column columns[] = {{.name = "count"}};
    const kw_value cells[] = {kw_number((gint64)count)};
    kw_output *output;

    if (cli->format == KW_OUTPUT_TABLE)
        return printf("%" G_GUINT64_FORMAT "\n", count) >= 0 && fflush(stdout) == 0;
    output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));
    kw_output_row(output, cells);
    return kw_output_end(output, NULL);
}

static int
stopped(guint64 count, GError *error)
{
    g_printerr("keyway: the count stopped after %" G_GUINT64_FORMAT " records\n", count);
    if (kw_interrupted() == 0)
        return kw_cli_fail(error, "count");
    g_clear_error(&error);
    return 128 + kw_interrupted();
}

static int
run(kw_cli *cli, const kw_query_words *words, const kw_table_info *table, char *const *bound, int bound_count)
{
    GError *error = NULL;
    g_autoptr(kw_query) query = build_query(cli, words, table, bound, bound_count, &error);
    g_autoptr(kw_scan) scan = NULL;
    guint64 count;

    if (query == NULL)
        return kw_cli_fail(error, "count");
    kw_interrupts_catch();
    scan = begin(cli, query, &error);
    if (scan == NULL)
        return kw_interrupted() == 0 ? kw_cli_fail(error, "count") : stopped(0, error);
    count = count_rows(table->name, scan, &error);
    if (error != NULL || kw_interrupted() != 0)
        return stopped(count, error);
    return print_count(cli, count) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

int
kw_command_count(kw_cli *cli, int argc, char **argv)
{
    g_auto(kw_query_words) words = {.only_selects = true};
    g_autoptr(kw_table_info) table = NULL;
    int code;

    if (!kw_cli_parse(cli, "count", "TABLE [FIELD=VALUE...]",
                      "Counts the records that match a query, by default all. Reads every one of them, but "
                      "only its key.",
                      NULL, &words, 1, -1, &argc, &argv, &code))
        return code;
    table = kw_cli_describe(cli, argv[1], &code);
    return table == NULL ? code : run(cli, &words, table, argv + 2, argc - 2);
}
