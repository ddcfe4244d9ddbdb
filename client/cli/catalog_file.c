#include "cli/catalog.h"
#include "cli/file.h"
#include "cli/text.h"

#include <stdio.h>
#include <string.h>

#define HEAD "keyway catalog export 1"
#define FILE_BYTES_MAX ((gsize)1 << 30)

static void
free_cell(gpointer cell)
{
    kw_saved_cell_free(cell);
}

static kw_catalog_file *
file_new(void)
{
    kw_catalog_file *self = g_new0(kw_catalog_file, 1);

    self->cells = g_ptr_array_new_with_free_func(free_cell);
    self->counters = g_ptr_array_new_with_free_func(free_cell);
    return self;
}

void
kw_catalog_file_free(kw_catalog_file *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->cells);
    g_ptr_array_unref(self->counters);
    g_free(self->counters_table);
    g_free(self->export_id);
    g_free(self);
}

/* --- from the gateway ----------------------------------------------------------------------------- */

/* Moves all items. */
static void
move_cells(GPtrArray *to, GPtrArray *from)
{
    g_ptr_array_set_free_func(from, NULL);
    for (guint i = 0; i < from->len; i++)
        g_ptr_array_add(to, from->pdata[i]);
}

kw_catalog_file *
kw_catalog_file_export(kw_client *client, GError **error)
{
    g_autoptr(kw_catalog_file) self = file_new();
    g_autoptr(GBytes) cursor = NULL;

    do {
        g_autoptr(kw_catalog_page) page = kw_client_export_catalog(client, cursor, error);

        if (page == NULL)
            return NULL;
        move_cells(self->cells, page->cells);
        move_cells(self->counters, page->counters);
        g_free(self->counters_table);
        self->counters_table = g_steal_pointer(&page->counters_table);
        self->counters_keep_ms = page->counters_keep_ms;
        g_clear_pointer(&cursor, g_bytes_unref);
        cursor = g_steal_pointer(&page->cursor);
    } while (cursor != NULL);
    return g_steal_pointer(&self);
}

/* --- writing -------------------------------------------------------------------------------------- */

static void
print_cells(GString *to, const char *kind, const GPtrArray *cells)
{
    for (guint i = 0; i < cells->len; i++) {
        const kw_saved_cell *cell = cells->pdata[i];
        g_autofree char *row = kw_text_of_bytes(cell->row);
        g_autofree char *column = kw_text_of_bytes(cell->column);
        g_autofree char *value = kw_text_of_bytes(cell->value);

        g_string_append_printf(to, "%s\t%s\t%s\t%s\n", kind, row, column, value);
    }
}

bool
kw_catalog_file_write(const kw_catalog_file *self, const char *path, GError **error)
{
    g_autoptr(GString) text = g_string_new(HEAD "\n");
    g_autofree char *hash = NULL;

    g_string_append_printf(text, "counters\t%s\t%" G_GINT64_FORMAT "\n", self->counters_table,
                           self->counters_keep_ms);
    print_cells(text, "cell", self->cells);
    print_cells(text, "counter", self->counters);
    hash = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text->str, text->len);
    g_string_append_printf(text, "end\t%s\n", hash);
    return g_file_set_contents_full(path, text->str, (gssize)text->len,
                                    G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, 0600,
                                    error);
}

/* --- reading -------------------------------------------------------------------------------------- */

static bool
refuse(GError **error, const char *path, const char *why)
{
    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "%s: %s", path, why);
    return false;
}

/* Checks the last line, and cuts the text before it. */
static bool
check_end(kw_catalog_file *self, char *text, const char *path, GError **error)
{
    char *end = g_strrstr(text, "\nend\t");
    g_autofree char *hash = NULL;

    if (end == NULL)
        return refuse(error, path, "the end of the export is missing: the file was cut");
    self->export_id = g_strstrip(g_strdup(end + strlen("\nend\t")));
    end[1] = '\0';
    hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
    return g_str_equal(hash, self->export_id) ||
           refuse(error, path, "the export is damaged: its hash is another one");
}

static GBytes *
parse_bytes(const char *text)
{
    GByteArray *bytes = kw_text_to_bytes(text);

    return bytes == NULL ? NULL : g_byte_array_free_to_bytes(bytes);
}

static bool
add_cell(GPtrArray *to, char **words)
{
    g_autoptr(GBytes) row = parse_bytes(words[1]);
    g_autoptr(GBytes) column = parse_bytes(words[2]);
    g_autoptr(GBytes) value = parse_bytes(words[3]);

    if (row == NULL || column == NULL || value == NULL)
        return false;
    g_ptr_array_add(to, kw_saved_cell_new(row, column, value));
    return true;
}

static bool
add_line(kw_catalog_file *self, const char *line)
{
    g_auto(GStrv) words = g_strsplit(line, "\t", 5);
    guint count = g_strv_length(words);

    if (count == 4 && g_str_equal(words[0], "cell"))
        return add_cell(self->cells, words);
    if (count == 4 && g_str_equal(words[0], "counter"))
        return add_cell(self->counters, words);
    if (count != 3 || !g_str_equal(words[0], "counters") || self->counters_table != NULL)
        return false;
    self->counters_table = g_strdup(words[1]);
    return g_ascii_string_to_signed(words[2], 10, 0, G_MAXINT64, &self->counters_keep_ms, NULL);
}

static bool
add_lines(kw_catalog_file *self, const char *text, const char *path, GError **error)
{
    const char *at = strchr(text, '\n') + 1;

    for (guint number = 2; *at != '\0'; number++) {
        const char *end = strchr(at, '\n');
        g_autofree char *line = g_strndup(at, (gsize)(end - at));

        if (!add_line(self, line)) {
            g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "%s:%u: this line cannot be read", path,
                        number);
            return false;
        }
        at = end + 1;
    }
    return self->counters_table != NULL || refuse(error, path, "the line \"counters\" is missing");
}

/* Reads only the first line, so that an endless file is refused at once. */
static bool
check_head(const char *path, GError **error)
{
    char head[sizeof HEAD] = "";
    FILE *file = g_file_test(path, G_FILE_TEST_IS_DIR) ? NULL : fopen(path, "rb");
    gsize size;

    if (file == NULL) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "%s: this file cannot be opened", path);
        return false;
    }
    size = fread(head, 1, sizeof head, file);
    fclose(file);
    return (size == sizeof head && memcmp(head, HEAD "\n", size) == 0) ||
           refuse(error, path, "this is no export of a catalog, or one of another release");
}

kw_catalog_file *
kw_catalog_file_read(const char *path, GError **error)
{
    g_autoptr(kw_catalog_file) self = file_new();
    g_autofree char *text = check_head(path, error) ? kw_file_text(path, FILE_BYTES_MAX, error) : NULL;

    if (text == NULL || !check_end(self, text, path, error) || !add_lines(self, text, path, error))
        return NULL;
    return g_steal_pointer(&self);
}
