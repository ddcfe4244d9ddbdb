/* The policy snapshot: tables, fields and layouts in one arena, reference counted.
 *
 *   model -> tables (fields by type) -> layouts -> identity and columns of the fields -> checks across paths
 */
#include "schema/policy.h"

#include "rule/compile.h"
#include "schema/placed.h"
#include "schema/progress.h"

#include <stdlib.h>
#include <string.h>

/* --- fields ---------------------------------------------------------------------------------------- */

kw_field
kw_field_of_model(const kw_model_field *model, kw_arena *arena)
{
    kw_field field = {
        .name = model->name,
        .type = model->type,
        .unit = model->unit,
        .form = model->form,
        .counter = model->counter,
        .max_bytes = model->max_bytes > 0 ? (size_t)model->max_bytes : 0,
        .model = model,
    };
    if (field.type != KW_FIELD_MAP)
        return field;
    kw_field *entry = KW_ARENA_NEW(arena, kw_field);
    *entry = field;
    entry->type = model->of;
    entry->stored = true; /* entry->entry stays NULL: there are no maps of maps */
    field.entry = entry;
    return field;
}

/* Determines where a field is stored, now that the primary layout is known. */
static bool
settle_field(const kw_table *table, const kw_layout *primary, size_t number, kw_field *field,
             kw_diagnostics *diagnostics)
{
    const kw_model_field *model = field->model;
    field->in_primary_key = kw_layout_holds(primary, number);
    field->identity = primary->units[number] != 0;
    if (model->family) {
        field->stored = true;
        field->family = kw_bytes_of_text(model->family);
        field->qualifier = kw_bytes_of(model->qualifier, model->qualifier_size);
    } else if (!field->identity) {
        field->stored = true;
        field->family = table->default_family;
        field->qualifier = kw_bytes_of_text(field->name);
    } else if (!field->in_primary_key) {
        g_autofree char *hint = g_strdup_printf("add a column, for example column: \"%s:%s\"",
                                                table->model->default_family, field->name);
        return kw_diagnostics_add(diagnostics, model->mark, hint,
                                  "field %s cannot be read back from the primary key, which holds it only in "
                                  "a coarser unit, and it has no column",
                                  field->name);
    }
    if (field->stored && kw_bytes_starts_with(field->qualifier, KW_BYTES_LITERAL("\0kw:")))
        return kw_diagnostics_add(
            diagnostics, model->mark, "use another column",
            "field %s: Keyway reserves the columns that start with \\x00kw:", field->name);
    if (field->counter && !field->stored)
        return kw_diagnostics_add(diagnostics, model->mark, "remove counter, or add a column",
                                  "field %s is stored in the row key, so it cannot be a counter",
                                  field->name);
    if (field->stored && !field->entry && kw_bytes_equal(field->qualifier, table->marker_qualifier) &&
        kw_bytes_equal(field->family, table->marker_family))
        return kw_diagnostics_add(diagnostics, model->mark, "use another column",
                                  "field %s: its column is the marker of the table", field->name);
    return true;
}

/* False if a field before this one has the same column. */
static bool
check_column(const kw_table *table, size_t number, kw_diagnostics *diagnostics)
{
    const kw_field *field = &table->fields[number];
    if (!field->stored || field->entry)
        return true;
    int first = kw_table_find_column(table, field->family, field->qualifier);
    if (first == (int)number)
        return true;
    return kw_diagnostics_add(diagnostics, field->model->mark, "use another column",
                              "fields %s and %s share the column %.*s:%.*s", table->fields[first].name,
                              field->name, (int)field->family.size, (const char *)field->family.data,
                              (int)field->qualifier.size, (const char *)field->qualifier.data);
}

/* --- tables ---------------------------------------------------------------------------------------- */

static void
set_marker(kw_table *table)
{
    const kw_model_table *model = table->model;
    table->marks_all = model->marker_family != NULL;
    table->marker_family = table->marks_all ? kw_bytes_of_text(model->marker_family) : table->default_family;
    table->marker_qualifier = table->marks_all
                                  ? kw_bytes_of(model->marker_qualifier, model->marker_qualifier_size)
                                  : KW_MARKER_QUALIFIER;
    table->marker_value =
        table->marks_all ? kw_bytes_of(model->marker_value, model->marker_value_size) : KW_BYTES_NONE;
}

