/* See alternatives.h.
 *
 *   for one changed setting, then for two of the same component:
 *       for each component, the suspected one first:
 *           compile the rule with the change -> decode each key -> the first form that fits all keys
 */
#include "rule/alternatives.h"

#include "rule/compile.h"

#include <string.h>

/* Most rules that one search compiles. */
#define TRIES_MOST 6000
#define CHANGES_MOST 2

static const int64_t more_buckets[] = {150,  160,  180,  192,  200,  240,  250,   255,   256,  300,
                                       320,  360,  400,  480,  500,  512,  600,   640,   720,  768,
                                       800,  900,  960,  997,  999,  1000, 1024,  1440,  1500, 2000,
                                       2048, 3000, 4000, 4096, 5000, 8192, 10000, 16384, 32768};
#define BUCKETS_TO 128
#define WIDTH_TO 36
static const char *const terminators[] = {"\\x00", "|", "_",     "-",     ":", "#", ",",
                                          ";",     "/", "\\x01", "\\xFF", "~", "."};

typedef struct change {
    kw_model_setting setting;
    bool removed; /* the setting is omitted */
} change;

typedef struct search {
    const kw_layout *layout;
    const kw_key_sample *sample;
    kw_arena *arena;   /* of the result, and of the possible changes */
    kw_arena *scratch; /* of one form */
    unsigned tries;
    const char *found;
} search;

/* --- the changes of one component ------------------------------------------------------------------- */

static void
add_number(GArray *to, const kw_setting_schema *schema, int64_t number)
{
    bool allowed =
        (schema->least == 0 && schema->most == 0) || (number >= schema->least && number <= schema->most);
    change made = {.setting = {.name = schema->name, .kind = KW_SETTING_INT, .number = number}};
    if (allowed)
        g_array_append_val(to, made);
}

static void
add_numbers(GArray *to, const kw_setting_schema *schema)
{
    bool buckets = strcmp(schema->name, "buckets") == 0;
    for (int64_t number = 1; number <= (buckets ? BUCKETS_TO : WIDTH_TO); number++)
        add_number(to, schema, number);
    for (size_t i = 0; buckets && i < G_N_ELEMENTS(more_buckets); i++)
        add_number(to, schema, more_buckets[i]);
}

static void
add_text(GArray *to, const kw_setting_schema *schema, const char *text)
{
    change made = {.setting = {.name = schema->name, .kind = schema->kind, .text = text}};
    g_array_append_val(to, made);
}

/* Buckets that a put chooses, and texts without an end of their own, would fit everything. */
static bool
fits_everything(const char *choice)
{
    return strcmp(choice, "random") == 0 || strcmp(choice, "round_robin") == 0 || strcmp(choice, "raw") == 0;
}

/* The fields of the key, one at a time, and none at all. */
static void
add_fields(const search *self, GArray *to, const kw_setting_schema *schema)
{
    change removed = {.setting = {.name = schema->name, .kind = schema->kind}, .removed = true};
    g_array_append_val(to, removed);
    for (size_t i = 0; i < self->layout->count; i++) {
        int field = self->layout->components[i]->field;
        if (field < 0)
            continue;
        const char **texts = KW_ARENA_ARRAY(self->arena, const char *, 1);
        kw_mark *marks = KW_ARENA_ARRAY(self->arena, kw_mark, 1);
        texts[0] = self->layout->table->fields[field].name;
        change made = {.setting = {.name = schema->name,
                                   .kind = KW_SETTING_TEXTS,
                                   .texts = texts,
                                   .text_marks = marks,
                                   .texts_count = 1}};
        g_array_append_val(to, made);
    }
}

static void
add_changes(const search *self, const kw_model_component *model, const kw_setting_schema *schema, GArray *to)
{
    const kw_model_setting *present = kw_model_setting_find(model, schema->name);
    switch (schema->kind) {
    case KW_SETTING_INT:
        add_numbers(to, schema);
        break;
    case KW_SETTING_CHOICE: /* a coarser unit does not decode the time */
        for (size_t i = 0; strcmp(schema->name, "unit") != 0 && schema->choices[i]; i++)
            if (!fits_everything(schema->choices[i]))
                add_text(to, schema, schema->choices[i]);
        break;
    case KW_SETTING_BOOL: {
        change made = {
            .setting = {.name = schema->name, .kind = KW_SETTING_BOOL, .flag = !(present && present->flag)}};
        g_array_append_val(to, made);
        break;
    }
    case KW_SETTING_TEXT:
        for (size_t i = 0; strcmp(schema->name, "terminator") == 0 && i < G_N_ELEMENTS(terminators); i++)
            add_text(to, schema, terminators[i]);
        break;
    case KW_SETTING_TEXTS:
        if (strcmp(schema->name, "of") == 0)
            add_fields(self, to, schema);
        break;
    }
}

/* --- one form --------------------------------------------------------------------------------------- */

static bool
is_changed(const kw_model_setting *setting, const change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(setting->name, changes[i].setting.name) == 0)
            return true;
    return false;
}

static kw_model_component
changed_component(const search *self, const kw_model_component *model, const change *changes, size_t count)
{
    kw_model_component changed = *model;
    kw_model_setting *settings =
        KW_ARENA_ARRAY(self->scratch, kw_model_setting, model->settings_count + CHANGES_MOST);
    changed.settings_count = 0;
    for (size_t i = 0; i < model->settings_count; i++)
        if (!is_changed(&model->settings[i], changes, count))
            settings[changed.settings_count++] = model->settings[i];
    for (size_t i = 0; i < count; i++)
        if (!changes[i].removed)
            settings[changed.settings_count++] = changes[i].setting;
    changed.settings = settings;
    return changed;
}

