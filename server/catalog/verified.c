/* Records in the catalog that all rows of a placement were verified; see forget.h. */
#include "catalog/forget.h"
#include "catalog/put.h"

typedef struct noting {
    kw_catalog *catalog;
    kw_arena *arena;
    kw_catalog_image *image;
    kw_verified_note note;
    kw_facts_put put;
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

static kw_placement_facts *
find_placement(const noting *self, const kw_facts *facts)
{
    const kw_path_facts *path = facts ? kw_facts_find_path(facts, self->note.path) : NULL;
    for (size_t i = 0; path && i < path->placements_count; i++) {
        kw_placement_facts *each = &path->placements[i];
        if (kw_placement_facts_is_live(each) && g_str_equal(each->fingerprint, self->note.fingerprint) &&
            g_str_equal(kw_store_table_name(each->store_table), self->note.store_table))
            return each;
    }
    return NULL;
}

static void
on_read(void *user, kw_catalog_image *image, const kw_error *error)
{
    noting *self = user;
    kw_error changed;
    kw_catalog_image_free(self->image);
    self->image = image;
    if (error) {
        finish(self, error);
        return;
    }
    kw_facts *facts = (kw_facts *)kw_catalog_image_table(image, self->note.table);
    kw_placement_facts *placement = find_placement(self, facts);
    if (!placement) {
        kw_error_set(&changed, KW_REFUSED,
                     "table %s, path %s: the key rule or the store table changed during the verification",
                     self->note.table, self->note.path);
        finish(self, &changed);
        return;
    }
    placement->verified = true;
    placement->checked_rows = self->note.rows;
    placement->checked_at_ms = self->note.at_ms;
    self->put = (kw_facts_put){self->note.table, facts};
    kw_catalog_put(self->catalog, image, &(kw_catalog_changes){.facts = &self->put, .facts_count = 1}, on_put,
                   self);
}

static void
read_catalog(noting *self)
{
    kw_catalog_read(self->catalog->settings.handle, self->catalog->table, self->deadline, on_read, self);
}

void
kw_catalog_note_verified(kw_catalog *catalog, const kw_verified_note *note, kw_deadline deadline,
                         void (*done)(void *user, const kw_error *error), void *user)
{
    kw_arena *arena = kw_arena_new();
    noting *self = KW_ARENA_NEW(arena, noting);
    *self = (noting){.catalog = catalog,
                     .arena = arena,
                     .note = {.table = kw_arena_text(arena, kw_bytes_of_text(note->table)),
                              .path = kw_arena_text(arena, kw_bytes_of_text(note->path)),
                              .fingerprint = kw_arena_text(arena, kw_bytes_of_text(note->fingerprint)),
                              .store_table = kw_arena_text(
                                  arena, kw_bytes_of_text(kw_store_table_name(note->store_table))),
                              .rows = note->rows,
                              .at_ms = note->at_ms},
                     .deadline = deadline,
                     .done = done,
                     .user = user};
    read_catalog(self);
}
