/* keyway policy diff: prints the differences between two policy files, before the new one is served, or
 * between versions that the catalog keeps.
 *
 * A gateway does the comparison. For two files, the command starts a private gateway without a store, unless
 * --gateway names one. If an argument is the number of a version, the gateway must be one that has the
 * catalog. Writes nothing.
 */
#include "cli/cli.h"
#include "cli/diff_rows.h"
#include "cli/file.h"
#include "cli/policy.h"
#include "cli/private.h"
#include "cli/source.h"

#include <stdio.h>

#define RECORDS_MAX 200000
#define CALL_TIMEOUT_MS 600000

typedef struct diff_words {
    char *table;
    char *sample;
    char *format;
} diff_words;

static void
diff_words_clear(diff_words *words)
{
    g_free(words->table);
    g_free(words->sample);
    g_free(words->format);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(diff_words, diff_words_clear)

/* The table of the old policy to which the sample belongs. */
static const kw_table_info *
find_table(const GPtrArray *tables, const char *name, GError **error)
{
    for (guint i = 0; i < tables->len; i++) {
        const kw_table_info *table = tables->pdata[i];

        if (name == NULL ? tables->len == 1 : g_str_equal(table->name, name))
            return table;
    }
    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                name == NULL
                    ? "the old policy has several tables: select the table of the sample with --table"
                    : "the old policy has no table %s",
                name);
    return NULL;
}

/* Returns an array of kw_record; the first record that cannot be read is an error. */
static GPtrArray *
read_sample(const diff_words *words, const kw_table_info *table, GError **error)
{
    g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func((GDestroyNotify)kw_record_unref);
    g_autoptr(kw_source) source = kw_source_open(words->sample, words->format, NULL, table, error);
    g_autoptr(GError) failure = NULL;
    kw_source_item item;

    if (source == NULL)
        return NULL;
    while (failure == NULL && records->len < RECORDS_MAX && kw_source_next(source, &item, &failure)) {
        if (item.error == NULL)
            g_ptr_array_add(records, kw_record_ref(item.record));
        else
            g_set_error(&failure, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "%s:%" G_GUINT64_FORMAT ": %s",
                        words->sample, item.line, item.error->message);
        kw_source_item_clear(&item);
    }
    if (failure == NULL)
        return g_steal_pointer(&records);
    g_propagate_error(error, g_steal_pointer(&failure));
    return NULL;
}

static char *
call_gateway(kw_cli *cli, const diff_words *words, const char *old_text, const char *new_text, GError **error)
{
    g_autoptr(GPtrArray) tables = NULL;
    g_autoptr(GPtrArray) sample = NULL;
    const kw_table_info *table;

    if (words->sample == NULL)
        return kw_client_policy_diff(cli->client, old_text, new_text, NULL, NULL, error);
    tables = kw_client_policy_tables(cli->client, old_text, error);
    table = tables == NULL ? NULL : find_table(tables, words->table, error);
    sample = table == NULL ? NULL : read_sample(words, table, error);
    return sample == NULL
               ? NULL
               : kw_client_policy_diff(cli->client, old_text, new_text, table->name, sample, error);
}

/* The text of a file, or of a version if the word is its number. */
static char *
read_policy(kw_cli *cli, const char *word, GError **error)
{
    g_autoptr(kw_policy_version) version = NULL;
    gint64 number;

    if (!kw_policy_version_parse(word, &number))
        return kw_file_text(word, KW_FILE_POLICY_MAX, error);
    version = kw_client_policy_version(cli->client, number, error);
    return version == NULL ? NULL : g_steal_pointer(&version->text);
}

static bool
names_version(const char *old_word, const char *new_word)
{
    gint64 number;

    return kw_policy_version_parse(old_word, &number) || kw_policy_version_parse(new_word, &number);
}

static bool
print_text(const kw_cli *cli, const char *text)
{
    if (cli->format != KW_OUTPUT_TABLE)
        return kw_diff_print_rows(cli, text);
    return printf("%s", text) >= 0 && fflush(stdout) == 0;
}

static int
compare(kw_cli *cli, const diff_words *words, const char *old_word, const char *new_word)
{
    g_autoptr(kw_private) own = NULL;
    g_autofree char *old_text = NULL;
    g_autofree char *new_text = NULL;
    g_autofree char *text = NULL;
    GError *error = NULL;
    int code;

    if (cli->gateway == NULL && !names_version(old_word, new_word)) {
        own = kw_private_start(&error);
        if (own == NULL)
            return kw_cli_fail(error, "policy diff");
        cli->gateway = g_strdup(kw_private_address(own));
    }
    if (cli->timeout_ms == 0)
        cli->timeout_ms = CALL_TIMEOUT_MS;
    if (kw_cli_connect(cli, &code) == NULL)
        return code;
    old_text = read_policy(cli, old_word, &error);
    new_text = old_text == NULL ? NULL : read_policy(cli, new_word, &error);
    text = new_text == NULL ? NULL : call_gateway(cli, words, old_text, new_text, &error);
    if (text == NULL)
        return kw_cli_fail(error, "policy diff");
    return print_text(cli, text) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

int
kw_command_policy_diff(kw_cli *cli, int argc, char **argv)
{
    g_auto(diff_words) words = {0};
    int code;
    const GOptionEntry entries[] = {
        {"sample", 's', 0, G_OPTION_ARG_FILENAME, &words.sample,
         "Count the changed keys of these records, not of random ones; same formats as import", "FILE"},
        {"table", 0, 0, G_OPTION_ARG_STRING, &words.table, "Table of the sample [the only table]", "TABLE"},
        {"format", 0, 0, G_OPTION_ARG_STRING, &words.format,
         "Format of the sample: csv or jsonl [by name or content]", "FORMAT"},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(cli, "policy diff", "OLD NEW",
                      "Compares two policy files: key rules, fingerprints, queries whose ranges change,\nand "
                      "the share of keys that changes. Files need no running gateway. A number is a policy "
                      "version that\nthe catalog keeps; write ./7 for a file with such a name.",
                      entries, NULL, 2, 2, &argc, &argv, &code))
        return code;
    return compare(cli, &words, argv[1], argv[2]);
}
