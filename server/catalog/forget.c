/* See forget.h. */
#include "catalog/forget.h"

#include "base/log.h"
#include "catalog/admission_inside.h"
#include "catalog/empty.h"
#include "catalog/put.h"

typedef struct forgetting {
    kw_catalog *catalog;
    kw_arena *arena;
    kw_forget_request request;
    kw_deadline deadline;
    kw_catalog_image *image;
    kw_facts *facts;
    const char **store_tables; /* of what is forgotten */
    size_t count;
    kw_placement_facts **placements; /* the same */
    const char **emptied;
    size_t emptied_count;
    size_t next;
    kw_rows_found *rows;
    kw_facts_put put;
    size_t legacy_next;
    kw_write write;
    kw_forgotten done;
    void *user;
} forgetting;

static void
finish(forgetting *self, const kw_error *error)
{
    kw_error told = error ? *error : KW_ERROR_NONE;
    self->done(self->user, self->emptied, error ? 0 : self->emptied_count, error ? &told : NULL);
    kw_catalog_image_free(self->image);
    kw_arena_free(self->arena);
}

/* --- legacy rows: a start would adopt them again --------------------------------------------------- */

static void remove_next_legacy(forgetting *self);

static void
on_legacy_removed(void *user, kw_outcome outcome, const kw_error *error)
{
    forgetting *self = user;
    (void)outcome;
    if (error) {
        finish(self, error);
        return;
    }
    self->legacy_next++;
    remove_next_legacy(self);
}

static bool
is_forgotten(const forgetting *self, const char *row)
{
    g_autofree char *prefix = self->request.path
                                  ? g_strdup_printf("%s/%s/", self->request.table, self->request.path)
                                  : g_strdup_printf("%s/", self->request.table);
    if (!g_str_has_prefix(row, "store/"))
        return g_str_has_prefix(row, prefix);
    for (size_t i = 0; i < self->count; i++)
        if (g_str_equal(self->store_tables[i], kw_store_table_name(row + strlen("store/"))))
            return true;
    return false;
}

static void
remove_next_legacy(forgetting *self)
{
    for (; self->legacy_next < self->image->legacy_count; self->legacy_next++) {
        const char *row = self->image->legacy[self->legacy_next].row;
        if (!is_forgotten(self, row))
            continue;
        self->write = (kw_write){.kind = KW_WRITE_DELETE,
                                 .table = self->catalog->table,
                                 .row = kw_bytes_of_text(row),
                                 .timestamp = KW_TIMESTAMP_NONE,
                                 .deadline = self->deadline};
        kw_door_write(self->catalog->settings.door, &self->write, on_legacy_removed, self);
        return;
    }
    finish(self, NULL);
}

/* --- clearing the facts ---------------------------------------------------------------------------- */

static void
on_cleared(void *user, const kw_error *error)
{
    forgetting *self = user;
    if (error)
        finish(self, error);
    else
        remove_next_legacy(self);
}

static void
on_read_again(void *user, kw_catalog_image *image, const kw_error *error)
{
    forgetting *self = user;
    if (error) {
        finish(self, error);
        return;
    }
    kw_catalog_image_free(self->image);
    self->image = image;
    kw_facts *facts = (kw_facts *)kw_catalog_image_table(image, self->request.table);
    for (size_t i = 0; facts && i < facts->paths_count; i++)
        for (size_t j = 0; j < facts->paths[i].placements_count; j++)
            if (facts->paths[i].placements[j].state == KW_PLACEMENT_FORGETTING)
                facts->paths[i].placements[j].state = KW_PLACEMENT_ABSENT;
    self->put = (kw_facts_put){self->request.table, self->request.path ? facts : NULL};
    kw_catalog_put(self->catalog, image, &self->put, facts ? 1 : 0, on_cleared, self);
}

/* --- dropping rows --------------------------------------------------------------------------------- */

static void empty_next(forgetting *self);

static void
on_emptied(void *user, const kw_error *error)
{
    forgetting *self = user;
    kw_error told;
    if (error) {
        told = *error;
        kw_error_prefix(&told, "store table %s", self->store_tables[self->next]);
        finish(self, &told);
        return;
    }
    kw_log(KW_LOG_INFO, "catalog", "rows dropped", "store_table=%s", self->store_tables[self->next]);
    self->emptied[self->emptied_count++] = self->store_tables[self->next++];
    empty_next(self);
}

static void
empty_next(forgetting *self)
{
    for (; self->next < self->count; self->next++) {
        if (self->rows[self->next] != KW_ROWS_SOME)
            continue;
        kw_catalog_empty(self->catalog->settings.door, kw_bytes_of_text(self->store_tables[self->next]),
                         self->arena, self->deadline, on_emptied, self);
        return;
    }
    kw_catalog_read(self->catalog->settings.door, self->catalog->table, self->deadline, on_read_again, self);
}

static void
on_marked(void *user, const kw_error *error)
{
    forgetting *self = user;
    if (error)
        finish(self, error);
    else
        empty_next(self);
}

static void
mark(forgetting *self)
{
    for (size_t i = 0; i < self->count; i++)
        self->placements[i]->state = KW_PLACEMENT_FORGETTING;
    self->put = (kw_facts_put){self->request.table, self->facts};
    kw_catalog_put(self->catalog, self->image, &self->put, 1, on_marked, self);
}

