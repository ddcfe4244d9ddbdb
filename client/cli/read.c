/* keyway get, scan, latest. */
#include "cli/cli.h"
#include "cli/explain.h"
#include "cli/output.h"
#include "cli/query_words.h"
#include "cli/value.h"
#include "cli/versions.h"

#include <stdio.h>
#include <unistd.h>

#define VERSIONS_MAX 1000
#define NOT_GIVEN G_MININT

static int
get(kw_cli *cli, const kw_table_info *table, const char *columns, char *const *fields, int count)
{
    g_autoptr(kw_record) key = kw_record_new();
    g_autoptr(kw_record) record = NULL;
    g_auto(GStrv) names = NULL;
    kw_call_options options = kw_cli_call_options(cli);
    GError *error = NULL;

    names = kw_columns_split(table, columns, &error);
    if (names == NULL || !kw_record_parse(table, fields, count, key, &error) ||
        !kw_client_get(cli->client, table->name, key, (const char *const *)names, &options, &record, &error))
        return kw_cli_fail(error, "get");
    if (record == NULL)
        return kw_no_such_record(table);
    return kw_output_one_record(cli, table, names, record) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

int
kw_command_get(kw_cli *cli, int argc, char **argv)
{
    g_autofree char *columns = NULL;
    g_autoptr(kw_table_info) table = NULL;
    int versions = NOT_GIVEN, code;
    const GOptionEntry entries[] = {
        {"columns", 'c', 0, G_OPTION_ARG_STRING, &columns,
         "Fields and entries (MAP.NAME) to print in addition to the key", "FIELD,..."},
        {"versions", 0, 0, G_OPTION_ARG_INT, &versions,
         "Print the newest N versions that the store keeps, with their timestamps", "N"},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(cli, "get", "TABLE KEYFIELD=VALUE...", "Prints the record with these key fields.",
                      entries, NULL, 2, -1, &argc, &argv, &code))
        return code;
    if (versions != NOT_GIVEN && (versions < 1 || versions > VERSIONS_MAX))
        return kw_cli_usage("--versions %d: must be 1 to %d", versions, VERSIONS_MAX);
    table = kw_cli_describe(cli, argv[1], &code);
    if (table == NULL)
        return code;
    return versions != NOT_GIVEN ? kw_get_versions(cli, table, columns, versions, argv + 2, argc - 2)
                                 : get(cli, table, columns, argv + 2, argc - 2);
}

/* "(12 rows, 16 scanned, 1.33 per row)" */
static char *
footer_of(const kw_scan *scan)
{
    gint64 rows = kw_scan_rows_returned(scan);
    gint64 scanned = kw_scan_rows_scanned(scan);
    const char *plural = rows == 1 ? "" : "s";

    if (rows == 0)
        return g_strdup_printf("(0 rows, %" G_GINT64_FORMAT " scanned)", scanned);
    return g_strdup_printf("(%" G_GINT64_FORMAT " row%s, %" G_GINT64_FORMAT " scanned, %.2f per row)", rows,
                           plural, scanned, (double)scanned / (double)rows);
}

static int
print_rows(kw_cli *cli, kw_scan *scan, GArray *columns)
{
    kw_output *output =
        kw_output_new(cli->format, cli->raw, (const kw_output_column *)(void *)columns->data, columns->len);
    const kw_record *record;
    GError *error = NULL;
    g_autofree char *footer = NULL;
    bool written;

    while (kw_scan_next(scan, &record, &error))
        kw_output_record(output, record);
    footer = error == NULL ? footer_of(scan) : NULL;
    written = kw_output_end(output, footer);
    kw_query_report_skipped(kw_scan_undecodable(scan));
    if (error != NULL)
        return kw_cli_fail(error, "the scan stopped");
    return written ? KW_EXIT_OK : KW_EXIT_FAILED;
}

static bool
print_plan(kw_cli *cli, const kw_query *query, GError **error)
{
    g_autoptr(kw_explanation) plan = kw_client_explain(cli->client, query, error);

    if (plan == NULL)
        return false;
    kw_explanation_print(plan, stderr);
    return true;
}

/* words: as for scan; latest sets a descending order. */
static int
call_gateway(kw_cli *cli, const kw_query_words *words, const char *name, bool explain, char *const *argv,
             int argc)
{
    g_autoptr(kw_table_info) table = NULL;
    g_autoptr(kw_query) query = NULL;
    g_autoptr(kw_scan) scan = NULL;
    g_autoptr(GArray) columns = NULL;
    g_auto(GStrv) chosen = NULL;
    GError *error = NULL;
    int code;

    table = kw_cli_describe(cli, argv[1], &code);
    if (table == NULL)
        return code;
    query = kw_query_from_words(words, table, argv + 2, argc - 2, &error);
    if (query == NULL)
        return kw_cli_fail(error, name);
    kw_query_deadline(query, cli->timeout_ms);
    if (explain && !print_plan(cli, query, &error))
        return kw_cli_fail(error, "explain");
    scan = kw_client_scan(cli->client, query, &error);
    if (scan == NULL)
        return kw_cli_fail(error, name);
    chosen = kw_columns_split(table, words->columns, NULL);
    columns = kw_columns_of_table(cli, table, chosen);
    return print_rows(cli, scan, columns);
}

static int
command(kw_cli *cli, const char *name, const char *about, gint64 limit, int argc, char **argv)
{
    g_auto(kw_query_words) words = {.limit = limit};
    gboolean explain = FALSE;
    int code;
    const GOptionEntry entries[] = {
        {"explain", 'e', 0, G_OPTION_ARG_NONE, &explain, "First print the plan to standard error", NULL},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(cli, name, "TABLE [FIELD=VALUE...]", about, entries, &words, 1, -1, &argc, &argv,
                      &code))
        return code;
    words.descending = words.descending || (limit > 0 && !words.ascending);
    return call_gateway(cli, &words, name, explain, argv, argc);
}

int
kw_command_scan(kw_cli *cli, int argc, char **argv)
{
    return command(cli, "scan", "Prints all records that match a query.", 0, argc, argv);
}

int
kw_command_latest(kw_cli *cli, int argc, char **argv)
{
    return command(cli, "latest", "Prints the newest records, by default one.", 1, argc, argv);
}
