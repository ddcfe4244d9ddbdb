/* keyway policy, and keyway policy history and show: the policy in service, and the versions that the catalog
 * keeps. */
#include "cli/policy.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/show.h"
#include "cli/text.h"

#include <stdio.h>
#include <string.h>

#define HISTORY_DEFAULT 20
#define HISTORY_MAX 1000

static bool
print_text(const char *text)
{
    printf("%s%s", text, text[0] == '\0' || g_str_has_suffix(text, "\n") ? "" : "\n");
    return fflush(stdout) == 0;
}

/* --- the policy in service ---------------------------------------------------------------------- */

static bool
output_policy(const kw_cli *cli, const kw_policy_info *policy)
{
    static const kw_output_column columns[] = {
        {.name = "loaded_at"}, {.name = "text"}, {.name = "version"}, {.name = "settings"}};
    bool stored = policy->version >= 0;
    g_autofree char *loaded_at = NULL;
    const kw_value cells[] = {kw_output_stamp(cli, policy->loaded_at, &loaded_at), kw_text(policy->text),
                              kw_number(policy->version),
                              kw_text(policy->settings == NULL ? "" : policy->settings)};
    kw_output *output;

    if (cli->format == KW_OUTPUT_TABLE && stored)
        printf("# Policy version %" G_GINT64_FORMAT ", kept in the catalog.\n", policy->version);
    if (cli->format == KW_OUTPUT_TABLE)
        return print_text(policy->text);
    output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns) - (stored ? 0 : 2));
    kw_output_row(output, cells);
    return kw_output_end(output, NULL);
}

/* Replaces the text that was applied by the one with the settings in effect. */
static bool
take_text_in_effect(kw_cli *cli, kw_policy_info *policy, GError **error)
{
    g_autoptr(kw_policy_version) version = kw_client_policy_in_effect(cli->client, policy->version, error);

    if (version == NULL)
        return false;
    g_free(policy->text);
    policy->text = g_steal_pointer(&version->text);
    return true;
}

static int
print_policy(kw_cli *cli, bool layouts)
{
    g_autoptr(kw_policy_info) policy = NULL;
    GError *error = NULL;
    int code;

    if (kw_cli_connect(cli, &code) == NULL)
        return code;
    policy = kw_client_policy(cli->client, &error);
    if (policy == NULL)
        return kw_cli_fail(error, "policy");
    if (layouts)
        return kw_output_paths(cli, policy->tables, G_MAXUINT8) ? KW_EXIT_OK : KW_EXIT_FAILED;
    if (policy->version > 0 && !take_text_in_effect(cli, policy, &error))
        return kw_cli_fail(error, "policy");
    return output_policy(cli, policy) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

/* --- versions ----------------------------------------------------------------------------------- */

bool
kw_policy_version_parse(const char *text, gint64 *ret_version)
{
    guint64 number;

    if (!g_ascii_string_to_unsigned(text, 10, 1, G_MAXINT64 - 1, &number, NULL))
        return false;
    *ret_version = (gint64)number;
    return true;
}

#define VERSION_LINE_START "# Policy version "

const char *
kw_policy_version_skip(const char *text, gint64 *ret_version)
{
    const char *digits = g_str_has_prefix(text, VERSION_LINE_START) ? text + strlen(VERSION_LINE_START) : "";
    g_autofree char *number = g_strndup(digits, strspn(digits, "0123456789"));
    g_autofree char *line = NULL;
    gint64 version;

    if (!kw_policy_version_parse(number, &version))
        return text;
    line = g_strdup_printf(KW_POLICY_VERSION_LINE, version);
    if (!g_str_has_prefix(text, line))
        return text;
    *ret_version = version;
    return text + strlen(line);
}

static bool
output_history(const kw_cli *cli, const GPtrArray *versions)
{
    static const kw_output_column columns[] = {
        {.name = "version", .right = true}, {.name = "applied_at"}, {.name = "author"}, {.name = "reason"}};
    kw_output *output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));

    for (guint i = 0; i < versions->len; i++) {
        const kw_policy_version *version = versions->pdata[i];
        g_autofree char *applied_at = NULL;
        const kw_value cells[] = {kw_number(version->version),
                                  kw_output_stamp(cli, version->applied_at, &applied_at),
                                  kw_text(version->author), kw_text(version->reason)};

        kw_output_row(output, cells);
    }
    return kw_output_end(output, versions->len == 0 ? "no policy was imported" : NULL);
}

