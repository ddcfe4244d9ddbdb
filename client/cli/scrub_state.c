/* See scrub.h. The file is a GLib key file, with the cursor in hexadecimal digits. */
#include "cli/scrub.h"

static const struct {
    const char *name;
    gsize offset;
} numbers[] = {
    {"rows", G_STRUCT_OFFSET(kw_scrub_state, rows)},
    {"missing", G_STRUCT_OFFSET(kw_scrub_state, missing)},
    {"different", G_STRUCT_OFFSET(kw_scrub_state, different)},
    {"extra", G_STRUCT_OFFSET(kw_scrub_state, extra)},
    {"foreign_rows", G_STRUCT_OFFSET(kw_scrub_state, foreign_rows)},
    {"repaired", G_STRUCT_OFFSET(kw_scrub_state, repaired)},
    {"stale_hints", G_STRUCT_OFFSET(kw_scrub_state, stale_hints)},
    {"unsettled", G_STRUCT_OFFSET(kw_scrub_state, unsettled)},
};

void
kw_scrub_state_clear(kw_scrub_state *state)
{
    g_clear_pointer(&state->cursor, g_bytes_unref);
}

void
kw_scrub_state_add(kw_scrub_state *state, const kw_scrubbed *slice)
{
    state->rows += slice->rows;
    state->missing += slice->missing;
    state->different += slice->different;
    state->extra += slice->extra;
    state->foreign_rows += slice->foreign_rows;
    state->repaired += slice->repaired;
    state->stale_hints += slice->stale_hints;
    state->unsettled += slice->unsettled;
    g_clear_pointer(&state->cursor, g_bytes_unref);
    state->cursor = slice->cursor == NULL ? NULL : g_bytes_ref(slice->cursor);
}

/* --- hexadecimal digits ----------------------------------------------------------------------- */

static char *
hex_of(GBytes *bytes)
{
    GString *text = g_string_new(NULL);
    gsize size;
    const guint8 *data = g_bytes_get_data(bytes, &size);

    for (gsize i = 0; i < size; i++)
        g_string_append_printf(text, "%02x", data[i]);
    return g_string_free(text, FALSE);
}

/* NULL: not bytes in hexadecimal digits. */
static GBytes *
bytes_of(const char *hex)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    for (; hex[0] != '\0'; hex += 2) {
        int high = g_ascii_xdigit_value(hex[0]);
        int low = high < 0 ? -1 : g_ascii_xdigit_value(hex[1]);
        guint8 byte = (guint8)(high * 16 + low);

        if (low < 0)
            return NULL;
        g_byte_array_append(bytes, &byte, 1);
    }
    return bytes->len == 0 ? NULL : g_byte_array_free_to_bytes(g_steal_pointer(&bytes));
}

/* --- the file --------------------------------------------------------------------------------- */

static bool
read_key_file(kw_scrub_state *state, GKeyFile *keys, const char *group, const char *table, GError **error)
{
    g_autofree char *of = g_key_file_get_string(keys, group, "table", error);
    g_autofree char *hex = of == NULL ? NULL : g_key_file_get_string(keys, group, "cursor", error);

    if (hex == NULL)
        return false;
    if (!g_str_equal(of, table)) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "the file has a position in table %s; use another file", of);
        return false;
    }
    state->cursor = bytes_of(hex);
    if (state->cursor == NULL) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "the position in the file is damaged; remove the file to start again");
        return false;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        G_STRUCT_MEMBER(gint64, state, numbers[i].offset) =
            g_key_file_get_int64(keys, group, numbers[i].name, NULL);
    return true;
}

bool
kw_scrub_state_read(kw_scrub_state *state, const char *file, const char *group, const char *table,
                    GError **error)
{
    g_autoptr(GKeyFile) keys = g_key_file_new();
    g_autoptr(GError) failure = NULL;

    if (g_key_file_load_from_file(keys, file, G_KEY_FILE_NONE, &failure))
        return read_key_file(state, keys, group, table, error);
    if (g_error_matches(failure, G_FILE_ERROR, G_FILE_ERROR_NOENT))
        return true;
    g_propagate_error(error, g_steal_pointer(&failure));
    return false;
}

bool
kw_scrub_state_write(const kw_scrub_state *state, const char *file, const char *group, const char *table,
                     GError **error)
{
    g_autoptr(GKeyFile) keys = g_key_file_new();
    g_autofree char *hex = hex_of(state->cursor);
    g_autofree char *text = NULL;
    gsize size;

    g_key_file_set_string(keys, group, "table", table);
    g_key_file_set_string(keys, group, "cursor", hex);
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        g_key_file_set_int64(keys, group, numbers[i].name, G_STRUCT_MEMBER(gint64, state, numbers[i].offset));
    text = g_key_file_to_data(keys, &size, NULL);
    return g_file_set_contents_full(file, text, (gssize)size, G_FILE_SET_CONTENTS_CONSISTENT, 0666, error);
}
