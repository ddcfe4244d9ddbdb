/* keyway tables, describe, reload, stats: information about the gateway. */
#include "cli/show.h"
#include "cli/cli.h"
#include "cli/output.h"

#include <stdio.h>
#include <string.h>

static kw_value
text_or_none(const char *text)
{
    return text == NULL || text[0] == '\0' ? (kw_value){.kind = KW_VALUE_NONE} : kw_text(text);
}

int
kw_command_tables(kw_cli *cli, int argc, char **argv)
{
    static const kw_output_column columns[] = {{.name = "table"}};
    g_auto(GStrv) names = NULL;
    GError *error = NULL;
    kw_output *output;
    int code;

    if (!kw_cli_parse(cli, "tables", "", "Lists the tables.", NULL, NULL, 0, 0, &argc, &argv, &code) ||
        kw_cli_connect(cli, &code) == NULL)
        return code;
    names = kw_client_tables(cli->client, &error);
    if (names == NULL)
        return kw_cli_fail(error, "tables");
    output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));
    for (char **name = names; *name != NULL; name++) {
        const kw_value cells[] = {kw_text(*name)};

        kw_output_row(output, cells);
    }
    return kw_output_end(output, NULL) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

/* --- describe --------------------------------------------------------------------------------- */

static bool
output_fields(const kw_cli *cli, const kw_table_info *table)
{
    static const kw_output_column columns[] = {{.name = "field"},  {.name = "type"}, {.name = "key"},
                                               {.name = "column"}, {.name = "unit"}, {.name = "about"}};
    kw_output *output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));

    for (guint i = 0; i < table->fields->len; i++) {
        const kw_field_info *field = table->fields->pdata[i];
        g_autofree char *type =
            field->of == NULL ? g_strdup(field->type) : g_strdup_printf("%s of %s", field->type, field->of);
        const kw_value cells[] = {kw_text(field->name),      kw_text(type),
                                  kw_flag(field->key),       text_or_none(field->column),
                                  text_or_none(field->unit), text_or_none(field->about)};

        kw_output_row(output, cells);
    }
    return kw_output_end(output, NULL);
}

/* "complete", "complete, unverified", "complete, unverified (80 rows checked)" or "not served". */
static char *
state_text(const kw_table_info *table, const kw_path_info *path)
{
    if (table->not_served != NULL)
        return g_strdup("not served");
    if (path->state == NULL)
        return NULL;
    if (!path->verified && path->checked_rows > 0)
        return g_strdup_printf("%s, unverified (%" G_GINT64_FORMAT " rows checked)", path->state,
                               path->checked_rows);
    return g_strdup_printf("%s%s", path->state, path->verified ? "" : ", unverified");
}

bool
kw_output_paths(const kw_cli *cli, const GPtrArray *tables, gsize fingerprint_length)
{
    static const kw_output_column columns[] = {{.name = "table"},       {.name = "path"},
                                               {.name = "store_table"}, {.name = "layout", .right = true},
                                               {.name = "fingerprint"}, {.name = "buckets", .right = true},
                                               {.name = "state"},       {.name = "rule"}};
    kw_output *output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));

    for (guint i = 0; i < tables->len; i++) {
        const kw_table_info *table = tables->pdata[i];

        for (guint j = 0; j < table->paths->len; j++) {
            const kw_path_info *path = table->paths->pdata[j];
            g_autofree char *fingerprint = g_strndup(path->fingerprint, fingerprint_length);
            g_autofree char *state = state_text(table, path);
            g_autofree char *rule = g_strjoinv(" + ", path->components);
            const kw_value cells[] = {kw_text(table->name),       kw_text(path->name),
                                      kw_text(path->store_table), kw_number(path->layout),
                                      kw_text(fingerprint),       kw_number(path->buckets),
                                      text_or_none(state),        kw_text(rule)};

            kw_output_row(output, cells);
        }
    }
    return kw_output_end(output, NULL);
}

static void
print_differences(const kw_table_info *table)
{
    for (guint i = 0; i < table->paths->len; i++) {
        const kw_path_info *path = table->paths->pdata[i];

        if (path->differences != NULL)
            printf("%s\n\n", path->differences);
    }
}

