#include "schema/paths.h"

#include "schema/placed.h"
#include "schema/progress.h"

#include <string.h>

/* Whether the values of a field that is not in the identity can be in the key of a hint path. */
static bool
check_tuple_field(const kw_layout *layout, const kw_field *field, kw_diagnostics *diagnostics)
{
    kw_mark mark = layout->model->mark;
    const char *path = layout->model->name;
    if (layout->model->association)
        return kw_diagnostics_add(diagnostics, mark, "remove the field",
                                  "path %s: field %s is not part of the primary key, so the identity of a "
                                  "record does not determine this key",
                                  path, field->name);
    if (field->model->counter)
        return kw_diagnostics_add(diagnostics, mark, "use another field, or remove counter from the field",
                                  "path %s: field %s is a counter; a path cannot follow increments", path,
                                  field->name);
    return kw_layout_choice(layout).kind == KW_CHOICE_NONE ||
           kw_diagnostics_add(diagnostics, mark, "use a salt of fields, for example salt: {of: [...]}",
                              "path %s: field %s can change, and the key rule chooses a bucket at each put "
                              "(a random or round_robin salt); such a path cannot find the rows of a record "
                              "again",
                              path, field->name);
}

/* --- unique paths ---------------------------------------------------------------------------------- */

/* A field in the key of a unique path: it can change, and the key has it exactly. */
static bool
check_unique_field(const kw_table *table, const kw_layout *layout, size_t number, kw_diagnostics *diagnostics)
{
    kw_mark mark = layout->model->mark;
    const char *path = layout->model->name;
    const kw_field *field = &table->fields[number];
    if (table->paths[0].layout->units[number])
        return kw_diagnostics_add(
            diagnostics, mark, "remove the field, or unique",
            "path %s: field %s is part of the primary key; the key of a path with unique: "
            "true has only other fields, because they alone find the record",
            path, field->name);
    if (layout->units[number] != 1) {
        g_autofree char *hint = g_strdup_printf("add \"- field: %s\"", field->name);
        return kw_diagnostics_add(
            diagnostics, mark, hint,
            "path %s: the key does not hold field %s exactly, so records with different "
            "values could have the same key, and unique: true would refuse them",
            path, field->name);
    }
    return check_tuple_field(layout, field, diagnostics);
}

static bool
check_unique(const kw_table *table, const kw_layout *layout, kw_diagnostics *diagnostics)
{
    bool good = true;
    for (size_t number = 0; number < table->fields_count; number++)
        if (layout->units[number])
            good = check_unique_field(table, layout, number, diagnostics) && good;
    return good;
}

/* What the whole table needs for a unique path. */
static bool
check_unique_table(const kw_policy *policy, const kw_table *table, const kw_path *path,
                   kw_diagnostics *diagnostics)
{
    bool good = true;
    kw_mark mark = path->model->mark;
    if (kw_policy_model(policy)->store.kind != KW_STORE_EMBEDDED)
        good = kw_diagnostics_add(
            diagnostics, mark,
            "remove unique, and add the fields of the primary key to the path's key: it then finds "
            "all records with a value",
            "path %s: unique: true is only for the embedded store; on HBase, two gateways "
            "could write two records with the same values",
            path->name);
    if (table->model->atomics == 0)
        good = kw_diagnostics_add(diagnostics, mark, "remove atomics: false",
                                  "path %s: unique: true reads before it writes, and the table has atomics: "
                                  "false",
                                  path->name);
    for (size_t number = 0; number < table->fields_count; number++)
        if (kw_layout_holds_coarsely(table->paths[0].layout, number))
            good = kw_diagnostics_add(diagnostics, mark, "remove the unit of the field in the primary key",
                                      "path %s: field %s has a coarser unit in the primary key, so a row of "
                                      "this path does not say which record it leads to",
                                      path->name, table->fields[number].name);
    return good;
}

/* --- identities ------------------------------------------------------------------------------------ */

/* Every path must store each identity field as the primary key does: otherwise two records could share a row
 * there. A path with further fields is a hint path. */
