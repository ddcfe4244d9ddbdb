/* See placed.h. The old key rule is compiled twice: with the fields of its own policy, to know what its row
 * keys are, and with those of the policy being served, whose records the placement stores. */
#include "schema/placed.h"

#include "schema/progress.h"

#include <string.h>

/* --- placings ------------------------------------------------------------------------------------------ */

static const kw_model_table *
find_table(const kw_model *model, const char *name)
{
    for (size_t index = 0; index < model->tables_count; index++)
        if (strcmp(model->tables[index].name, name) == 0)
            return &model->tables[index];
    return NULL;
}

static const kw_model_path *
find_path(const kw_model_table *table, const char *name)
{
    for (size_t index = 0; table && index < table->paths_count; index++)
        if (strcmp(table->paths[index].name, name) == 0)
            return &table->paths[index];
    return NULL;
}

static bool
check_placing(const kw_placing *placing, const kw_model *model, kw_diagnostics *diagnostics)
{
    const kw_model_table *table = find_table(model, placing->table);
    const kw_model_path *path = find_path(table, placing->path);
    bool drops = placing->change == KW_TABLE_DROPS, adds = placing->change == KW_TABLE_ADDS;
    const char *rule = adds || drops ? "" : "the key rule of ";
    const char *what = drops ? "dropped" : adds ? "added" : "changed";
    if (table && drops)
        return !path ||
               kw_diagnostics_add(diagnostics, path->mark, "add the path after that has ended",
                                  "table %s: the path %s is being dropped", placing->table, placing->path);
    if (!table && placing->change == KW_TABLE_TURNS_ATOMICS)
        return kw_diagnostics_add(diagnostics, (kw_mark){0}, "keep the table until the change has ended",
                                  "the policy has no table %s, and its setting atomics is being changed",
                                  placing->table);
    if (!table)
        return kw_diagnostics_add(diagnostics, (kw_mark){0}, "keep the table until the change has ended",
                                  "the policy has no table %s, and %sits path %s is being %s", placing->table,
                                  rule, placing->path, what);
    if (!path)
        return kw_diagnostics_add(diagnostics, table->mark, "keep the path until the change has ended",
                                  "table %s has no path %s, and %sthis path is being %s", placing->table,
                                  placing->path, rule, what);
    return true;
}

bool
kw_placings_check(const kw_placings *placings, const kw_model *model, kw_diagnostics *diagnostics)
{
    bool good = true;
    for (size_t index = 0; index < placings->count; index++)
        if (placings->items[index].change != KW_TABLE_UNCHANGED)
            good = check_placing(&placings->items[index], model, diagnostics) && good;
    return good;
}

const kw_placing *
kw_placings_find(const kw_placings *placings, const char *table, const kw_model_path *text)
{
    for (size_t index = 0; index < placings->count; index++) {
        const kw_placing *placing = &placings->items[index];
        if (strcmp(placing->table, table) == 0 && strcmp(placing->path, text->name) == 0 &&
            placing->given.layout == text->layout &&
            strcmp(placing->given.store_table, text->store_table) == 0)
            return placing;
    }
    return NULL;
}

static const kw_model_path *
placed_model(const kw_model_path *text, const kw_placed_rule *rule, kw_arena *arena)
{
    kw_model_path *model = KW_ARENA_NEW(arena, kw_model_path);
    *model = *text;
    model->layout = rule->layout;
    model->store_table = kw_arena_text(arena, kw_bytes_of_text(rule->store_table));
    return model;
}

const kw_model_path *
kw_placing_model(const kw_placing *placing, const kw_model_path *text, kw_arena *arena)
{
    return placed_model(text, &placing->now, arena);
}

/* --- the old key rule ----------------------------------------------------------------------------------- */

/* A path whose old key rule is compiled. */
typedef struct renewing {
    const char *name;    /* of the path with this rule */
    const kw_path *path; /* whose key rule replaces it; for a path that is dropped: the primary one */
    bool dropped;        /* its key can have fields that the primary one does not have */
    const kw_model_table *old_table;
    const kw_field_set *old_fields;
    const kw_layout *old;
    kw_arena *arena;
    kw_diagnostics *diagnostics;
} renewing;

#define KEEP_FIELD "keep the field as it is until the change has ended"

static const kw_field_set *
fields_of(const kw_model_table *model, kw_arena *arena)
{
    kw_field *fields = KW_ARENA_ARRAY(arena, kw_field, model->fields_count);
    for (size_t index = 0; index < model->fields_count; index++)
        fields[index] = kw_field_of_model(&model->fields[index], arena);
    kw_field_set *set = KW_ARENA_NEW(arena, kw_field_set);
    *set = (kw_field_set){model->name, fields, model->fields_count};
    return set;
}

