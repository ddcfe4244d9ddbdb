/* See verify.h. The file is a GLib key file with a group for the table and one for each path. */
#include "cli/text.h"
#include "cli/verify.h"

#include <string.h>

#define GROUP "keyway verify"

static const struct {
    const char *name;
    gsize offset;
    enum { SUM, LEAST, MOST } how;
} numbers[] = {
    {"rows", G_STRUCT_OFFSET(kw_verified, rows), SUM},
    {"foreign_rows", G_STRUCT_OFFSET(kw_verified, foreign_rows), SUM},
    {"undecodable_rows", G_STRUCT_OFFSET(kw_verified, undecodable_rows), SUM},
    {"large_rows", G_STRUCT_OFFSET(kw_verified, large_rows), SUM},
    {"age_hour", G_STRUCT_OFFSET(kw_verified, ages[0]), SUM},
    {"age_day", G_STRUCT_OFFSET(kw_verified, ages[1]), SUM},
    {"age_week", G_STRUCT_OFFSET(kw_verified, ages[2]), SUM},
    {"age_30_days", G_STRUCT_OFFSET(kw_verified, ages[3]), SUM},
    {"age_365_days", G_STRUCT_OFFSET(kw_verified, ages[4]), SUM},
    {"age_older", G_STRUCT_OFFSET(kw_verified, ages[5]), SUM},
    {"oldest", G_STRUCT_OFFSET(kw_verified, oldest), LEAST},
    {"newest", G_STRUCT_OFFSET(kw_verified, newest), MOST},
    {"expired_rows", G_STRUCT_OFFSET(kw_verified, expired_rows), SUM},
    {"future_rows", G_STRUCT_OFFSET(kw_verified, future_rows), SUM},
    {"versioned_rows", G_STRUCT_OFFSET(kw_verified, versioned_rows), SUM},
    {"most_versions", G_STRUCT_OFFSET(kw_verified, most_versions), MOST},
};
G_STATIC_ASSERT(KW_VERIFIED_AGES == 6);

static const struct {
    const char *name;
    gsize offset;
} maps[] = {
    {"undecodable_fields", G_STRUCT_OFFSET(kw_verify_state, fields)},
    {"first_bytes", G_STRUCT_OFFSET(kw_verify_state, first_bytes)},
    {"buckets", G_STRUCT_OFFSET(kw_verify_state, buckets)},
};

kw_verify_state *
kw_verify_state_new(const char *path)
{
    kw_verify_state *state = g_new0(kw_verify_state, 1);

    state->path = path;
    for (gsize i = 0; i < G_N_ELEMENTS(maps); i++)
        G_STRUCT_MEMBER(GHashTable *, state, maps[i].offset) =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    state->examples = g_ptr_array_new_with_free_func(g_free);
    return state;
}

void
kw_verify_state_free(kw_verify_state *state)
{
    g_clear_pointer(&state->cursor, g_bytes_unref);
    for (gsize i = 0; i < G_N_ELEMENTS(maps); i++)
        g_hash_table_unref(G_STRUCT_MEMBER(GHashTable *, state, maps[i].offset));
    g_ptr_array_unref(state->examples);
    g_free(state);
}

/* --- slices ----------------------------------------------------------------------------------- */

/* Takes the text. Texts that are too many are counted together. */
static void
count(GHashTable *rows_by_text, char *text, gint64 rows)
{
    gint64 *known = g_hash_table_lookup(rows_by_text, text);

    if (known == NULL && g_hash_table_size(rows_by_text) >= KW_VERIFY_KINDS_MAX) {
        g_free(text);
        text = g_strdup("others");
        known = g_hash_table_lookup(rows_by_text, text);
    }
    if (known == NULL)
        g_hash_table_insert(rows_by_text, text, g_memdup2(&rows, sizeof rows));
    else
        *known += rows;
    if (known != NULL)
        g_free(text);
}

static void
count_all(GHashTable *rows_by_text, const GPtrArray *counts)
{
    for (guint i = 0; i < counts->len; i++) {
        const kw_row_count *each = counts->pdata[i];

        count(rows_by_text, kw_text_of_bytes(each->bytes), each->rows);
    }
}

static void
count_fields(GHashTable *rows_by_text, GHashTable *fields)
{
    GHashTableIter iter;
    gpointer name, rows;

    g_hash_table_iter_init(&iter, fields);
    while (g_hash_table_iter_next(&iter, &name, &rows))
        count(rows_by_text, g_strdup(name), *(const gint64 *)rows);
}

static void
add_number(gint64 *to, gint64 from, int how)
{
    if (how == SUM)
        *to += from;
    else if (how == MOST)
        *to = MAX(*to, from);
    else if (from != 0)
        *to = *to == 0 ? from : MIN(*to, from);
}

void
kw_verify_state_add(kw_verify_state *state, const kw_verified *slice, guint examples_max)
{
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        add_number(&G_STRUCT_MEMBER(gint64, &state->sum, numbers[i].offset),
                   G_STRUCT_MEMBER(gint64, slice, numbers[i].offset), (int)numbers[i].how);
    count_fields(state->fields, slice->undecodable_fields);
    count_all(state->first_bytes, slice->first_bytes);
    count_all(state->buckets, slice->buckets);
    for (guint i = 0; i < slice->examples->len && state->examples->len < examples_max; i++) {
        const kw_unfit_row *row = slice->examples->pdata[i];
        g_autofree char *key = kw_text_of_bytes(row->row_key);

        g_ptr_array_add(state->examples, g_strdup_printf("row %s: %s", key, row->text));
    }
    g_clear_pointer(&state->cursor, g_bytes_unref);
    state->cursor = slice->cursor == NULL ? NULL : g_bytes_ref(slice->cursor);
    state->done = slice->cursor == NULL;
    state->verified = slice->verified;
}

