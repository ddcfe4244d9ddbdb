/* enum: a field with declared values. A query that does not bind it can visit every value.
 *
 * Encoded as the value's index in the declared list (one byte, or two beyond 256 values) or as its text; no
 * text may be a prefix of another, so that each marks its own end.
 */
#include "rule/components/kinds.h"

#include <errno.h>
#include <stdlib.h>

/* Most values of one field: they are searched linearly. */
#define CHOICES_MAX 4096
#define SHOWN_MAX 80 /* bytes of a value in the component's text */

typedef struct choice {
    kw_value value;
    kw_bytes piece;
} choice;

typedef struct enumeration {
    kw_component base;
    const choice *choices; /* in the order of their pieces */
    size_t count;
} enumeration;

static bool
parse_value(const kw_site *site, const kw_field *field, const char *text, kw_value *ret_value)
{
    kw_value value = {.kind = kw_field_value_kind(field->type)};
    char *end;
    switch (value.kind) {
    case KW_VALUE_FLAG:
        value.flag = strcmp(text, "true") == 0;
        break;
    case KW_VALUE_NUMBER:
        errno = 0;
        value.number = strtoll(text, &end, 10);
        if (errno || *end || end == text)
            return kw_diagnostics_add(site->diagnostics, field->model->mark, NULL,
                                      "field %s: declared value \"%s\" is not a number", field->name, text);
        break;
    case KW_VALUE_TEXT:
    case KW_VALUE_BYTES:
        value.bytes = kw_bytes_of_text(text);
        break;
    case KW_VALUE_REAL:
    case KW_VALUE_MAP:
    case KW_VALUE_NONE:
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "field"), NULL,
                                  "enum: field %s has a type that cannot be enumerated", field->name);
    }
    *ret_value = value;
    return true;
}

static kw_bytes
index_piece(const kw_site *site, size_t index, uint32_t width)
{
    uint8_t bytes[2];
    kw_be16_store(bytes, (uint16_t)index);
    return kw_arena_copy(site->arena, kw_bytes_of(bytes + 2 - width, width));
}

static int
compare_pieces(const void *a, const void *b)
{
    return kw_bytes_compare(((const choice *)a)->piece, ((const choice *)b)->piece);
}

static const char *const bool_values[] = {"false", "true"};

static bool
fill_choices(const kw_site *site, const kw_field *field, bool as_text, enumeration *self)
{
    bool flags = field->type == KW_FIELD_BOOL;
    const char *const *texts = flags ? bool_values : field->model->values;
    self->count = flags ? 2 : field->model->values_count;
    if (self->count == 0 || self->count > CHOICES_MAX)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "field"),
                                  "declare the values of the field: values: [...]", "enum: field %s %s",
                                  field->name,
                                  self->count ? "declares too many values" : "declares no values");
    uint32_t width = self->count > 256 ? 2 : 1;
    choice *choices = KW_ARENA_ARRAY(site->arena, choice, self->count);
    for (size_t index = 0; index < self->count; index++) {
        if (!parse_value(site, field, texts[index], &choices[index].value))
            return false;
        choices[index].piece = as_text ? kw_bytes_of_text(texts[index]) : index_piece(site, index, width);
    }
    qsort(choices, self->count, sizeof *choices, compare_pieces);
    self->choices = choices;
    self->base.width = as_text ? 0 : width;
    return true;
}

/* If two texts are the same value, only the first would ever be written. */
static bool
check_distinct(const kw_site *site, const enumeration *self, const kw_field *field)
{
    for (size_t index = 1; index < self->count; index++) {
        for (size_t before = 0; before < index; before++) {
            char shown[80];
            if (!kw_value_equal(self->choices[before].value, self->choices[index].value))
                continue;
            kw_value_print(self->choices[index].value, shown, sizeof shown);
            return kw_diagnostics_add(site->diagnostics, field->model->mark, "declare it once",
                                      "enum: field %s declares the value %s twice", field->name, shown);
        }
    }
    return true;
}

/* In sorted order, a piece that is a prefix of others is directly before one of them. */
static bool
check_texts(const kw_site *site, enumeration *self)
{
    bool same_width = true;
    for (size_t index = 0; index < self->count; index++) {
        kw_bytes piece = self->choices[index].piece;
        kw_bytes next = index + 1 < self->count ? self->choices[index + 1].piece : KW_BYTES_NONE;
        if (index + 1 < self->count && kw_bytes_starts_with(next, piece))
            return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "as"), "use as: index",
                                      "enum: as text, the value \"%.*s\" is a prefix of \"%.*s\"",
                                      (int)piece.size, (const char *)piece.data, (int)next.size,
                                      (const char *)next.data);
        same_width = same_width && piece.size == self->choices[0].piece.size;
    }
    self->base.width = same_width ? (uint32_t)self->choices[0].piece.size : 0;
    return true;
}

