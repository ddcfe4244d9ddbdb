/* Tables for people, and csv. A table's widths come from its first rows; later rows can be wider. Long
 * values are truncated, so that other columns stay visible. */
#include "cli/output_form.h"

#include "cli/text.h"
#include "cli/value.h"

#include <stdio.h>
#include <string.h>

#define HELD_ROWS 200
#define SHOWN_MAX 120 /* characters of a field's value */

static void
append_cell(GString *line, const kw_output_column *column, const char *text, gsize width)
{
    gsize used = kw_text_width(text);
    int pad = used < width ? (int)(width - used) : 0;

    if (column->right)
        g_string_append_printf(line, "%*s%s  ", pad, "", text);
    else
        g_string_append_printf(line, "%s%*s  ", text, pad, "");
}

/* Prints the line without spaces at its end. */
static void
print_stripped(GString *line)
{
    while (line->len > 0 && line->str[line->len - 1] == ' ')
        g_string_truncate(line, line->len - 1);
    printf("%s\n", line->str);
}

static void
print_line(const kw_output *output, char *const *texts)
{
    g_autoptr(GString) line = g_string_new(NULL);

    for (gsize i = 0; i < output->count; i++)
        append_cell(line, &output->columns[i], texts[i], output->widths[i]);
    print_stripped(line);
}

static void
print_head(const kw_output *output, char *const *names)
{
    print_line(output, names);
    for (gsize i = 0; i < output->count; i++) {
        for (gsize j = 0; j < output->widths[i]; j++)
            putchar('-');
        fputs(i + 1 == output->count ? "\n" : "  ", stdout);
    }
}

/* Prints the head and the buffered rows, once the widths are known. */
static void
release(kw_output *output)
{
    g_auto(GStrv) names = g_new0(char *, output->count + 1);

    output->widths = g_new0(gsize, output->count);
    for (gsize i = 0; i < output->count; i++) {
        names[i] = kw_text_for_terminal(output->columns[i].name);
        output->widths[i] = kw_text_width(names[i]);
        for (guint row = 0; row < output->held->len; row++)
            output->widths[i] = MAX(output->widths[i], kw_text_width(((char **)output->held->pdata[row])[i]));
    }
    print_head(output, names);
    for (guint row = 0; row < output->held->len; row++)
        print_line(output, output->held->pdata[row]);
    g_ptr_array_set_size(output->held, 0);
}

/* The visible part of a record's value; other tables print complete values. */
static char *
shown(const kw_output_column *column, const char *text)
{
    g_autofree char *whole = kw_text_for_terminal(text);
    glong length = g_utf8_strlen(whole, -1);

    if (column->field == NULL || length <= SHOWN_MAX)
        return g_steal_pointer(&whole);
    return g_strdup_printf("%.*s... (%ld more)", (int)(g_utf8_offset_to_pointer(whole, SHOWN_MAX) - whole),
                           whole, length - SHOWN_MAX);
}

void
kw_output_table_row(kw_output *output, const kw_value *cells)
{
    char **texts = g_new0(char *, output->count + 1);

    for (gsize i = 0; i < output->count; i++) {
        g_autofree char *text = kw_value_print(cells[i], output->columns[i].field, output->raw);

        texts[i] = shown(&output->columns[i], text);
    }
    if (output->widths == NULL) {
        g_ptr_array_add(output->held, texts);
        if (output->held->len == HELD_ROWS)
            release(output);
        return;
    }
    print_line(output, texts);
    g_strfreev(texts);
}

void
kw_output_table_end(kw_output *output, const char *footer)
{
    if (output->widths == NULL)
        release(output);
    if (footer != NULL)
        printf("%s\n", footer);
}

/* --- csv -------------------------------------------------------------------------------------- */

static void
print_quoted(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

/* Readers, including Keyway's own, strip spaces around cells without quotes. */
static bool
is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static void
print_csv_cell(const char *text, bool present)
{
    gsize size = strlen(text);

    if ((present && size == 0) || strpbrk(text, ",\"\r\n") != NULL ||
        (size > 0 && (is_blank(text[0]) || is_blank(text[size - 1]))))
        print_quoted(text);
    else
        fputs(text, stdout);
}

static void
print_csv_head(const kw_output *output)
{
    for (gsize i = 0; i < output->count; i++) {
        print_csv_cell(output->columns[i].name, true);
        putchar(i + 1 == output->count ? '\n' : ',');
    }
}

void
kw_output_csv_row(kw_output *output, const kw_value *cells)
{
    if (output->rows == 0)
        print_csv_head(output);
    for (gsize i = 0; i < output->count; i++) {
        g_autofree char *text = kw_value_print(cells[i], output->columns[i].field, output->raw);

        print_csv_cell(text, cells[i].kind != KW_VALUE_NONE);
        putchar(i + 1 == output->count ? '\n' : ',');
    }
}

void
kw_output_csv_end(kw_output *output)
{
    if (output->rows == 0)
        print_csv_head(output);
}