static bool
same_column(const kw_model_field *a, const kw_model_field *b)
{
    return g_strcmp0(a->family, b->family) == 0 &&
           (!a->family || kw_bytes_equal(kw_bytes_of(a->qualifier, a->qualifier_size),
                                         kw_bytes_of(b->qualifier, b->qualifier_size)));
}

static bool
check_field(const renewing *self, const kw_model_field *old)
{
    const kw_field_set *set = self->path->table->field_set;
    int number = kw_field_set_find(set, kw_bytes_of_text(old->name));
    if (number < 0)
        return kw_diagnostics_add(
            self->diagnostics, self->path->model->mark, KEEP_FIELD,
            "path %s: the old key rule uses field %s, which the new policy does not have", self->name,
            old->name);
    const kw_model_field *fresh = set->fields[number].model;
    if (old->type != fresh->type || old->unit != fresh->unit)
        return kw_diagnostics_add(self->diagnostics, fresh->mark, KEEP_FIELD,
                                  "path %s: the old key rule uses field %s, which has another type in the "
                                  "new policy",
                                  self->name, old->name);
    bool also_new = self->path->layout->units[number] != 0; /* otherwise see check_identity */
    return (!also_new && !self->dropped) || same_column(old, fresh) ||
           kw_diagnostics_add(self->diagnostics, fresh->mark, KEEP_FIELD,
                              "path %s: the old key rule uses field %s, which has another column in the new "
                              "policy",
                              self->name, old->name);
}

/* Each field that the old rule uses must still exist, with its type and column. */
static bool
check_fields(const renewing *self)
{
    bool good = true;
    const kw_layout *old = self->old;
    g_autofree bool *used = g_new0(bool, self->old_fields->fields_count);
    for (size_t index = 0; index < old->count; index++)
        for (size_t input = 0; input < old->components[index]->inputs_count; input++)
            used[old->components[index]->inputs[input]] = true;
    for (size_t field = 0; field < self->old_fields->fields_count; field++)
        good = (!used[field] || check_field(self, self->old_fields->fields[field].model)) && good;
    return good;
}

/* Compiles the old rule; problems of its text, which has other positions, become one problem of the path. */
static const kw_layout *
compile_old(const renewing *self, const kw_field_set *fields, const kw_model_path *model)
{
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new("old key rule");
    const kw_layout *layout = kw_layout_compile(fields, model, NULL, self->arena, found);
    if (!layout)
        kw_diagnostics_add(self->diagnostics, self->path->model->mark, KEEP_FIELD,
                           "path %s: the old key rule cannot be used with the new policy: %s", self->name,
                           kw_diagnostics_kept(found) ? kw_diagnostics_get(found, 0)->message : "");
    return layout;
}

static const kw_layout *
compile_renewed(renewing *self, const kw_model_path *model)
{
    self->old_fields = fields_of(self->old_table, self->arena);
    self->old = compile_old(self, self->old_fields, model);
    if (!self->old || !check_fields(self))
        return NULL;
    const kw_layout *layout = compile_old(self, self->path->table->field_set, model);
    if (layout && strcmp(kw_layout_fingerprint(layout), kw_layout_fingerprint(self->old)) != 0) {
        kw_diagnostics_add(
            self->diagnostics, self->path->model->mark,
            "keep the fields of both key rules as they are until the change has ended",
            "path %s: with the fields of the new policy, the old key rule defines other row keys",
            self->name);
        return NULL;
    }
    return layout;
}

bool
kw_placed_old(kw_policy *policy, const kw_placing *placing, const kw_path *path, kw_placement *ret_placement,
              kw_diagnostics *diagnostics)
{
    const kw_model_table *old_table = find_table(placing->old_model, placing->table);
    const kw_model_path *text = find_path(old_table, placing->path);
    if (path->content == KW_CONTENT_LOCATORS)
        return kw_diagnostics_add(
            diagnostics, path->model->mark, "keep the key rule of the association",
            "path %s: the key rule of an association cannot be changed while the table is served",
            path->name);
    if (!text || text->association)
        return kw_diagnostics_add(diagnostics, path->model->mark,
                                  "change the key rule of a path that both policies have",
                                  "path %s: the policy with the old key rule has no such path of table %s",
                                  path->name, placing->table);
    g_ptr_array_add(policy->old_models, kw_model_ref(placing->old_model));
    renewing self = {.name = path->name,
                     .path = path,
                     .old_table = old_table,
                     .arena = policy->arena,
                     .diagnostics = diagnostics};
    const kw_model_path *model = placed_model(text, &placing->old, policy->arena);
    *ret_placement = (kw_placement){.path = path,
                                    .layout = compile_renewed(&self, model),
                                    .store_table = kw_bytes_of_text(model->store_table),
                                    .content = path->content,
                                    .role = placing->old_role,
                                    .complete = placing->old_role.scan || placing->both_complete};
    return ret_placement->layout;
}

/* Needs no kw_placed_check: the previous policy has both the path and the primary path, and neither key rule
 * changes during the drop. */
