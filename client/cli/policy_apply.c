/* keyway policy import, keyway policy apply: write a new version of a policy that the catalog keeps. */
#include "cli/cli.h"
#include "cli/count_rows.h"
#include "cli/file.h"
#include "cli/output.h"
#include "cli/policy.h"
#include "cli/text.h"

#include <stdio.h>

/* How long a dry run counts the rows of a table. */
#define COUNT_US (5 * G_USEC_PER_SEC)

typedef struct apply_words {
    char *reason;
    gboolean dry_run;
    gboolean only_writer;
    gint64 expected; /* -1: the version in the text or, without one, the one that is current now */
} apply_words;

/* The version to change; -1 if it cannot be read (*error is set). */
static gint64
find_expected(kw_cli *cli, const apply_words *words, GError **error)
{
    g_autoptr(GPtrArray) newest = NULL;

    if (words->expected >= 0)
        return words->expected;
    newest = kw_client_policy_history(cli->client, 0, 1, error);
    if (newest == NULL)
        return -1;
    return newest->len == 0 ? 0 : ((const kw_policy_version *)newest->pdata[0])->version;
}

/* Counts the rows of a table for some seconds. */
static bool
count_rows(const kw_cli *cli, const char *name, kw_record_count *ret_counted, GError **error)
{
    g_autoptr(kw_table_info) table = kw_client_describe(cli->client, name, error);
    g_autoptr(kw_query) query = kw_query_new(name);

    if (table == NULL)
        return false;
    kw_query_skip_undecodable(query, true); /* a copy skips these rows, too */
    return kw_count_rows(cli, query, table, g_get_monotonic_time() + COUNT_US, ret_counted, error);
}

/* How long a copy takes if each of its reads has this rate. */
static char *
guess_duration(const kw_applied_policy *applied, guint64 rows, gint64 rows_per_second)
{
    double seconds = (double)rows * applied->copy_reads / (double)MAX(rows_per_second, 1);

    return kw_text_of_duration((gint64)(seconds * 1000) + 1 + applied->copy_wait_ms);
}

/* Nothing was measured yet, so the text says what it assumes. */
static void
print_guess(const kw_applied_policy *applied, const kw_record_count *counted)
{
    g_autofree char *alone = guess_duration(applied, counted->records, applied->copy_rows_per_second);
    g_autofree char *beside =
        guess_duration(applied, counted->records, applied->copy_rows_per_second_beside_callers);
    const char *more = counted->complete ? "" : "more than ";

    if (applied->copy_reads <= 0)
        return;
    printf("  a guess of the time: %s%s without callers, %s%s beside callers, for whom a change pauses;\n"
           "  it assumes that each row is read %d times, at %" G_GINT64_FORMAT " rows/s",
           more, alone, more, beside, applied->copy_reads, applied->copy_rows_per_second);
    if (applied->copy_wait_ms > 0) {
        g_autofree char *wait = kw_text_of_duration(applied->copy_wait_ms);

        printf(", after %s (store.late)", wait);
    }
    printf("; `keyway change status` estimates by what it measures\n");
}

/* Prints how many rows of a table are copied. */
static void
print_rows(const kw_cli *cli, const kw_applied_policy *applied, const char *name)
{
    GError *error = NULL;
    kw_record_count counted = {0};

    if (!count_rows(cli, name, &counted, &error)) {
        printf("table %s: its rows could not be counted: %s\n", name, error->message);
        g_error_free(error);
        return;
    }
    printf("table %s: %s%" G_GUINT64_FORMAT " rows to copy%s\n", name, counted.complete ? "" : "more than ",
           counted.records, counted.complete ? "" : " (`keyway count` counts them all)");
    print_guess(applied, &counted);
}

static void
print_summary(const kw_cli *cli, const kw_applied_policy *applied, bool dry_run)
{
    const char *plan = applied->plan;

    printf("%s", plan);
    for (char **table = applied->copied_tables;
         dry_run && !applied->refused && table != NULL && *table != NULL; table++)
        print_rows(cli, applied, *table);
    if (applied->refused)
        printf("refused: nothing was changed\n");
    else if (!applied->changed)
        printf("policy version %" G_GINT64_FORMAT " is current and has this text\n", applied->version);
    else if (dry_run)
        printf("dry run: nothing was changed; this would be policy version %" G_GINT64_FORMAT "\n",
               applied->version);
    else
        printf("policy version %" G_GINT64_FORMAT " is current\n", applied->version);
}

