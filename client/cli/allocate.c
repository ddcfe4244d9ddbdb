/* keyway allocate: allocates numbers of a generated field. */
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/value.h"

static int
allocate(kw_cli *cli, const kw_table_info *table, const char *field, gint64 count, const kw_record *scope)
{
    static const kw_output_column columns[] = {{.name = "first", .right = true},
                                               {.name = "last", .right = true}};
    kw_call_options options = kw_cli_call_options(cli);
    GError *error = NULL;
    gint64 first, got;
    kw_output *output;

    if (!kw_client_allocate(cli->client, table->name, field, scope, count, &options, &first, &got, &error))
        return kw_cli_fail(error, "allocate");
    const kw_value cells[] = {kw_number(first), kw_number(first + got - 1)};
    output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));
    kw_output_row(output, cells);
    return kw_output_end(output, NULL) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

int
kw_command_allocate(kw_cli *cli, int argc, char **argv)
{
    g_autoptr(kw_table_info) table = NULL;
    g_autoptr(kw_record) scope = kw_record_new();
    GError *error = NULL;
    gint64 count = 1;
    int words = 3, code;

    if (!kw_cli_parse(
            cli, "allocate", "TABLE FIELD [COUNT] [FIELD=VALUE...]",
            "Allocates COUNT (default 1) consecutive numbers of a sequence or snowflake field, and prints "
            "the first and the last. It allocates fewer at the end of the sequence. FIELD=VALUE is the "
            "timestamp, for a sequence with a counter per minute, hour and so on.",
            NULL, NULL, 2, -1, &argc, &argv, &code))
        return code;
    if (argc > 3 && strchr(argv[3], '=') == NULL) {
        if (!g_ascii_string_to_signed(argv[3], 10, 1, G_MAXINT64, &count, &error)) {
            g_clear_error(&error);
            return kw_cli_usage("COUNT must be a number, 1 or more, not \"%s\"", argv[3]);
        }
        words++;
    }
    table = kw_cli_describe(cli, argv[1], &code);
    if (table == NULL)
        return code;
    if (!kw_record_parse(table, argv + words, argc - words, scope, &error))
        return kw_cli_fail(error, "allocate");
    return allocate(cli, table, argv[2], count, scope);
}