static bool
check_identity(const kw_table *table, const kw_layout *primary, const kw_layout *layout,
               kw_diagnostics *diagnostics)
{
    bool good = true;
    kw_mark mark = layout->model->mark;
    for (size_t number = 0; number < table->fields_count; number++) {
        const char *name = table->fields[number].name;
        bool mine = layout->units[number] != 0, theirs = primary->units[number] != 0;
        if (theirs && !mine) {
            g_autofree char *hint = g_strdup_printf("add \"- field: %s\" at its end", name);
            good = kw_diagnostics_add(diagnostics, mark, hint,
                                      "path %s: field %s of the primary key is missing, so two records could "
                                      "share a key in this path",
                                      layout->model->name, name);
        } else if (mine && !theirs) {
            good = check_tuple_field(layout, &table->fields[number], diagnostics) && good;
        } else if (layout->units[number] != primary->units[number] ||
                   strcmp(layout->grains[number], primary->grains[number]) != 0) {
            good = kw_diagnostics_add(diagnostics, mark, "use the same unit in both",
                                      "path %s: field %s has another unit than in the primary key",
                                      layout->model->name, name);
        }
    }
    return good;
}

/* The paths of a table while they are compiled. */
typedef struct compiling {
    kw_policy *policy;
    kw_table *table;
    kw_path *paths;
    const kw_placings *placings;
    const kw_placing **applied; /* parallel to paths; NULL: the placement is the text's */
    kw_placement *placements;   /* of the table */
    kw_diagnostics *diagnostics;
} compiling;

static bool
compile_path(const compiling *self, size_t index, const kw_model_path *text)
{
    const kw_table *table = self->table;
    const kw_placing *placing = kw_placings_find(self->placings, table->name, text);
    const kw_model_path *model = placing ? kw_placing_model(placing, text, self->policy->arena) : text;
    kw_path *path = &self->paths[index];
    *path = (kw_path){
        .table = table,
        .name = model->name,
        .progress = KW_ARENA_NEW(self->policy->arena, kw_path_progress),
        .content = text->association ? KW_CONTENT_LOCATORS : KW_CONTENT_RECORDS,
        .unique = text->unique,
        .store_table = kw_bytes_of_text(model->store_table),
        .layout = kw_layout_compile(table->field_set, model, self->policy->rings, self->policy->arena,
                                    self->diagnostics),
        .model = model,
    };
    self->applied[index] = placing;
    return path->layout;
}

bool
kw_layout_cycle(const kw_layout *layout, const kw_model_table *model, kw_cycle *ret_cycle)
{
    const kw_component *circular = kw_layout_circular(layout);
    int64_t compaction_s = model->major_compaction_ms / 1000;
    if (!circular)
        return false;
    *ret_cycle =
        (kw_cycle){.calendar = circular->text,
                   .period_s = circular->period_s,
                   .ttl_most_s = model->major_compaction_ms ? circular->period_s - 2 * compaction_s : 0};
    return true;
}

bool
kw_cycle_expires(const kw_cycle *cycle, int64_t ttl_s, int64_t min_versions)
{
    return ttl_s > 0 && ttl_s <= cycle->ttl_most_s && min_versions == 0;
}

/* Why rows of a family never expire, whatever its TTL. NULL: they do. */
static const char *
why_never_expires(const kw_model_table *table, const kw_model_family *family)
{
    if (family->min_versions > 0)
        return "; its min_versions keep rows after the ttl";
    if (table->major_compaction_ms == 0)
        return "; major_compaction: 0 means that there is none";
    return family->ttl_seconds > 0 ? NULL : "; without a ttl, rows stay forever";
}

