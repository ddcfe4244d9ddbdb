#include "catalog/forget.h"

#include "base/log.h"
#include "catalog/empty.h"
#include "catalog/others.h"
#include "catalog/probe.h"
#include "catalog/put.h"

typedef struct forgetting {
    kw_catalog *catalog;
    kw_arena *arena;
    kw_forget_request request;
    kw_deadline deadline;
    kw_catalog_image *image;
    kw_facts *facts;
    bool retired_only;         /* the path is in service: only its placements under earlier key rules */
    const char **store_tables; /* of the placements to forget */
    size_t count;
    kw_placement_facts **placements; /* parallel to store_tables */
    const char **emptied;
    size_t emptied_count;
    size_t next;
    kw_rows_found *rows;
    kw_facts_put put;
    kw_forgotten done;
    void *user;
} forgetting;

static void
finish(forgetting *self, const kw_error *error)
{
    kw_error reported = error ? *error : KW_ERROR_NONE;
    self->catalog->forgetting = NULL;
    kw_catalog_update_registration(self->catalog);
    self->done(self->user, self->emptied, error ? 0 : self->emptied_count, error ? &reported : NULL);
    kw_catalog_image_free(self->image);
    kw_arena_free(self->arena);
}

/* --- clearing the facts ---------------------------------------------------------------------------- */

static void read_again(forgetting *self);

static void
on_cleared(void *user, const kw_error *error)
{
    forgetting *self = user;
    if (error && error->code == KW_BUSY && !kw_deadline_passed(self->deadline))
        read_again(self);
    else
        finish(self, error);
}

static bool
is_requested(const forgetting *self, const char *path)
{
    return !self->request.path || g_str_equal(path, self->request.path);
}

/* False if the state of a placement to forget has changed since it was marked. */
static bool
clear_placements(const forgetting *self, kw_facts *facts)
{
    for (size_t i = 0; i < facts->paths_count; i++) {
        kw_path_facts *path = &facts->paths[i];
        for (size_t j = 0; j < path->placements_count; j++) {
            bool marked = path->placements[j].state == KW_PLACEMENT_FORGETTING;
            if (!is_requested(self, path->name) || (self->retired_only && !marked))
                continue;
            if (!marked)
                return false;
            path->placements[j].state = KW_PLACEMENT_ABSENT;
        }
    }
    return true;
}

static void
on_read_again(void *user, kw_catalog_image *image, const kw_error *error)
{
    forgetting *self = user;
    kw_error changed;
    if (error) {
        finish(self, error);
        return;
    }
    kw_catalog_image_free(self->image);
    self->image = image;
    kw_facts *facts = (kw_facts *)kw_catalog_image_table(image, self->request.table);
    if (facts && !clear_placements(self, facts)) {
        kw_error_set(&changed, KW_BUSY,
                     "table %s was changed while it was being forgotten; check its current facts",
                     self->request.table);
        finish(self, &changed);
        return;
    }
    self->put = (kw_facts_put){self->request.table, self->request.path ? facts : NULL};
    kw_catalog_changes changes = {.facts = &self->put, .facts_count = facts ? 1 : 0};
    changes.puts_records =
        !self->retired_only &&
        kw_changes_remove(image->changes, image->changes_count, self->request.table, self->request.path,
                          self->arena, &changes.records, &changes.records_count);
    kw_catalog_put(self->catalog, image, &changes, on_cleared, self);
}

static void
read_again(forgetting *self)
{
    kw_catalog_read(self->catalog->settings.handle, self->catalog->table, self->deadline, on_read_again,
                    self);
}

/* --- dropping rows --------------------------------------------------------------------------------- */

static void empty_next(forgetting *self);

static void
on_emptied(void *user, const kw_error *error)
{
    forgetting *self = user;
    kw_error reported;
    if (error) {
        reported = *error;
        kw_error_prefix(&reported, "store table %s", self->store_tables[self->next]);
        finish(self, &reported);
        return;
    }
    kw_log(KW_LOG_INFO, "catalog", "rows dropped",
           KW_LOG_FACT("store_table", self->store_tables[self->next]));
    self->emptied[self->emptied_count++] = self->store_tables[self->next++];
    empty_next(self);
}