static int
run_history(kw_cli *cli, int argc, char **argv)
{
    g_autoptr(GPtrArray) versions = NULL;
    GError *error = NULL;
    gint64 before = 0;
    int limit = HISTORY_DEFAULT, code;
    const GOptionEntry entries[] = {
        {"before", 0, 0, G_OPTION_ARG_INT64, &before, "Only policy versions before this one", "N"},
        {"limit", 'n', 0, G_OPTION_ARG_INT, &limit, "Maximum number of policy versions, 1 to 1000 [20]",
         "COUNT"},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(cli, "policy history", "",
                      "Lists the policy versions that the catalog keeps, the newest one first.", entries,
                      NULL, 0, 0, &argc, &argv, &code))
        return code;
    if (limit < 1 || limit > HISTORY_MAX || before < 0)
        return kw_cli_usage("--limit must be 1 to %d, and --before a policy version", HISTORY_MAX);
    if (kw_cli_connect(cli, &code) == NULL)
        return code;
    versions = kw_client_policy_history(cli->client, before, limit, &error);
    if (versions == NULL)
        return kw_cli_fail(error, "policy history");
    return output_history(cli, versions) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

static bool
output_version(const kw_cli *cli, const kw_policy_version *version, bool current)
{
    static const kw_output_column columns[] = {{.name = "version"},
                                               {.name = "applied_at"},
                                               {.name = "author"},
                                               {.name = "reason"},
                                               {.name = "text"}};
    g_autofree char *applied_at = NULL;
    const kw_value cells[] = {kw_number(version->version),
                              kw_output_stamp(cli, version->applied_at, &applied_at),
                              kw_text(version->author), kw_text(version->reason), kw_text(version->text)};
    kw_output *output;

    if (cli->format == KW_OUTPUT_TABLE && current)
        printf(KW_POLICY_VERSION_LINE, version->version);
    if (cli->format == KW_OUTPUT_TABLE)
        return print_text(version->text);
    output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));
    kw_output_row(output, cells);
    return kw_output_end(output, NULL);
}

static int
run_show(kw_cli *cli, int argc, char **argv)
{
    g_autoptr(kw_policy_version) version = NULL;
    GError *error = NULL;
    gboolean as_applied = FALSE;
    gint64 number = 0;
    int code;
    const GOptionEntry entries[] = {
        {"as-applied", 0, 0, G_OPTION_ARG_NONE, &as_applied,
         "Print the text as it was applied, without the layouts and store tables in effect", NULL},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(
            cli, "policy show", "[POLICY_VERSION]",
            "Prints the text of a policy version that the catalog keeps [the current one], with the layouts, "
            "store tables and orders of writes in effect.",
            entries, NULL, 0, 1, &argc, &argv, &code))
        return code;
    if (argc > 1 && !kw_policy_version_parse(argv[1], &number))
        return kw_cli_usage("\"%s\" is not a policy version: write its number", argv[1]);
    if (kw_cli_connect(cli, &code) == NULL)
        return code;
    version = as_applied ? kw_client_policy_version(cli->client, number, &error)
                         : kw_client_policy_in_effect(cli->client, number, &error);
    if (version == NULL)
        return kw_cli_fail(error, "policy show");
    return output_version(cli, version, number == 0) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

/* --- the commands ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(kw_cli *cli, int argc, char **argv);
} subcommands[] = {
    {"import", kw_command_policy_import},
    {"apply", kw_command_policy_apply},
    {"history", run_history},
    {"show", run_show},
    {"diff", kw_command_policy_diff},
    {"check", kw_command_check},
};

static int
run_unknown(const char *name)
{
    const char *names[G_N_ELEMENTS(subcommands) + 1] = {NULL};
    const char *nearest;

    for (gsize i = 0; i < G_N_ELEMENTS(subcommands); i++)
        names[i] = subcommands[i].name;
    nearest = kw_text_nearest(name, names);
    if (nearest != NULL)
        return kw_cli_usage("there is no command \"policy %s\"; did you mean \"policy %s\"?", name, nearest);
    return kw_cli_usage("there is no command \"policy %s\"", name);
}

int
kw_command_policy(kw_cli *cli, int argc, char **argv)
{
    gboolean layouts = FALSE;
    int code;
    const GOptionEntry entries[] = {{"layouts", 0, 0, G_OPTION_ARG_NONE, &layouts,
                                     "Print the layout and fingerprint of each path instead", NULL},
                                    G_OPTION_ENTRY_NULL};

    for (gsize i = 0; argc > 1 && i < G_N_ELEMENTS(subcommands); i++)
        if (g_str_equal(argv[1], subcommands[i].name))
            return subcommands[i].run(cli, argc - 1, argv + 1);
    if (argc > 1 && argv[1][0] != '-')
        return run_unknown(argv[1]);
    if (!kw_cli_parse(cli, "policy", "[COMMAND]",
                      "Prints the policy that the gateway serves.\n\n"
                      "Commands (`keyway policy COMMAND --help`):\n"
                      "  import FILE   take tables and sequences from a policy file into the catalog\n"
                      "  apply FILE    make a text with tables and sequences the next policy version\n"
                      "  history       list the policy versions\n"
                      "  show [N]      print a policy version\n"
                      "  diff OLD NEW  compare two policy files or policy versions\n"
                      "  check FILE... find problems in policy files",
                      entries, NULL, 0, 0, &argc, &argv, &code))
        return code;
    return print_policy(cli, layouts);
}