/* Rows of one cycle must have expired before the next cycle reuses their keys. */
static bool
check_circular(const kw_table *table, const kw_placement *placement, kw_diagnostics *diagnostics)
{
    const kw_component *circular = kw_layout_circular(placement->layout);
    const kw_model_table *model = table->model;
    kw_cycle cycle;
    bool good = true, in_text = placement == placement->path->placements;
    kw_mark mark = circular && in_text ? circular->mark : placement->path->model->mark;
    bool repeats = kw_layout_cycle(placement->layout, model, &cycle);
    for (size_t index = 0; repeats && index < model->families_count; index++) {
        const kw_model_family *family = &model->families[index];
        int64_t compaction_s = model->major_compaction_ms / 1000, ttl = family->ttl_seconds;
        if (kw_cycle_expires(&cycle, ttl, family->min_versions))
            continue;
        const char *why = why_never_expires(model, family);
        g_autofree char *hint =
            family->min_versions > 0 ? g_strdup("remove min_versions")
            : model->major_compaction_ms == 0
                ? g_strdup("set major_compaction to the interval of the store's major compactions")
            : cycle.ttl_most_s > 0
                ? g_strdup_printf("give the family a ttl of at most %" G_GINT64_FORMAT "s", cycle.ttl_most_s)
                : g_strdup("add coarser parts, or set a shorter major_compaction");
        good = kw_diagnostics_add(diagnostics, mark, hint,
                                  "path %s: %s repeats after %" G_GINT64_FORMAT
                                  "s, which must be at least ttl (%" G_GINT64_FORMAT
                                  "s) of family %s + 2 x major_compaction (%" G_GINT64_FORMAT "s)%s",
                                  placement->path->name, circular->text, circular->period_s, ttl,
                                  family->name, compaction_s, why ? why : "");
    }
    return good;
}

/* True if the field can change and is in the key. */
static bool
is_in_tuple(const compiling *self, const kw_layout *layout, size_t number)
{
    return layout->units[number] && !self->paths[0].layout->units[number];
}

static bool
has_tuple(const compiling *self, const kw_layout *layout)
{
    bool has = false;
    for (size_t number = 0; !has && number < self->table->fields_count; number++)
        has = is_in_tuple(self, layout, number);
    return has;
}

static void
list_tuple(const compiling *self, kw_placement *placement)
{
    size_t count = 0, *tuple = KW_ARENA_ARRAY(self->policy->arena, size_t, self->table->fields_count);
    for (size_t number = 0; number < self->table->fields_count; number++)
        if (is_in_tuple(self, placement->layout, number))
            tuple[count++] = number;
    placement->tuple = tuple;
    placement->tuple_count = count;
}

/* The placement of a path whose key rule does not change: every operation uses it. */
static void
place_alone(kw_path *path, kw_placement *placement)
{
    *placement = (kw_placement){.path = path,
                                .layout = path->layout,
                                .store_table = path->store_table,
                                .content = path->content,
                                .role = {.put = 1, .remove = 1, .get = true, .scan = true},
                                .complete = true};
    path->placements_count = 1;
}

/* What a change under way sets for the whole table. */
static void
note_changing(const compiling *self, const kw_placing *placing)
{
    kw_table *table = self->table;
    table->change = placing->change;
    if (placing->regime && !table->regime_of_change) {
        kw_regime *regime = KW_ARENA_NEW(self->policy->arena, kw_regime);
        *regime = *placing->regime;
        table->regime_of_change = regime;
    }
}

/* A path that is being added: at first only writes reach it; on rung filled, scans do, too. */
static bool
place_added(const compiling *self, size_t index, kw_placement *placement)
{
    const kw_placing *placing = self->applied[index];
    const kw_path *path = &self->paths[index];
    placement->role = placing->role;
    placement->complete = placing->role.scan;
    return (!kw_layout_choice(path->layout).kind && !kw_layout_choice(self->paths[0].layout).kind) ||
           kw_diagnostics_add(
               self->diagnostics, path->model->mark,
               "use a new table, or a salt of fields, for example salt: {of: [...]}",
               "path %s cannot be added while the table is served: its key rule or the primary "
               "one chooses a bucket at each put (a random or round_robin salt)",
               path->name);
}

static bool
refuse_hint_change(const compiling *self, const kw_path *path)
{
    return kw_diagnostics_add(self->diagnostics, path->model->mark, "use a new table",
                              "path %s: its key has fields that can change; the key rule of such a path "
                              "cannot be changed while the table is served",
                              path->name);
}

/* Gives the path its one or two placements; `placements` has space for two. */
static bool
place_path(const compiling *self, size_t index, kw_placement *placements)
{
    kw_path *path = &self->paths[index];
    const kw_placing *placing = self->applied[index];
    path->placements = placements;
    place_alone(path, &placements[0]);
    if (!placing || placing->change == KW_TABLE_UNCHANGED)
        return true;
    if (path->content == KW_CONTENT_HINTS && placing->change == KW_TABLE_MOVES)
        return refuse_hint_change(self, path);
    note_changing(self, placing);
    if (placing->change == KW_TABLE_ADDS)
        return place_added(self, index, placements);
    if (placing->change != KW_TABLE_MOVES)
        return true;
    path->placements_count = 2;
    placements[0].role = placing->role;
    placements[0].complete = placing->role.scan || placing->both_complete;
    return kw_placed_old(self->policy, placing, path, &placements[1], self->diagnostics) &&
           kw_placed_check(placements, self->diagnostics);
}

