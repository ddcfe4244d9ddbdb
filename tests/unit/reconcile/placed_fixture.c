#include "placed_fixture.h"

#include "store/embedded/embedded.h"

#include <glib/gstdio.h>

/* A table with a new key rule, and a table that lends its layout and store table to the old placement. The
 * keys of `coarse` do not hold the exact time, which is in a column. */
static const char policy[] = "store: {kind: embedded}\n"
                             "tables:\n"
                             "  now:\n"
                             "    fields: {id: string, n: int, note: string, tags: {type: map, of: int}}\n"
                             "    key: [salt: {buckets: 4, of: [id]}, field: id, field: n]\n"
                             "  then:\n"
                             "    fields: {id: string, n: int, note: string, tags: {type: map, of: int}}\n"
                             "    key: [field: id, field: n]\n"
                             "  coarse_now:\n"
                             "    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}, note: string}\n"
                             "    key: [field: {name: ts, unit: s}, field: id]\n"
                             "  coarse_then:\n"
                             "    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}, note: string}\n"
                             "    key: [field: id, field: {name: ts, unit: s}]\n";

void
placed_fixture_place(placed_fixture *self, const char *now, const char *then)
{
    self->table = (kw_table *)desk_table(self->desk, now);
    self->path = (kw_path *)&self->table->paths[0];
    const kw_path *old = &desk_table(self->desk, then)->paths[0];
    self->placements[0] = self->path->placements[0];
    self->placements[0].role = (kw_role){.put = 1, .remove = 1};
    self->placements[1] = (kw_placement){.path = self->path,
                                         .number = 1,
                                         .layout = old->layout,
                                         .store_table = old->store_table,
                                         .role = {.put = 1, .remove = 1, .get = true, .scan = true}};
    self->path->placements = self->table->placements = self->placements;
    self->path->placements_count = self->table->placements_count = 2;
    self->table->change = KW_TABLE_MOVES;
    desk_create(self->desk, now);
    desk_create(self->desk, then);
}

void
placed_fixture_open(placed_fixture *self)
{
    kw_error error;
    *self = (placed_fixture){0};
    g_autofree char *folder = g_dir_make_tmp("copy-XXXXXX", NULL);
    self->folder = g_build_filename(folder, "data", NULL);
    kw_model_embedded settings = {.path = self->folder, .cache_bytes = 8 << 20};
    kw_store *store = kw_embedded_open(&settings, &error);
    if (!store)
        g_error("%s", error.text);
    self->desk = desk_new_over(kw_fault_store_new(store, &self->plan), policy);
}

void
placed_fixture_close(placed_fixture *self)
{
    desk_free(self->desk);
    g_autofree char *parent = g_path_get_dirname(self->folder);
    const char *const remove_folder[] = {"rm", "-rf", parent, NULL};
    g_spawn_sync(NULL, (char **)(uintptr_t)remove_folder, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                 NULL, NULL);
    g_free(self->folder);
}

void
placed_fixture_put(placed_fixture *self, const char *table, const char *record, int64_t timestamp)
{
    self->desk->options = (kw_write_options){.has_timestamp = timestamp > 0, .timestamp = timestamp};
    g_assert_cmpstr(desk_put(self->desk, table, record)->error.text, ==, "");
    self->desk->options = (kw_write_options){0};
}
