/* keyway backup: makes a backup of the embedded store of a gateway, on the machine of the gateway. */
#include "cli/cli.h"

#include <stdio.h>

int
kw_command_backup(kw_cli *cli, int argc, char **argv)
{
    GError *error = NULL;
    gint64 bytes;
    int code;
    const GOptionEntry entries[] = {G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(
            cli, "backup", "NAME",
            "Makes a backup of the gateway's embedded store, with the catalog, while it serves: the folder "
            "NAME\nin the folder of the setting store: backup_folder, on the machine of the gateway.",
            entries, NULL, 1, 1, &argc, &argv, &code))
        return code;
    if (kw_cli_connect(cli, &code) == NULL)
        return code;
    bytes = kw_client_backup(cli->client, argv[1], cli->timeout_ms, &error);
    if (bytes < 0)
        return kw_cli_fail(error, argv[1]);
    printf("backup %s: %" G_GINT64_FORMAT " bytes\n", argv[1], bytes);
    return KW_EXIT_OK;
}