/* The role of the primary path while other paths are added. */
static void
place_primary(const compiling *self, kw_placement *placement)
{
    for (size_t index = 1; index < self->table->queried_paths_count; index++)
        if (self->applied[index] && self->applied[index]->change == KW_TABLE_ADDS)
            placement->role = self->applied[index]->old_role;
}

/* A path that is being dropped: writes reach it, and it is not a path of the table. */
static bool
place_dropped(const compiling *self, const kw_placing *placing, kw_placement *placement)
{
    kw_path *path = KW_ARENA_NEW(self->policy->arena, kw_path);
    note_changing(self, placing);
    self->placements[0].role = placing->old_role; /* that of the primary path */
    if (!kw_placed_dropped(self->policy, placing, self->table, path, placement, self->diagnostics))
        return false;
    if (has_tuple(self, path->layout))
        path->content = placement->content = KW_CONTENT_HINTS;
    return true;
}

/* Appends the placements of paths that are being dropped. */
static bool
place_all_dropped(const compiling *self, size_t *count)
{
    bool good = true;
    for (size_t index = 0; index < self->placings->count; index++) {
        const kw_placing *placing = &self->placings->items[index];
        if (placing->change != KW_TABLE_DROPS || strcmp(placing->table, self->table->name) != 0)
            continue;
        good = place_dropped(self, placing, &self->placements[*count]) && good;
        (*count)++;
    }
    return good;
}

/* Numbers the placements over all paths. */
static bool
place_paths(compiling *self)
{
    bool good = true;
    size_t count = 0;
    kw_table *table = self->table;
    size_t most = 2 * table->paths_count + self->placings->count;
    self->placements = KW_ARENA_ARRAY(self->policy->arena, kw_placement, most);
    for (size_t index = 0; index < table->paths_count; index++) {
        good = place_path(self, index, &self->placements[count]) && good;
        count += self->paths[index].placements_count;
    }
    if (table->queried_paths_count < table->paths_count)
        table->locators = table->paths[table->queried_paths_count].placements;
    if (table->hint_paths_count && table->paths[0].placements_count > 1)
        good = kw_diagnostics_add(self->diagnostics, table->paths[0].model->mark, "use a new table",
                                  "the key rule of a table with paths over fields that change cannot be "
                                  "changed while the table is served");
    place_primary(self, self->placements);
    good = good && place_all_dropped(self, &count);
    for (size_t index = 0; index < count; index++) {
        self->placements[index].number = index;
        if (self->placements[index].content == KW_CONTENT_HINTS)
            list_tuple(self, &self->placements[index]);
    }
    table->placements = self->placements;
    table->placements_count = count;
    return good;
}

const kw_model_path *
kw_path_text(const kw_path *path)
{
    const kw_model_table *table = path->table->model;
    size_t index = 0;
    while (index < table->paths_count && strcmp(table->paths[index].name, path->name) != 0)
        index++;
    g_assert(index < table->paths_count);
    return &table->paths[index];
}

static const kw_placement *
find_scanned(const kw_path *path)
{
    size_t index = 0;
    while (index < path->placements_count && !path->placements[index].role.scan)
        index++;
    return index < path->placements_count ? &path->placements[index] : NULL;
}

const kw_placement *
kw_path_scanned(const kw_path *path)
{
    const kw_placement *scanned = find_scanned(path);
    g_assert(scanned);
    return scanned;
}

bool
kw_placement_names_records(const kw_placement *placement)
{
    const kw_table *table = placement->path->table;
    bool held = true;
    for (size_t i = 0; held && i < table->fields_count; i++)
        held = !table->fields[i].identity || kw_layout_holds_field(placement->layout, i);
    return held;
}

bool
kw_placement_has_record(const kw_placement *placement, const kw_record *record)
{
    bool complete = true;
    for (size_t i = 0; complete && i < placement->tuple_count; i++)
        complete = record->values[placement->tuple[i]].kind != KW_VALUE_NONE;
    return complete;
}

