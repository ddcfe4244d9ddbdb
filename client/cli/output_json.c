/* JSON for programs: an object per row, in lines (jsonl) or in one array (json). */
#include "cli/output_form.h"

#include "cli/text.h"
#include "cli/value.h"

#include <math.h>
#include <stdio.h>

/* Numbers and flags stand bare; what JSON cannot say (NaN, timestamps, bytes) is a text. */
static void
append_value(GString *line, const kw_output *output, gsize column, kw_value value)
{
    const kw_field_info *field = output->columns[column].field;
    g_autofree char *text = kw_value_print(value, field, output->raw);
    bool stamp = !output->raw && field != NULL && g_str_equal(field->type, "timestamp");
    bool bare = value.kind == KW_VALUE_FLAG || (value.kind == KW_VALUE_NUMBER && !stamp) ||
                (value.kind == KW_VALUE_REAL && isfinite(value.real));

    if (bare)
        g_string_append(line, text);
    else
        kw_text_append_json(line, text);
}

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
        append_value(line, output, i, cells[i]);
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
