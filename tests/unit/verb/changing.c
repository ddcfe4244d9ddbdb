#include "changing.h"

#include "config/reader.h"
#include "rule/splits.h"
#include "store/embedded/embedded.h"

#include <glib/gstdio.h>

#define FIELDS                                                                                               \
    "store: {kind: embedded}\n"                                                                              \
    "limits: {batch_records: 200}\n"                                                                         \
    "tables:\n"                                                                                              \
    "  t:\n"                                                                                                 \
    "    families: {d: {versions: 3}, m: {}}\n"                                                              \
    "    fields:\n"                                                                                          \
    "      id: string\n"                                                                                     \
    "      n: {type: int, counter: true}\n"                                                                  \
    "      note: string\n"                                                                                   \
    "      tags: {type: map, of: int, column: 'm:*'}\n"
#define OLD_KEY "    key: [field: id]\n"
#define NEW_KEY                                                                                              \
    "    key: [hash: id, field: {name: id, encoding: fixed, width: 8}]\n"                                    \
    "    splits: {algorithm: rule, regions: 4}\n"
#define OLD_SECOND "    paths: {second: {key: [literal: s, field: id]}}\n"
#define NEW_SECOND "    paths: {second: {key: [salt: {buckets: 4, of: [id]}, field: id]}}\n"

static bool
changes(const changing *self, const char *path)
{
    return strstr(self->paths, path) != NULL;
}

/* The tables have a second path exactly if it changes, or if "static" is among the words of `paths`. */
static kw_model *
read_model(const changing *self, bool fresh)
{
    bool has_second = changes(self, "second") || changes(self, "static");
    const char *second = !has_second ? "" : fresh && changes(self, "second") ? NEW_SECOND : OLD_SECOND;
    g_autofree char *text =
        g_strconcat(FIELDS, fresh && changes(self, "primary") ? NEW_KEY : OLD_KEY, second, NULL);
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("test.yaml");
    kw_model *model = kw_model_read_text("test.yaml", text, strlen(text), schemas, count, problems);
    g_autofree char *why = kw_diagnostics_text(problems);
    if (!model)
        g_error("%s", why);
    return model;
}

static kw_placing
placing_of(const char *path, changing_version version, kw_model *old)
{
    static const kw_role write = {1, 1, false, false}, all = {1, 1, true, true};
    bool primary = g_str_equal(path, "primary"), reads_new = version == CHANGING_BOTH_NEW;
    kw_placed_rule given = {1, primary ? "t" : "t_second"};
    return (kw_placing){.table = "t",
                        .path = path,
                        .given = given,
                        .now = {2, primary ? "t_L2" : "t_second_L2"},
                        .change = version == CHANGING_NEW ? KW_TABLE_UNCHANGED : KW_TABLE_MOVES,
                        .old_model = old,
                        .old = given,
                        .role = reads_new ? all : write,
                        .old_role = reads_new ? write : all,
                        .both_complete = reads_new};
}

static kw_policy *
policy_of(const changing *self, changing_version version)
{
    g_autoptr(kw_model) model = read_model(self, version != CHANGING_OLD), old = read_model(self, false);
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("test.yaml");
    kw_placing placings[2];
    size_t count = 0;
    if (version != CHANGING_OLD && changes(self, "primary"))
        placings[count++] = placing_of("primary", version, old);
    if (version != CHANGING_OLD && changes(self, "second"))
        placings[count++] = placing_of("second", version, old);
    kw_policy *policy = kw_policy_new_placed(model, placings, count, problems);
    g_autofree char *why = kw_diagnostics_text(problems);
    if (!policy)
        g_error("%s", why);
    return policy;
}

static void
created(void *user, const kw_created_table *tables, size_t count, const kw_error *error)
{
    desk *self = user;
    (void)tables;
    self->done = true;
    self->count = count;
    self->error = error ? *error : KW_ERROR_NONE;
}

void
changing_serve(changing *self, changing_version version)
{
    desk *on = self->desk;
    kw_policy *policy = policy_of(self, version);
    g_ptr_array_add(self->policies, policy);
    kw_policy_unref(on->policy);
    on->policy = kw_policy_ref(policy);
    on->call.policy = policy;
    self->version = version;
    kw_create_request request = {.table = desk_table(on, "t"), .path = -1, .if_absent = true};
    on->done = false;
    kw_verb_create_table(&on->call, &request, created, on);
    desk_wait(on);
    g_assert_cmpstr(on->error.text, ==, "");
    g_assert_cmpuint(on->count, ==, desk_table(on, "t")->placements_count);
}

