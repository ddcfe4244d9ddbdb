/* The text has three levels, by indentation:
 *
 *     table order_events                           a table; after its name, what happens to all of it
 *       path primary: another key rule (...)       a change
 *         - hash(md5 of order_id, ...)             its details
 */
#include "cli/diff_rows.h"

#include "cli/output.h"

#include <string.h>

#define TABLE "table "

typedef struct rows {
    kw_output *output;
    char *table;
    char *change; /* NULL: none to print */
    GString *details;
} rows;

static void
print_change(rows *self)
{
    const kw_value cells[] = {kw_text(self->table), kw_text(self->change),
                              self->details->len == 0 ? (kw_value){0} : kw_text(self->details->str)};

    if (self->change != NULL)
        kw_output_row(self->output, cells);
    g_clear_pointer(&self->change, g_free);
    g_string_truncate(self->details, 0);
}

/* line: without "table ". */
static void
begin_table(rows *self, const char *line)
{
    gsize length = strcspn(line, " ");

    print_change(self);
    g_free(self->table);
    self->table = g_strndup(line, length);
    if (line[length] != '\0')
        self->change = g_strdup(line + length + 1);
}

static void
add_line(rows *self, const char *line)
{
    if (g_str_has_prefix(line, TABLE)) {
        begin_table(self, line + strlen(TABLE));
    } else if (self->table == NULL) {
        return; /* "no difference" */
    } else if (g_str_has_prefix(line, "    ")) {
        g_string_append_printf(self->details, "%s%s", self->details->len > 0 ? "\n" : "", line + 4);
    } else if (g_str_has_prefix(line, "  ")) {
        print_change(self);
        self->change = g_strdup(line + 2);
    }
}

bool
kw_diff_print_rows(const kw_cli *cli, const char *text)
{
    static const kw_output_column columns[] = {{.name = "table"}, {.name = "change"}, {.name = "details"}};
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    rows self = {.output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns)),
                 .details = g_string_new(NULL)};

    for (char **line = lines; *line != NULL; line++)
        add_line(&self, *line);
    print_change(&self);
    g_string_free(self.details, TRUE);
    g_free(self.table);
    return kw_output_end(self.output, NULL);
}
