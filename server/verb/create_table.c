/* create_table: creates the store tables of a table's paths, one after the other. For a path whose key rule
 * is being changed, it also creates the store table of the old rule if puts still write it.
 *
 *   families (checked once) -> for each placement whose row keys repeat: its store table, if it exists, or the
 *   families must fit -> for each placement: split file (worker thread) -> split keys -> store
 *
 * Stops at the first error; tables created before it remain.
 */
#include "base/guard.h"
#include "path/association.h"
#include "verb/hint_table.h"
#include "verb/splits.h"
#include "verb/store_table.h"
#include "verb/verb.h"

#include <glib.h>

typedef struct create {
    kw_call *call;
    kw_create_request request;
    kw_create_tables_done done;
    void *user;
    const kw_family_spec *families;
    size_t families_count;
    const kw_placement *const *placements; /* those to create */
    size_t placements_count;
    size_t inspected; /* of the placements */
    size_t next;
    kw_table_spec spec; /* of the table being created */
    kw_created_table *created;
    size_t created_count;
    uv_work_t work;
    char *file;
    char *text;
    size_t text_size;
    kw_error file_error;
} create;

/* --- families -------------------------------------------------------------------------------------- */

static kw_family_spec
family_of_policy(const kw_model_family *model)
{
    return (kw_family_spec){.name = model->name,
                            .compression = model->compression,
                            .bloom_filter = model->bloom_filter,
                            .block_encoding = model->block_encoding,
                            .ttl_seconds = (int32_t)CLAMP(model->ttl_seconds, 0, INT32_MAX),
                            .max_versions = (int32_t)CLAMP(model->max_versions, 0, INT32_MAX),
                            .min_versions = (int32_t)CLAMP(model->min_versions, 0, INT32_MAX),
                            .block_size = (int32_t)CLAMP(model->block_size, 0, INT32_MAX),
                            .block_cache = (int8_t)model->block_cache,
                            .in_memory = (int8_t)model->in_memory,
                            .keep_deleted_cells = (int8_t)model->keep_deleted_cells,
                            .replication_scope = (int32_t)model->replication_scope};
}

const kw_family_spec *
kw_families_of_policy(const kw_call *call, const kw_table *table, size_t *ret_count)
{
    const kw_model_table *model = table->model;
    kw_family_spec *families = KW_ARENA_ARRAY(call->arena, kw_family_spec, model->families_count);
    for (size_t i = 0; i < model->families_count; i++)
        families[i] = family_of_policy(&model->families[i]);
    *ret_count = model->families_count;
    return families;
}

static bool
has_family(const create *self, kw_bytes name)
{
    for (size_t i = 0; i < self->families_count; i++)
        if (kw_bytes_equal(kw_bytes_of_text(self->families[i].name), name))
            return true;
    return false;
}

/* True if every column, including the marker, has its family among those requested. */
static bool
check_families(const create *self, kw_error *ret_error)
{
    const kw_table *table = self->request.table;
    for (size_t i = 0; i < table->fields_count; i++)
        if (table->fields[i].stored && !has_family(self, table->fields[i].family))
            return kw_error_set(
                ret_error, KW_INVALID,
                "table %s: field %s is stored in family %.*s, which is not among the families", table->name,
                table->fields[i].name, (int)table->fields[i].family.size,
                (const char *)table->fields[i].family.data);
    return has_family(self, table->marker_family) ||
           kw_error_set(ret_error, KW_INVALID, "table %s: the %s family %.*s is not among the families",
                        table->name, table->marks_all ? "marker's" : "default",
                        (int)table->marker_family.size, (const char *)table->marker_family.data);
}

static bool
choose_families(create *self, kw_error *ret_error)
{
    self->families = self->request.families;
    self->families_count = self->request.families_count;
    if (!self->families)
        self->families = kw_families_of_policy(self->call, self->request.table, &self->families_count);
    return check_families(self, ret_error);
}

/* The default family, with one version of each cell, for rows that are no records. They do not expire if the
 * families are not those of the policy. */
