/* keyway check: finds problems in policy files before a gateway loads them.
 *
 * Uses the gateway named by --gateway or KEYWAY_GATEWAY. Otherwise runs the program keywayd on the files,
 * which needs no running gateway and also prints warnings.
 */
#include "cli/cli.h"
#include "cli/file.h"
#include "cli/private.h"

#include <stdio.h>
#include <sys/wait.h>

/* Returns the number of problems; -1 if the file or the gateway could not be read (*ret_exit is set). */
static int
check_file(kw_cli *cli, const char *path, int *ret_exit)
{
    GError *error = NULL;
    g_autofree char *text = kw_file_text(path, KW_FILE_POLICY_MAX, &error);
    g_autoptr(GPtrArray) problems = NULL;

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
        printf("%s: no problems\n", path);
    return (int)problems->len;
}

/* Returns the exit status. keywayd prints the problems to the same output. */
static int
check_by_program(const char *program, char *path)
{
    char *words[] = {(char *)program, (char *)"--check", path, NULL};
    GError *error = NULL;
    int status = 0;

    if (!g_spawn_sync(NULL, words, NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, NULL, NULL, &status,
                      &error))
        return kw_cli_fail(error, "check");
    return !WIFEXITED(status) ? KW_EXIT_FAILED : WEXITSTATUS(status) == 0 ? KW_EXIT_OK : KW_EXIT_INVALID;
}

static int
check_by_gateway(kw_cli *cli, const char *path)
{
    int code = KW_EXIT_OK;
    int problems = check_file(cli, path, &code);

    return problems < 0 ? code : problems > 0 ? KW_EXIT_INVALID : KW_EXIT_OK;
}

int
kw_command_check(kw_cli *cli, int argc, char **argv)
{
    g_autofree char *program = NULL;
    int result = KW_EXIT_OK;
    int code;

    if (!kw_cli_parse(cli, "check", "FILE...",
                      "Finds problems in policy files, without loading them. Needs no running gateway.", NULL,
                      NULL, 1, -1, &argc, &argv, &code))
        return code;
    program = kw_cli_names_gateway(cli) ? NULL : kw_private_program();
    if (program == NULL && kw_cli_connect(cli, &code) == NULL)
        return code;
    for (int i = 1; i < argc; i++) {
        code = program != NULL ? check_by_program(program, argv[i]) : check_by_gateway(cli, argv[i]);
        if (code != KW_EXIT_OK && code != KW_EXIT_INVALID)
            return code;
        result = MAX(result, code);
    }
    return result;
}
