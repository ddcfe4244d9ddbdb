/* keyway forget: removes a table, or a dropped path, from the catalog. */
#include "cli/cli.h"

#include <stdio.h>

int
kw_command_forget(kw_cli *cli, int argc, char **argv)
{
    g_autofree char *path = NULL;
    g_auto(GStrv) emptied = NULL;
    gboolean drop_rows = FALSE, yes = FALSE;
    GError *error = NULL;
    int code;
    const GOptionEntry entries[] = {
        {"path", 0, 0, G_OPTION_ARG_STRING, &path, "Remove this path [the whole table]", "PATH"},
        {"drop-rows", 0, 0, G_OPTION_ARG_NONE, &drop_rows,
         "Drop the rows for good, from store tables that Keyway created", NULL},
        {"yes", 0, 0, G_OPTION_ARG_NONE, &yes, "Confirm; without this option nothing is changed", NULL},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(
            cli, "forget", "TABLE",
            "Removes from the catalog a table that no policy has any more, or a path that was dropped.\n"
            "For a path in use, --drop-rows deletes the rows of a key rule that it had before a change.",
            entries, NULL, 1, 1, &argc, &argv, &code))
        return code;
    if (!yes)
        return kw_cli_usage("forget cannot be undone%s: to confirm, add --yes",
                            drop_rows ? ", and --drop-rows drops rows for good" : "");
    if (kw_cli_connect(cli, &code) == NULL)
        return code;
    emptied = kw_client_forget(cli->client, argv[1], path, drop_rows, &error);
    if (emptied == NULL)
        return kw_cli_fail(error, argv[1]);
    for (char **name = emptied; *name != NULL; name++)
        printf("emptied store table %s\n", *name);
    printf("forgotten: table %s%s%s\n", argv[1], path == NULL ? "" : ", path ", path == NULL ? "" : path);
    return KW_EXIT_OK;
}