const char *
kw_placement_tuple_names(const kw_placement *placement, kw_arena *arena)
{
    const char *names = "";
    for (size_t i = 0; i < placement->tuple_count; i++)
        names = kw_arena_printf(arena, "%s%s%s", names, i ? ", " : "",
                                placement->path->table->fields[placement->tuple[i]].name);
    return names;
}

bool
kw_path_is_filling(const kw_path *path)
{
    return !find_scanned(path);
}

bool
kw_path_is_changing(const kw_path *path)
{
    return path->placements_count > 1 || kw_path_is_filling(path);
}

bool
kw_path_is_dropped(const kw_path *path)
{
    const kw_table *table = path->table;
    for (size_t index = 0; index < table->paths_count; index++)
        if (path == &table->paths[index])
            return false;
    return true;
}

/* The association follows the paths that queries can use. */
static bool
compile_each(const compiling *self)
{
    bool good = true;
    kw_table *table = self->table;
    const kw_model_path *association = NULL;
    for (size_t index = 0; index < table->model->paths_count; index++) {
        const kw_model_path *model = &table->model->paths[index];
        if (model->association && association)
            good = kw_diagnostics_add(self->diagnostics, model->mark, "one association serves all paths",
                                      "path %s: table %s already has the association %s", model->name,
                                      table->name, association->name);
        else if (model->association)
            association = model;
        else
            good = compile_path(self, table->paths_count++, model) && good;
    }
    table->queried_paths_count = table->paths_count;
    return association ? compile_path(self, table->paths_count++, association) && good : good;
}

/* Notes that the path is a hint path if its key has a field that is not in the identity. */
static void
note_hints(const compiling *self, kw_path *path)
{
    if (!has_tuple(self, path->layout))
        return;
    path->content = KW_CONTENT_HINTS;
    self->table->hint_paths_count++;
}

/* The primary path can be missing from an incomplete model, or have problems; then there is nothing to
 * compare with. */
static bool
check_identities(const compiling *self)
{
    bool good = true;
    const kw_path *primary = self->paths;
    if (self->table->paths_count == 0 || !primary->layout || strcmp(primary->name, "primary") != 0)
        return true;
    for (size_t index = 1; index < self->table->paths_count; index++) {
        if (!self->paths[index].layout)
            continue;
        kw_path *path = &self->paths[index];
        if (path->unique ? check_unique(self->table, path->layout, self->diagnostics)
                         : check_identity(self->table, primary->layout, path->layout, self->diagnostics))
            note_hints(self, path);
        else
            good = false;
    }
    return good;
}

/* Gives each field of a tuple a bit, and lists the tuples of the paths that puts write. Returns the number of
 * such fields. */
static size_t
number_tuples(const compiling *self)
{
    kw_table *table = self->table;
    kw_arena *arena = self->policy->arena;
    uint64_t *tuples = KW_ARENA_ARRAY(arena, uint64_t, table->placements_count);
    uint8_t *bits = KW_ARENA_ARRAY(arena, uint8_t, table->fields_count);
    size_t fields = 0, count = 0;
    memset(bits, KW_IN_NO_TUPLE, table->fields_count);
    for (size_t index = 0; index < table->placements_count; index++) {
        const kw_placement *placement = &table->placements[index];
        if (!placement->role.put)
            continue;
        for (size_t each = 0; each < placement->tuple_count; each++) {
            uint8_t *bit = &bits[placement->tuple[each]];
            if (*bit == KW_IN_NO_TUPLE && fields++ < KW_TUPLE_FIELDS_MAX)
                *bit = (uint8_t)(fields - 1);
            if (*bit != KW_IN_NO_TUPLE)
                tuples[count] |= UINT64_C(1) << *bit;
        }
        if (placement->path->unique)
            table->unique_fields |= tuples[count];
        count += placement->content == KW_CONTENT_HINTS;
    }
    table->tuples = tuples;
    table->tuples_count = count;
    table->tuple_bits = bits;
    return fields;
}

