/* Lists versions: see version.h.
 *
 *   which version is current -> the rows of the wanted numbers, and of the next one -> choose one row of each
 */
#include "catalog/version.h"

#include "catalog/version_internal.h"

#include <string.h>

#define ROWS_PER_FETCH 1000
#define BYTES_PER_FETCH ((size_t)1024 * 1024)
/* Other programs can write to the table: limits what a history reads. */
#define ROWS_MAX 100000

typedef struct listing {
    kw_catalog *catalog;
    kw_arena *arena;
    kw_deadline deadline;
    int64_t before;
    size_t limit;
    int64_t newest, oldest; /* numbers to return */
    kw_version_name current;
    kw_range_scan *scan;
    GArray *rows; /* kw_version: every row read, in the order of numbers */
    kw_version *versions;
    kw_versions_listed done;
    void *user;
} listing;

static void
finish(listing *self, size_t count, const kw_error *error)
{
    self->done(self->user, error ? NULL : self->versions, error ? 0 : count, error);
    kw_range_scan_close(self->scan);
    g_array_unref(self->rows);
    kw_arena_free(self->arena);
}

/* --- choosing ------------------------------------------------------------------------------------- */

/* The ID of the row that became version `number`; "": unknown, because there is no row of the next version.
 */
static const char *
id_of(const listing *self, int64_t number)
{
    if (number == self->current.number)
        return self->current.id;
    for (guint i = 0; i < self->rows->len; i++) {
        const kw_version *row = &g_array_index(self->rows, kw_version, i);
        if (row->name.number == number + 1)
            return row->previous;
    }
    return "";
}

static const kw_version *
find_row(const listing *self, int64_t number, const char *id)
{
    for (guint i = 0; i < self->rows->len; i++) {
        const kw_version *row = &g_array_index(self->rows, kw_version, i);
        if (row->name.number == number && strcmp(row->name.id, id) == 0)
            return row;
    }
    return NULL;
}

static void
choose(listing *self)
{
    size_t count = 0;
    kw_error missing;
    self->versions = KW_ARENA_ARRAY(self->arena, kw_version, (size_t)(self->newest - self->oldest + 1));
    for (int64_t number = self->newest; number >= self->oldest; number--) {
        const kw_version *found = find_row(self, number, id_of(self, number));
        if (!found) {
            kw_error_set(&missing, KW_CORRUPT,
                         "the row of policy version %" G_GINT64_FORMAT " is missing in the catalog", number);
            finish(self, 0, &missing);
            return;
        }
        self->versions[count++] = *found;
    }
    finish(self, count, NULL);
}

/* --- reading -------------------------------------------------------------------------------------- */

/* Ignores rows that Keyway does not write: those whose key has another form, and those without the cell `at`.
 */
static void
add_row(listing *self, const kw_row *row)
{
    kw_error ignored;
    kw_version version = {0};
    if (kw_version_parse_row(row->key, self->arena, &version.name) &&
        kw_version_read_row(row, self->arena, &version, &ignored))
        g_array_append_val(self->rows, version);
}

static void fetch(listing *self);

static void
on_fetched(void *user, kw_rows *rows, const kw_error *error)
{
    listing *self = user;
    kw_error found = KW_ERROR_NONE;
    if (error) {
        finish(self, 0, error);
        return;
    }
    bool end = rows->end;
    for (size_t i = 0; i < rows->count; i++)
        add_row(self, &rows->rows[i]);
    kw_rows_free(rows);
    if (self->rows->len > ROWS_MAX) {
        kw_error_set(&found, KW_LIMIT, "the catalog has more than %d rows of these policy versions",
                     ROWS_MAX);
        finish(self, 0, &found);
    } else if (end) {
        choose(self);
    } else {
        fetch(self);
    }
}

static void
fetch(listing *self)
{
    kw_range_scan_fetch(self->scan, ROWS_PER_FETCH, BYTES_PER_FETCH, false, self->deadline, on_fetched, self);
}

static void
open_scan(listing *self)
{
    static const kw_column columns[] = {
        {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("author")},
        {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("reason")},
        {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("at")},
        {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("previous")}};
    kw_version_name first = {.number = self->oldest};
    kw_version_name after = {.number = MIN(self->newest, self->current.number - 1) + 2};
    self->scan = kw_store_handle_open_range_scan(
        self->catalog->settings.handle, &(kw_range_scan_spec){.table = self->catalog->table,
                                                              .start = kw_version_row(&first, self->arena),
                                                              .stop = kw_version_row(&after, self->arena),
                                                              .columns = columns,
                                                              .columns_count = G_N_ELEMENTS(columns),
                                                              .max_versions = 1});
    fetch(self);
}

static void
on_current(void *user, const kw_version_name *current, const kw_error *error)
{
    listing *self = user;
    if (error) {
        finish(self, 0, error);
        return;
    }
    self->current = *current;
    self->newest = current->number;
    if (self->before > 0)
        self->newest = MIN(self->newest, self->before - 1);
    self->oldest = MAX(1, self->newest - (int64_t)self->limit + 1);
    if (self->newest < self->oldest)
        finish(self, 0, NULL);
    else
        open_scan(self);
}

void
kw_catalog_read_history(kw_catalog *catalog, int64_t before, size_t limit, kw_deadline deadline,
                        kw_versions_listed done, void *user)
{
    kw_arena *arena = kw_arena_new();
    listing *self = KW_ARENA_NEW(arena, listing);
    *self = (listing){.catalog = catalog,
                      .arena = arena,
                      .deadline = deadline,
                      .before = before,
                      .limit = MIN(limit, (size_t)KW_VERSIONS_MAX),
                      .rows = g_array_new(FALSE, FALSE, sizeof(kw_version)),
                      .done = done,
                      .user = user};
    kw_catalog_read_current(catalog, deadline, on_current, self);
}
