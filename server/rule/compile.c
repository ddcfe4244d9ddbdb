/* Compiles rules to layouts.
 *
 * Two different records never share a key if each component's piece can be separated from the following ones.
 * Read from the front, a piece must have a fixed width or mark its own end. At most one piece can be
 * open-ended: its end is found from the back, so all components after it must have a fixed width.
 */
#include "rule/compile.h"

#include "rule/clock_changes.h"

#include <openssl/evp.h>
#include <stdio.h>

static const char *
nearest_kind(const char *name)
{
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    const char *names[32] = {NULL};
    g_assert(count < G_N_ELEMENTS(names));
    for (size_t index = 0; index < count; index++)
        names[index] = schemas[index]->name;
    return kw_nearest_name(name, names);
}

static const kw_component *
compile_component(const kw_site *site)
{
    const kw_component_kind *kind = kw_component_kind_find(site->model->name);
    if (kind)
        return kind->compile(site);
    const char *near = nearest_kind(site->model->name);
    g_autofree char *hint = near ? g_strdup_printf("did you mean \"%s\"?", near) : NULL;
    kw_diagnostics_add(site->diagnostics, site->model->mark, hint, "unknown component \"%s\"",
                       site->model->name);
    return NULL;
}

static bool
compile_components(kw_layout *layout, kw_rings *rings, kw_arena *arena, kw_diagnostics *diagnostics)
{
    const kw_model_path *model = layout->model;
    if (model->components_count == 0 || model->components_count > KW_RULE_COMPONENTS_MAX)
        return kw_diagnostics_add(diagnostics, model->mark, NULL,
                                  "path %s: a rule has 1 to %d components, not %zu", model->name,
                                  KW_RULE_COMPONENTS_MAX, model->components_count);
    const kw_component **components = KW_ARENA_ARRAY(arena, const kw_component *, model->components_count);
    bool good = true;
    for (size_t index = 0; index < model->components_count; index++) {
        kw_site site = {
            .table = layout->table,
            .path = model,
            .model = &model->components[index],
            .last = index + 1 == model->components_count,
            .rings = rings,
            .arena = arena,
            .diagnostics = diagnostics,
        };
        if (!kw_diagnostics_may_continue(diagnostics, kw_arena_used(arena)))
            return false;
        components[index] = compile_component(&site);
        good = good && components[index];
    }
    layout->components = components;
    layout->count = model->components_count;
    return good;
}

static bool
is_open(const kw_component *component)
{
    return component->width == 0 && !component->delimited;
}

/* Finds the open-ended component and checks that no later one varies in width. */
static bool
check_ends(kw_layout *layout, kw_diagnostics *diagnostics)
{
    layout->open = layout->count;
    for (size_t index = 0; index < layout->count; index++) {
        const kw_component *component = layout->components[index];
        if (layout->open < layout->count && component->width == 0) {
            const kw_component *open = layout->components[layout->open];
            return kw_diagnostics_add(diagnostics, open->mark,
                                      "use encoding: terminated, or fixed with a width",
                                      "two records could get the same key: nothing marks the end of %s, and "
                                      "%s after it also varies in width",
                                      open->text, component->text);
        }
        if (layout->open < layout->count)
            layout->tail_width += component->width;
        else if (is_open(component))
            layout->open = index;
    }
    return true;
}

static const int64_t seconds_of_unit[] = {
    [KW_UNIT_S] = 1, [KW_UNIT_MS] = 1000, [KW_UNIT_US] = 1000000, [KW_UNIT_NS] = 1000000000};

/* The texts of every calendar that stores the field, sorted, without duplicates, so that two rules can be
 * compared. "" if the key stores the field to the millisecond, because no calendar is finer. If the key
 * stores it to the second, only calendars with milliseconds count. */
static const char *
grain_of(const kw_layout *layout, size_t field, kw_arena *arena)
{
    int64_t second = seconds_of_unit[layout->table->fields[field].unit];
    if (layout->units[field] <= MAX(second / 1000, 1))
        return "";
    bool to_the_second = layout->units[field] <= second;
    const char *text = "", *last = "";
    for (;;) {
        const char *next = NULL;
        for (size_t index = 0; index < layout->count; index++) {
            const kw_component *it = layout->components[index];
            bool is_finer = it->grain && (it->millis || !to_the_second);
            bool later = it->field == (int)field && is_finer && strcmp(it->grain, last) > 0;
            if (later && (!next || strcmp(it->grain, next) < 0))
                next = it->grain;
        }
        if (!next)
            return text;
        text = kw_arena_printf(arena, "%s%s%s", text, *text ? ", " : "", next);
        last = next;
    }
}

