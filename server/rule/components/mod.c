/* mod: a numeric field modulo a number of buckets (never negative).
 *
 * A query with a range that has fewer values than there are buckets visits only the buckets of these values.
 */
#include "rule/components/kinds.h"
#include "rule/derived.h"

typedef struct mod {
    kw_component base;
    kw_bucket_form form;
} mod;

static const kw_component *
compile(const kw_site *site)
{
    mod *self = (mod *)kw_site_component(site, sizeof(mod), &kw_component_mod);
    int field = kw_site_field(site, "of");
    if (field < 0 || !kw_bucket_form_read(site, KW_BUCKET_NEVER_NEGATIVE, &self->form))
        return NULL;
    if (kw_field_value_kind(site->table->fields[field].type) != KW_VALUE_NUMBER) {
        kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "of"), "use salt instead",
                           "mod: field %s is neither an int nor a timestamp",
                           site->table->fields[field].name);
        return NULL;
    }
    size_t *inputs = KW_ARENA_NEW(site->arena, size_t);
    *inputs = (size_t)field;
    kw_component *base = &self->base;
    base->inputs = inputs;
    base->inputs_count = 1;
    base->width = self->form.width;
    base->buckets = self->form.buckets;
    base->cuts = self->form.buckets;
    base->text = kw_arena_printf(site->arena, "mod(%s modulo %s)", site->table->fields[field].name,
                                 kw_bucket_form_text(site, &self->form));
    return base;
}

static uint32_t
bucket_of(const kw_bucket_form *form, int64_t value)
{
    int64_t remainder = value % (int64_t)form->modulus;
    return (uint32_t)(remainder < 0 ? remainder + (int64_t)form->modulus : remainder);
}

static bool
encode(const kw_component *component, const kw_value *values, kw_bytes rest, kw_buffer *out,
       kw_error *ret_error)
{
    const mod *self = (const mod *)component;
    (void)rest;
    kw_value value = values[component->inputs[0]];
    if (value.kind != KW_VALUE_NUMBER)
        return kw_derived_missing(component, component->inputs[0], ret_error);
    kw_bucket_form_append(&self->form, bucket_of(&self->form, value.number), out);
    return true;
}

static size_t
enumerate(const kw_component *component, const kw_value_span *span, kw_arena *arena,
          const kw_bucket **ret_buckets)
{
    return kw_bucket_form_within(&((const mod *)component)->form, component, span, bucket_of, arena,
                                 ret_buckets);
}

static kw_bytes
piece(const kw_component *component, uint64_t index, kw_arena *arena)
{
    return kw_bucket_form_piece(&((const mod *)component)->form, (uint32_t)index, arena);
}

static const kw_setting_schema settings[] = {
    {.name = "of", .kind = KW_SETTING_TEXT, .required = true, .about = "An int or timestamp field."},
    KW_BUCKET_SETTINGS,
};

static const kw_component_schema schema = {
    .name = "mod",
    .about = "A numeric field modulo the number of buckets.",
    .settings = settings,
    .settings_count = G_N_ELEMENTS(settings),
};

const kw_component_kind kw_component_mod = {
    .schema = &schema,
    .compile = compile,
    .encode = encode,
    .enumerate = enumerate,
    .piece = piece,
};