bool
kw_verify_state_fits(const kw_verify_state *state)
{
    return state->sum.foreign_rows + state->sum.undecodable_rows + state->sum.large_rows == 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static char *
group_of(const kw_verify_state *state)
{
    return g_strdup_printf("path %s", state->path);
}

static void
read_map(GHashTable *rows_by_text, GKeyFile *keys, const char *group, const char *name)
{
    g_auto(GStrv) words = g_key_file_get_string_list(keys, group, name, NULL, NULL);

    for (char **word = words; word != NULL && *word != NULL; word++) {
        char *text = strchr(*word, ' ');

        if (text != NULL)
            count(rows_by_text, g_strdup(text + 1), g_ascii_strtoll(*word, NULL, 10));
    }
}

static bool
read_path(kw_verify_state *state, GKeyFile *keys, GError **error)
{
    g_autofree char *group = group_of(state);
    g_autofree char *cursor = NULL;
    g_auto(GStrv) examples = NULL;
    g_autoptr(GByteArray) bytes = NULL;

    if (!g_key_file_has_group(keys, group))
        return true;
    cursor = g_key_file_get_string(keys, group, "cursor", NULL);
    bytes = cursor == NULL ? NULL : kw_text_to_bytes(cursor);
    state->done = g_key_file_get_boolean(keys, group, "done", NULL);
    state->verified = g_key_file_get_boolean(keys, group, "verified", NULL);
    if (bytes != NULL && bytes->len > 0)
        state->cursor = g_bytes_new(bytes->data, bytes->len);
    if (state->cursor == NULL && !state->done) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "the position in the file is damaged; remove the file to start again");
        return false;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        G_STRUCT_MEMBER(gint64, &state->sum, numbers[i].offset) =
            g_key_file_get_int64(keys, group, numbers[i].name, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(maps); i++)
        read_map(G_STRUCT_MEMBER(GHashTable *, state, maps[i].offset), keys, group, maps[i].name);
    examples = g_key_file_get_string_list(keys, group, "examples", NULL, NULL);
    for (char **example = examples; example != NULL && *example != NULL; example++)
        g_ptr_array_add(state->examples, g_strdup(*example));
    return true;
}

static bool
read_all(GPtrArray *states, GKeyFile *keys, const char *table, GError **error)
{
    g_autofree char *of = g_key_file_get_string(keys, GROUP, "table", error);

    if (of == NULL)
        return false;
    if (!g_str_equal(of, table)) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "the file has a position in table %s; use another file", of);
        return false;
    }
    for (guint i = 0; i < states->len; i++)
        if (!read_path(states->pdata[i], keys, error))
            return false;
    return true;
}

bool
kw_verify_states_read(GPtrArray *states, const char *file, const char *table, GError **error)
{
    g_autoptr(GKeyFile) keys = g_key_file_new();
    g_autoptr(GError) failure = NULL;

    if (g_key_file_load_from_file(keys, file, G_KEY_FILE_NONE, &failure))
        return read_all(states, keys, table, error);
    if (g_error_matches(failure, G_FILE_ERROR, G_FILE_ERROR_NOENT))
        return true;
    g_propagate_error(error, g_steal_pointer(&failure));
    return false;
}

static void
write_map(GHashTable *rows_by_text, GKeyFile *keys, const char *group, const char *name)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    GHashTableIter iter;
    gpointer text, rows;

    g_hash_table_iter_init(&iter, rows_by_text);
    while (g_hash_table_iter_next(&iter, &text, &rows))
        g_ptr_array_add(
            words, g_strdup_printf("%" G_GINT64_FORMAT " %s", *(const gint64 *)rows, (const char *)text));
    g_key_file_set_string_list(keys, group, name, (const char *const *)words->pdata, words->len);
}

static void
write_path(const kw_verify_state *state, GKeyFile *keys)
{
    g_autofree char *group = group_of(state);
    g_autofree char *cursor = kw_text_of_bytes(state->cursor);

    if (state->cursor == NULL && !state->done)
        return;
    g_key_file_set_string(keys, group, "cursor", cursor);
    g_key_file_set_boolean(keys, group, "done", state->done);
    g_key_file_set_boolean(keys, group, "verified", state->verified);
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        g_key_file_set_int64(keys, group, numbers[i].name,
                             G_STRUCT_MEMBER(gint64, &state->sum, numbers[i].offset));
    for (gsize i = 0; i < G_N_ELEMENTS(maps); i++)
        write_map(G_STRUCT_MEMBER(GHashTable *, state, maps[i].offset), keys, group, maps[i].name);
    g_key_file_set_string_list(keys, group, "examples", (const char *const *)state->examples->pdata,
                               state->examples->len);
}

bool
kw_verify_states_write(const GPtrArray *states, const char *file, const char *table, GError **error)
{
    g_autoptr(GKeyFile) keys = g_key_file_new();
    g_autofree char *text = NULL;
    gsize size;

    g_key_file_set_string(keys, GROUP, "table", table);
    for (guint i = 0; i < states->len; i++)
        write_path(states->pdata[i], keys);
    text = g_key_file_to_data(keys, &size, NULL);
    return g_file_set_contents_full(file, text, (gssize)size, G_FILE_SET_CONTENTS_CONSISTENT, 0666, error);
}