/* A hint must name its record: its key holds all identity fields exactly. */
static bool
check_hints_name_records(const compiling *self)
{
    bool good = true;
    const kw_table *table = self->table;
    for (size_t index = 0; index < table->placements_count; index++)
        for (size_t number = 0; number < table->fields_count; number++) {
            const kw_placement *placement = &table->placements[index];
            if (placement->content == KW_CONTENT_HINTS && !placement->path->unique &&
                table->paths[0].layout->units[number] && kw_layout_holds_coarsely(placement->layout, number))
                good = kw_diagnostics_add(self->diagnostics, placement->path->model->mark,
                                          "remove the unit of the field, in all paths of the table",
                                          "path %s: field %s has a coarser unit in the key, so a row of this "
                                          "path does not say which record it leads to",
                                          placement->path->name, table->fields[number].name);
        }
    return good;
}

static bool
check_unique_tables(const compiling *self)
{
    bool good = true;
    for (size_t index = 1; index < self->table->queried_paths_count; index++)
        if (self->paths[index].unique)
            good =
                check_unique_table(self->policy, self->table, &self->paths[index], self->diagnostics) && good;
    return good;
}

/* The hints of a record name its identity, and lead to its row in the primary path. */
static bool
settle_hint_paths(const compiling *self)
{
    const kw_table *table = self->table;
    if (!kw_table_has_hints(table))
        return true;
    if (number_tuples(self) > KW_TUPLE_FIELDS_MAX)
        return kw_diagnostics_add(self->diagnostics, table->model->mark,
                                  "use fewer paths over fields that change",
                                  "table %s: the keys of its paths have more than %d fields that can change",
                                  table->name, KW_TUPLE_FIELDS_MAX);
    if (!check_hints_name_records(self) || !check_unique_tables(self))
        return false;
    return !table->chosen ||
           kw_diagnostics_add(
               self->diagnostics, table->model->mark, "use a salt of fields, for example salt: {of: [...]}",
               "table %s: a path over fields that change needs to find the row of a record, but each put "
               "chooses a bucket (a random or round_robin salt)",
               table->name);
}

/* If a bucket is chosen, something must prevent a second put from choosing another one. */
static bool
check_choices(kw_table *table, kw_diagnostics *diagnostics)
{
    const kw_path *chosen = NULL;
    const kw_path *association = table->locators ? table->locators->path : NULL;
    for (size_t index = 0; index < table->queried_paths_count && !chosen; index++) {
        if (kw_layout_choice(table->paths[index].layout).kind)
            chosen = &table->paths[index];
    }
    table->chosen = chosen;
    if (association && !chosen)
        return kw_diagnostics_add(
            diagnostics, association->model->mark, "remove association",
            "path %s: an association is only for random and round_robin salts; table %s has none",
            association->name, table->name);
    if (association && kw_layout_choice(association->layout).kind)
        return kw_diagnostics_add(diagnostics, association->model->mark, "use a hash or another salt",
                                  "path %s: the rows of an association cannot have a random or round_robin "
                                  "salt themselves, because lookups could not find them",
                                  association->name);
    if (!chosen || association || !table->model->updates)
        return true;
    return kw_diagnostics_add(
        diagnostics, chosen->model->mark,
        "set updates: false if each record is put once, or add an association: paths: {by_id: {association: "
        "true, key: [...]}}, or compute the bucket from a field: salt: {of: ...}",
        "table %s, path %s: a second put of a record could write a second row, because each put chooses a "
        "bucket",
        table->name, chosen->name);
}

static bool
check_all_circular(const kw_table *table, kw_diagnostics *diagnostics)
{
    bool good = true;
    for (size_t index = 0; good && index < table->paths_count; index++)
        for (size_t each = 0; good && each < table->paths[index].placements_count; each++)
            good = check_circular(table, &table->paths[index].placements[each], diagnostics);
    return good;
}

bool
kw_paths_compile(kw_policy *policy, kw_table *table, kw_path *paths, const kw_placings *placings,
                 kw_diagnostics *diagnostics)
{
    const kw_placing **applied = KW_ARENA_ARRAY(policy->arena, const kw_placing *, table->model->paths_count);
    compiling self = {.policy = policy,
                      .table = table,
                      .paths = paths,
                      .placings = placings,
                      .applied = applied,
                      .diagnostics = diagnostics};
    bool good = compile_each(&self);
    good = check_identities(&self) && good;
    return good && !table->model->incomplete && place_paths(&self) &&
           check_all_circular(table, diagnostics) && check_choices(table, diagnostics) &&
           settle_hint_paths(&self);
}