int
kw_command_describe(kw_cli *cli, int argc, char **argv)
{
    g_autoptr(kw_table_info) table = NULL;
    g_autoptr(GPtrArray) tables = g_ptr_array_new();
    gboolean paths = FALSE;
    int code;
    const GOptionEntry entries[] = {
        {"paths", 0, 0, G_OPTION_ARG_NONE, &paths, "Print the paths instead of the fields", NULL},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(cli, "describe", "TABLE", "Prints the fields and paths of a table.", entries, NULL, 1,
                      1, &argc, &argv, &code))
        return code;
    table = kw_cli_describe(cli, argv[1], &code);
    if (table == NULL)
        return code;
    g_ptr_array_add(tables, table);
    if (paths)
        return kw_output_paths(cli, tables, G_MAXUINT8) ? KW_EXIT_OK : KW_EXIT_FAILED;
    if (cli->format == KW_OUTPUT_TABLE && table->about != NULL && table->about[0] != '\0')
        printf("%s\n\n", table->about);
    if (cli->format == KW_OUTPUT_TABLE && table->not_served != NULL)
        printf("%s\n\n", table->not_served);
    if (cli->format == KW_OUTPUT_TABLE)
        print_differences(table);
    if (!output_fields(cli, table))
        return KW_EXIT_FAILED;
    if (cli->format != KW_OUTPUT_TABLE)
        return KW_EXIT_OK;
    putchar('\n');
    return kw_output_paths(cli, tables, 12) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

/* --- reload, stats -------------------------------------------------------------------------------- */

int
kw_command_reload(kw_cli *cli, int argc, char **argv)
{
    GError *error = NULL;
    int code;

    if (!kw_cli_parse(cli, "reload", "",
                      "Makes the gateway read its policy file again. If the new policy is refused, the "
                      "gateway keeps the old one.",
                      NULL, NULL, 0, 0, &argc, &argv, &code) ||
        kw_cli_connect(cli, &code) == NULL)
        return code;
    return kw_client_reload(cli->client, &error) ? KW_EXIT_OK : kw_cli_fail(error, "reload");
}

static int
compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* On /metrics, the same names begin with keyway_, and those of counters end in _total. */
static bool
starts_with(const char *name, const char *prefix)
{
    g_autofree char *counter = g_strconcat(name, "_total", NULL);

    return prefix == NULL || g_str_has_prefix(counter, prefix) ||
           (g_str_has_prefix(prefix, "keyway_") && g_str_has_prefix(counter, prefix + strlen("keyway_")));
}

/* Returns the exit status. */
static int
output_stats(const kw_cli *cli, GHashTable *stats, const char *prefix)
{
    static const kw_output_column columns[] = {{.name = "name"}, {.name = "value", .right = true}};
    guint count = 0;
    bool found = false;
    g_autofree char **names = (char **)g_hash_table_get_keys_as_array(stats, &count);
    kw_output *output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));

    qsort(names, count, sizeof *names, compare_texts);
    for (guint i = 0; i < count; i++) {
        const kw_value cells[] = {kw_text(names[i]),
                                  kw_real(*(double *)g_hash_table_lookup(stats, names[i]))};

        if (!starts_with(names[i], prefix))
            continue;
        found = true;
        kw_output_row(output, cells);
    }
    if (!kw_output_end(output, NULL))
        return KW_EXIT_FAILED;
    if (found)
        return KW_EXIT_OK;
    g_printerr("keyway: stats: no metric starts with \"%s\"; `keyway stats` lists all, except those "
               "with labels, which only /metrics has\n",
               prefix);
    return KW_EXIT_NOT_FOUND;
}

int
kw_command_stats(kw_cli *cli, int argc, char **argv)
{
    g_autoptr(GHashTable) stats = NULL;
    GError *error = NULL;
    int code;

    if (!kw_cli_parse(cli, "stats", "[PREFIX]",
                      "Prints the metrics of the gateway, or only those whose names start with PREFIX.", NULL,
                      NULL, 0, 1, &argc, &argv, &code) ||
        kw_cli_connect(cli, &code) == NULL)
        return code;
    stats = kw_client_stats(cli->client, &error);
    if (stats == NULL)
        return kw_cli_fail(error, "stats");
    return output_stats(cli, stats, argc > 1 ? argv[1] : NULL);
}