static bool
check_rows(const forgetting *self, kw_error *ret_error)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->rows[i] != KW_ROWS_SOME)
            continue;
        if (!self->request.drop_rows)
            return kw_error_set(
                ret_error, KW_REFUSED,
                "the store table %s still holds rows; they go with --drop-rows, and then for good",
                self->store_tables[i]);
        if (!self->placements[i]->made)
            return kw_error_set(
                ret_error, KW_REFUSED,
                "the store table %s holds rows and was not created by Keyway, which drops rows of "
                "its own store tables only; empty it by hand (HBase shell: truncate '%s')",
                self->store_tables[i], self->store_tables[i]);
    }
    return true;
}

static void
on_probed(void *user, const kw_evidence *evidence, const kw_error *error)
{
    forgetting *self = user;
    kw_error refused;
    if (error) {
        finish(self, error);
        return;
    }
    self->rows = (kw_rows_found *)evidence->rows;
    if (check_rows(self, &refused))
        mark(self);
    else
        finish(self, &refused);
}

/* --- who serves it? -------------------------------------------------------------------------------- */

static bool
check_served_here(const forgetting *self, kw_error *ret_error)
{
    const kw_forget_request *request = &self->request;
    const kw_table *table = kw_policy_find_table(request->policy, kw_bytes_of_text(request->table));
    if (!table)
        return true;
    if (!request->path)
        return kw_error_set(
            ret_error, KW_REFUSED,
            "this gateway serves table %s; take it out of the policy first, or name a path that "
            "the policy does not have (--path)",
            request->table);
    return kw_table_find_store(table, kw_bytes_of_text(request->path)) < 0 ||
           kw_error_set(
               ret_error, KW_REFUSED,
               "this gateway serves table %s with the path %s; take the path out of the policy first",
               request->table, request->path);
}

/* Gateways that live serve a table by the same facts. So where this one serves the table, none has the path.
 */
static bool
check_served_elsewhere(const forgetting *self, kw_error *ret_error)
{
    const kw_catalog_image *image = self->image;
    const char *own_id = self->catalog->settings.gateway_id;
    const kw_registration *own = kw_catalog_image_gateway(image, own_id);
    bool served_here = kw_policy_find_table(self->request.policy, kw_bytes_of_text(self->request.table));
    for (size_t i = 0; self->catalog->settings.shared && !served_here && i < image->gateways_count; i++) {
        const kw_registration *other = &image->gateways[i];
        bool dead = own && own->lease_at_ms - other->lease_at_ms > KW_LEASE_DEAD_MS;
        if (other != own && !dead && kw_registration_has_table(other, &self->request.table, 1))
            return kw_error_set(ret_error, KW_REFUSED,
                                "the gateway %s serves table %s; take it out of its policy first", other->id,
                                self->request.table);
    }
    return true;
}

static void
add_placement(forgetting *self, kw_placement_facts *placement)
{
    if (placement->state == KW_PLACEMENT_ABSENT)
        return;
    self->placements[self->count] = placement;
    self->store_tables[self->count++] = kw_arena_text(self->arena, kw_bytes_of_text(placement->store_table));
}

static void
list_placements(forgetting *self)
{
    size_t most = 0;
    for (size_t i = 0; i < self->facts->paths_count; i++)
        most += self->facts->paths[i].placements_count;
    self->placements = KW_ARENA_ARRAY(self->arena, kw_placement_facts *, most);
    self->store_tables = KW_ARENA_ARRAY(self->arena, const char *, most);
    self->emptied = KW_ARENA_ARRAY(self->arena, const char *, most);
    for (size_t i = 0; i < self->facts->paths_count; i++) {
        kw_path_facts *path = &self->facts->paths[i];
        for (size_t j = 0; j < path->placements_count; j++)
            if (!self->request.path || g_str_equal(path->name, self->request.path))
                add_placement(self, &path->placements[j]);
    }
}

static bool
find_facts(forgetting *self, kw_error *ret_error)
{
    const kw_forget_request *request = &self->request;
    self->facts = (kw_facts *)kw_catalog_image_table(self->image, request->table);
    if (!self->facts)
        return kw_error_set(ret_error, KW_NOT_FOUND, "the catalog does not know a table %s", request->table);
    if (request->path && !kw_facts_find_path(self->facts, request->path))
        return kw_error_set(ret_error, KW_NOT_FOUND, "the catalog does not know a path %s of table %s",
                            request->path, request->table);
    list_placements(self);
    return true;
}

static void
on_read(void *user, kw_catalog_image *image, const kw_error *error)
{
    forgetting *self = user;
    kw_error refused;
    self->image = image;
    if (error) {
        finish(self, error);
        return;
    }
    if (check_served_here(self, &refused) && check_served_elsewhere(self, &refused) &&
        find_facts(self, &refused))
        kw_catalog_probe(self->catalog->settings.door, self->store_tables, self->count, self->arena,
                         self->deadline, on_probed, self);
    else
        finish(self, &refused);
}

void
kw_catalog_forget(kw_catalog *catalog, const kw_forget_request *request, kw_deadline deadline,
                  kw_forgotten done, void *user)
{
    kw_arena *arena = kw_arena_new();
    forgetting *self = KW_ARENA_NEW(arena, forgetting);
    *self = (forgetting){.catalog = catalog,
                         .arena = arena,
                         .request = *request,
                         .deadline = deadline,
                         .done = done,
                         .user = user};
    self->request.table = kw_arena_text(arena, kw_bytes_of_text(request->table));
    self->request.path = request->path ? kw_arena_text(arena, kw_bytes_of_text(request->path)) : NULL;
    kw_catalog_read(catalog->settings.door, catalog->table, deadline, on_read, self);
}
