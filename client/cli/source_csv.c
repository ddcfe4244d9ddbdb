/* CSV with libcsv. Lines are passed to libcsv one by one, so that the line number of a record is known even
 * if quoted fields span lines.
 *
 * The first line that is not blank names the fields. If it has no comma but a tab, semicolon or vertical bar,
 * this is what separates cells. An empty cell without quotes is an absent field, "" an empty text.
 */
#include "cli/source_form.h"

#include "cli/text.h"
#include "cli/value.h"

#include <csv.h>
#include <string.h>

/* A growing cell is moved each time. With libcsv's own step of 128 bytes, the time for a cell would grow with
 * the square of its size. */
#define CELL_STEP_BYTES ((size_t)64 * 1024)

#define ZERO_BYTE "a string with a NUL byte is not supported; if the file is UTF-16, convert it to UTF-8"
#define ZERO_SIGN "\u2400" /* shows a NUL byte in the reject file */

struct kw_csv_reader {
    struct csv_parser parser;
    GPtrArray *cells; /* of the current row: char *, NULL for absent */
    bool row_done;
    bool zero_byte; /* a cell of the current row has one */
    char **names;   /* NULL until the head was read */
    guint64 names_line;
};

static void
cell_done(void *data, size_t size, void *user)
{
    kw_csv_reader *reader = user;

    const char *at = data;
    GString *text = data == NULL ? NULL : g_string_sized_new(size);

    for (gsize i = 0; i < size; i++) {
        if (at[i] != '\0') {
            g_string_append_c(text, at[i]);
            continue;
        }
        reader->zero_byte = true;
        g_string_append(text, ZERO_SIGN);
    }
    g_ptr_array_add(reader->cells, text == NULL ? NULL : g_string_free(text, FALSE));
}

static void
row_done(int end, void *user)
{
    kw_csv_reader *reader = user;

    (void)end;
    reader->row_done = true;
}

void
kw_csv_reader_free(kw_csv_reader *reader)
{
    csv_free(&reader->parser);
    g_ptr_array_unref(reader->cells);
    g_strfreev(reader->names);
    g_free(reader);
}

static bool
broken(kw_csv_reader *reader, const kw_source *source, GError **error)
{
    int code = csv_error(&reader->parser);
    bool escaped = strstr(source->line, "\\\"") != NULL;

    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "%s, line %" G_GUINT64_FORMAT ": %s%s%s",
                source->path, source->number,
                code == CSV_EPARSE
                    ? "a quote is not closed, or is inside a cell that does not start with a quote"
                    : csv_strerror(code),
                escaped ? "; a backslash does not escape a quote: double it" : "",
                reader->names == NULL ? "; the first line must have the names of the fields" : "");
    return false;
}

/* The likely cause is a missing closing quote. */
static bool
too_long(const kw_source *source, guint64 line, GError **error)
{
    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                "%s, line %" G_GUINT64_FORMAT
                ": the record that starts here is longer than %d bytes; check its quotes",
                source->path, line, KW_SOURCE_LINE_MAX);
    return false;
}

/* Names of fields contain none of these characters. */
static unsigned char
delimiter_of(const char *head)
{
    const char *const delimiters = ",\t;|";

    for (const char *at = delimiters; *at != '\0'; at++)
        if (strchr(head, *at) != NULL)
            return (unsigned char)*at;
    return ',';
}