static bool
output_applied(const kw_cli *cli, const kw_applied_policy *applied, bool dry_run)
{
    static const kw_output_column columns[] = {
        {.name = "version"}, {.name = "changed"}, {.name = "refused"}, {.name = "plan"}};
    const kw_value cells[] = {kw_number(applied->version), kw_flag(applied->changed),
                              kw_flag(applied->refused), kw_text(applied->plan)};
    kw_output *output;

    if (cli->format == KW_OUTPUT_TABLE) {
        print_summary(cli, applied, dry_run);
        return fflush(stdout) == 0;
    }
    output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));
    kw_output_row(output, cells);
    return kw_output_end(output, NULL);
}

static int
apply(kw_cli *cli, const char *file, const apply_words *words, bool import_file, const char *command)
{
    g_autofree char *text = NULL;
    g_autoptr(kw_applied_policy) applied = NULL;
    GError *error = NULL;
    gint64 expected, shown = -1;
    const char *policy;
    int code;
    const kw_apply_options options = {.reason = words->reason,
                                      .dry_run = words->dry_run,
                                      .import_file = import_file,
                                      .only_writer = words->only_writer};

    text = kw_file_text(file, KW_FILE_POLICY_MAX, &error);
    if (text == NULL)
        return kw_cli_fail(error, file);
    if (kw_cli_connect(cli, &code) == NULL)
        return code;
    policy = kw_policy_version_skip(text, &shown);
    expected = shown >= 0 && words->expected < 0 && !import_file ? shown : find_expected(cli, words, &error);
    if (error == NULL)
        applied = kw_client_policy_apply(cli->client, policy, expected, &options, &error);
    if (applied == NULL)
        return kw_cli_fail(error, command);
    if (!output_applied(cli, applied, words->dry_run))
        return KW_EXIT_FAILED;
    return applied->refused ? KW_EXIT_FAILED : KW_EXIT_OK;
}

int
kw_command_policy_import(kw_cli *cli, int argc, char **argv)
{
    apply_words words = {.expected = -1};
    int code;
    const GOptionEntry entries[] = {
        {"message", 'm', 0, G_OPTION_ARG_STRING, &words.reason, "Why, for the history", "REASON"},
        {"dry-run", 0, 0, G_OPTION_ARG_NONE, &words.dry_run, "Print the plan and change nothing", NULL},
        G_OPTION_ENTRY_NULL};

    if (kw_cli_parse(cli, "policy import", "FILE",
                     "Takes tables and sequences from a policy file into the catalog, as the next policy "
                     "version.\nThe gateway must have the setting policy: {source: store}.",
                     entries, NULL, 1, 1, &argc, &argv, &code))
        code = apply(cli, argv[1], &words, true, "policy import");
    g_free(words.reason);
    return code;
}

int
kw_command_policy_apply(kw_cli *cli, int argc, char **argv)
{
    apply_words words = {.expected = -1};
    int code;
    const GOptionEntry entries[] = {
        {"message", 'm', 0, G_OPTION_ARG_STRING, &words.reason, "Why, for the history", "REASON"},
        {"dry-run", 0, 0, G_OPTION_ARG_NONE, &words.dry_run, "Print the plan and change nothing", NULL},
        {"expect", 0, 0, G_OPTION_ARG_INT64, &words.expected,
         "Fail unless this policy version is current [the one that policy show printed into the text, or "
         "the one when the command begins]",
         "POLICY_VERSION"},
        {"only-writer", 0, 0, G_OPTION_ARG_NONE, &words.only_writer,
         "State that only gateways write the store tables; HBase needs this to change a key rule", NULL},
        G_OPTION_ENTRY_NULL};

    if (kw_cli_parse(cli, "policy apply", "FILE",
                     "Makes a text with tables and sequences the next policy version in the catalog, "
                     "and prints what changes.\nAll gateways of the store serve it within seconds.",
                     entries, NULL, 1, 1, &argc, &argv, &code))
        code = apply(cli, argv[1], &words, false, "policy apply");
    g_free(words.reason);
    return code;
}