/* The longest TTL of all families; 0 if one of them never expires. */
static int64_t
lifetime_of(const kw_model_table *model)
{
    int64_t longest = 0;
    for (size_t index = 0; index < model->families_count; index++) {
        const kw_model_family *family = &model->families[index];
        if (family->ttl_seconds <= 0 || family->min_versions > 0)
            return 0;
        longest = MAX(longest, family->ttl_seconds);
    }
    return longest;
}

static void
list_generated(const kw_policy *policy, kw_table *table)
{
    size_t *list = KW_ARENA_ARRAY(policy->arena, size_t, table->fields_count);
    for (size_t index = 0; index < table->fields_count; index++)
        if (table->fields[index].model->generate.enabled)
            list[table->generated_count++] = index;
    table->generated = list;
}

static void
set_ordering(kw_table *table)
{
    table->ordering.family = table->default_family;
    for (size_t index = 0; index < table->fields_count; index++)
        table->ordering.counters = table->ordering.counters || table->fields[index].counter;
}

bool
kw_table_has_hints(const kw_table *table)
{
    bool has = false;
    for (size_t i = 0; !has && i < table->placements_count; i++)
        has = table->placements[i].content == KW_CONTENT_HINTS;
    return has;
}

static kw_regime
choose_regime(const kw_table *table, kw_write_order order, bool atomics)
{
    kw_regime regime = {.order = order, .atomics = kw_atomics_of_order(order)};
    if (table->regime_of_change)
        regime = *table->regime_of_change;
    if (!atomics && table->change != KW_TABLE_TURNS_ATOMICS)
        regime.atomics = KW_ATOMICS_OFF;
    regime.marks =
        regime.order == KW_WRITE_ORDER_STORE && regime.atomics != KW_ATOMICS_OFF && kw_table_has_hints(table);
    return regime;
}

/* The regime as the text has it; see kw_policy_set_order. A table keeps its atomic operations when it gets
 * another path (catalog/compare_change.h). */
static kw_regime
regime_of_text(const kw_table *table)
{
    kw_write_order order = kw_table_default_order(table), kept = order;
    if (table->change == KW_TABLE_ADDS && table->regime_of_change)
        kept = table->regime_of_change->order;
    /* If the policy does not say, the catalog decides later. */
    bool allows = kept == KW_WRITE_ORDER_STORE ? table->model->atomics != 0 : table->model->atomics == 1;
    return choose_regime(table, order, allows);
}

bool
kw_table_changes_rows(const kw_table *table)
{
    return table->change != KW_TABLE_UNCHANGED && table->change != KW_TABLE_TURNS_ATOMICS;
}

const kw_model_family *
kw_table_find_family(const kw_table *table, kw_bytes name)
{
    for (size_t index = 0; index < table->model->families_count; index++)
        if (kw_bytes_equal(name, kw_bytes_of_text(table->model->families[index].name)))
            return &table->model->families[index];
    return NULL;
}

kw_write_order
kw_table_default_order(const kw_table *table)
{
    g_assert(table->queried_paths_count > 0);
    if (table->model->order)
        return strcmp(table->model->order, "stamp") == 0 ? KW_WRITE_ORDER_STAMP : KW_WRITE_ORDER_STORE;
    return table->queried_paths_count - table->hint_paths_count > 1 ? KW_WRITE_ORDER_STAMP
                                                                    : KW_WRITE_ORDER_STORE;
}

/* The rows of a path over fields that can change are ordered by that of the primary path. */
static bool
check_order(const kw_table *table, kw_diagnostics *diagnostics)
{
    const kw_model_table *model = table->model;
    bool several = table->queried_paths_count - table->hint_paths_count > 1;
    return !several || !model->order || strcmp(model->order, "store") != 0 ||
           kw_diagnostics_add(
               diagnostics, model->order_mark, "use order: stamp",
               "order: store does not work with several paths that hold records: the store would give each "
               "row of a record its own timestamp, and the paths could differ permanently");
}

