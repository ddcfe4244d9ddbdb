#include "catalog/create.h"

typedef struct creating {
    kw_catalog *catalog;
    kw_family_spec family;
    kw_table_spec spec;
    kw_simple_done done;
    void *user;
} creating;

static void
on_created(void *user, bool created, const kw_error *error)
{
    creating *self = user;
    (void)created; /* this gateway or another one created it */
    self->done(self->user, error);
}

static void
on_described(void *user, kw_table_facts *facts, const kw_error *error)
{
    creating *self = user;
    bool exists = facts && facts->exists;
    kw_table_facts_free(facts);
    if (error || exists)
        self->done(self->user, error);
    else
        kw_store_handle_create_table(self->catalog->settings.handle, &self->spec, on_created, self);
}

void
kw_catalog_create(kw_catalog *catalog, kw_arena *arena, kw_deadline deadline, kw_simple_done done, void *user)
{
    creating *self = KW_ARENA_NEW(arena, creating);
    *self = (creating){.catalog = catalog, .done = done, .user = user};
    self->family = (kw_family_spec){
        .name = "d", .block_cache = -1, .in_memory = -1, .keep_deleted_cells = -1, .replication_scope = -1};
    self->spec = (kw_table_spec){
        .name = catalog->table, .families = &self->family, .families_count = 1, .deadline = deadline};
    kw_store_handle_describe_table(catalog->settings.handle, catalog->table, deadline, on_described, self);
}