static void
note_fields(kw_layout *layout, kw_arena *arena)
{
    layout->units = KW_ARENA_ARRAY(arena, int64_t, layout->table->fields_count);
    layout->grains = KW_ARENA_ARRAY(arena, const char *, layout->table->fields_count);
    for (size_t index = 0; index < layout->count; index++) {
        const kw_component *component = layout->components[index];
        layout->has_rest = layout->has_rest || component->of_rest;
        if (component->field < 0)
            continue;
        int64_t *unit = &layout->units[component->field];
        *unit = *unit ? MIN(*unit, component->unit) : component->unit;
        for (size_t also = 0; also < component->also_count; also++)
            layout->units[component->also[also]] = 1;
    }
    for (size_t field = 0; field < layout->table->fields_count; field++)
        layout->grains[field] = grain_of(layout, field, arena);
}

/* Marks clocks whose fields other components store exactly. */
static void
note_stored_elsewhere(kw_layout *layout, kw_arena *arena)
{
    layout->stored_elsewhere = KW_ARENA_ARRAY(arena, bool, layout->count);
    for (size_t index = 0; index < layout->count; index++) {
        const kw_component *component = layout->components[index];
        bool held = component->clock >= 0 && component->field == component->clock, also_elsewhere = false;
        for (size_t input = 0; held && input < component->inputs_count; input++)
            held = kw_layout_holds(layout, component->inputs[input]);
        for (size_t other = 0; held && other < layout->count; other++)
            also_elsewhere =
                also_elsewhere || (other != index && layout->components[other]->field == component->field);
        layout->stored_elsewhere[index] = held && also_elsewhere;
    }
}

/* The longest duration of a clock's cell in seconds: years and months vary, and clocks are set back. */
static int64_t
longest_cell(const kw_component *clock)
{
    return clock->cell_s + clock->cell_s / 9 + 7200;
}

/* True if two moments one cycle apart are in different cells of `it`. Cells that follow days and hours of
 * another zone begin at other moments, and one can span the end of a cycle and the beginning of the next. */
static bool
distinguishes_cycles(const kw_component *it, const kw_component *circular)
{
    int64_t cell_s = it->clock < 0 ? 1 : it->cell_s;
    if (it->period_s != 0 && it->period_s <= circular->period_s)
        return false;
    if (cell_s <= 60 || strcmp(it->zone, circular->zone) == 0)
        return cell_s <= circular->period_s;
    return longest_cell(it) + longest_cell(circular) <= circular->period_s;
}

/* True if another component distinguishes the cycles of this one. */
static bool
is_distinguished(const kw_layout *layout, const kw_component *circular)
{
    for (size_t index = 0; index < layout->count; index++) {
        const kw_component *it = layout->components[index];
        if (it != circular && it->field == circular->field && distinguishes_cycles(it, circular))
            return true;
    }
    return false;
}

const kw_component *
kw_layout_circular(const kw_layout *layout)
{
    for (size_t index = 0; index < layout->count; index++) {
        const kw_component *it = layout->components[index];
        if (it->period_s && !is_distinguished(layout, it))
            return it;
    }
    return NULL;
}

/* Only the complete key determines whether a calendar must reject local times that occur twice. Components
 * are immutable after this. */
static void
settle_repeated_times(const kw_layout *layout, kw_arena *arena)
{
    for (size_t index = 0; index < layout->count; index++) {
        kw_component *component = (kw_component *)layout->components[index];
        component->rejects_repeated = kw_clock_changes_collide(layout, component, true, arena);
    }
}

/* The inputs of derived pieces must themselves be in the key: otherwise one record could have several keys.
 */
