/* keyway advise: predicts how key rules would behave for sample records and queries, before a row is written.
 *
 * Reads the policies, the sample and the queries, and lets a gateway evaluate them: a private one without a
 * store, unless --gateway names another one. Writes nothing except the page named by --html.
 */
#include "cli/advise.h"

#include "cli/file.h"
#include "cli/private.h"
#include "cli/source.h"
#include "cli/text.h"

#include <stdio.h>
#include <string.h>

#define CANDIDATES_MAX 8
#define RECORDS_DEFAULT 100000
#define RECORDS_MAX 200000
#define REGIONS_MAX 256
#define REASONS_SHOWN 3
#define CALL_TIMEOUT_MS 600000

typedef struct advise_words {
    char **policies;
    char *table;
    char *sample;
    char *format;
    char *queries;
    char *time;
    char *html;
    int regions;
    int window_s;
    int records;
} advise_words;

static void
advise_words_clear(advise_words *words)
{
    g_strfreev(words->policies);
    g_free(words->table);
    g_free(words->sample);
    g_free(words->format);
    g_free(words->queries);
    g_free(words->time);
    g_free(words->html);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(advise_words, advise_words_clear)

/* --- policies and records --------------------------------------------------------------------------- */

static void
candidate_clear(gpointer item)
{
    kw_candidate *candidate = item;

    g_free((char *)candidate->name);
    g_free((char *)candidate->text);
}

/* The name of a candidate: its file name without folder and extension, or its whole path if a file in another
 * folder has the same name. */
static char *
name_of(const char *path, char *const *all)
{
    g_autofree char *base = g_path_get_basename(path);
    char *dot = strrchr(base, '.');

    for (char *const *other = all; *other != NULL; other++) {
        g_autofree char *other_base = g_path_get_basename(*other);

        if (*other != path && g_str_equal(base, other_base))
            return g_strdup(path);
    }
    return dot == NULL || dot == base ? g_steal_pointer(&base) : g_strndup(base, (gsize)(dot - base));
}

/* Returns an array of kw_candidate. */
static GArray *
read_policies(char *const *paths, GError **error)
{
    g_autoptr(GArray) candidates = g_array_new(FALSE, TRUE, sizeof(kw_candidate));

    g_array_set_clear_func(candidates, candidate_clear);
    for (char *const *path = paths; *path != NULL; path++) {
        char *text = kw_file_text(*path, KW_FILE_POLICY_MAX, error);
        kw_candidate candidate = {0};

        if (text == NULL)
            return NULL;
        candidate.name = name_of(*path, paths);
        candidate.text = text;
        g_array_append_val(candidates, candidate);
    }
    return g_steal_pointer(&candidates);
}

/* The table of the first policy, whose fields the sample and the queries use. Removes it from the array. */
static kw_table_info *
choose_table(GPtrArray *tables, const char *name, const char *candidate, GError **error)
{
    g_autoptr(GString) known = g_string_new(NULL);

    for (guint i = 0; i < tables->len; i++) {
        const kw_table_info *table = tables->pdata[i];

        if (name == NULL ? tables->len == 1 : g_str_equal(table->name, name))
            return g_ptr_array_steal_index(tables, i);
        g_string_append_printf(known, "%s%s", i > 0 ? ", " : "", table->name);
    }
    if (name == NULL)
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                    "%s has several tables (%s): select one with --table", candidate, known->str);
    else
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_NOT_FOUND, "%s has no table %s; it has: %s", candidate,
                    name, known->str);
    return NULL;
}

