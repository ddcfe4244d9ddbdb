/* keyway check: what is wrong with policy files, before a gateway is asked to load them. */
#include "cli/cli.h"

#include <stdio.h>

/* How many problems; -1 when the file or the gateway could not be asked (*ret_exit is set). */
static int
check_file(kw_cli *cli, const char *path, int *ret_exit)
{
    g_autofree char *text = NULL;
    g_autoptr(GPtrArray) problems = NULL;
    GError *error = NULL;
    gsize size = 0;

    if (g_file_get_contents(path, &text, &size, &error) && !g_utf8_validate(text, (gssize)size, NULL))
        g_set_error(&error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "it is not text in UTF-8");
    if (error == NULL)
        problems = kw_client_check(cli->client, text, &error);
    if (error != NULL) {
        *ret_exit = kw_cli_fail(error, path);
        return -1;
    }
    for (guint i = 0; i < problems->len; i++) {
        const kw_problem *problem = problems->pdata[i];

        printf("%s:%d:%d: error: %s\n", path, problem->line, problem->column, problem->message);
        if (problem->hint != NULL && problem->hint[0] != '\0')
            printf("  hint: %s\n", problem->hint);
    }
    if (problems->len == 0)
        printf("%s: fine\n", path);
    return (int)problems->len;
}

int
kw_command_check(kw_cli *cli, int argc, char **argv)
{
    int result = KW_EXIT_OK;
    int code;

    if (!kw_cli_parse(cli, "check", "FILE...", "Finds what is wrong with policy files, without loading them.",
                      NULL, NULL, 1, -1, &argc, &argv, &code) ||
        kw_cli_connect(cli, &code) == NULL)
        return code;
    for (int i = 1; i < argc; i++) {
        int problems = check_file(cli, argv[i], &code);

        if (problems < 0)
            return code;
        if (problems > 0)
            result = KW_EXIT_INVALID;
    }
    return result;
}