bool
kw_placed_dropped(kw_policy *policy, const kw_placing *placing, const kw_table *table, kw_path *ret_path,
                  kw_placement *ret_placement, kw_diagnostics *diagnostics)
{
    const kw_model_table *old_table = find_table(placing->old_model, placing->table);
    const kw_model_path *text = find_path(old_table, placing->path);
    if (!text || text->association)
        return kw_diagnostics_add(diagnostics, table->model->mark, "drop a path that the previous policy has",
                                  "table %s: the previous policy has no path %s", table->name, placing->path);
    g_ptr_array_add(policy->old_models, kw_model_ref(placing->old_model));
    renewing self = {.name = text->name,
                     .path = table->paths,
                     .dropped = true,
                     .old_table = old_table,
                     .arena = policy->arena,
                     .diagnostics = diagnostics};
    const kw_model_path *model = placed_model(text, &placing->now, policy->arena);
    kw_bytes store_table = kw_bytes_of_text(model->store_table);
    *ret_path = (kw_path){.table = table,
                          .name = model->name,
                          .progress = KW_ARENA_NEW(policy->arena, kw_path_progress),
                          .placements = ret_placement,
                          .placements_count = 1,
                          .store_table = store_table,
                          .layout = compile_renewed(&self, model),
                          .model = model};
    *ret_placement = (kw_placement){
        .path = ret_path, .layout = ret_path->layout, .store_table = store_table, .role = placing->role};
    return ret_path->layout;
}

/* --- both key rules ------------------------------------------------------------------------------------- */

/* Both key rules of a path. */
typedef struct both {
    const kw_path *path;
    const kw_layout *fresh;
    const kw_layout *old;
    kw_diagnostics *diagnostics;
} both;

/* The old and the new key rule must identify the same records. */
static bool
check_identity(const both *self, size_t number)
{
    const kw_layout *fresh = self->fresh, *old = self->old;
    const char *name = self->path->table->fields[number].name;
    kw_mark mark = self->path->model->mark;
    if (old->units[number] && !fresh->units[number])
        return kw_diagnostics_add(
            self->diagnostics, mark, "add the field to the new key rule",
            "path %s: the new key rule (layout %u) does not have field %s of the old key "
            "rule (layout %u), so two records could share a row key",
            self->path->name, kw_layout_number(fresh), name, kw_layout_number(old));
    if (fresh->units[number] && !old->units[number])
        return kw_diagnostics_add(
            self->diagnostics, mark, "remove the field from the new key rule",
            "path %s: the new key rule (layout %u) has field %s, which the old key rule "
            "(layout %u) does not have, so a record could have several row keys",
            self->path->name, kw_layout_number(fresh), name, kw_layout_number(old));
    return (fresh->units[number] == old->units[number] &&
            strcmp(fresh->grains[number], old->grains[number]) == 0) ||
           kw_diagnostics_add(
               self->diagnostics, mark, "use the same unit in both",
               "path %s: field %s has another unit in the new key rule (layout %u) than in the "
               "old key rule (layout %u)",
               self->path->name, name, kw_layout_number(fresh), kw_layout_number(old));
}

static bool
refuse_choice(const both *self, const char *which, const kw_layout *layout)
{
    return kw_diagnostics_add(self->diagnostics, self->path->model->mark,
                              "use a new table, or a salt of fields, for example salt: {of: [...]}",
                              "path %s: the %s key rule (layout %u) chooses a bucket at each put (a random "
                              "or round_robin salt); such a "
                              "key rule cannot be changed while the table is served",
                              self->path->name, which, kw_layout_number(layout));
}

static bool
check_places(const both *self)
{
    const char *store_table = kw_layout_store_table(self->fresh);
    if (strcmp(store_table, kw_layout_store_table(self->old)) == 0)
        return kw_diagnostics_add(self->diagnostics, self->path->model->mark,
                                  "give the new key rule a store table of its own",
                                  "path %s: the old and the new key rule have the same store table, %s",
                                  self->path->name, store_table);
    return kw_layout_number(self->fresh) != kw_layout_number(self->old) ||
           kw_diagnostics_add(self->diagnostics, self->path->model->mark,
                              "give the new key rule another layout number",
                              "path %s: the old and the new key rule have the same layout number, %u",
                              self->path->name, kw_layout_number(self->fresh));
}

bool
kw_placed_check(const kw_placement *placements, kw_diagnostics *diagnostics)
{
    both self = {placements[0].path, placements[0].layout, placements[1].layout, diagnostics};
    bool good = check_places(&self);
    if (kw_layout_choice(self.fresh).kind)
        good = refuse_choice(&self, "new", self.fresh);
    if (kw_layout_choice(self.old).kind)
        good = refuse_choice(&self, "old", self.old);
    for (size_t number = 0; number < self.path->table->fields_count; number++)
        good = check_identity(&self, number) && good;
    return good;
}
