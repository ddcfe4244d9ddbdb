/* For each path whose change begins: describe the old store table -> count its regions -> create the new one.
 * See targets.h. */
#include "policy/targets.h"

#include <glib.h>

typedef struct creating {
    kw_call *call;
    const kw_change_step *step;
    kw_change_targets targets;
    kw_change_target target; /* the present one */
    kw_table_facts *old;
    kw_create_request request;
    kw_created_table *created;
    size_t created_count;
    kw_change_targets_created done;
    void *user;
} creating;

static void create_next(creating *self);

static void
finish(creating *self, const kw_error *error)
{
    kw_table_facts_free(g_steal_pointer(&self->old));
    self->done(self->user, error ? NULL : self->created, error ? 0 : self->created_count, error);
}

/* --- families -------------------------------------------------------------------------------------- */

static bool
has_family(const kw_family_spec *families, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (g_str_equal(families[i].name, name))
            return true;
    return false;
}

/* The families of the old store table, then those that only the policy has. */
static void
set_families(creating *self)
{
    const kw_table *table = self->target.path->table;
    size_t most = self->old->families_count + table->model->families_count;
    kw_family_spec *families = KW_ARENA_ARRAY(self->call->arena, kw_family_spec, most);
    size_t count = 0, policy_count;
    for (; count < self->old->families_count; count++)
        families[count] = self->old->families[count];
    const kw_family_spec *of_policy = kw_families_of_policy(self->call, table, &policy_count);
    for (size_t i = 0; i < policy_count; i++)
        if (!has_family(families, count, of_policy[i].name))
            families[count++] = of_policy[i];
    self->request.families = families;
    self->request.families_count = count;
}

/* --- one path after the other ---------------------------------------------------------------------- */

static void create(creating *self);

static void
on_created(void *user, const kw_created_table *tables, size_t count, const kw_error *error)
{
    creating *self = user;
    if (error && error->code == KW_INVALID && self->request.has_splits) {
        self->request.has_splits = false; /* the new key rule has no boundaries */
        create(self);
        return;
    }
    if (error) {
        finish(self, error);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (tables[i].created)
            self->created[self->created_count++] = tables[i];
    kw_table_facts_free(g_steal_pointer(&self->old));
    create_next(self);
}

static void
create(creating *self)
{
    kw_verb_create_table(self->call, &self->request, on_created, self);
}

/* If the regions cannot be counted, the new store table begins with one region. */
static void
on_regions(void *user, kw_regions *regions, const kw_error *error)
{
    creating *self = user;
    (void)error;
    if (regions && regions->count > 1) {
        self->request.has_splits = true;
        self->request.split_algorithm = "rule";
        self->request.split_regions = (uint32_t)MIN(regions->count, UINT32_MAX);
    }
    if (regions)
        kw_regions_free(regions);
    create(self);
}

static bool
has_splits(const kw_model_splits *splits)
{
    return *splits->file || splits->keys_count || *splits->algorithm;
}

static void
on_old(void *user, kw_table_facts *facts, const kw_error *error)
{
    creating *self = user;
    self->old = facts;
    if (error) {
        finish(self, error);
        return;
    }
    set_families(self);
    if (has_splits(&self->target.path->model->splits))
        create(self);
    else
        kw_store_handle_regions(self->call->handle, self->target.from, self->call->deadline, on_regions,
                                self);
}

static void
create_next(creating *self)
{
    if (!kw_change_next_target(&self->targets, self->call->policy, self->step, &self->target)) {
        finish(self, NULL);
        return;
    }
    const kw_path *path = self->target.path;
    self->request = (kw_create_request){
        .table = path->table, .path = (int)(path - path->table->paths), .if_absent = true};
    kw_store_handle_describe_table(self->call->handle, self->target.from, self->call->deadline, on_old, self);
}

void
kw_change_create_targets(kw_call *call, const kw_change_step *step, kw_change_targets_created done,
                         void *user)
{
    creating *self = KW_ARENA_NEW(call->arena, creating);
    *self = (creating){.call = call, .step = step, .done = done, .user = user};
    size_t most = 0;
    for (size_t i = 0; i < step->count; i++)
        most += 2 * kw_change_paths_count(&step->records[i]);
    self->created = KW_ARENA_ARRAY(call->arena, kw_created_table, most);
    create_next(self);
}