static bool
fits(const search *self, const kw_layout *layout)
{
    kw_record record = {.values = KW_ARENA_ARRAY(self->scratch, kw_value, layout->table->fields_count)};
    kw_error ignored;
    for (size_t i = 0; i < self->sample->count; i++) {
        kw_bytes key = self->sample->keys[i];
        memset(record.values, 0, layout->table->fields_count * sizeof *record.values);
        if (!kw_layout_decode(layout, key, self->scratch, &record, &ignored) ||
            !self->sample->accepts(self->sample->user, &record))
            return false;
    }
    return true;
}

/* True if the rule with these components fits all keys. */
static bool
fits_with(search *self, const kw_model_component *components)
{
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("");
    kw_model_path path = *self->layout->model;
    path.components = components;
    self->tries++;
    const kw_layout *layout = kw_layout_compile(self->layout->table, &path, NULL, self->scratch, problems);
    return layout && fits(self, layout);
}

/* --- the text of a form ----------------------------------------------------------------------------- */

static void
describe_change(const change *made, GString *to)
{
    const kw_model_setting *setting = &made->setting;
    g_string_append_printf(to, "%s: ", setting->name);
    if (made->removed)
        g_string_append(to, "(none)");
    else if (setting->kind == KW_SETTING_INT)
        g_string_append_printf(to, "%" G_GINT64_FORMAT, setting->number);
    else if (setting->kind == KW_SETTING_BOOL)
        g_string_append(to, setting->flag ? "true" : "false");
    else if (setting->kind == KW_SETTING_TEXTS)
        g_string_append_printf(to, "[%s]", setting->texts[0]);
    else
        g_string_append(to, setting->text);
}

/* "salt: {buckets: 16}"; of a field "field ts: {order: desc}". */
static const char *
describe(const search *self, size_t index, const change *changes, size_t count)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const kw_component *component = self->layout->components[index];
    const char *name = component->kind->schema->name;
    if (strcmp(name, "field") == 0)
        g_string_append_printf(text, "field %s: {", self->layout->table->fields[component->field].name);
    else
        g_string_append_printf(text, "%s: {", name);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            g_string_append(text, ", ");
        describe_change(&changes[i], text);
    }
    g_string_append_c(text, '}');
    return kw_arena_text(self->arena, kw_bytes_of_text(text->str));
}

/* --- the search ------------------------------------------------------------------------------------- */

static bool
try_changes(search *self, size_t index, const change *changes, size_t count)
{
    const kw_model_path *path = self->layout->model;
    if (self->tries >= TRIES_MOST)
        return false;
    kw_arena_reset(self->scratch);
    kw_model_component *components =
        KW_ARENA_ARRAY(self->scratch, kw_model_component, path->components_count);
    memcpy(components, path->components, path->components_count * sizeof *components);
    components[index] = changed_component(self, &path->components[index], changes, count);
    if (!fits_with(self, components))
        return false;
    self->found = describe(self, index, changes, count);
    return true;
}

static bool
try_pairs(search *self, size_t index, const GArray *all)
{
    for (guint i = 0; i < all->len; i++)
        for (guint j = i + 1; j < all->len; j++) {
            const change pair[CHANGES_MOST] = {g_array_index(all, change, i), g_array_index(all, change, j)};
            if (strcmp(pair[0].setting.name, pair[1].setting.name) != 0 &&
                try_changes(self, index, pair, CHANGES_MOST))
                return true;
        }
    return false;
}

/* A ring has too many points to compile it a thousand times. */
static bool
is_costly(const kw_component *component)
{
    return strcmp(component->kind->schema->name, "ring") == 0;
}

static bool
try_component(search *self, size_t index, bool pairs)
{
    const kw_component *component = self->layout->components[index];
    const kw_component_schema *schema = component->kind->schema;
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(change));
    /* Another encoding can fit by chance where the right one only needs another setting: it is tried last. */
    for (int last = 0; last < 2; last++)
        for (size_t i = 0; i < schema->settings_count && !is_costly(component); i++)
            if ((strcmp(schema->settings[i].name, "encoding") == 0) == last)
                add_changes(self, &self->layout->model->components[index], &schema->settings[i], all);
    if (pairs)
        return try_pairs(self, index, all);
    for (guint i = 0; i < all->len; i++)
        if (try_changes(self, index, &g_array_index(all, change, i), 1))
            return true;
    return false;
}

static bool
try_all(search *self, size_t suspect, bool pairs)
{
    if (suspect < self->layout->count && try_component(self, suspect, pairs))
        return true;
    for (size_t i = 0; i < self->layout->count; i++)
        if (i != suspect && try_component(self, i, pairs))
            return true;
    return false;
}

const char *
kw_rule_find_alternative(const kw_layout *layout, const kw_key_sample *sample, size_t component,
                         kw_arena *arena)
{
    search self = {.layout = layout, .sample = sample, .arena = arena, .scratch = kw_arena_new()};
    if (sample->count >= KW_ALTERNATIVE_KEYS && !try_all(&self, component, false))
        try_all(&self, component, true);
    kw_arena_free(self.scratch);
    return self.found;
}