static void
empty_next(forgetting *self)
{
    for (; self->next < self->count; self->next++) {
        if (self->rows[self->next] != KW_ROWS_SOME)
            continue;
        kw_catalog_empty(self->catalog, kw_bytes_of_text(self->store_tables[self->next]), self->arena,
                         self->deadline, on_emptied, self);
        return;
    }
    read_again(self);
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
    kw_catalog_put(self->catalog, self->image, &(kw_catalog_changes){.facts = &self->put, .facts_count = 1},
                   on_marked, self);
}

/* A gateway that was paused for long must neither serve the forgotten table nor continue to forget it. */
static void
on_dead_removed(void *user, const kw_error *error)
{
    forgetting *self = user;
    kw_error ended;
    if (error)
        finish(self, error);
    else if (kw_catalog_check_lease(self->catalog, &ended))
        mark(self);
    else
        finish(self, &ended);
}

/* --- checking whether rows may be dropped ---------------------------------------------------------- */

static bool
is_listed(const forgetting *self, const kw_placement_facts *placement)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->placements[i] == placement)
            return true;
    return false;
}

static bool
owns(const forgetting *self, const kw_path_facts *path, const char *store_table)
{
    for (size_t i = 0; i < path->placements_count; i++) {
        const kw_placement_facts *each = &path->placements[i];
        if (kw_placement_facts_is_live(each) && !is_listed(self, each) &&
            g_str_equal(each->store_table, store_table))
            return true;
    }
    return false;
}

/* The table that has a live placement in the store table, apart from the placements to forget; NULL: none. */
static const char *
find_other_owner(const forgetting *self, const char *store_table)
{
    for (size_t i = 0; i < self->image->tables_count; i++) {
        const kw_facts *facts = self->image->tables[i];
        for (size_t j = 0; j < facts->paths_count; j++)
            if (owns(self, &facts->paths[j], store_table))
                return facts->table;
    }
    return NULL;
}

static bool
refuse_foreign(const char *store_table, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_REFUSED,
                        "the store table %s holds rows and was not created by Keyway, which drops rows of "
                        "its own store tables only; empty it by hand (HBase shell: truncate '%s')",
                        store_table, store_table);
}

/* On a store that only this process uses, Keyway created all store tables. */
static bool
check_store_table(const forgetting *self, const char *store_table, kw_error *ret_error)
{
    const char *owner = find_other_owner(self, store_table);
    if (owner)
        return kw_error_set(ret_error, KW_REFUSED,
                            "the store table %s holds rows of another path, of table %s", store_table, owner);
    if (self->catalog->settings.shared && !kw_catalog_image_is_created(self->image, store_table))
        return refuse_foreign(store_table, ret_error);
    return self->request.drop_rows ||
           kw_error_set(ret_error, KW_REFUSED,
                        "the store table %s still holds rows; --drop-rows deletes them permanently",
                        store_table);
}

static bool
check_rows(const forgetting *self, kw_error *ret_error)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->rows[i] == KW_ROWS_SOME && !check_store_table(self, self->store_tables[i], ret_error))
            return false;
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
        kw_others_remove_dead(self->catalog, self->image, &self->request.table, 1, self->deadline,
                              on_dead_removed, self);
    else
        finish(self, &refused);
}

/* --- gateways that serve it ------------------------------------------------------------------------ */

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
    return self->retired_only || kw_table_find_path(table, kw_bytes_of_text(request->path)) < 0 ||
           kw_error_set(
               ret_error, KW_REFUSED,
               "this gateway serves table %s with the path %s; take the path out of the policy first",
               request->table, request->path);
}

/* All live gateways serve a table with the same facts, except while they follow the end of a change: then
 * they can still write to the placement that has retired. So if the other gateway serves the table in the
 * same way as this one, it does not use the placements to forget. */
