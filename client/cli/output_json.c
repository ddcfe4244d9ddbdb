/* JSON for programs: an object per row, in lines (jsonl) or in one array (json). */
#include "cli/output_form.h"

#include "cli/text.h"
#include "cli/value.h"

#include <stdio.h>

void
kw_output_json_row(kw_output *output, const kw_value *cells)
{
    g_autoptr(GString) line = g_string_new("{");

    for (gsize i = 0; i < output->count; i++) {
        if (cells[i].kind == KW_VALUE_NONE)
            continue;
        if (line->len > 1)
            g_string_append(line, ", ");
        kw_text_append_json(line, output->columns[i].name);
        g_string_append(line, ": ");
        kw_value_append_json(line, cells[i], output->columns[i].field, output->raw);
    }
    if (output->format == KW_OUTPUT_JSON)
        fputs(output->rows == 0 ? "[\n  " : ",\n  ", stdout);
    printf("%s}%s", line->str, output->format == KW_OUTPUT_JSON ? "" : "\n");
}

void
kw_output_json_end(kw_output *output)
{
    if (output->format == KW_OUTPUT_JSON)
        fputs(output->rows == 0 ? "[]\n" : "\n]\n", stdout);
}
