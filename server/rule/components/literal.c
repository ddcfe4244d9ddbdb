/* literal: the same bytes in every key, such as a separator. */
#include "rule/components/kinds.h"
#include "rule/splits.h"

typedef struct literal {
    kw_component base;
    kw_bytes bytes;
} literal;

static const kw_component *
compile(const kw_site *site)
{
    const char *text = kw_site_text(site, "text", "");
    kw_bytes bytes;
    kw_error error = KW_ERROR_NONE;
    if (!kw_bytes_from_binary_text(text, site->arena, &bytes, &error)) {
        kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "text"), "write a backslash as \\x5C",
                           "literal: %s", error.text);
        return NULL;
    }
    if (bytes.size == 0 || bytes.size > KW_DERIVED_PIECE_MAX) {
        kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "text"), NULL,
                           "literal: must have 1 to %d bytes, not %zu", KW_DERIVED_PIECE_MAX, bytes.size);
        return NULL;
    }
    literal *self = (literal *)kw_site_component(site, sizeof(literal), &kw_component_literal);
    self->bytes = bytes;
    self->base.width = (uint32_t)bytes.size;
    self->base.cuts = 1;
    self->base.text =
        kw_arena_printf(site->arena, "literal(\"%s\")", kw_bytes_to_binary_text(bytes, site->arena));
    return &self->base;
}

static bool
encode(const kw_component *component, const kw_value *values, kw_bytes rest, kw_buffer *out,
       kw_error *ret_error)
{
    (void)values;
    (void)rest;
    (void)ret_error;
    kw_buffer_append(out, ((const literal *)component)->bytes);
    return true;
}

static kw_bytes
piece(const kw_component *component, uint64_t index, kw_arena *arena)
{
    (void)index;
    (void)arena;
    return ((const literal *)component)->bytes;
}

static const kw_setting_schema settings[] = {
    {.name = "text",
     .kind = KW_SETTING_TEXT,
     .required = true,
     .about = "The bytes, as text with \\xNN escapes, such as '|' or '\\x00'. Use single quotes: in double "
              "quotes, YAML itself replaces the escape by a character."},
};

static const kw_component_schema schema = {
    .name = "literal",
    .about = "The same bytes in every key, such as a separator.",
    .settings = settings,
    .settings_count = G_N_ELEMENTS(settings),
};

const kw_component_kind kw_component_literal = {
    .schema = &schema,
    .compile = compile,
    .encode = encode,
    .piece = piece,
};
