/* Writes the progress of changes in a store with one writer, and edits records; see changes.h. */
#include "catalog/changes_edit.h"

/* --- progress -------------------------------------------------------------------------------------- */

typedef struct progress {
    kw_changes_editing editing;
    const kw_change_record *records; /* copies */
    size_t count;
    void (*done)(void *user, const kw_error *error);
    void *user;
} progress;

/* Puts the progress of changes with one writer. Records of several writers stay as the catalog has them,
 * because other gateways edit them. */
static bool
decide_progress(kw_changes_editing *editing, kw_error *ret_error)
{
    const progress *self = (const progress *)editing;
    const kw_catalog_image *image = editing->image;
    if (kw_changes_differ(image->changes, image->changes_count, self->records, self->count))
        return kw_error_set(ret_error, KW_BUSY, "a change of a table has had another step since; try again");
    kw_change_record *records = KW_ARENA_ARRAY(image->arena, kw_change_record, self->count);
    for (size_t i = 0; i < self->count; i++) {
        const kw_change_record *mine = &self->records[i];
        records[i] = mine->under_way && mine->writers == KW_CHANGE_SEVERAL_WRITERS
                         ? *kw_changes_find(image->changes, image->changes_count, mine->table, mine->path)
                         : *mine;
    }
    editing->records = records;
    editing->count = self->count;
    return true;
}

static void
progress_done(kw_changes_editing *editing, const kw_error *error)
{
    const progress *self = (const progress *)editing;
    self->done(self->user, error);
}

/* The caller's records can change before the put. So they are copied, by printing and parsing them. */
static bool
copy_records(progress *self, const kw_change_record *records, size_t count, kw_error *ret_error)
{
    kw_change_record *copies;
    kw_bytes text;
    if (!kw_changes_print_to_put(records, count, self->editing.arena, &text, ret_error) ||
        !kw_changes_parse(text, self->editing.arena, &copies, &self->count, ret_error))
        return false;
    self->records = copies;
    return true;
}

void
kw_catalog_write_progress(kw_catalog *catalog, const kw_change_record *records, size_t count,
                          kw_deadline deadline, void (*done)(void *user, const kw_error *error), void *user)
{
    kw_arena *arena = kw_arena_new();
    progress *self = KW_ARENA_NEW(arena, progress);
    kw_error error;
    *self = (progress){.editing = {.catalog = catalog,
                                   .arena = arena,
                                   .deadline = deadline,
                                   .decide = decide_progress,
                                   .done = progress_done},
                       .done = done,
                       .user = user};
    if (copy_records(self, records, count, &error)) {
        kw_changes_edit(&self->editing);
        return;
    }
    kw_error_prefix(&error, "catalog %s", catalog->settings.store_table);
    done(user, &error);
    kw_arena_free(arena);
}

/* --- one record ------------------------------------------------------------------------------------ */

typedef struct edit {
    kw_changes_editing editing;
    const char *table;
    const char *path; /* NULL: whichever changes */
    kw_change_edit change;
    void *change_user;
    kw_change_edited done;
    void *user;
} edit;

static kw_change_record *
find_under_way(const edit *self, kw_change_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (records[i].under_way && g_str_equal(records[i].table, self->table) &&
            (!self->path || g_str_equal(records[i].path, self->path)))
            return &records[i];
    return NULL;
}

static bool
is_unchanged(const kw_change_record *before, const kw_change_record *after, kw_arena *arena)
{
    return kw_bytes_equal(kw_changes_print(before, 1, arena), kw_changes_print(after, 1, arena));
}

static bool
decide_edit(kw_changes_editing *editing, kw_error *ret_error)
{
    const edit *self = (const edit *)editing;
    const kw_catalog_image *image = editing->image;
    kw_change_record *record = find_under_way(self, image->changes, image->changes_count);
    if (!record)
        return kw_error_set(ret_error, KW_REFUSED, "table %s: no change is under way", self->table);
    kw_change_record before = *record;
    if (!self->change(self->change_user, image->version.number, record, image->arena, ret_error))
        return false;
    g_assert(!kw_change_record_differs(&before, record));
    editing->records = image->changes;
    editing->count = image->changes_count;
    editing->unchanged = is_unchanged(&before, record, image->arena);
    return true;
}

static void
edit_done(kw_changes_editing *editing, const kw_error *error)
{
    const edit *self = (const edit *)editing;
    const kw_catalog_image *image = editing->image;
    kw_current current = {0};
    if (!error)
        current = (kw_current){
            .version = image->version, .changes = image->changes, .changes_count = image->changes_count};
    self->done(self->user, error ? NULL : &current, error);
}

void
kw_catalog_edit_change(kw_catalog *catalog, const char *table, const char *path, kw_change_edit change,
                       void *change_user, kw_deadline deadline, kw_change_edited done, void *user)
{
    kw_arena *arena = kw_arena_new();
    edit *self = KW_ARENA_NEW(arena, edit);
    *self = (edit){.editing = {.catalog = catalog,
                               .arena = arena,
                               .deadline = deadline,
                               .decide = decide_edit,
                               .done = edit_done},
                   .table = kw_arena_text(arena, kw_bytes_of_text(table)),
                   .path = path ? kw_arena_text(arena, kw_bytes_of_text(path)) : NULL,
                   .change = change,
                   .change_user = change_user,
                   .done = done,
                   .user = user};
    kw_changes_edit(&self->editing);
}