static const char *
text_of(const kw_site *site, const enumeration *self, const kw_field *field, bool as_text)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "enum(%s as %s of ", field->name, as_text ? "text" : "index");
    for (size_t index = 0; index < self->count; index++)
        kw_site_list_value(text, index == 0, self->choices[index].value, SHOWN_MAX);
    g_string_append_c(text, ')');
    return kw_arena_text(site->arena, kw_bytes_of(text->str, text->len));
}

static const kw_component *
compile(const kw_site *site)
{
    int number = kw_site_field(site, "field");
    if (number < 0)
        return NULL;
    const kw_field *field = &site->table->fields[number];
    bool as_text = strcmp(kw_site_text(site, "as", "index"), "text") == 0;
    enumeration *self = (enumeration *)kw_site_component(site, sizeof(enumeration), &kw_component_enum);
    if (!fill_choices(site, field, as_text, self) || !check_distinct(site, self, field) ||
        (as_text && !check_texts(site, self)))
        return NULL;
    size_t *inputs = KW_ARENA_NEW(site->arena, size_t);
    *inputs = (size_t)number;
    kw_component *base = &self->base;
    base->inputs = inputs;
    base->inputs_count = 1;
    base->field = number;
    base->buckets = self->count;
    base->cuts = self->count;
    base->text = text_of(site, self, field, as_text);
    return base;
}

static bool
encode(const kw_component *component, const kw_value *values, kw_bytes rest, kw_buffer *out,
       kw_error *ret_error)
{
    const enumeration *self = (const enumeration *)component;
    (void)rest;
    kw_value value = values[component->field];
    for (size_t index = 0; index < self->count; index++) {
        if (kw_value_equal(self->choices[index].value, value)) {
            kw_buffer_append(out, self->choices[index].piece);
            return true;
        }
    }
    const char *table = component->table->name, *field = component->table->fields[component->field].name;
    if (value.kind == KW_VALUE_NONE)
        return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: is missing, and the row key needs it",
                            table, field);
    char shown[80];
    kw_value_print(value, shown, sizeof shown);
    return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: value %s is not a declared value", table,
                        field, shown);
}

static const choice *
find_piece(const enumeration *self, kw_bytes bytes)
{
    for (size_t index = 0; index < self->count; index++) {
        if (kw_bytes_starts_with(bytes, self->choices[index].piece))
            return &self->choices[index];
    }
    return NULL;
}

static bool
decode(const kw_component *component, kw_bytes piece, kw_arena *arena, kw_value *values, kw_error *ret_error)
{
    (void)arena;
    const choice *found = find_piece((const enumeration *)component, piece);
    if (!found)
        return kw_error_set(ret_error, KW_CORRUPT, "table %s, field %s: the row key holds no declared value",
                            component->table->name, component->table->fields[component->field].name);
    values[component->field] = found->value;
    return true;
}

static size_t
measure(const kw_component *component, kw_bytes bytes)
{
    const choice *found = find_piece((const enumeration *)component, bytes);
    return found ? found->piece.size : SIZE_MAX;
}

static size_t
enumerate(const kw_component *component, const kw_value_span *span, kw_arena *arena,
          const kw_bucket **ret_buckets)
{
    const enumeration *self = (const enumeration *)component;
    kw_bucket *buckets = KW_ARENA_ARRAY(arena, kw_bucket, self->count);
    size_t count = 0;
    for (size_t index = 0; index < self->count; index++) {
        const choice *it = &self->choices[index];
        if (span->field != component->field || kw_value_span_holds(span, it->value))
            buckets[count++] = (kw_bucket){.bytes = it->piece, .field = component->field, .value = it->value};
    }
    *ret_buckets = buckets;
    return count;
}

static kw_bytes
piece(const kw_component *component, uint64_t index, kw_arena *arena)
{
    (void)arena;
    return ((const enumeration *)component)->choices[index].piece;
}

static const char *const forms[] = {"index", "text", NULL};

static const kw_setting_schema settings[] = {
    {.name = "field",
     .kind = KW_SETTING_TEXT,
     .required = true,
     .about = "A field with declared values, or a bool."},
    {.name = "as",
     .kind = KW_SETTING_CHOICE,
     .choices = forms,
     .fallback = "index",
     .about = "index: the position in the declared list, as one byte (two bytes for more than 256 values). "
              "text: the value's text."},
};

static const kw_component_schema schema = {
    .name = "enum",
    .about = "A field with declared values. A read that does not bind the field visits every value.",
    .settings = settings,
    .settings_count = G_N_ELEMENTS(settings),
};

const kw_component_kind kw_component_enum = {
    .schema = &schema,
    .compile = compile,
    .encode = encode,
    .decode = decode,
    .measure = measure,
    .enumerate = enumerate,
    .piece = piece,
};
