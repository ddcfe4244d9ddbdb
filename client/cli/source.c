/* Opens files, reads lines, and determines the format. */
#include "cli/source.h"

#include "cli/source_form.h"
#include "cli/value.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

void
kw_source_item_clear(kw_source_item *item)
{
    g_clear_pointer(&item->record, kw_record_unref);
    g_clear_error(&item->error);
    g_clear_pointer(&item->json, g_free);
}

void
kw_source_add(kw_source *source, char byte)
{
    if (source->length + 1 >= source->capacity) {
        source->capacity = MAX(2 * source->capacity, 256);
        source->line = g_realloc(source->line, source->capacity);
    }
    source->line[source->length++] = byte;
    source->line[source->length] = '\0';
}

/* Like getline, except for lines that are too long: reads one byte more than allowed and stops. False at the
 * end of the file if no byte was read, and after an error even if a part of a line was read. */
static bool
read_line(kw_source *source)
{
    int byte = EOF;

    source->length = 0;
    while (source->length <= KW_SOURCE_LINE_MAX && byte != '\n' &&
           (byte = getc_unlocked(source->file)) != EOF)
        kw_source_add(source, (char)byte);
    return source->length > 0 && !ferror(source->file);
}

bool
kw_source_check(const kw_source *source, GError **error)
{
    if (ferror(source->file)) {
        g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno), "%s: %s", source->path,
                    errno == EILSEQ ? "invalid UTF-16" : g_strerror(errno));
        return false;
    }
    if (source->length <= KW_SOURCE_LINE_MAX)
        return true;
    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                "%s: the %s at line %" G_GUINT64_FORMAT " is longer than %d bytes", source->path,
                source->is_array ? "record" : "line", source->number, KW_SOURCE_LINE_MAX);
    return false;
}

bool
kw_source_line(kw_source *source, GError **error)
{
    errno = 0;
    if (!read_line(source))
        return kw_source_check(source, error) && false;
    source->number++;
    return kw_source_check(source, error);
}

/* The first character that is not blank; EOF if there is none. The blanks are skipped, the character is not.
 */
static int
first_character(kw_source *source)
{
    int byte = getc_unlocked(source->file);

    for (; byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'; byte = getc_unlocked(source->file))
        source->number += byte == '\n' ? 1 : 0;
    if (byte != EOF)
        ungetc(byte, source->file);
    source->line_ends = source->number;
    return byte;
}

/* Determines the format: from the option, the name or, if these do not determine it, the first character.
 * False: an error is set. */
static bool
find_format(kw_source *source, const char *format, bool *ret_csv, GError **error)
{
    int first;

    if (format != NULL && !g_str_equal(format, "csv") && !g_str_equal(format, "jsonl")) {
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "\"%s\" is neither csv nor jsonl", format);
        return false;
    }
    *ret_csv = format != NULL ? g_str_equal(format, "csv") : g_str_has_suffix(source->path, ".csv");
    if (*ret_csv)
        return true;
    first = first_character(source);
    source->is_array = first == '[';
    *ret_csv = format == NULL && !g_str_has_suffix(source->path, ".json") &&
               !g_str_has_suffix(source->path, ".jsonl") && !g_str_has_suffix(source->path, ".ndjson") &&
               first != '{' && first != '[';
    return kw_source_check(source, error);
}

kw_source *
kw_source_open(const char *path, const char *format, const char *null_text, const kw_table_info *table,
               GError **error)
{
    g_autoptr(kw_source) source = g_new0(kw_source, 1);
    struct stat status;
    bool csv;

    source->path = g_str_equal(path, "-") ? "(standard input)" : path;
    source->table = table;
    source->null_text = null_text;
    errno = 0;
    source->file = kw_source_input_open(&source->input, path);
    if (source->file == NULL) {
        g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno), "%s: %s", path,
                    g_strerror(errno));
        return NULL;
    }
    if (fstat(source->input.fd, &status) == 0 && S_ISREG(status.st_mode))
        source->size = (guint64)status.st_size;
    if (!find_format(source, format, &csv, error))
        return NULL;
    if (csv && (source->csv = kw_csv_reader_new(source, error)) == NULL)
        return NULL;
    return g_steal_pointer(&source);
}

static bool
is_blank(const kw_source *source)
{
    return strspn(source->line, " \t\r\n") == source->length;
}

bool
kw_source_next(kw_source *source, kw_source_item *ret_item, GError **error)
{
    *ret_item = (kw_source_item){0};
    if (source->csv != NULL)
        return kw_csv_reader_next(source->csv, source, ret_item, error);
    do {
        if (!(source->is_array ? kw_source_element(source, error) : kw_source_line(source, error)))
            return false;
    } while (is_blank(source));
    kw_json_line_parse(source, ret_item);
    return true;
}

guint64
kw_source_next_line(const kw_source *source)
{
    return source->is_array ? source->line_ends + 1 : source->number + 1;
}

guint64
kw_source_position(const kw_source *source)
{
    return source->input.position;
}

guint64
kw_source_size(const kw_source *source)
{
    return source->size;
}

guint64
kw_source_missing(const kw_source *source, const char **ret_first)
{
    *ret_first = source->missing_text;
    return source->missing;
}

void
kw_source_close(kw_source *source)
{
    if (source == NULL)
        return;
    if (source->file != NULL)
        fclose(source->file);
    kw_source_input_clear(&source->input);
    g_clear_pointer(&source->csv, kw_csv_reader_free);
    g_free(source->line);
    g_free(source->missing_text);
    g_free(source);
}

bool
kw_source_set(const kw_table_info *table, kw_record *record, const char *name, const char *text,
              GError **error)
{
    const char *entry;
    const kw_field_info *field = kw_field_named(table, name, &entry, error);
    g_auto(kw_held_value) held = {0};

    return field != NULL && kw_value_parse(table, field, entry, text, &held, error) &&
           kw_record_add(record, field, entry, held.value, error);
}