/* Returns an array of kw_record. Reports and skips records that cannot be read. */
static GPtrArray *
read_sample(const advise_words *words, const kw_table_info *table, GError **error)
{
    g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func((GDestroyNotify)kw_record_unref);
    g_autoptr(kw_source) source = kw_source_open(words->sample, words->format, NULL, table, error);
    g_autoptr(GError) failure = NULL;
    guint64 unreadable = 0;
    kw_source_item item;

    if (source == NULL)
        return NULL;
    while (records->len < (guint)words->records && kw_source_next(source, &item, &failure)) {
        if (item.error == NULL)
            g_ptr_array_add(records, kw_record_ref(item.record));
        else if (unreadable++ < REASONS_SHOWN)
            g_printerr("%s:%" G_GUINT64_FORMAT ": %s\n", words->sample, item.line, item.error->message);
        kw_source_item_clear(&item);
    }
    if (unreadable > 0)
        g_printerr("%s: %" G_GUINT64_FORMAT " records cannot be read and are skipped\n", words->sample,
                   unreadable);
    if (failure == NULL && records->len > 0)
        return g_steal_pointer(&records);
    if (failure != NULL)
        g_propagate_error(error, g_steal_pointer(&failure));
    else
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "%s has no record that can be read",
                    words->sample);
    return NULL;
}

/* --- the call --------------------------------------------------------------------------------- */

static kw_advice *
call_gateway(kw_cli *cli, const advise_words *words, const GArray *candidates, const kw_table_info *table,
             const GPtrArray *sample, const GPtrArray *queries, GError **error)
{
    g_autofree kw_named_query *named = g_new0(kw_named_query, queries->len + 1);
    kw_advise_request request = {.candidates = (const kw_candidate *)(void *)candidates->data,
                                 .candidates_count = candidates->len,
                                 .table = table->name,
                                 .sample = sample,
                                 .queries = named,
                                 .queries_count = queries->len,
                                 .regions = words->regions,
                                 .time_field = words->time,
                                 .window_ms = (gint64)words->window_s * 1000};

    for (guint i = 0; i < queries->len; i++) {
        const kw_advise_query *query = queries->pdata[i];

        named[i] = (kw_named_query){query->name, query->query};
    }
    return kw_client_advise(cli->client, &request, error);
}

static int
write_page(const kw_advise_view *view, const char *file)
{
    GError *error = NULL;
    GString *page = kw_advise_page(view);
    bool written = g_file_set_contents(file, page->str, (gssize)page->len, &error);

    g_string_free(page, TRUE);
    if (!written)
        return kw_cli_fail(error, "advise");
    g_printerr("Wrote the page with the plots to %s\n", file);
    return KW_EXIT_OK;
}

static int
show(const kw_cli *cli, const advise_words *words, const kw_advise_view *view)
{
    bool printed =
        cli->format == KW_OUTPUT_TABLE ? kw_advise_print_tables(cli, view) : kw_advise_print_json(view);

    if (!printed)
        return KW_EXIT_FAILED;
    return words->html == NULL ? KW_EXIT_OK : write_page(view, words->html);
}

static int
judge(kw_cli *cli, const advise_words *words, const GArray *candidates, const kw_table_info *table)
{
    g_autoptr(GPtrArray) sample = NULL;
    g_autoptr(GPtrArray) queries = NULL;
    g_autoptr(kw_advice) advice = NULL;
    g_autofree const char **names = g_new0(const char *, candidates->len + 1);
    GError *error = NULL;

    queries = words->queries == NULL ? kw_advise_queries_parse("", "", table, &error)
                                     : kw_advise_queries_read(words->queries, table, &error);
    sample = queries == NULL ? NULL : read_sample(words, table, &error);
    advice = sample == NULL ? NULL : call_gateway(cli, words, candidates, table, sample, queries, &error);
    if (advice == NULL)
        return kw_cli_fail(error, "advise");
    for (guint i = 0; i < candidates->len; i++)
        names[i] = g_array_index(candidates, kw_candidate, i).name;
    return show(cli, words,
                &(kw_advise_view){.advice = advice,
                                  .table = table->name,
                                  .candidates = names,
                                  .candidates_count = candidates->len,
                                  .queries = queries,
                                  .records = sample->len,
                                  .sample = words->sample});
}

