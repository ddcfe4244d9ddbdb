/* keywayd: parses the options and executes them. gateway.c does everything else. */
#include "gateway/gateway.h"

#include "advise/diff.h"
#include "config/reader.h"
#include "gateway/repair.h"
#include "policy/file.h"

#include <fcntl.h>
#include <glib.h>
#include <locale.h>
#include <stdio.h>
#include <unistd.h>

typedef struct options {
    char *config_file;
    char *check_file;
    char *diff_file;
    char *other_file; /* the policy to compare with */
    char *port_file;
    gboolean json;
    gboolean repair;
    gboolean print_schema;
    gboolean reference;
    gboolean version;
} options;

static bool
read_options(int *count, char ***arguments, options *wanted, GError **ret_failed)
{
    const GOptionEntry entries[] = {
        {"config", 'c', 0, G_OPTION_ARG_FILENAME, &wanted->config_file, "Serve this policy", "FILE"},
        {"check", 0, 0, G_OPTION_ARG_FILENAME, &wanted->check_file,
         "Print the problems of this policy (up to 100), and exit", "FILE"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &wanted->json,
         "With --check: print one JSON object per problem, and nothing else", NULL},
        {"diff", 0, 0, G_OPTION_ARG_FILENAME, &wanted->diff_file,
         "Print what changes from policy OLD to the policy NEW that follows, and exit", "OLD"},
        {"repair", 0, 0, G_OPTION_ARG_NONE, &wanted->repair,
         "Drop the damaged part of the embedded store's write-ahead log, print what was dropped, and exit",
         NULL},
        {"port-file", 0, 0, G_OPTION_ARG_FILENAME, &wanted->port_file,
         "Write the addresses of the open ports to this file", "FILE"},
        {"print-schema", 0, 0, G_OPTION_ARG_NONE, &wanted->print_schema, "Print the JSON Schema of policies",
         NULL},
        {"reference", 0, 0, G_OPTION_ARG_NONE, &wanted->reference,
         "Print all settings that a policy can contain", NULL},
        {"version", 'V', 0, G_OPTION_ARG_NONE, &wanted->version, "Print the release of the program", NULL},
        {0}};
    g_autoptr(GOptionContext) context = g_option_context_new("- gateway for HBase over Thrift");
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_set_description(
        context,
        "Without --config, keywayd serves the built-in policy: an embedded store in ./keyway-data, "
        "an example\ntable, Thrift on 127.0.0.1:9595 and HTTP on 127.0.0.1:9596. `keyway policy` prints it."
        "\nSignals: SIGHUP reads the policy again; SIGTERM shuts down.");
    if (!g_option_context_parse(context, count, arguments, ret_failed))
        return false;
    if (wanted->diff_file && *count == 2) {
        wanted->other_file = g_strdup((*arguments)[1]);
        return true;
    }
    if (wanted->diff_file && *count == 1) {
        g_set_error(ret_failed, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                    "--diff OLD needs a second file: --diff OLD NEW");
        return false;
    }
    if (*count == 1)
        return true;
    g_set_error(ret_failed, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                "unexpected argument \"%s\"; --config FILE names the policy to serve", (*arguments)[1]);
    return false;
}

static void
print_problems(const kw_diagnostics *found, bool json)
{
    g_autofree char *text = json ? kw_diagnostics_json(found) : kw_diagnostics_text(found);
    printf("%s", text);
}

/* "keyway.yaml: no problems, 2 tables" */
static void
print_verdict(const kw_policy *policy, const kw_diagnostics *found)
{
    size_t warnings = kw_diagnostics_warnings(found);
    size_t tables = kw_policy_table_count(policy);
    const char *file = kw_diagnostics_file(found), *s = tables == 1 ? "" : "s";
    if (warnings)
        printf("%s: no errors, %zu warning%s, %zu table%s\n", file, warnings, warnings == 1 ? "" : "s",
               tables, s);
    else
        printf("%s: no problems, %zu table%s\n", file, tables, s);
}

static int
check(const char *file, bool json)
{
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new(file);
    g_autoptr(kw_policy) policy = kw_policy_file_check_strict(file, found);
    if (policy)
        kw_policy_warn(policy, found);
    print_problems(found, json);
    if (policy && !json)
        print_verdict(policy, found);
    return policy ? KW_EXIT_OK : KW_EXIT_POLICY;
}

/* Compiles a policy, or prints its problems and returns NULL. An old policy, which is to be replaced, can
 * have hazards. */
static kw_policy *
load(const char *file, bool old)
{
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new(file);
    kw_policy *policy = old ? kw_policy_file_check(file, found) : kw_policy_file_check_strict(file, found);
    if (!policy) {
        g_autofree char *text = kw_diagnostics_text(found);
        fprintf(stderr, "%s", text);
    }
    return policy;
}

static int
diff(const char *old_file, const char *new_file)
{
    g_autoptr(kw_policy) old = load(old_file, true);
    g_autoptr(kw_policy) fresh = load(new_file, false);
    if (!old || !fresh)
        return KW_EXIT_POLICY;
    g_autoptr(kw_arena) arena = kw_arena_new();
    printf("%s", kw_policy_diff(old, fresh, NULL, arena));
    return KW_EXIT_OK;
}

static int
print_schema(char *(*make)(const kw_component_schema *const *components, size_t components_count))
{
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autofree char *text = make(schemas, count);
    printf("%s", text);
    return KW_EXIT_OK;
}

static int
serve(const options *wanted)
{
    g_autoptr(kw_diagnostics) found =
        kw_diagnostics_new(wanted->config_file ? wanted->config_file : "(built in)");
    kw_policy *policy = kw_policy_file_load(wanted->config_file, found);
    if (!policy) {
        g_autofree char *text = kw_diagnostics_text(found);
        fprintf(stderr, "%s", text);
        return KW_EXIT_POLICY;
    }
    return kw_gateway_run(
        &(kw_gateway_settings){.config_file = wanted->config_file, .port_file = wanted->port_file}, policy);
}

static int
run(const options *wanted)
{
    if (wanted->version) {
        printf("keywayd %s\n", KW_VERSION);
        return KW_EXIT_OK;
    }
    if (wanted->print_schema)
        return print_schema(kw_schema_json);
    if (wanted->reference)
        return print_schema(kw_schema_reference);
    if (wanted->diff_file)
        return diff(wanted->diff_file, wanted->other_file);
    if (wanted->repair)
        return kw_repair_run(wanted->config_file);
    return wanted->check_file ? check(wanted->check_file, wanted->json) : serve(wanted);
}

/* Opens missing standard streams. Otherwise the next file, for example one of the store, would get a
 * descriptor below 3, and the log would be written into it. */
static void
open_standard_streams(void)
{
    int opened = open("/dev/null", O_RDWR);
    while (opened >= 0 && opened <= STDERR_FILENO)
        opened = open("/dev/null", O_RDWR);
    if (opened > STDERR_FILENO)
        close(opened);
}

int
main(int count, char **arguments)
{
    options wanted = {0};
    g_autoptr(GError) failed = NULL;
    int code = KW_EXIT_USAGE;
    open_standard_streams();
    setlocale(LC_CTYPE, "");
    if (read_options(&count, &arguments, &wanted, &failed))
        code = run(&wanted);
    else
        fprintf(stderr, "keywayd: %s\nTry `keywayd --help`.\n", failed->message);
    g_free(wanted.config_file);
    g_free(wanted.check_file);
    g_free(wanted.diff_file);
    g_free(wanted.other_file);
    g_free(wanted.port_file);
    return code;
}
