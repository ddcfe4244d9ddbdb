/* See version.h: single versions. history.c lists them. */
#include "catalog/version.h"

#include "catalog/version_internal.h"
#include "store/check.h"

#include <string.h>

/* A row has a text and little else. */
#define ROW_BYTES_MAX (2 * KW_VERSION_TEXT_MAX)

/* --- names ------------------------------------------------------------------------------------------ */

void
kw_version_draft_init(kw_version_draft *draft)
{
    g_snprintf(draft->id, sizeof draft->id, "%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x",
               kw_random_u64(), kw_random_u64());
}

kw_bytes
kw_version_row(const kw_version_name *name, kw_arena *arena)
{
    return kw_bytes_of_text(kw_arena_printf(arena, KW_CATALOG_POLICY_PREFIX "%016" G_GINT64_MODIFIER "x/%s",
                                            (guint64)name->number, name->id));
}

bool
kw_version_parse_row(kw_bytes key, kw_arena *arena, kw_version_name *ret_name)
{
    size_t prefix = strlen(KW_CATALOG_POLICY_PREFIX);
    char *end;
    if (key.size <= prefix)
        return false;
    uint64_t number = g_ascii_strtoull(kw_arena_text(arena, key) + prefix, &end, 16);
    if (number < 1 || number > INT64_MAX || *end != '/' || !kw_version_is_id(end + 1))
        return false;
    kw_version_name name = {.number = (int64_t)number};
    g_strlcpy(name.id, end + 1, sizeof name.id);
    if (!kw_bytes_equal(kw_version_row(&name, arena), key))
        return false;
    *ret_name = name;
    return true;
}

/* --- reading ---------------------------------------------------------------------------------------- */

typedef struct reading {
    kw_arena *arena;
    kw_version_name name;
    kw_column column;
    kw_get get;
    kw_version_named named;
    kw_version_found found;
    void *user;
} reading;

static reading *
reading_new(kw_catalog *catalog, kw_deadline deadline, void *user)
{
    kw_arena *arena = kw_arena_new();
    reading *self = KW_ARENA_NEW(arena, reading);
    *self = (reading){.arena = arena,
                      .user = user,
                      .get = {.table = catalog->table, .max_versions = 1, .deadline = deadline}};
    return self;
}

static void
on_current(void *user, kw_rows *rows, const kw_error *error)
{
    reading *self = user;
    kw_version_name name = {0};
    kw_error found = error ? *error : KW_ERROR_NONE;
    if (found.code == KW_NOT_FOUND) /* the catalog does not exist yet */
        found = KW_ERROR_NONE;
    else if (!error && rows->rows[0].cells_count > 0)
        kw_version_parse(rows->rows[0].cells[0].value, &name, &found);
    bool good = found.code == KW_OK;
    self->named(self->user, good ? &name : NULL, good ? NULL : &found);
    kw_rows_free(rows);
    kw_arena_free(self->arena);
}

void
kw_catalog_read_current(kw_catalog *catalog, kw_deadline deadline, kw_version_named done, void *user)
{
    reading *self = reading_new(catalog, deadline, user);
    self->named = done;
    self->column = (kw_column){.family = KW_CATALOG_FAMILY, .qualifier = KW_CATALOG_POLICY};
    self->get.row = KW_CATALOG_FACTS_ROW;
    self->get.columns = &self->column;
    self->get.columns_count = 1;
    kw_store_handle_get(catalog->settings.handle, &self->get, on_current, self);
}

static void
on_version(void *user, kw_rows *rows, const kw_error *error)
{
    reading *self = user;
    kw_error found = error ? *error : KW_ERROR_NONE;
    kw_version version = {.name = self->name};
    if (!error)
        kw_version_read_row(&rows->rows[0], self->arena, &version, &found);
    bool good = found.code == KW_OK;
    self->found(self->user, good ? &version : NULL, good ? NULL : &found);
    kw_rows_free(rows);
    kw_arena_free(self->arena);
}

