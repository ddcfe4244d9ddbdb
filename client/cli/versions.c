/* Prints a row for each write of a record, with the fields that it wrote. The first column is named
 * @timestamp, which cannot be the name of a field. */
#include "cli/versions.h"

#include "cli/output.h"
#include "cli/query_words.h"
#include "cli/value.h"

int
kw_no_such_record(const kw_table_info *table)
{
    g_printerr("keyway: table %s has no such record\n", table->name);
    return KW_EXIT_NOT_FOUND;
}

static bool
occurs(const GPtrArray *versions, const kw_output_column *column)
{
    for (guint i = 0; i < versions->len; i++) {
        const kw_record_version *version = versions->pdata[i];

        if (kw_record_find(version->record, column->field->name, column->entry).kind != KW_VALUE_NONE)
            return true;
    }
    return false;
}

/* The timestamp, then the fields and entries that some version has. */
static GArray *
columns_of(const kw_cli *cli, const kw_table_info *table, char *const *chosen, const GPtrArray *versions)
{
    g_autoptr(GArray) all = kw_columns_of_table(cli, table, chosen);
    GArray *columns = g_array_new(FALSE, FALSE, sizeof(kw_output_column));
    const kw_output_column timestamp = {.name = "@timestamp"};

    g_array_append_val(columns, timestamp);
    for (guint i = 0; i < all->len; i++)
        if (occurs(versions, &g_array_index(all, kw_output_column, i)))
            g_array_append_val(columns, g_array_index(all, kw_output_column, i));
    return columns;
}

static void
print_version(const kw_cli *cli, kw_output *output, const GArray *columns, const kw_record_version *version)
{
    g_autofree kw_value *cells = g_new0(kw_value, columns->len);
    g_autofree char *text = NULL;

    cells[0] = kw_output_stamp(cli, version->timestamp, &text);
    for (guint i = 1; i < columns->len; i++) {
        const kw_output_column *column = &g_array_index(columns, kw_output_column, i);

        cells[i] = kw_record_find(version->record, column->field->name, column->entry);
    }
    kw_output_row(output, cells);
}

static bool
print_versions(const kw_cli *cli, const kw_table_info *table, char *const *chosen, const GPtrArray *versions)
{
    g_autoptr(GArray) columns = columns_of(cli, table, chosen, versions);
    kw_output *output =
        kw_output_new(cli->format, cli->raw, (const kw_output_column *)(void *)columns->data, columns->len);

    for (guint i = 0; i < versions->len; i++)
        print_version(cli, output, columns, versions->pdata[i]);
    return kw_output_end(output, NULL);
}

int
kw_get_versions(kw_cli *cli, const kw_table_info *table, const char *columns, int most, char *const *fields,
                int count)
{
    g_autoptr(kw_record) key = kw_record_new();
    g_autoptr(GPtrArray) versions = NULL;
    g_auto(GStrv) names = NULL;
    kw_call_options options = kw_cli_call_options(cli);
    GError *error = NULL;

    names = kw_columns_split(table, columns, &error);
    if (names != NULL && kw_record_parse(table, fields, count, key, &error))
        versions = kw_client_get_versions(cli->client, table->name, key, (const char *const *)names, most,
                                          &options, &error);
    if (versions == NULL)
        return kw_cli_fail(error, "get");
    if (versions->len == 0 && names[0] != NULL) {
        g_printerr("keyway: table %s has no such record, or it has none of these columns\n", table->name);
        return KW_EXIT_NOT_FOUND;
    }
    if (versions->len == 0)
        return kw_no_such_record(table);
    return print_versions(cli, table, names, versions) ? KW_EXIT_OK : KW_EXIT_FAILED;
}
