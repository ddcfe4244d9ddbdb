/* keyway change: the list of its commands, and keyway change list and status. */
#include "cli/change.h"

#include "cli/output.h"
#include "cli/text.h"

/* --- list ------------------------------------------------------------------------------------------ */

static bool
output_list(const kw_cli *cli, const GPtrArray *changes)
{
    static const kw_output_column columns[] = {{.name = "table"}, {.name = "path"},     {.name = "version"},
                                               {.name = "phase"}, {.name = "progress"}, {.name = "since"}};
    kw_output *output;

    if (changes->len == 0 && cli->format == KW_OUTPUT_TABLE) {
        printf("no change is under way\n");
        return fflush(stdout) == 0;
    }
    output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < changes->len; i++) {
        const kw_change_status *change = changes->pdata[i];
        g_autofree char *since = NULL;
        g_autofree char *paths = kw_change_paths(change);
        bool ready = change->copied && change->compared;
        g_autofree char *percent = ready ? g_strdup("") : g_strdup_printf("%.0f %%", 100 * change->progress);
        const kw_value cells[] = {kw_text(change->table),
                                  kw_text(paths),
                                  kw_text(change->version),
                                  kw_text(change->phase),
                                  cli->format == KW_OUTPUT_TABLE ? kw_text(percent)
                                                                 : kw_real(change->progress),
                                  kw_output_stamp(cli, change->version_at, &since)};

        kw_output_row(output, cells);
    }
    return kw_output_end(output, NULL);
}

static int
run_list(kw_cli *cli, int argc, char **argv)
{
    g_autoptr(GPtrArray) changes = NULL;
    GError *error = NULL;
    int code;

    if (!kw_cli_parse(cli, "change list", "",
                      "Lists the changes of tables that are under way (key rules, paths, atomics).", NULL,
                      NULL, 0, 0, &argc, &argv, &code))
        return code;
    if (kw_cli_connect(cli, &code) == NULL)
        return code;
    changes = kw_client_changes(cli->client, NULL, &error);
    if (changes == NULL)
        return kw_cli_fail(error, "change list");
    return output_list(cli, changes) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

/* --- status ---------------------------------------------------------------------------------------- */

static GPtrArray *
fetch(kw_cli *cli, const char *table, int *ret_exit)
{
    GPtrArray *changes;
    GError *error = NULL;

    if (kw_cli_connect(cli, ret_exit) == NULL)
        return NULL;
    changes = kw_client_changes(cli->client, table, &error);
    if (changes == NULL)
        *ret_exit = kw_cli_fail(error, "change status");
    return changes;
}

static int
run_status(kw_cli *cli, int argc, char **argv)
{
    g_autoptr(GPtrArray) changes = NULL;
    gboolean wait = FALSE;
    int code;
    const GOptionEntry entries[] = {{"wait", 0, 0, G_OPTION_ARG_NONE, &wait,
                                     "Wait until the change needs a command to proceed, or has ended", NULL},
                                    G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(cli, "change status", "TABLE",
                      "Prints the state of the change of a table, and the commands that are possible now.",
                      entries, NULL, 1, 1, &argc, &argv, &code))
        return code;
    changes = wait ? kw_change_wait(cli, argv[1], &code) : fetch(cli, argv[1], &code);
    if (changes == NULL)
        return code;
    return kw_change_output(cli, argv[1], changes) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

/* --- the commands ---------------------------------------------------------------------------------- */

static int
run_unknown(const char *name)
{
    const char *names[] = {"list",   "status", "diff",   "switch",   "reverse", "complete",
                           "cancel", "pause",  "resume", "throttle", "compare", NULL};
    const char *nearest = kw_text_nearest(name, names);

    if (nearest != NULL)
        return kw_cli_usage("there is no command \"change %s\"; did you mean \"change %s\"?", name, nearest);
    return kw_cli_usage("there is no command \"change %s\"", name);
}

int
kw_command_change(kw_cli *cli, int argc, char **argv)
{
    int code;

    if (argc > 1 && g_str_equal(argv[1], "list"))
        return run_list(cli, argc - 1, argv + 1);
    if (argc > 1 && g_str_equal(argv[1], "status"))
        return run_status(cli, argc - 1, argv + 1);
    if (argc > 1 && g_str_equal(argv[1], "diff"))
        return kw_command_change_diff(cli, argc - 1, argv + 1);
    if (argc > 1 && kw_command_change_command(cli, argc - 1, argv + 1, &code))
        return code;
    if (argc > 1 && argv[1][0] != '-')
        return run_unknown(argv[1]);
    if (!kw_cli_parse(cli, "change", "COMMAND",
                      "Controls a change of a table (key rule, paths or atomics) that "
                      "`keyway policy apply` began.\n\n"
                      "Commands (`keyway change COMMAND --help`):\n"
                      "  list            list the changes that are under way\n"
                      "  status TABLE    print the state of a change, and what is possible now\n"
                      "  diff TABLE      compare the old and the new rows\n"
                      "  switch TABLE    let queries read the new rows\n"
                      "  reverse TABLE   let queries read the old rows again\n"
                      "  complete TABLE  end the change; cannot be undone\n"
                      "  cancel TABLE    end the change and return to the old key rule\n"
                      "  pause TABLE     stop copying and comparing rows\n"
                      "  resume TABLE    continue copying and comparing rows\n"
                      "  throttle TABLE  limit the rows per second\n"
                      "  compare TABLE   compare all rows again",
                      NULL, NULL, 1, 1, &argc, &argv, &code))
        return code;
    return kw_cli_usage("change: name a command");
}