void
kw_catalog_read_version(kw_catalog *catalog, const kw_version_name *name, kw_deadline deadline,
                        kw_version_found done, void *user)
{
    reading *self = reading_new(catalog, deadline, user);
    self->found = done;
    self->name = *name;
    self->get.row = kw_version_row(name, self->arena);
    self->get.max_bytes = ROW_BYTES_MAX;
    kw_store_handle_get(catalog->settings.handle, &self->get, on_version, self);
}

static const char *
text_of(kw_bytes value, kw_arena *arena)
{
    return g_utf8_validate_len((const char *)value.data, value.size, NULL) ? kw_arena_text(arena, value)
                                                                           : "(unreadable)";
}

bool
kw_version_read_row(const kw_row *row, kw_arena *arena, kw_version *version, kw_error *ret_error)
{
    bool written = false;
    version->author = version->reason = "";
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *cell = &row->cells[i];
        if (kw_bytes_equal(cell->qualifier, KW_VERSION_TEXT))
            version->text = cell->value;
        else if (kw_bytes_equal(cell->qualifier, KW_VERSION_AUTHOR))
            version->author = text_of(cell->value, arena);
        else if (kw_bytes_equal(cell->qualifier, KW_VERSION_REASON))
            version->reason = text_of(cell->value, arena);
        else if (kw_bytes_equal(cell->qualifier, KW_VERSION_PREVIOUS))
            g_strlcpy(version->previous, kw_arena_text(arena, cell->value), sizeof version->previous);
        else if (kw_bytes_equal(cell->qualifier, KW_VERSION_AT)) {
            version->at_ms = g_ascii_strtoll(kw_arena_text(arena, cell->value), NULL, 10);
            written = true;
        }
    }
    return written || kw_error_set(ret_error, KW_CORRUPT,
                                   "the row of policy version %" G_GINT64_FORMAT " is missing in the catalog",
                                   version->name.number);
}

/* --- writing ---------------------------------------------------------------------------------------- */

typedef struct writing {
    kw_write write;
    kw_check check;
    kw_cell cells[5];
    kw_simple_done done;
    void *user;
} writing;

static void
add_cell(writing *self, kw_bytes qualifier, kw_bytes value)
{
    self->cells[self->write.cells_count++] =
        (kw_cell){.family = KW_CATALOG_FAMILY, .qualifier = qualifier, .value = value};
}

/* The row has a random name: if it exists, an earlier attempt wrote it. */
static void
on_written(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    writing *self = user;
    (void)outcome, (void)applied;
    self->done(self->user, error);
}

void
kw_catalog_write_version(kw_catalog *catalog, const kw_version_draft *draft, const kw_version_name *previous,
                         kw_arena *arena, kw_deadline deadline, kw_simple_done done, void *user)
{
    g_assert(previous->number >= 0 && draft->id[0]);
    writing *self = KW_ARENA_NEW(arena, writing);
    kw_version_name name = {.number = previous->number + 1};
    g_strlcpy(name.id, draft->id, sizeof name.id);
    *self = (writing){.done = done, .user = user};
    self->write = (kw_write){.kind = KW_WRITE_PUT,
                             .table = catalog->table,
                             .row = kw_version_row(&name, arena),
                             .cells = self->cells,
                             .timestamp = KW_TIMESTAMP_NONE,
                             .deadline = deadline};
    add_cell(self, KW_VERSION_TEXT, draft->text);
    add_cell(self, KW_VERSION_AUTHOR, kw_bytes_of_text(draft->author));
    add_cell(self, KW_VERSION_REASON, kw_bytes_of_text(draft->reason));
    add_cell(self, KW_VERSION_AT,
             kw_bytes_of_text(kw_arena_printf(arena, "%" G_GINT64_FORMAT, draft->at_ms)));
    add_cell(self, KW_VERSION_PREVIOUS, kw_bytes_of_text(previous->id));
    self->check =
        (kw_check){.family = KW_CATALOG_FAMILY, .qualifier = KW_VERSION_AT, .compare = KW_COMPARE_EQUAL};
    kw_store_handle_write_if(catalog->settings.handle, &self->write, &self->check, on_written, self);
}
