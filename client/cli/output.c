/* Selects the output form and the columns. */
#include "cli/output.h"

#include "cli/output_form.h"
#include "cli/stamp.h"
#include "cli/value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

kw_output *
kw_output_new(kw_output_format format, bool raw, const kw_output_column *columns, gsize count)
{
    kw_output *output = g_new0(kw_output, 1);

    output->format = format;
    output->raw = raw;
    output->columns = columns;
    output->count = count;
    output->held = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    return output;
}

void
kw_output_row(kw_output *output, const kw_value *cells)
{
    switch (output->format) {
    case KW_OUTPUT_TABLE:
        kw_output_table_row(output, cells);
        break;
    case KW_OUTPUT_JSON:
    case KW_OUTPUT_JSONL:
        kw_output_json_row(output, cells);
        break;
    case KW_OUTPUT_CSV:
        kw_output_csv_row(output, cells);
        break;
    }
    output->rows++;
}

void
kw_output_record(kw_output *output, const kw_record *record)
{
    g_autofree kw_value *cells = g_new0(kw_value, output->count);

    for (gsize i = 0; i < output->count; i++)
        cells[i] = output->columns[i].field == NULL
                       ? kw_record_get(record, output->columns[i].name)
                       : kw_record_find(record, output->columns[i].field->name, output->columns[i].entry);
    kw_output_row(output, cells);
}

bool
kw_output_end(kw_output *output, const char *footer)
{
    switch (output->format) {
    case KW_OUTPUT_TABLE:
        kw_output_table_end(output, footer);
        break;
    case KW_OUTPUT_JSON:
    case KW_OUTPUT_JSONL:
        kw_output_json_end(output);
        break;
    case KW_OUTPUT_CSV:
        kw_output_csv_end(output);
        break;
    }
    g_ptr_array_unref(output->held);
    g_free(output->widths);
    g_free(output);
    if (fflush(stdout) == 0)
        return true;
    g_printerr("keyway: cannot write the output: %s\n", g_strerror(errno));
    return false;
}

static void
add_column(GArray *columns, const kw_field_info *field, const char *name, const char *entry)
{
    const char *type = entry == NULL ? field->type : field->of;
    const char *const left[] = {"string", "bytes", "timestamp", "map", NULL};
    kw_output_column column = {
        .name = name, .field = field, .entry = entry, .right = !g_strv_contains(left, type)};

    g_array_append_val(columns, column);
}

/* Adds the whole field, or its chosen entries. */
static void
add_chosen(const kw_cli *cli, GArray *columns, const kw_field_info *field, char *const *chosen)
{
    bool json = cli->format == KW_OUTPUT_JSON || cli->format == KW_OUTPUT_JSONL;
    gsize length = strlen(field->name);
    guint before = columns->len;

    if (field->key || g_strv_contains((const char *const *)chosen, field->name)) {
        add_column(columns, field, field->name, NULL);
        return;
    }
    for (char *const *name = chosen; *name != NULL; name++) {
        if (!g_str_has_prefix(*name, field->name) || (*name)[length] != '.')
            continue;
        if (!json)
            add_column(columns, field, *name, *name + length + 1);
        else if (columns->len == before)
            add_column(columns, field, field->name, NULL);
    }
}

GArray *
kw_columns_of_table(const kw_cli *cli, const kw_table_info *table, char *const *chosen)
{
    GArray *columns = g_array_new(FALSE, FALSE, sizeof(kw_output_column));

    for (int key = 1; key >= 0; key--)
        for (guint i = 0; i < table->fields->len; i++) {
            const kw_field_info *field = table->fields->pdata[i];

            if (field->key != (key == 1))
                continue;
            if (chosen == NULL || chosen[0] == NULL)
                add_column(columns, field, field->name, NULL);
            else
                add_chosen(cli, columns, field, chosen);
        }
    return columns;
}

bool
kw_output_one_record(const kw_cli *cli, const kw_table_info *table, char *const *chosen,
                     const kw_record *record)
{
    g_autoptr(GArray) all = kw_columns_of_table(cli, table, chosen);
    g_autoptr(GArray) columns = g_array_new(FALSE, FALSE, sizeof(kw_output_column));
    kw_output *output;

    for (guint i = 0; i < all->len; i++) {
        kw_output_column column = g_array_index(all, kw_output_column, i);

        if (kw_record_find(record, column.field->name, column.entry).kind != KW_VALUE_NONE)
            g_array_append_val(columns, column);
    }
    output =
        kw_output_new(cli->format, cli->raw, (const kw_output_column *)(void *)columns->data, columns->len);
    kw_output_record(output, record);
    return kw_output_end(output, NULL);
}

kw_value
kw_output_stamp(const kw_cli *cli, gint64 at_ms, char **ret_text)
{
    *ret_text = kw_stamp_print(at_ms, "ms");
    return cli->raw ? kw_number(at_ms) : kw_text(*ret_text);
}
