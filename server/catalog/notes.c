/* Records notes in the catalog; see forget.h:
 *
 *   read the catalog --> make the change --> put it --BUSY: another change came first--> read again
 */
#include "catalog/forget.h"
#include "catalog/put.h"

typedef struct noting noting;

struct noting {
    kw_catalog *catalog;
    kw_arena *arena;
    kw_catalog_image *image;
    /* Adds the note to what was read. False: it does not fit any more. */
    bool (*change)(noting *self, kw_catalog_image *image, kw_catalog_changes *ret_changes,
                   kw_error *ret_error);
    const char **names; /* of created store tables */
    size_t count;
    kw_verified_note note; /* of a placement */
    kw_facts_put put;
    kw_deadline deadline;
    void (*done)(void *user, const kw_error *error);
    void *user;
};

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
    kw_catalog_changes changes = {.facts_count = 0};
    kw_error changed;
    kw_catalog_image_free(self->image);
    self->image = image;
    if (error)
        finish(self, error);
    else if (!self->change(self, image, &changes, &changed))
        finish(self, &changed);
    else
        kw_catalog_put(self->catalog, image, &changes, on_put, self);
}

static void
read_catalog(noting *self)
{
    kw_catalog_read(self->catalog->settings.handle, self->catalog->table, self->deadline, on_read, self);
}

static noting *
noting_new(kw_catalog *catalog, kw_deadline deadline, void (*done)(void *user, const kw_error *error),
           void *user)
{
    kw_arena *arena = kw_arena_new();
    noting *self = KW_ARENA_NEW(arena, noting);
    *self = (noting){.catalog = catalog, .arena = arena, .deadline = deadline, .done = done, .user = user};
    return self;
}

static const char *
keep(const noting *self, const char *text)
{
    return kw_arena_text(self->arena, kw_bytes_of_text(text));
}

/* --- created store tables ------------------------------------------------------------------------- */

static bool
add_created(noting *self, kw_catalog_image *image, kw_catalog_changes *ret_changes, kw_error *ret_error)
{
    (void)image;
    (void)ret_error;
    ret_changes->created = self->names;
    ret_changes->created_count = self->count;
    return true;
}

void
kw_catalog_note_created(kw_catalog *catalog, const char *const *store_tables, size_t count,
                        kw_deadline deadline, void (*done)(void *user, const kw_error *error), void *user)
{
    noting *self = noting_new(catalog, deadline, done, user);
    self->change = add_created;
    self->names = KW_ARENA_ARRAY(self->arena, const char *, count);
    self->count = count;
    for (size_t i = 0; i < count; i++)
        self->names[i] = keep(self, kw_store_table_name(store_tables[i]));
    read_catalog(self);
}

/* --- verified placements -------------------------------------------------------------------------- */

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

static bool
set_verified(noting *self, kw_catalog_image *image, kw_catalog_changes *ret_changes, kw_error *ret_error)
{
    kw_facts *facts = (kw_facts *)kw_catalog_image_table(image, self->note.table);
    kw_placement_facts *placement = find_placement(self, facts);
    if (!placement)
        return kw_error_set(
            ret_error, KW_REFUSED,
            "table %s, path %s: the key rule or the store table changed during the verification",
            self->note.table, self->note.path);
    placement->verified = true;
    placement->checked_rows = self->note.rows;
    placement->checked_at_ms = self->note.at_ms;
    self->put = (kw_facts_put){self->note.table, facts};
    ret_changes->facts = &self->put;
    ret_changes->facts_count = 1;
    return true;
}

void
kw_catalog_note_verified(kw_catalog *catalog, const kw_verified_note *note, kw_deadline deadline,
                         void (*done)(void *user, const kw_error *error), void *user)
{
    noting *self = noting_new(catalog, deadline, done, user);
    self->change = set_verified;
    self->note = (kw_verified_note){.table = keep(self, note->table),
                                    .path = keep(self, note->path),
                                    .fingerprint = keep(self, note->fingerprint),
                                    .store_table = keep(self, kw_store_table_name(note->store_table)),
                                    .rows = note->rows,
                                    .at_ms = note->at_ms};
    read_catalog(self);
}
