/* See empty.h: describe, regions, drop, create. */
#include "catalog/empty.h"

typedef struct emptying {
    kw_catalog *catalog;
    kw_store_handle *handle;
    kw_arena *arena;
    kw_deadline deadline;
    kw_table_facts *facts;
    kw_table_spec spec;
    kw_simple_done done;
    void *user;
} emptying;

static void
finish(emptying *self, const kw_error *error)
{
    kw_table_facts_free(g_steal_pointer(&self->facts));
    self->done(self->user, error);
}

static void
on_created(void *user, bool created, const kw_error *error)
{
    (void)created; /* false: another gateway created the table; in both cases it exists and is empty */
    finish(user, error);
}

static void
on_dropped(void *user, const kw_error *error)
{
    emptying *self = user;
    if (error)
        finish(self, error);
    else
        kw_store_handle_create_table(self->handle, &self->spec, on_created, self);
}

static void
on_regions(void *user, kw_regions *regions, const kw_error *error)
{
    emptying *self = user;
    kw_error ended;
    if (error) {
        finish(self, error);
        return;
    }
    if (!kw_catalog_check_lease(self->catalog, &ended)) {
        kw_regions_free(regions);
        finish(self, &ended);
        return;
    }
    kw_bytes *keys = KW_ARENA_ARRAY(self->arena, kw_bytes, regions->count);
    for (size_t i = 1; i < regions->count; i++)
        keys[self->spec.split_keys_count++] = kw_arena_copy(self->arena, regions->regions[i].start);
    self->spec.split_keys = keys;
    kw_regions_free(regions);
    kw_store_handle_drop_table(self->handle, self->spec.name, self->deadline, on_dropped, self);
}

static void
on_described(void *user, kw_table_facts *facts, const kw_error *error)
{
    emptying *self = user;
    self->facts = facts;
    if (error || !facts->exists) {
        finish(self, error);
        return;
    }
    self->spec.families = facts->families;
    self->spec.families_count = facts->families_count;
    kw_store_handle_regions(self->handle, self->spec.name, self->deadline, on_regions, self);
}

void
kw_catalog_empty(kw_catalog *catalog, kw_bytes store_table, kw_arena *arena, kw_deadline deadline,
                 kw_simple_done done, void *user)
{
    kw_store_handle *handle = catalog->settings.handle;
    emptying *self = KW_ARENA_NEW(arena, emptying);
    *self = (emptying){.catalog = catalog,
                       .handle = handle,
                       .arena = arena,
                       .deadline = deadline,
                       .spec = {.name = store_table, .deadline = deadline},
                       .done = done,
                       .user = user};
    kw_store_handle_describe_table(handle, store_table, deadline, on_described, self);
}
