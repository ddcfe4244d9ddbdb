/* Records in the catalog which store tables Keyway created; see forget.h. */
#include "catalog/forget.h"
#include "catalog/put.h"

typedef struct noting {
    kw_catalog *catalog;
    kw_arena *arena;
    kw_catalog_image *image;
    const char **names;
    size_t count;
    kw_deadline deadline;
    void (*done)(void *user, const kw_error *error);
    void *user;
} noting;

static void
finish(noting *self, const kw_error *error)
{
    self->done(self->user, error);
    kw_catalog_image_free(self->image);
    kw_arena_free(self->arena);
}

static void read_catalog(noting *self);

static void
on_put(void *user, const kw_error *error)
{
    noting *self = user;
    if (error && error->code == KW_BUSY && !kw_deadline_passed(self->deadline))
        read_catalog(self);
    else
        finish(self, error);
}

static void
on_read(void *user, kw_catalog_image *image, const kw_error *error)
{
    noting *self = user;
    kw_catalog_image_free(self->image);
    self->image = image;
    if (error)
        finish(self, error);
    else
        kw_catalog_put(self->catalog, image,
                       &(kw_catalog_changes){.created = self->names, .created_count = self->count}, on_put,
                       self);
}

static void
read_catalog(noting *self)
{
    kw_catalog_read(self->catalog->settings.handle, self->catalog->table, self->deadline, on_read, self);
}

void
kw_catalog_note_created(kw_catalog *catalog, const char *const *store_tables, size_t count,
                        kw_deadline deadline, void (*done)(void *user, const kw_error *error), void *user)
{
    kw_arena *arena = kw_arena_new();
    noting *self = KW_ARENA_NEW(arena, noting);
    *self = (noting){.catalog = catalog,
                     .arena = arena,
                     .names = KW_ARENA_ARRAY(arena, const char *, count),
                     .count = count,
                     .deadline = deadline,
                     .done = done,
                     .user = user};
    for (size_t i = 0; i < count; i++)
        self->names[i] = kw_arena_text(arena, kw_bytes_of_text(kw_store_table_name(store_tables[i])));
    read_catalog(self);
}
