/* A JSON array of records: its elements one by one, so that a file of any size needs the memory of one
 * record. */
#include "cli/source_form.h"

/* Reads a byte, and counts the line ends. */
static int
next_byte(kw_source *source)
{
    int byte = getc_unlocked(source->file);

    source->line_ends += byte == '\n' ? 1 : 0;
    return byte;
}

static int
next_visible(kw_source *source)
{
    int byte = next_byte(source);

    while (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n')
        byte = next_byte(source);
    return byte;
}

static bool
broken(const kw_source *source, const char *what, GError **error)
{
    if (!kw_source_check(source, error))
        return false;
    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "%s, line %" G_GUINT64_FORMAT ": %s", source->path,
                source->line_ends + 1, what);
    return false;
}

/* Finds the first byte of the next element. False at the end of the array and on an error. */
static bool
find_element(kw_source *source, int *ret_byte, GError **error)
{
    int byte = next_visible(source);
    bool needs_record = source->array_begun && byte == ',';

    if (!source->array_begun || needs_record)
        byte = next_visible(source); /* after the bracket or comma */
    else if (byte != ']' && byte != EOF)
        return broken(source, "a comma or bracket must follow each record of the array", error);
    source->array_begun = true;
    if (byte == ',' || (byte == ']' && needs_record))
        return broken(source, "a record is missing before or after a comma", error);
    if (byte == ']') {
        if (next_visible(source) == EOF)
            return kw_source_check(source, error) && false;
        return broken(source, "unexpected text after the array", error);
    }
    *ret_byte = byte;
    return byte != EOF || broken(source, "the array is not closed", error);
}

/* True if the byte belongs to an element with this nesting. */
static bool
continues(int byte, int depth, bool in_string)
{
    return byte != EOF && (in_string || depth > 0 || (byte != ',' && byte != ']'));
}

bool
kw_source_element(kw_source *source, GError **error)
{
    int byte;
    int depth = 0;
    bool in_string = false;
    bool escaped = false;

    source->length = 0;
    if (!find_element(source, &byte, error))
        return false;
    source->number = source->line_ends + 1;
    for (; continues(byte, depth, in_string) && source->length <= KW_SOURCE_LINE_MAX;
         byte = next_byte(source)) {
        kw_source_add(source, (char)byte);
        if (byte == '"' && !escaped)
            in_string = !in_string;
        else if (!in_string)
            depth += byte == '{' || byte == '[' ? 1 : byte == '}' || byte == ']' ? -1 : 0;
        if (!in_string && depth == 0 && byte == '}')
            return kw_source_check(source, error);
        escaped = in_string && byte == '\\' && !escaped;
    }
    if (!kw_source_check(source, error))
        return false;
    if (byte == EOF && (depth > 0 || in_string))
        return broken(source, "the array is not closed", error);
    if (byte != EOF)
        ungetc(byte, source->file);
    return true;
}
