/* keyway explain: prints the row keys of a record, or the ranges of a query. */
#include "cli/explain.h"

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/query_words.h"
#include "cli/text.h"
#include "cli/value.h"

#include <string.h>

#define RANGES_SHOWN 8

void
kw_key_pieces_print(const GPtrArray *pieces, FILE *to)
{
    int width = 0, text_width = 0;

    for (guint i = 0; i < pieces->len; i++) {
        const kw_key_piece *piece = pieces->pdata[i];

        width = MAX(width, (int)strlen(piece->component));
        text_width = MAX(text_width, (int)strlen(piece->text));
    }
    for (guint i = 0; i < pieces->len; i++) {
        const kw_key_piece *piece = pieces->pdata[i];
        g_autofree char *hex = kw_hex_of_bytes(piece->bytes);

        fprintf(to, "    %-*s  %2" G_GSIZE_FORMAT " byte%s  %-*s  hex %s\n", width, piece->component,
                g_bytes_get_size(piece->bytes), g_bytes_get_size(piece->bytes) == 1 ? " " : "s", text_width,
                piece->text, hex);
    }
}

static void
print_region(const kw_explained_key *key, FILE *to)
{
    g_autofree char *start = kw_text_of_bytes(key->region_start);
    g_autofree char *stop = kw_text_of_bytes(key->region_stop);

    if (key->region_start == NULL)
        return;
    fprintf(to, "  region   from %s to %s%s%s\n", *start == '\0' ? "the beginning" : start,
            *stop == '\0' ? "the end" : stop, key->region_server == NULL ? "" : " on ",
            key->region_server == NULL ? "" : key->region_server);
}

static void
print_key(const kw_explained_key *key, FILE *to)
{
    g_autofree char *row_key = kw_text_of_bytes(key->row_key);

    fprintf(to, "path %s, store table %s\n  row key  %s  (%" G_GSIZE_FORMAT " bytes)\n", key->path,
            key->store_table, row_key, g_bytes_get_size(key->row_key));
    kw_key_pieces_print(key->pieces, to);
    print_region(key, to);
}

/* Many ranges differ only in their bucket: the first and the last ones suffice. */
static bool
is_left_out(guint i, guint count)
{
    return count > RANGES_SHOWN && i >= RANGES_SHOWN / 2 && i < count - RANGES_SHOWN / 4;
}

/* Prints the range as text and, if that escapes bytes, as hex. */
static void
print_range(const kw_explained_range *range, FILE *to)
{
    g_autofree char *start = kw_hex_of_bytes(range->start);
    g_autofree char *stop = kw_hex_of_bytes(range->stop);

    fprintf(to, "    %s\n", range->text);
    if (strchr(range->text, '\\') != NULL)
        fprintf(to, "      hex %s to %s\n", *start == '\0' ? "the beginning" : start,
                *stop == '\0' ? "the end" : stop);
}

static guint
group_size(const GPtrArray *ranges, gint32 group)
{
    guint count = 0;

    for (guint i = 0; i < ranges->len; i++)
        count += ((const kw_explained_range *)ranges->pdata[i])->group == group;
    return count;
}

/* Prints a line before a group's first range if the group has ranges to merge, or follows another group. */
static void
print_group(const kw_explanation *plan, guint i, gint32 *last_group, FILE *to)
{
    gint32 group = ((const kw_explained_range *)plan->ranges->pdata[i])->group;
    guint size;

    if (group == *last_group)
        return;
    size = group_size(plan->ranges, group);
    if (size > 1)
        fprintf(to, "  %smerge of %u ranges\n", *last_group < 0 ? "" : "then a ", size);
    else if (*last_group >= 0)
        fprintf(to, "  then\n");
    *last_group = group;
}

static void
print_ranges(const kw_explanation *plan, FILE *to)
{
    guint count = plan->ranges->len;
    gint32 group = -1;
    guint left_out = 0;

    fprintf(to, "path %s, %" G_GINT64_FORMAT " range%s%s\n", plan->path, plan->ranges_count,
            plan->ranges_count == 1 ? "" : "s", plan->reversed ? ", read backwards" : "");
    for (guint i = 0; i < count; i++) {
        if (is_left_out(i, count)) {
            left_out++;
            continue;
        }
        if (left_out > 0)
            fprintf(to, "    ... %u more\n", left_out);
        left_out = 0;
        print_group(plan, i, &group, to);
        print_range(plan->ranges->pdata[i], to);
    }
    if (plan->ranges_count > count)
        fprintf(to, "    ... and %" G_GINT64_FORMAT " more ranges\n", plan->ranges_count - count);
    if (plan->expected_reads_per_row > 0)
        fprintf(to, "  expected: %.2f rows scanned per row returned\n", plan->expected_reads_per_row);
}

void
kw_explanation_print(const kw_explanation *explanation, FILE *to)
{
    for (guint i = 0; i < explanation->keys->len; i++)
        print_key(explanation->keys->pdata[i], to);
    if (explanation->path != NULL)
        print_ranges(explanation, to);
    for (char **note = explanation->notes; *note != NULL; note++)
        fprintf(to, "  * %s\n", *note);
    if (explanation->keys->len == 0 && explanation->path == NULL)
        fprintf(to, "%s\n", explanation->text);
}