static kw_family_spec *
one_version_family(const create *self, int64_t ttl_s)
{
    kw_family_spec *family = KW_ARENA_NEW(self->call->arena, kw_family_spec);
    const char *name = self->request.table->model->default_family;
    for (size_t i = 0; i < self->families_count; i++)
        if (g_str_equal(self->families[i].name, name))
            *family = self->families[i];
    family->ttl_seconds = self->request.families ? 0 : (int32_t)ttl_s;
    family->min_versions = 0;
    family->max_versions = 1;
    return family;
}

/* An association must outlive the rows that it points to: its TTL is theirs plus KW_ASSOCIATION_MARGIN_S if
 * they have one. */
static const kw_family_spec *
association_family(const create *self)
{
    int64_t lifetime_s = self->request.table->lifetime_s;
    bool ends = lifetime_s > 0 && lifetime_s <= INT32_MAX - KW_ASSOCIATION_MARGIN_S;
    return one_version_family(self, ends ? lifetime_s + KW_ASSOCIATION_MARGIN_S : 0);
}

static const kw_family_spec *
hint_family(const create *self, const kw_placement *placement)
{
    kw_family_spec *family = one_version_family(self, kw_hint_table_ttl_s(placement, self->call->arena));
    family->keep_deleted_cells = 0;
    return family;
}

/* --- one table after the other --------------------------------------------------------------------- */

static void next_table(create *self);

static void
fail(create *self, const kw_error *error)
{
    self->done(self->user, NULL, 0, error);
}

static void
made(void *user, bool created, const kw_error *error)
{
    create *self = user;
    const kw_placement *placement = self->placements[self->next];
    kw_bytes name = placement->store_table;
    kw_error named = error ? *error : KW_ERROR_NONE;
    if (error)
        kw_error_prefix(&named, "store table %.*s", (int)name.size, (const char *)name.data);
    else if (!created && !self->request.if_absent)
        kw_error_set(&named, KW_REFUSED, "table %s, path %s: store table %.*s already exists",
                     self->request.table->name, placement->path->name, (int)name.size,
                     (const char *)name.data);
    if (named.code != KW_OK) {
        fail(self, &named);
        return;
    }
    self->created[self->created_count++] = (kw_created_table){.store_table = name,
                                                              .split_keys = self->spec.split_keys,
                                                              .split_keys_count = self->spec.split_keys_count,
                                                              .created = created};
    self->next++;
    next_table(self);
}

static const kw_family_spec *
families_of(const create *self, const kw_placement *placement)
{
    switch (placement->content) {
    case KW_CONTENT_RECORDS:
        return self->families;
    case KW_CONTENT_LOCATORS:
        return association_family(self);
    case KW_CONTENT_HINTS:
        return hint_family(self, placement);
    }
    g_assert_not_reached();
}

static void
make(create *self, kw_bytes text)
{
    const kw_placement *placement = self->placements[self->next];
    kw_split_keys splits;
    kw_error error;
    if (!kw_splits_for_placement(self->call, &self->request, placement, text, &splits, &error)) {
        fail(self, &error);
        return;
    }
    bool whole = placement->content == KW_CONTENT_RECORDS;
    self->spec = (kw_table_spec){.name = placement->store_table,
                                 .families = families_of(self, placement),
                                 .families_count = whole ? self->families_count : 1,
                                 .split_keys = splits.keys,
                                 .split_keys_count = splits.count,
                                 .deadline = self->call->deadline};
    kw_store_handle_create_table(self->call->handle, &self->spec, made, self);
}

static void
read_file(uv_work_t *work)
{
    create *self = work->data;
    self->text = kw_splits_read_file(self->file, &self->text_size, &self->file_error);
}

static void
file_was_read(uv_work_t *work, int status)
{
    create *self = work->data;
    (void)status; /* the job is never cancelled */
    g_clear_pointer(&self->file, g_free);
    if (!self->text) {
        fail(self, &self->file_error);
        return;
    }
    kw_bytes text = kw_arena_copy(self->call->arena, kw_bytes_of(self->text, self->text_size));
    g_clear_pointer(&self->text, g_free);
    make(self, text);
}