static bool
check_inputs(const kw_layout *layout, kw_diagnostics *diagnostics)
{
    bool good = true, any = false;
    for (size_t index = 0; index < layout->count; index++) {
        const kw_component *component = layout->components[index];
        any = any || component->field >= 0;
        if (component->field >= 0)
            continue;
        for (size_t input = 0; input < component->inputs_count; input++) {
            size_t field = component->inputs[input];
            const char *name = layout->table->fields[field].name;
            if (kw_layout_holds(layout, field))
                continue;
            g_autofree char *hint =
                g_strdup_printf("add \"- field: %s\" to the rule%s", name,
                                kw_layout_holds_coarsely(layout, field) ? " in its own unit" : "");
            good =
                kw_diagnostics_add(diagnostics, component->mark, hint,
                                   "%s: field %s is not itself in the key%s, so two records that differ only "
                                   "in it would share a key",
                                   component->text, name,
                                   kw_layout_holds_coarsely(layout, field) ? " to its full precision" : "");
        }
    }
    if (!any)
        good = kw_diagnostics_add(diagnostics, layout->components[0]->mark, "add \"- field: NAME\"",
                                  "path %s: no component holds a field, so all records would share a key",
                                  layout->model->name);
    return good;
}

/* Accepts at most one component with a chosen bucket; a second one would not spread rows any better. */
static bool
find_choice(kw_layout *layout, kw_diagnostics *diagnostics)
{
    layout->choice.buckets = 1;
    for (size_t index = 0; index < layout->count; index++) {
        const kw_component *component = layout->components[index];
        if (!component->choice)
            continue;
        if (layout->choice.kind)
            return kw_diagnostics_add(diagnostics, component->mark, "use one salt with more buckets",
                                      "path %s: has a second random or round_robin salt",
                                      layout->model->name);
        layout->choice.kind = component->choice;
        layout->choice.buckets = (uint32_t)component->buckets;
    }
    return true;
}

/* The number of combinations of the values of those enumerable components that precede a field which is not
 * enumerable. */
static uint64_t
count_buckets(const kw_layout *layout)
{
    uint64_t buckets = 1, waiting = 1;
    for (size_t index = 0; index < layout->count; index++) {
        const kw_component *component = layout->components[index];
        if (component->buckets) {
            if (__builtin_mul_overflow(waiting, component->buckets, &waiting))
                return UINT64_MAX;
        } else if (component->field >= 0) {
            buckets = waiting;
        }
    }
    return buckets;
}

/* "hash(md5 of order_id, first 4 as hex) <- order_id string\n" */
static void
describe_component(const kw_component *component, GString *to)
{
    g_string_append(to, component->text);
    for (size_t index = 0; index < component->inputs_count; index++) {
        const kw_field *field = &component->table->fields[component->inputs[index]];
        g_string_append_printf(to, "%s%s %s", index ? ", " : " <- ", field->name,
                               kw_field_type_names[field->type]);
        if (field->type == KW_FIELD_TIMESTAMP)
            g_string_append_printf(to, " %s", kw_time_unit_names[field->unit]);
    }
    g_string_append_c(to, '\n');
}

static void
describe(kw_layout *layout, kw_arena *arena)
{
    GString *text = g_string_new(NULL);
    for (size_t index = 0; index < layout->count; index++)
        describe_component(layout->components[index], text);
    layout->description = kw_arena_text(arena, kw_bytes_of(text->str, text->len));
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    int done = EVP_Digest(text->str, text->len, digest, &size, EVP_sha256(), NULL);
    g_assert(done && size == 32);
    for (unsigned index = 0; index < size; index++)
        snprintf(layout->fingerprint + 2 * index, 3, "%02x", digest[index]);
    g_string_free(text, TRUE);
}

const kw_layout *
kw_layout_compile(const kw_field_set *table, const kw_model_path *model, kw_rings *rings, kw_arena *arena,
                  kw_diagnostics *diagnostics)
{
    kw_layout *layout = KW_ARENA_NEW(arena, kw_layout);
    layout->table = table;
    layout->model = model;
    if (!compile_components(layout, rings, arena, diagnostics) || !check_ends(layout, diagnostics))
        return NULL;
    note_fields(layout, arena);
    if (!check_inputs(layout, diagnostics) || !find_choice(layout, diagnostics))
        return NULL;
    note_stored_elsewhere(layout, arena);
    settle_repeated_times(layout, arena);
    layout->buckets = count_buckets(layout);
    describe(layout, arena);
    return layout;
}