/* --- csv -------------------------------------------------------------------------------------- */

static bool
output_keys(const kw_cli *cli, const kw_explanation *explanation)
{
    static const kw_output_column columns[] = {
        {.name = "path"},         {.name = "store_table"}, {.name = "row_key"},
        {.name = "component"},    {.name = "bytes"},       {.name = "hex"},
        {.name = "region_start"}, {.name = "region_stop"}, {.name = "region_server"}};
    kw_output *output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));

    for (guint i = 0; i < explanation->keys->len; i++) {
        const kw_explained_key *key = explanation->keys->pdata[i];
        g_autofree char *row_key = kw_text_of_bytes(key->row_key);
        g_autofree char *region_start = kw_text_of_bytes(key->region_start);
        g_autofree char *region_stop = kw_text_of_bytes(key->region_stop);

        for (guint j = 0; j < key->pieces->len; j++) {
            const kw_key_piece *piece = key->pieces->pdata[j];
            g_autofree char *bytes = kw_text_of_bytes(piece->bytes);
            g_autofree char *hex = kw_hex_of_bytes(piece->bytes);
            const kw_value cells[] = {kw_text(key->path),
                                      kw_text(key->store_table),
                                      kw_text(row_key),
                                      kw_text(piece->component),
                                      kw_text(bytes),
                                      kw_text(hex),
                                      key->region_start == NULL ? (kw_value){0} : kw_text(region_start),
                                      key->region_stop == NULL ? (kw_value){0} : kw_text(region_stop),
                                      key->region_server == NULL ? (kw_value){0}
                                                                 : kw_text(key->region_server)};

            kw_output_row(output, cells);
        }
    }
    return kw_output_end(output, NULL);
}

static bool
output_ranges(const kw_cli *cli, const kw_explanation *plan)
{
    static const kw_output_column columns[] = {
        {.name = "path"},      {.name = "group"},    {.name = "start"},    {.name = "stop"},
        {.name = "start_hex"}, {.name = "stop_hex"}, {.name = "reversed"}, {.name = "text"}};
    kw_output *output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));

    for (guint i = 0; i < plan->ranges->len; i++) {
        const kw_explained_range *range = plan->ranges->pdata[i];
        g_autofree char *start = kw_text_of_bytes(range->start);
        g_autofree char *stop = kw_text_of_bytes(range->stop);
        g_autofree char *start_hex = kw_hex_of_bytes(range->start);
        g_autofree char *stop_hex = kw_hex_of_bytes(range->stop);
        const kw_value cells[] = {kw_text(plan->path),     kw_number(range->group), kw_text(start),
                                  kw_text(stop),           kw_text(start_hex),      kw_text(stop_hex),
                                  kw_flag(plan->reversed), kw_text(range->text)};

        kw_output_row(output, cells);
    }
    return kw_output_end(output, NULL);
}

static int
show(const kw_cli *cli, const kw_explanation *explanation)
{
    if (cli->format == KW_OUTPUT_TABLE) {
        kw_explanation_print(explanation, stdout);
        return KW_EXIT_OK;
    }
    if (cli->format != KW_OUTPUT_CSV)
        return kw_explanation_print_json(explanation) ? KW_EXIT_OK : KW_EXIT_FAILED;
    if (explanation->path == NULL)
        return output_keys(cli, explanation) ? KW_EXIT_OK : KW_EXIT_FAILED;
    return output_ranges(cli, explanation) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

/* --- the command ------------------------------------------------------------------------------ */

static kw_explanation *
explain(kw_cli *cli, const kw_table_info *table, const kw_query_words *words, bool put, char *const *fields,
        int count, GError **error)
{
    g_autoptr(kw_record) record = kw_record_new();
    g_autoptr(kw_query) query = NULL;

    if (put)
        return kw_record_parse(table, fields, count, record, error)
                   ? kw_client_explain_put(cli->client, table->name, record, error)
                   : NULL;
    query = kw_query_from_words(words, table, fields, count, error);
    return query == NULL ? NULL : kw_client_explain(cli->client, query, error);
}

int
kw_command_explain(kw_cli *cli, int argc, char **argv)
{
    g_auto(kw_query_words) words = {0};
    g_autoptr(kw_table_info) table = NULL;
    g_autoptr(kw_explanation) explanation = NULL;
    gboolean put = FALSE;
    GError *error = NULL;
    int code;
    const GOptionEntry entries[] = {
        {"put", 0, 0, G_OPTION_ARG_NONE, &put, "The arguments are a record: print its row keys", NULL},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(cli, "explain", "TABLE [FIELD=VALUE...]",
                      "Prints the plan of a query or, with --put, the row keys of a record.", entries, &words,
                      1, -1, &argc, &argv, &code))
        return code;
    table = kw_cli_describe(cli, argv[1], &code);
    if (table == NULL)
        return code;
    explanation = explain(cli, table, &words, put, argv + 2, argc - 2, &error);
    return explanation == NULL ? kw_cli_fail(error, "explain") : show(cli, explanation);
}