static bool
build_table(kw_policy *policy, size_t number, const kw_placings *placings, kw_diagnostics *diagnostics)
{
    const kw_model_table *model = &policy->model->tables[number];
    kw_field *fields = KW_ARENA_ARRAY(policy->arena, kw_field, model->fields_count);
    for (size_t index = 0; index < model->fields_count; index++)
        fields[index] = kw_field_of_model(&model->fields[index], policy->arena);
    kw_field_set *field_set = KW_ARENA_NEW(policy->arena, kw_field_set);
    *field_set = (kw_field_set){model->name, fields, model->fields_count};
    kw_path *paths = KW_ARENA_ARRAY(policy->arena, kw_path, model->paths_count);
    kw_table *table = &policy->tables[number];
    *table = (kw_table){
        .name = model->name,
        .number = number,
        .fields = fields,
        .fields_count = model->fields_count,
        .field_set = field_set,
        .paths = paths,
        .default_family = kw_bytes_of_text(model->default_family),
        .progress = KW_ARENA_NEW(policy->arena, kw_table_progress),
        .lifetime_s = lifetime_of(model),
        .model = model,
    };
    set_marker(table);
    list_generated(policy, table);
    if (model->paths_count == 0 && !model->incomplete)
        return kw_diagnostics_add(diagnostics, model->mark, NULL, "table %s has no key rule", model->name);
    bool good = kw_paths_compile(policy, table, paths, placings, diagnostics);
    if (table->queried_paths_count == 0 || !paths[0].layout)
        return false; /* the fields cannot be checked without the primary key */
    good = check_order(table, diagnostics) && good;
    set_ordering(table);
    table->ordering.regime = regime_of_text(table);
    for (size_t index = 0; index < table->fields_count; index++)
        good = settle_field(table, paths[0].layout, index, &fields[index], diagnostics) &&
               check_column(table, index, diagnostics) && good;
    return good && kw_writer_ids_check(policy->model, table, diagnostics);
}

static bool
check_store_table(GHashTable *seen, const kw_placement *placement, kw_diagnostics *diagnostics)
{
    const kw_path *path = placement->path;
    const char *name = kw_layout_store_table(placement->layout);
    return g_hash_table_add(seen, (gpointer)name) ||
           kw_diagnostics_add(diagnostics, path->model->mark, "give each path a store table of its own",
                              "path %s of table %s: store table %s is already used by another path",
                              path->name, path->table->name, name);
}

/* Rows of two rules must not share a store table: their keys could collide. */
static bool
check_store_tables(const kw_policy *policy, kw_diagnostics *diagnostics)
{
    bool good = true;
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (size_t number = 0; number < policy->tables_count; number++) {
        const kw_table *table = &policy->tables[number];
        for (size_t index = 0; index < table->paths_count; index++)
            for (size_t each = 0; each < table->paths[index].placements_count; each++)
                good = check_store_table(seen, &table->paths[index].placements[each], diagnostics) && good;
    }
    return good;
}

static int
compare_names(const void *a, const void *b)
{
    return strcmp((*(const kw_table *const *)a)->name, (*(const kw_table *const *)b)->name);
}

static void
sort_tables(kw_policy *policy)
{
    policy->by_name = KW_ARENA_ARRAY(policy->arena, const kw_table *, policy->tables_count);
    for (size_t number = 0; number < policy->tables_count; number++)
        policy->by_name[number] = &policy->tables[number];
    if (policy->tables_count > 1)
        qsort(policy->by_name, policy->tables_count, sizeof *policy->by_name, compare_names);
}

static void
unref_model(gpointer model)
{
    kw_model_unref(model);
}

static kw_policy *
policy_over(kw_model *model)
{
    kw_policy *policy = g_new0(kw_policy, 1);
    policy->references = 1;
    policy->model = kw_model_ref(model);
    policy->arena = kw_arena_new();
    policy->tables_count = model->tables_count;
    policy->tables = KW_ARENA_ARRAY(policy->arena, kw_table, model->tables_count);
    policy->old_models = g_ptr_array_new_with_free_func(unref_model);
    policy->rings = kw_rings_new();
    return policy;
}

kw_policy *
kw_policy_new_placed(kw_model *model, const kw_placing *items, size_t count, kw_diagnostics *diagnostics)
{
    g_autoptr(kw_policy) policy = policy_over(model);
    kw_placings placings = {items, count};
    bool good = kw_placings_check(&placings, model, diagnostics);
    for (size_t number = 0; number < model->tables_count; number++)
        good = kw_diagnostics_may_continue(diagnostics, kw_arena_used(policy->arena)) &&
               build_table(policy, number, &placings, diagnostics) && good;
    g_clear_pointer(&policy->rings, kw_rings_free);
    if (!good || kw_diagnostics_count(diagnostics) || !check_store_tables(policy, diagnostics))
        return NULL;
    sort_tables(policy);
    policy->hazards.arena = policy->arena;
    for (size_t number = 0; good && number < policy->tables_count; number++)
        good = kw_hazards_find(&policy->hazards, &policy->tables[number], true, diagnostics);
    return good ? g_steal_pointer(&policy) : NULL;
}