static void
open_desk(changing *self)
{
    kw_model_embedded settings = {.path = self->folder, .cache_bytes = 8 << 20};
    kw_error error;
    kw_store *store = kw_embedded_open(&settings, &error);
    if (!store)
        g_error("%s", error.text);
    self->desk = desk_new_over(store, FIELDS OLD_KEY);
    g_ptr_array_add(self->policies, kw_policy_ref(self->desk->policy));
}

static void
unref_policy(gpointer policy)
{
    kw_policy_unref(policy);
}

void
changing_open(changing *self, const char *folder, const char *paths)
{
    *self = (changing){.folder = g_strdup(folder), .paths = paths};
    self->policies = g_ptr_array_new_with_free_func(unref_policy);
    open_desk(self);
    changing_serve(self, CHANGING_BOTH_OLD);
}

void
changing_init(changing *self, const char *paths)
{
    g_autofree char *folder = g_dir_make_tmp("changing-XXXXXX", NULL);
    g_autofree char *data = g_build_filename(folder, "data", NULL);
    changing_open(self, data, paths);
}

void
changing_reopen(changing *self)
{
    desk_free(self->desk);
    open_desk(self);
    changing_serve(self, self->version);
}

static void
remove_folder(const char *folder)
{
    g_autoptr(GDir) files = g_dir_open(folder, 0, NULL);
    for (const char *name = NULL; files && (name = g_dir_read_name(files));) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (g_file_test(path, G_FILE_TEST_IS_DIR))
            remove_folder(path);
        else
            g_unlink(path);
    }
    g_rmdir(folder);
}

void
changing_close(changing *self)
{
    desk_free(self->desk);
    g_ptr_array_free(self->policies, TRUE);
}

void
changing_clear(changing *self)
{
    changing_close(self);
    g_autofree char *parent = g_path_get_dirname(self->folder);
    remove_folder(parent);
    g_free(self->folder);
}

/* --- cells ----------------------------------------------------------------------------------------- */

typedef struct got {
    desk *desk;
    kw_rows *rows;
} got;

static void
arrived(void *user, kw_rows *rows, const kw_error *error)
{
    got *self = user;
    if (error)
        g_error("%s", error->text);
    self->rows = rows;
    self->desk->done = true;
}

char *
changing_cells(changing *self, const kw_placement *placement, const char *key)
{
    desk *on = self->desk;
    kw_buffer row = KW_BUFFER_EMPTY;
    kw_record record = desk_record(on, "t", key);
    kw_error error;
    if (!kw_layout_encode(placement->layout, &record, &row, &error))
        g_error("%s", error.text);
    kw_get get = {.table = placement->store_table,
                  .row = kw_buffer_bytes(&row),
                  .max_versions = 100,
                  .deadline = KW_DEADLINE_NONE};
    got found = {.desk = on};
    on->done = false;
    kw_store_handle_get(on->handle, &get, arrived, &found);
    desk_wait(on);
    GString *text = g_string_new(NULL);
    for (uint32_t i = 0; i < found.rows->rows[0].cells_count; i++) {
        const kw_cell *cell = &found.rows->rows[0].cells[i];
        g_string_append_printf(text, "%s:%s@%lld=%s ", kw_bytes_to_binary_text(cell->family, on->call.arena),
                               kw_bytes_to_binary_text(cell->qualifier, on->call.arena),
                               (long long)cell->timestamp,
                               kw_bytes_to_binary_text(cell->value, on->call.arena));
    }
    kw_rows_free(found.rows);
    kw_buffer_clear(&row);
    return g_string_free(text, FALSE);
}

char *
changing_same_cells(changing *self, const char *key)
{
    const kw_table *table = desk_table(self->desk, "t");
    char *first = changing_cells(self, &table->placements[0], key);
    for (size_t i = 1; i < table->placements_count; i++) {
        g_autofree char *other = changing_cells(self, &table->placements[i], key);
        if (!g_str_equal(first, other))
            g_error("%s in %s: %s\nin %s: %s", key, kw_layout_store_table(table->placements[0].layout), first,
                    kw_layout_store_table(table->placements[i].layout), other);
    }
    return first;
}
