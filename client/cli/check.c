/* keyway check: finds problems in policy files before a gateway loads them.
 *
 * Runs the program keywayd on the files, which needs no running gateway and also prints warnings. With
 * --gateway, that gateway checks the files.
 */
#include "cli/cli.h"
#include "cli/file.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/private.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

typedef struct checking {
    kw_cli *cli;
    char *program;     /* NULL: the gateway checks */
    kw_output *output; /* NULL: text for people */
} checking;

static const kw_output_column columns[] = {{.name = "file"},     {.name = "line"},    {.name = "column"},
                                           {.name = "severity"}, {.name = "message"}, {.name = "hint"}};

static kw_value
text_or_none(const char *text)
{
    return text == NULL || text[0] == '\0' ? (kw_value){0} : kw_text(text);
}

/* --- by a gateway ------------------------------------------------------------------------------- */

static void
print_problem(const checking *self, const char *path, const kw_problem *problem)
{
    const kw_value cells[] = {kw_text(path),    kw_number(problem->line),  kw_number(problem->column),
                              kw_text("error"), kw_text(problem->message), text_or_none(problem->hint)};

    if (self->output != NULL) {
        kw_output_row(self->output, cells);
        return;
    }
    printf("%s:%d:%d: error: %s\n", path, problem->line, problem->column, problem->message);
    if (cells[5].kind != KW_VALUE_NONE)
        printf("  hint: %s\n", problem->hint);
}

static int
check_by_gateway(const checking *self, const char *path)
{
    GError *error = NULL;
    g_autofree char *text = kw_file_text(path, KW_FILE_POLICY_MAX, &error);
    g_autoptr(GPtrArray) problems = NULL;

    if (error == NULL)
        problems = kw_client_check(self->cli->client, text, &error);
    if (error != NULL)
        return kw_cli_fail(error, path);
    for (guint i = 0; i < problems->len; i++)
        print_problem(self, path, problems->pdata[i]);
    if (problems->len == 0 && self->output == NULL)
        printf("%s: no problems\n", path);
    return problems->len > 0 ? KW_EXIT_INVALID : KW_EXIT_OK;
}

/* --- by the program ----------------------------------------------------------------------------- */

static const char *
text_member(JsonObject *object, const char *name)
{
    return json_object_get_string_member_with_default(object, name, NULL);
}

static kw_value
number_member(JsonObject *object, const char *name)
{
    return json_object_has_member(object, name) ? kw_number(json_object_get_int_member(object, name))
                                                : (kw_value){0};
}

/* Prints one line of `keywayd --check FILE --json`. */
static bool
print_line(const checking *self, const char *line, GError **error)
{
    g_autoptr(JsonNode) node = kw_json_read(line, strlen(line), error);
    JsonObject *object;

    if (node == NULL)
        return false;
    if (!JSON_NODE_HOLDS_OBJECT(node)) {
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_PROTOCOL, "keywayd printed \"%s\"", line);
        return false;
    }
    object = json_node_get_object(node);
    const kw_value cells[] = {text_or_none(text_member(object, "file")),
                              number_member(object, "line"),
                              number_member(object, "column"),
                              text_or_none(text_member(object, "severity")),
                              text_or_none(text_member(object, "message")),
                              text_or_none(text_member(object, "hint"))};
    kw_output_row(self->output, cells);
    return true;
}

static bool
print_problems(const checking *self, const char *printed, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(printed, "\n", -1);

    if (self->output == NULL) {
        printf("%s", printed);
        return true;
    }
    for (char **line = lines; *line != NULL; line++)
        if (**line != '\0' && !print_line(self, *line, error))
            return false;
    return true;
}

static int
check_by_program(const checking *self, char *path)
{
    char *words[] = {self->program, (char *)"--check", path, self->output == NULL ? NULL : (char *)"--json",
                     NULL};
    g_autofree char *printed = NULL;
    GError *error = NULL;
    int status = 0;

    if (!g_spawn_sync(NULL, words, NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, &printed, NULL, &status,
                      &error) ||
        !print_problems(self, printed, &error))
        return kw_cli_fail(error, "check");
    return !WIFEXITED(status) ? KW_EXIT_FAILED : WEXITSTATUS(status) == 0 ? KW_EXIT_OK : KW_EXIT_INVALID;
}

/* --- the command -------------------------------------------------------------------------------- */

static int
check_files(checking *self, int count, char **files)
{
    bool rows = self->cli->format != KW_OUTPUT_TABLE;
    int result = KW_EXIT_OK;

    if (rows)
        self->output = kw_output_new(self->cli->format, self->cli->raw, columns, G_N_ELEMENTS(columns));
    for (int i = 0; i < count && (result == KW_EXIT_OK || result == KW_EXIT_INVALID); i++) {
        int code =
            self->program != NULL ? check_by_program(self, files[i]) : check_by_gateway(self, files[i]);

        result = code == KW_EXIT_OK ? result : code;
    }
    return rows && !kw_output_end(self->output, NULL) ? KW_EXIT_FAILED : result;
}

int
kw_command_check(kw_cli *cli, int argc, char **argv)
{
    checking self = {.cli = cli};
    GError *error = NULL;
    int code;

    if (!kw_cli_parse(cli, "check", "FILE...",
                      "Finds problems in policy files, without loading them. Needs no running gateway: it "
                      "runs\nkeywayd, unless --gateway names a gateway.",
                      NULL, NULL, 1, -1, &argc, &argv, &code))
        return code;
    if (cli->gateway == NULL)
        self.program = kw_private_program(&error);
    if (error != NULL)
        return kw_cli_fail(error, "check");
    if (self.program == NULL && kw_cli_connect(cli, &code) == NULL)
        return code;
    code = check_files(&self, argc - 1, argv + 1);
    g_free(self.program);
    return code;
}