kw_policy *
kw_policy_check(kw_model *model, kw_diagnostics *diagnostics)
{
    g_autoptr(kw_policy) policy = policy_over(model);
    policy->hazards.arena = policy->arena;
    for (size_t number = 0; number < model->tables_count; number++) {
        if (!kw_diagnostics_may_continue(diagnostics, kw_arena_used(policy->arena)))
            return NULL;
        bool whole = build_table(policy, number, &(kw_placings){NULL, 0}, diagnostics);
        if (!kw_hazards_find(&policy->hazards, &policy->tables[number], whole, diagnostics))
            return NULL;
    }
    g_clear_pointer(&policy->rings, kw_rings_free);
    kw_policy_refuse_hazards(policy, diagnostics);
    if (kw_diagnostics_count(diagnostics) || !check_store_tables(policy, diagnostics))
        return NULL;
    sort_tables(policy);
    return g_steal_pointer(&policy);
}

kw_policy *
kw_policy_new(kw_model *model, kw_diagnostics *diagnostics)
{
    return kw_policy_new_placed(model, NULL, 0, diagnostics);
}

size_t
kw_policy_hazards_count(const kw_policy *policy)
{
    return policy->hazards.count;
}

const kw_hazard *
kw_policy_hazard(const kw_policy *policy, size_t index)
{
    g_assert(index < policy->hazards.count);
    return &policy->hazards.items[index];
}

bool
kw_policy_refuse_hazards(const kw_policy *policy, kw_diagnostics *diagnostics)
{
    for (size_t index = 0; index < policy->hazards.count; index++) {
        const kw_hazard *hazard = &policy->hazards.items[index];
        kw_diagnostics_add(diagnostics, hazard->mark, hazard->hint, "%s", hazard->text);
    }
    return policy->hazards.count == 0;
}

kw_policy *
kw_policy_ref(kw_policy *policy)
{
    atomic_fetch_add_explicit(&policy->references, 1, memory_order_relaxed);
    return policy;
}

void
kw_policy_unref(kw_policy *policy)
{
    if (!policy || atomic_fetch_sub_explicit(&policy->references, 1, memory_order_acq_rel) != 1)
        return;
    kw_arena_free(policy->arena);
    kw_model_unref(policy->model);
    g_ptr_array_free(policy->old_models, TRUE);
    kw_rings_free(policy->rings);
    g_free(policy);
}

bool
kw_policy_is_shared(const kw_policy *policy)
{
    return atomic_load_explicit(&policy->references, memory_order_acquire) > 1;
}

kw_model *
kw_policy_model(const kw_policy *policy)
{
    return policy->model;
}

int64_t
kw_policy_version(const kw_policy *policy)
{
    return policy->version;
}

void
kw_policy_set_version(kw_policy *policy, int64_t version)
{
    policy->version = version;
}

int64_t
kw_policy_loaded_at_ms(const kw_policy *policy)
{
    return policy->loaded_at_ms;
}

void
kw_policy_set_loaded_at_ms(kw_policy *policy, int64_t wall_ms)
{
    policy->loaded_at_ms = wall_ms;
}

void
kw_policy_set_order(kw_policy *policy, size_t table, kw_write_order order, bool atomics)
{
    g_assert(table < policy->tables_count);
    kw_table *of = &policy->tables[table];
    kw_regime regime = choose_regime(of, order, atomics);
    if (!kw_regime_equal(of->ordering.regime, regime))
        of->ordering.regime = regime;
}

size_t
kw_policy_table_count(const kw_policy *policy)
{
    return policy->tables_count;
}

const kw_table *
kw_policy_table(const kw_policy *policy, size_t index)
{
    g_assert(index < policy->tables_count);
    return &policy->tables[index];
}

const kw_table *
kw_policy_find_table(const kw_policy *policy, kw_bytes name)
{
    size_t low = 0, high = policy->tables_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = kw_bytes_compare(kw_bytes_of_text(policy->by_name[middle]->name), name);
        if (order == 0)
            return policy->by_name[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const char *
kw_policy_nearest_table(const kw_policy *policy, kw_bytes name,
                        bool (*shown)(const kw_table *table, const void *user), const void *user)
{
    if (name.size > KW_GUESS_MAX)
        return NULL;
    g_autofree char *wrong = g_strndup((const char *)name.data, name.size);
    g_autofree const char **names = g_new0(const char *, policy->tables_count + 1);
    size_t count = 0;
    for (size_t number = 0; number < policy->tables_count; number++)
        if (shown(&policy->tables[number], user))
            names[count++] = policy->tables[number].name;
    return kw_nearest_name(wrong, names);
}
