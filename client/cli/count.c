/* keyway count: counts the records that match a query. */
#include "cli/cli.h"
#include "cli/count_rows.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/query_words.h"

#include <stdio.h>

/* Prints a plain number, for scripts, unless the user chose another format. */
static bool
print_count(const kw_cli *cli, const kw_record_count *counted, bool skips)
{
    static const kw_output_column columns[] = {{.name = "count"}, {.name = "undecodable"}};
    const kw_value cells[] = {kw_number((gint64)counted->records), kw_number((gint64)counted->undecodable)};
    kw_output *output;

    kw_query_report_skipped((gint64)counted->undecodable);
    if (cli->format == KW_OUTPUT_TABLE)
        return printf("%" G_GUINT64_FORMAT "\n", counted->records) >= 0 && fflush(stdout) == 0;
    output = kw_output_new(cli->format, cli->raw, columns, skips ? 2 : 1);
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
    g_autoptr(kw_query) query = kw_query_from_words(words, table, bound, bound_count, &error);
    kw_record_count counted;

    if (query == NULL)
        return kw_cli_fail(error, "count");
    kw_interrupts_catch();
    if (!kw_count_rows(cli, query, table, 0, &counted, &error) && counted.records == 0 &&
        kw_interrupted() == 0)
        return kw_cli_fail(error, "count");
    if (!counted.complete)
        return stopped(counted.records, error);
    return print_count(cli, &counted, words->skip_undecodable) ? KW_EXIT_OK : KW_EXIT_FAILED;
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