static void
next_table(create *self)
{
    if (self->next == self->placements_count) {
        self->done(self->user, self->created, self->created_count, NULL);
        return;
    }
    kw_guard_end();
    self->file = kw_splits_file(self->call, &self->request, self->placements[self->next]);
    if (!self->file) {
        make(self, KW_BYTES_NONE);
        return;
    }
    self->work.data = self;
    int failed = uv_queue_work(kw_loop_uv(self->call->loop), &self->work, read_file, file_was_read);
    g_assert(!failed);
}

/* --- circular calendars ---------------------------------------------------------------------------- */

static void inspect_next(create *self);

static void
on_described(void *user, kw_table_facts *facts, const kw_error *error)
{
    create *self = user;
    kw_store_table_verdict verdict;
    if (error) {
        fail(self, error);
        return;
    }
    kw_table_facts planned = {.arena = self->call->arena,
                              .exists = true,
                              .families = self->families,
                              .families_count = self->families_count};
    kw_store_table_judge(self->placements[self->inspected++], facts->exists ? facts : &planned,
                         self->call->arena, &verdict);
    kw_table_facts_free(facts);
    if (verdict.refusal.code == KW_OK)
        inspect_next(self);
    else
        fail(self, &verdict.refusal);
}

/* Inspects the placements whose row keys repeat, before any table is created. */
static void
inspect_next(create *self)
{
    kw_cycle cycle;
    const kw_model_table *model = self->request.table->model;
    while (self->inspected < self->placements_count &&
           !kw_layout_cycle(self->placements[self->inspected]->layout, model, &cycle))
        self->inspected++;
    if (self->inspected == self->placements_count)
        next_table(self);
    else
        kw_store_handle_describe_table(self->call->handle, self->placements[self->inspected]->store_table,
                                       self->call->deadline, on_described, self);
}

/* --- the placements -------------------------------------------------------------------------------- */

/* Of the placements of a path, these need a store table: the one that the policy describes, and the one under
 * an old key rule while it is written. */
static bool
needs_store_table(const kw_path *path, size_t placement)
{
    return placement == 0 || path->placements[placement].role.put;
}

/* True if a placement of the table needs this store table. */
static bool
is_store_table_of(const kw_table *table, kw_bytes store_table)
{
    for (size_t i = 0; table && i < table->paths_count; i++)
        for (size_t each = 0; each < table->paths[i].placements_count; each++)
            if (needs_store_table(&table->paths[i], each) &&
                kw_bytes_equal(table->paths[i].placements[each].store_table, store_table))
                return true;
    return false;
}

/* Lists the placements to create, of one path or of all. */
static void
list_placements(create *self)
{
    const kw_table *table = self->request.table;
    int path = self->request.path;
    size_t first = path < 0 ? 0 : (size_t)path, end = path < 0 ? table->paths_count : first + 1;
    const kw_placement **list =
        KW_ARENA_ARRAY(self->call->arena, const kw_placement *, table->placements_count);
    for (size_t i = first; i < end; i++)
        for (size_t each = 0; each < table->paths[i].placements_count; each++)
            if (needs_store_table(&table->paths[i], each) &&
                !is_store_table_of(self->request.existing, table->paths[i].placements[each].store_table))
                list[self->placements_count++] = &table->paths[i].placements[each];
    self->placements = list;
}

void
kw_verb_create_table(kw_call *call, const kw_create_request *request, kw_create_tables_done done, void *user)
{
    create *self = KW_ARENA_NEW(call->arena, create);
    *self = (create){.call = call, .request = *request, .done = done, .user = user};
    list_placements(self);
    self->created = KW_ARENA_ARRAY(call->arena, kw_created_table, self->placements_count);
    kw_error error;
    if (choose_families(self, &error))
        inspect_next(self);
    else
        fail(self, &error);
}
