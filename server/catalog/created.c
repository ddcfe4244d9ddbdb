/* Notes in the catalog which store tables Keyway created; see forget.h. */
#include "catalog/forget.h"
#include "catalog/put.h"

typedef struct noting {
    kw_catalog *catalog;
    kw_arena *arena;
    GHashTable *created;
    kw_catalog_image *image;
    void (*done)(void *user, const kw_error *error);
    void *user;
} noting;

static void
on_put(void *user, const kw_error *error)
{
    noting *self = user;
    kw_error told = error ? *error : KW_ERROR_NONE;
    self->done(self->user, error ? &told : NULL);
    g_hash_table_unref(self->created);
    kw_catalog_image_free(self->image);
    kw_arena_free(self->arena);
}

/* True if that changed the facts. */
static bool
note_table(const noting *self, kw_facts *facts)
{
    bool changed = false;
    for (size_t i = 0; i < facts->paths_count; i++)
        for (size_t j = 0; j < facts->paths[i].placements_count; j++) {
            kw_placement_facts *each = &facts->paths[i].placements[j];
            bool created = !each->made && g_hash_table_contains(self->created, each->store_table);
            each->made = each->made || created;
            changed = changed || created;
        }
    return changed;
}

static void
on_read(void *user, kw_catalog_image *image, const kw_error *error)
{
    noting *self = user;
    self->image = image;
    if (error) {
        on_put(self, error);
        return;
    }
    kw_facts_put *puts = KW_ARENA_ARRAY(self->arena, kw_facts_put, image->tables_count);
    size_t count = 0;
    for (size_t i = 0; i < image->tables_count; i++)
        if (note_table(self, image->tables[i]))
            puts[count++] = (kw_facts_put){image->tables[i]->table, image->tables[i]};
    if (count)
        kw_catalog_put(self->catalog, image, puts, count, on_put, self);
    else
        on_put(self, NULL);
}

void
kw_catalog_note_created(kw_catalog *catalog, const char *const *store_tables, size_t count,
                        kw_deadline deadline, void (*done)(void *user, const kw_error *error), void *user)
{
    kw_arena *arena = kw_arena_new();
    noting *self = KW_ARENA_NEW(arena, noting);
    *self = (noting){.catalog = catalog,
                     .arena = arena,
                     .created = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                     .done = done,
                     .user = user};
    for (size_t i = 0; i < count; i++)
        g_hash_table_add(self->created, g_strdup(kw_store_table_name(store_tables[i])));
    kw_catalog_read(catalog->settings.door, catalog->table, deadline, on_read, self);
}