static int
advise(kw_cli *cli, const advise_words *words)
{
    g_autoptr(GArray) candidates = NULL;
    g_autoptr(GPtrArray) tables = NULL;
    g_autoptr(kw_table_info) table = NULL;
    const kw_candidate *first;
    GError *error = NULL;

    candidates = read_policies(words->policies, &error);
    if (candidates == NULL)
        return kw_cli_fail(error, "advise");
    first = &g_array_index(candidates, kw_candidate, 0);
    tables = kw_client_policy_tables(cli->client, first->text, &error);
    table = tables == NULL ? NULL : choose_table(tables, words->table, first->name, &error);
    return table == NULL ? kw_cli_fail(error, first->name) : judge(cli, words, candidates, table);
}

/* Uses a private gateway unless one was named. */
static int
run(kw_cli *cli, const advise_words *words)
{
    g_autoptr(kw_private) own = NULL;
    GError *error = NULL;
    int code;

    if (cli->gateway == NULL) {
        own = kw_private_start(&error);
        if (own == NULL)
            return kw_cli_fail(error, "advise");
        cli->gateway = g_strdup(kw_private_address(own));
    }
    cli->connection.message_limit_bytes = (gsize)1 << 30;
    if (cli->timeout_ms == 0)
        cli->timeout_ms = CALL_TIMEOUT_MS;
    if (kw_cli_connect(cli, &code) == NULL)
        return code;
    return advise(cli, words);
}

static const char *
find_mistake(const kw_cli *cli, const advise_words *words)
{
    if (words->policies == NULL)
        return "--policy is missing: name at least one policy file";
    if (g_strv_length(words->policies) > CANDIDATES_MAX)
        return "at most 8 policies can be compared at once";
    if (words->sample == NULL)
        return "--sample is missing: name a CSV or JSON lines file with records";
    if (words->regions < 0 || words->regions > REGIONS_MAX)
        return "--regions: must be 1 to 256";
    if (words->window_s < 0)
        return "--window: must be a number of seconds, 0 or more";
    if (words->records < 1 || words->records > RECORDS_MAX)
        return "--records: must be 1 to 200000";
    if (cli->format == KW_OUTPUT_CSV)
        return "advise cannot print csv; use table, json or jsonl";
    return NULL;
}

int
kw_command_advise(kw_cli *cli, int argc, char **argv)
{
    g_auto(advise_words) words = {.records = RECORDS_DEFAULT};
    const char *mistake;
    int code;
    const GOptionEntry entries[] = {
        {"policy", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &words.policies,
         "Policy to evaluate (repeat it to compare policies)", "FILE"},
        {"sample", 's', 0, G_OPTION_ARG_FILENAME, &words.sample,
         "Typical records, same formats as import; - is standard input", "FILE"},
        {"queries", 'q', 0, G_OPTION_ARG_FILENAME, &words.queries,
         "Queries, one per line: arguments of scan, or a JSON object", "FILE"},
        {"table", 0, 0, G_OPTION_ARG_STRING, &words.table, "Table to evaluate [the only table]", "TABLE"},
        {"regions", 'r', 0, G_OPTION_ARG_INT, &words.regions,
         "Regions of each store table [from the policy's splits, else 16]", "N"},
        {"time", 0, 0, G_OPTION_ARG_STRING, &words.time,
         "Timestamp field that orders the writes [the first one]", "FIELD"},
        {"window", 0, 0, G_OPTION_ARG_INT, &words.window_s,
         "Window over which writes are counted [a minute or more]", "S"},
        {"records", 0, 0, G_OPTION_ARG_INT, &words.records, "Maximum number of records to read [100000]",
         "N"},
        {"format", 0, 0, G_OPTION_ARG_STRING, &words.format,
         "Format of the sample: csv or jsonl [by name or content]", "FORMAT"},
        {"html", 0, 0, G_OPTION_ARG_FILENAME, &words.html, "Also write a page with plots", "FILE"},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(
            cli, "advise", "--policy FILE --sample FILE [--queries FILE]",
            "Predicts how key rules would behave for records and queries; writes to no store.\nNeeds no "
            "running gateway: it starts keywayd, unless --gateway names a gateway.",
            entries, NULL, 0, 0, &argc, &argv, &code))
        return code;
    mistake = find_mistake(cli, &words);
    return mistake != NULL ? kw_cli_usage("%s", mistake) : run(cli, &words);
}