/* Reads the cells of the next row, and the number of its first line. False at the end or on an error. */
static bool
read_row(kw_csv_reader *reader, kw_source *source, guint64 *ret_line, GError **error)
{
    g_autoptr(GError) failure = NULL;

    gsize size = 0;
    bool begun = false;

    g_ptr_array_set_size(reader->cells, 0);
    reader->row_done = reader->zero_byte = false;
    while (!reader->row_done && kw_source_line(source, &failure)) {
        if (!begun && strspn(source->line, " \t\r\n") == source->length)
            continue; /* empty lines between rows */
        if (!begun)
            *ret_line = source->number;
        if (!begun && reader->names == NULL)
            csv_set_delim(&reader->parser, delimiter_of(source->line));
        begun = true;
        size += source->length;
        if (size > KW_SOURCE_LINE_MAX)
            return too_long(source, *ret_line, error);
        if (csv_parse(&reader->parser, source->line, source->length, cell_done, row_done, reader) !=
            source->length)
            return broken(reader, source, error);
    }
    if (failure != NULL) {
        g_propagate_error(error, g_steal_pointer(&failure));
        return false;
    }
    if (!reader->row_done && csv_fini(&reader->parser, cell_done, row_done, reader) != 0)
        return broken(reader, source, error);
    return reader->row_done;
}

static bool
check_names(const kw_csv_reader *reader, kw_source *source, GError **error)
{
    const char *entry;
    char *const *names = reader->names;

    for (char *const *name = names; *name != NULL; name++) {
        if (**name == '\0') {
            g_set_error(
                error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                "%s, line %" G_GUINT64_FORMAT
                ": cell %u names no field; pandas writes such a column of row numbers unless index=False",
                source->path, reader->names_line, (guint)(name - names) + 1);
            return false;
        }
        if (**name == '\'') {
            g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                        "%s, line %" G_GUINT64_FORMAT
                        ": the cells are in single quotes; CSV has double quotes",
                        source->path, reader->names_line);
            return false;
        }
        if (kw_field_named(source->table, *name, &entry, error) == NULL) {
            g_prefix_error(error, "%s, line %" G_GUINT64_FORMAT ": ", source->path, reader->names_line);
            return false;
        }
        for (char *const *other = names; other != name; other++)
            if (g_str_equal(*name, *other)) {
                g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                            "%s, line %" G_GUINT64_FORMAT ": field %s is listed twice", source->path,
                            reader->names_line, *name);
                return false;
            }
    }
    return true;
}

static bool
read_head(kw_csv_reader *reader, kw_source *source, GError **error)
{
    g_autoptr(GError) failure = NULL;

    if (!read_row(reader, source, &reader->names_line, &failure)) {
        if (failure == NULL)
            g_set_error(&failure, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                        "%s has no lines; the first one must name the fields", source->path);
        g_propagate_error(error, g_steal_pointer(&failure));
        return false;
    }
    if (reader->zero_byte) {
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "%s, line %" G_GUINT64_FORMAT ": %s",
                    source->path, reader->names_line, ZERO_BYTE);
        return false;
    }
    reader->names = g_new0(char *, reader->cells->len + 1);
    for (guint i = 0; i < reader->cells->len; i++) {
        const char *name = reader->cells->pdata[i];

        reader->names[i] = g_strdup(name == NULL ? "" : name);
    }
    return check_names(reader, source, error);
}

kw_csv_reader *
kw_csv_reader_new(kw_source *source, GError **error)
{
    kw_csv_reader *reader = g_new0(kw_csv_reader, 1);

    if (csv_init(&reader->parser, CSV_STRICT | CSV_STRICT_FINI | CSV_EMPTY_IS_NULL) != 0)
        g_error("libcsv cannot start");
    csv_set_blk_size(&reader->parser, CELL_STEP_BYTES);
    reader->cells = g_ptr_array_new_with_free_func(g_free);
    if (read_head(reader, source, error))
        return reader;
    kw_csv_reader_free(reader);
    return NULL;
}

static bool
is_absent(const kw_source *source, const char *cell)
{
    return cell == NULL ||
           (source->null_text != NULL && *source->null_text != '\0' && g_str_equal(cell, source->null_text));
}

/* The row for the reject file, if its cells cannot be assigned to fields: an array, which no import reads as
 * a record. So the file cannot be imported again before the row was corrected. */
