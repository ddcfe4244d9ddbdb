/* The reference as a part of a manual page (mdoc): the settings of keyway-policy(5). */
#include "config/reader.h"
#include "config/schema.h"

#include <string.h>

/* Appends a line of text: backslashes, and a dot or quote at the beginning, are escaped for roff, and
 * every sentence begins on a line of its own. */
static void
append_text(GString *out, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            g_string_append(out, "\\&");
        line_start = false;
        if (*text == '\\') {
            g_string_append(out, "\\e");
        } else if (*text == ' ' && text[-1] == '.' && g_ascii_isupper(text[1])) {
            g_string_append_c(out, '\n');
            line_start = true;
        } else {
            g_string_append_c(out, *text);
        }
    }
    g_string_append_c(out, '\n');
}

static void
mdoc_section(GString *out, const char *place, const char *about)
{
    if (g_str_has_prefix(place, "- "))
        g_string_append_printf(out, ".Ss Key component %s\n", place + 2);
    else if (*place)
        g_string_append_printf(out, ".Ss %s\n", place);
    else
        g_string_append(out, ".Ss The file\n");
    append_text(out, about);
    g_string_append(out, ".Bl -tag -width Ds\n");
}

static void
mdoc_setting(GString *out, const kw_schema_line *line)
{
    g_string_append_printf(out, ".It Ic %s : No ", line->name);
    GString *type = g_string_new(line->type);
    if (*line->fallback)
        g_string_append_printf(type, "; %s", line->fallback);
    append_text(out, type->str);
    g_string_free(type, TRUE);
    append_text(out, line->about);
}

static void
mdoc_section_end(GString *out)
{
    g_string_append(out, ".El\n");
}

char *
kw_schema_mdoc(const kw_component_schema *const *components, size_t components_count)
{
    static const kw_schema_writer writer = {mdoc_section, mdoc_setting, mdoc_section_end};
    GString *out = g_string_new(NULL);
    kw_schema_walk(&writer, out, components, components_count);
    return g_string_free(out, FALSE);
}
