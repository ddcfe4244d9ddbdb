/* The table of component kinds, helpers of their compile functions, and spans. */
#include "rule/component.h"

#include "rule/components/kinds.h"
#include "rule/digest.h"

/* One row per kind. */
static const kw_component_kind *const kinds[] = {
    &kw_component_field, &kw_component_literal, &kw_component_hash,     &kw_component_salt, &kw_component_mod,
    &kw_component_enum,  &kw_component_ring,    &kw_component_calendar, &kw_component_bits,
};

static const kw_component_schema *schemas[G_N_ELEMENTS(kinds)];

static void
collect_schemas(void)
{
    for (size_t index = 0; index < G_N_ELEMENTS(kinds); index++)
        schemas[index] = kinds[index]->schema;
}

const kw_component_schema *const *
kw_rule_schemas(size_t *ret_count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, collect_schemas);
    *ret_count = G_N_ELEMENTS(kinds);
    return schemas;
}

const kw_component_kind *
kw_component_kind_find(const char *name)
{
    for (size_t index = 0; index < G_N_ELEMENTS(kinds); index++) {
        if (strcmp(kinds[index]->schema->name, name) == 0)
            return kinds[index];
    }
    return NULL;
}

const char *
kw_site_text(const kw_site *site, const char *setting, const char *fallback)
{
    const kw_model_setting *found = kw_model_setting_find(site->model, setting);
    return found ? found->text : fallback;
}

int64_t
kw_site_number(const kw_site *site, const char *setting, int64_t fallback)
{
    const kw_model_setting *found = kw_model_setting_find(site->model, setting);
    return found ? found->number : fallback;
}

bool
kw_site_flag(const kw_site *site, const char *setting, bool fallback)
{
    const kw_model_setting *found = kw_model_setting_find(site->model, setting);
    return found ? found->flag : fallback;
}

kw_mark
kw_site_mark(const kw_site *site, const char *setting)
{
    const kw_model_setting *found = kw_model_setting_find(site->model, setting);
    return found ? found->mark : site->model->mark;
}

static int
find_field(const kw_site *site, const char *name, kw_mark mark)
{
    int field = kw_field_set_find(site->table, kw_bytes_of_text(name));
    if (field >= 0 && site->table->fields[field].type == KW_FIELD_MAP) {
        kw_diagnostics_add(site->diagnostics, mark, "use fields with a single value",
                           "field %s is a map, which cannot be part of a row key", name);
        return -1;
    }
    if (field >= 0)
        return field;
    kw_digest digest;
    const char *near = kw_field_set_nearest(site->table, kw_bytes_of_text(name));
    g_autofree char *hint =
        near ? g_strdup_printf("did you mean \"%s\"?", near)
        : kw_digest_find(name, &digest)
            ? g_strdup_printf("to choose the algorithm, write {algorithm: %s, of: [FIELD]}", name)
            : NULL;
    kw_diagnostics_add(site->diagnostics, mark, hint, "table %s has no field \"%s\"", site->table->name,
                       name);
    return -1;
}

int
kw_site_field(const kw_site *site, const char *setting)
{
    const char *name = kw_site_text(site, setting, NULL);
    if (name)
        return find_field(site, name, kw_site_mark(site, setting));
    kw_diagnostics_add(site->diagnostics, site->model->mark, NULL, "%s: needs the setting \"%s\"",
                       site->model->name, setting);
    return -1;
}

bool
kw_site_fields(const kw_site *site, const char *setting, const size_t **ret_fields, size_t *ret_count)
{
    const kw_model_setting *found = kw_model_setting_find(site->model, setting);
    if (!found || found->texts_count == 0)
        return kw_diagnostics_add(site->diagnostics, site->model->mark, NULL,
                                  "%s: needs the setting \"%s\" with at least one field", site->model->name,
                                  setting);
    size_t *fields = KW_ARENA_ARRAY(site->arena, size_t, found->texts_count);
    for (size_t index = 0; index < found->texts_count; index++) {
        kw_mark mark = found->text_marks ? found->text_marks[index] : found->mark;
        int field = find_field(site, found->texts[index], mark);
        if (field < 0)
            return false;
        fields[index] = (size_t)field;
    }
    *ret_fields = fields;
    *ret_count = found->texts_count;
    return true;
}

kw_component *
kw_site_component(const kw_site *site, size_t size, const kw_component_kind *kind)
{
    g_assert(kind && size >= sizeof(kw_component));
    kw_component *component = kw_arena_alloc0(site->arena, size);
    *component = (kw_component){
        .kind = kind,
        .table = site->table,
        .mark = site->model->mark,
        .field = -1,
        .clock = -1,
        .unit = 1,
        .cell_s = 1,
        .delimited = true,
    };
    return component;
}

void
kw_site_hazard(const kw_site *site, kw_component *component, kw_mark mark, const char *hint, const char *text)
{
    g_assert(text && !component->hazard);
    kw_component_hazard *hazard = KW_ARENA_NEW(site->arena, kw_component_hazard);
    *hazard = (kw_component_hazard){.mark = mark, .text = text, .hint = hint};
    component->hazard = hazard;
}

void
kw_site_list_value(GString *text, bool first, kw_value value, size_t shown_max)
{
    char shown[4 * KW_DERIVED_PIECE_MAX + 8];
    g_assert(shown_max <= sizeof shown);
    kw_value_print(value, shown, shown_max);
    g_string_append_printf(text, "%s%s", first ? "" : ", ", shown);
}

const char *
kw_site_field_names(const kw_site *site, const size_t *fields, size_t count)
{
    const char *names = "";
    for (size_t index = 0; index < count; index++)
        names = kw_arena_printf(site->arena, "%s%s%s", names, index ? ", " : "",
                                site->table->fields[fields[index]].name);
    return names;
}

bool
kw_value_span_holds(const kw_value_span *span, kw_value value)
{
    if (span->from.kind != KW_VALUE_NONE) {
        int order = kw_value_compare(value, span->from);
        if (order < 0 || (order == 0 && !span->from_inclusive))
            return false;
    }
    if (span->to.kind != KW_VALUE_NONE) {
        int order = kw_value_compare(value, span->to);
        if (order > 0 || (order == 0 && !span->to_inclusive))
            return false;
    }
    return true;
}

bool
kw_value_span_numbers(const kw_value_span *span, int64_t *ret_least, int64_t *ret_most)
{
    int64_t least = span->from.kind == KW_VALUE_NUMBER ? span->from.number : INT64_MIN;
    int64_t most = span->to.kind == KW_VALUE_NUMBER ? span->to.number : INT64_MAX;
    if (span->from.kind == KW_VALUE_NUMBER && !span->from_inclusive &&
        __builtin_add_overflow(least, 1, &least))
        return false;
    if (span->to.kind == KW_VALUE_NUMBER && !span->to_inclusive && __builtin_sub_overflow(most, 1, &most))
        return false;
    *ret_least = least;
    *ret_most = most;
    return least <= most;
}
