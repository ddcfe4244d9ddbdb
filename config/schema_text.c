/* The reference as plain text, for `keywayd --reference` and terminals: 78 columns, two indents. */
#include "config/reader.h"
#include "config/schema.h"

#include <string.h>

#define TEXT_COLUMNS 78

/* Appends words, wrapped, each line indented by `indent` spaces. */
static void
append_wrapped(GString *out, const char *text, size_t indent)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    size_t column = 0;
    for (char **word = words; *word; word++) {
        size_t width = (size_t)g_utf8_strlen(*word, -1);
        if (column && column + 1 + width > TEXT_COLUMNS) {
            g_string_append_c(out, '\n');
            column = 0;
        }
        if (column == 0)
            g_string_append_printf(out, "%*s", (int)indent, "");
        else
            g_string_append_c(out, ' ');
        column += (column ? 1 : indent) + width;
        g_string_append(out, *word);
    }
    g_string_append_c(out, '\n');
}

static void
text_section(GString *out, const char *place, const char *about)
{
    g_string_append_printf(out, "%s\n", *place ? place : "POLICY");
    append_wrapped(out, about, 2);
    g_string_append_c(out, '\n');
}

static void
text_setting(GString *out, const kw_schema_line *line)
{
    g_string_append_printf(out, "  %s   %s%s%s\n", line->name, line->type, *line->fallback ? "; " : "",
                           line->fallback);
    append_wrapped(out, line->about, 6);
}

static void
text_section_end(GString *out)
{
    g_string_append_c(out, '\n');
}

char *
kw_schema_reference(const kw_component_schema *const *components, size_t components_count)
{
    static const kw_schema_writer writer = {text_section, text_setting, text_section_end};
    GString *out = g_string_new(NULL);
    kw_schema_walk(&writer, out, components, components_count);
    return g_string_free(out, FALSE);
}