static char *
json_of_cells(const kw_csv_reader *reader)
{
    GString *json = g_string_new("[");

    for (guint i = 0; i < reader->cells->len; i++) {
        if (i > 0)
            g_string_append(json, ", ");
        if (reader->cells->pdata[i] == NULL)
            g_string_append(json, "null");
        else
            kw_text_append_json(json, reader->cells->pdata[i]);
    }
    g_string_append_c(json, ']');
    return g_string_free(json, FALSE);
}

static char *
json_of(const kw_csv_reader *reader, const kw_source *source)
{
    if (reader->zero_byte || reader->cells->len != g_strv_length(reader->names))
        return json_of_cells(reader);

    GString *json = g_string_new("{");

    for (guint i = 0; i < reader->cells->len; i++) {
        if (is_absent(source, reader->cells->pdata[i]))
            continue;
        if (json->len > 1)
            g_string_append(json, ", ");
        kw_text_append_json(json, reader->names[i]);
        g_string_append(json, ": ");
        kw_text_append_json(json, reader->cells->pdata[i]);
    }
    g_string_append_c(json, '}');
    return g_string_free(json, FALSE);
}

/* True for a text that programs write for a missing value, but that can also be a value. */
static bool
can_be_missing(const kw_source *source, const char *cell)
{
    static const char *const words[] = {"NULL", "null", "NA",   "N/A", "#N/A",
                                        "NaN",  "nan",  "None", "nil", NULL};

    return source->null_text == NULL && g_strv_contains(words, cell);
}

/* Counts such a text in a field that stores it. */
static void
note_missing(kw_source *source, const char *name, const char *cell)
{
    const char *entry;
    const kw_field_info *field = kw_field_named(source->table, name, &entry, NULL);

    if (field == NULL || !can_be_missing(source, cell) ||
        !g_str_equal(field->of == NULL ? field->type : field->of, "string"))
        return;
    if (source->missing++ == 0)
        source->missing_text = g_strdup(cell);
}

static bool
set_cell(kw_source *source, kw_record *record, const char *name, const char *cell, GError **error)
{
    g_autoptr(GError) failure = NULL;

    note_missing(source, name, cell);
    if (kw_source_set(source->table, record, name, cell, &failure))
        return true;
    if (can_be_missing(source, cell))
        g_set_error(error, failure->domain, failure->code,
                    "%s; if it stands for a missing value, use --null %s", failure->message, cell);
    else
        g_propagate_error(error, g_steal_pointer(&failure));
    return false;
}

static kw_record *
record_of(const kw_csv_reader *reader, kw_source *source, GError **error)
{
    g_autoptr(kw_record) record = kw_record_new();
    guint names = g_strv_length(reader->names);

    if (reader->zero_byte) {
        g_set_error_literal(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, ZERO_BYTE);
        return NULL;
    }
    if (reader->cells->len != names) {
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                    "%u cells, but line %" G_GUINT64_FORMAT " names %u fields", reader->cells->len,
                    reader->names_line, names);
        return NULL;
    }
    for (guint i = 0; i < names; i++) {
        const char *cell = reader->cells->pdata[i];

        if (is_absent(source, cell))
            continue;
        if (source->null_text == NULL && g_str_equal(cell, "\\N")) {
            g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                        "field %s: \\N stands for a missing value in files of databases; use --null '\\N' if "
                        "it does here, "
                        "or --null '' to store this text",
                        reader->names[i]);
            return NULL;
        }
        if (!set_cell(source, record, reader->names[i], cell, error))
            return NULL;
    }
    return g_steal_pointer(&record);
}

bool
kw_csv_reader_next(kw_csv_reader *reader, kw_source *source, kw_source_item *ret_item, GError **error)
{
    if (!read_row(reader, source, &ret_item->line, error))
        return false;
    ret_item->json = json_of(reader, source);
    ret_item->record = record_of(reader, source, &ret_item->error);
    return true;
}