static bool
check_gateway(const forgetting *self, const kw_registration *other, kw_error *ret_error)
{
    const char *table = self->request.table;
    if (g_strcmp0(other->forgetting, table) == 0)
        return kw_error_set(ret_error, KW_REFUSED,
                            "the gateway %s is forgetting table %s; wait until it has finished", other->id,
                            table);
    if (!kw_others_has_table(other, &table, 1))
        return true;
    if (kw_policy_find_table(self->request.policy, kw_bytes_of_text(table)))
        return kw_others_serves_same(self->catalog, other, table) ||
               kw_error_set(ret_error, KW_BUSY,
                            "the gateway %s does not serve the current policy version yet; try again",
                            other->id);
    return kw_error_set(ret_error, KW_REFUSED,
                        "the gateway %s serves table %s; take it out of its policy first", other->id, table);
}

static bool
check_served_elsewhere(const forgetting *self, kw_error *ret_error)
{
    const kw_catalog_image *image = self->image;
    size_t count = self->catalog->settings.shared ? image->gateways_count : 0;
    for (size_t i = 0; i < count; i++) {
        const kw_registration *other = &image->gateways[i];
        if (!kw_catalog_is_own(self->catalog, other) && !kw_others_is_dead(image, other) &&
            !check_gateway(self, other, ret_error))
            return false;
    }
    return true;
}

/* --- what it concerns ------------------------------------------------------------------------------ */

static bool
is_retired(const kw_placement_facts *placement)
{
    return placement->state == KW_PLACEMENT_RETIRED || placement->state == KW_PLACEMENT_FORGETTING;
}

static void
add_placement(forgetting *self, kw_placement_facts *placement)
{
    if (placement->state == KW_PLACEMENT_ABSENT || (self->retired_only && !is_retired(placement)))
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
            if (is_requested(self, path->name))
                add_placement(self, &path->placements[j]);
    }
}

/* True if this gateway serves the path. */
static bool
is_served(const forgetting *self)
{
    const kw_forget_request *request = &self->request;
    const kw_table *table = kw_policy_find_table(request->policy, kw_bytes_of_text(request->table));
    return table && kw_table_find_path(table, kw_bytes_of_text(request->path)) >= 0;
}

static bool
has_retired(const forgetting *self)
{
    const kw_path_facts *path = kw_facts_find_path(self->facts, self->request.path);
    for (size_t i = 0; i < path->placements_count; i++)
        if (is_retired(&path->placements[i]))
            return true;
    return false;
}

static bool
find_facts(forgetting *self, kw_error *ret_error)
{
    const kw_forget_request *request = &self->request;
    self->facts = (kw_facts *)kw_catalog_image_table(self->image, request->table);
    if (!self->facts)
        return kw_error_set(ret_error, KW_NOT_FOUND, "the catalog has no table %s", request->table);
    if (request->path && !kw_facts_find_path(self->facts, request->path))
        return kw_error_set(ret_error, KW_NOT_FOUND, "the catalog has no path %s of table %s", request->path,
                            request->table);
    self->retired_only = request->path && is_served(self) && has_retired(self);
    list_placements(self);
    return true;
}

/* Neither of the two placements of a change can be forgotten. */
static bool
check_changes(const forgetting *self, kw_error *ret_error)
{
    const char *table = self->request.table;
    for (size_t i = 0; !self->retired_only && i < self->facts->paths_count; i++) {
        const kw_path_facts *path = &self->facts->paths[i];
        if (is_requested(self, path->name) && kw_path_facts_is_changing(path))
            return kw_error_set(ret_error, KW_REFUSED,
                                "a change of table %s, path %s is under way; serve the table and end the "
                                "change first: keyway change complete %s, or keyway change cancel %s (see "
                                "keyway change status %s)",
                                table, path->name, table, table, table);
    }
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
    if (find_facts(self, &refused) && check_changes(self, &refused) && check_served_here(self, &refused) &&
        check_served_elsewhere(self, &refused))
        kw_catalog_probe(self->catalog->settings.handle, self->store_tables, self->count, false, self->arena,
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
    catalog->forgetting = self->request.table;
    catalog->revision++;
    kw_others_read(catalog, deadline, on_read, self);
}
