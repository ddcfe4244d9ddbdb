#include "plan/key_patterns.h"

#include "plan/cover.h"
#include "plan/ends.h"

/* Maximum number of patterns: a row that does not match is compared with all of them. */
#define PATTERNS_MOST 16
#define PATTERN_BYTES_MOST 256

/* A pattern under construction. */
typedef struct kw_shape {
    uint8_t bytes[PATTERN_BYTES_MOST]; /* these and the mask are zero after `size` */
    uint8_t mask[PATTERN_BYTES_MOST];
    size_t size;
    size_t known; /* up to the last byte that must be equal */
} kw_shape;

typedef struct kw_pattern_search {
    const kw_path_analysis *analysis;
    const kw_normalized_query *normalized;
    kw_arena *arena;
    kw_value *values; /* per field; NONE unless it is bound to a single value */
    kw_shape *shapes;
    size_t count;
} kw_pattern_search;

/* The prefixes that one component's piece can have. */
typedef struct kw_forms {
    kw_bytes items[PATTERNS_MOST];
    size_t count; /* 0: the piece is unknown */
} kw_forms;

/* --- what is known about one piece ------------------------------------------------------------------ */

/* False if no record with these values has a key, so no pattern is needed. */
static bool
encode(kw_pattern_search *self, const kw_component *component, kw_forms *forms)
{
    g_auto(kw_buffer) piece = KW_BUFFER_EMPTY;
    kw_error ignored;
    bool good = component->kind->encode(component, self->values, KW_BYTES_NONE, &piece, &ignored);
    if (good)
        forms->items[forms->count++] = kw_arena_copy(self->arena, kw_buffer_bytes(&piece));
    return good;
}

/* For a piece that depends on one field bound to a list. */
static void
list_forms(kw_pattern_search *self, const kw_component *component, kw_forms *forms)
{
    size_t field = component->inputs[0];
    const kw_bound *bound = &self->normalized->bounds[field];
    if (bound->count * self->count > PATTERNS_MOST)
        return;
    for (size_t i = 0; i < bound->count; i++) {
        self->values[field] = bound->values[i];
        encode(self, component, forms); /* a value that no key can contain needs no pattern */
    }
    self->values[field] = (kw_value){.kind = KW_VALUE_NONE};
}

/* Returns `width` bytes: the beginning of `from`, padded with zeros. */
static uint8_t *
filled(kw_bytes from, size_t width, kw_arena *arena)
{
    uint8_t *bytes = kw_arena_alloc0(arena, width);
    if (from.size)
        memcpy(bytes, from.data, MIN(from.size, width));
    return bytes;
}

/* Decrements the number, which is not zero. */
static void
step_down(uint8_t *bytes, size_t width)
{
    while (width > 0 && bytes[--width]-- == 0)
        continue;
}

static void
range_forms(kw_pattern_search *self, const kw_component *component, kw_forms *forms)
{
    kw_ends ends = kw_ends_of(component, &self->normalized->span, self->arena);
    size_t width = component->width;
    uint8_t *low = filled(ends.low, width, self->arena);
    uint8_t *high = filled(ends.high, width, self->arena);
    if (ends.high_open)
        memset(high, 0xff, width);
    else if (ends.high.size <= width)
        step_down(high, width); /* if it is the least piece, the ends are empty */
    kw_bytes from = kw_bytes_of(low, width), to = kw_bytes_of(high, width);
    if (!ends.empty && kw_bytes_compare(from, to) <= 0)
        forms->count = kw_cover(from, to, PATTERNS_MOST / self->count, self->arena, forms->items);
}

static bool
all_single(const kw_pattern_search *self, const kw_component *component)
{
    for (size_t i = 0; i < component->inputs_count; i++)
        if (self->values[component->inputs[i]].kind == KW_VALUE_NONE)
            return false;
    return true;
}

static kw_forms
forms_of(kw_pattern_search *self, size_t index, const kw_component *component)
{
    kw_forms forms = {.count = 0};
    bool in_range = index == self->analysis->used && self->analysis->stop == KW_STOP_RANGE;
    if (in_range || component->inputs_count == 0 || component->of_rest || component->choice)
        return forms; /* met by every row of the ranges, or not expressible as bytes */
    if (all_single(self, component))
        encode(self, component, &forms);
    else if (component->inputs_count == 1 && self->normalized->bounds[component->inputs[0]].count > 1)
        list_forms(self, component, &forms);
    else if (component->field >= 0 && component->field == self->normalized->span.field &&
             component->clock < 0 && component->width && component->direction)
        range_forms(self, component, &forms);
    return forms;
}

/* --- shapes ----------------------------------------------------------------------------------------- */

static bool
has_space(const kw_pattern_search *self, size_t more)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->shapes[i].size + more > PATTERN_BYTES_MOST)
            return false;
    return true;
}

static void
append_any(kw_pattern_search *self, size_t width)
{
    for (size_t i = 0; i < self->count; i++) {
        kw_shape *shape = &self->shapes[i];
        memset(shape->mask + shape->size, 1, width);
        shape->size += width;
    }
}

static void
append_form(kw_shape *shape, kw_bytes form, size_t width)
{
    if (form.size)
        memcpy(shape->bytes + shape->size, form.data, form.size);
    shape->size += form.size;
    shape->known = shape->size;
    if (form.size < width) {
        memset(shape->mask + shape->size, 1, width - form.size);
        shape->size += width - form.size;
    }
}

/* Continues every shape with every form. */
static void
multiply(kw_pattern_search *self, const kw_forms *forms, size_t width)
{
    kw_shape *shapes = KW_ARENA_ARRAY(self->arena, kw_shape, self->count * forms->count);
    for (size_t i = 0; i < self->count; i++)
        for (size_t k = 0; k < forms->count; k++) {
            kw_shape *shape = &shapes[i * forms->count + k];
            *shape = self->shapes[i];
            append_form(shape, forms->items[k], width);
        }
    self->shapes = shapes;
    self->count *= forms->count;
}

static bool
same_size(const kw_forms *forms)
{
    for (size_t i = 1; i < forms->count; i++)
        if (forms->items[i].size != forms->items[0].size)
            return false;
    return true;
}

/* False if no pattern can continue after this component. */
static bool
take(kw_pattern_search *self, size_t index)
{
    const kw_component *component = kw_layout_component(self->analysis->layout, index);
    kw_forms forms = forms_of(self, index, component);
    size_t longest = component->width;
    for (size_t i = 0; i < forms.count; i++)
        longest = MAX(longest, forms.items[i].size);
    if (!has_space(self, longest))
        return false;
    if (forms.count)
        multiply(self, &forms, component->width);
    else if (component->width)
        append_any(self, component->width);
    return component->width || (forms.count && same_size(&forms));
}

/* --- all -------------------------------------------------------------------------------------------- */

/* A shape without known bytes passes every row; all patterns together would then, too. */
static size_t
settle(const kw_pattern_search *self, kw_pattern *patterns)
{
    for (size_t i = 0; i < self->count; i++) {
        const kw_shape *shape = &self->shapes[i];
        if (shape->known == 0)
            return 0;
        uint8_t *mask = kw_arena_alloc(self->arena, shape->known);
        memcpy(mask, shape->mask, shape->known);
        patterns[i] = (kw_pattern){
            .bytes = kw_arena_copy(self->arena, kw_bytes_of(shape->bytes, shape->known)), .mask = mask};
    }
    return self->count;
}

kw_key_patterns
kw_key_patterns_make(const kw_path_analysis *analysis, const kw_normalized_query *normalized, kw_arena *arena)
{
    kw_pattern_search self = {.analysis = analysis, .normalized = normalized, .arena = arena, .count = 1};
    size_t count = kw_layout_component_count(analysis->layout), fields = normalized->table->fields_count;
    kw_key_patterns found = {.from = analysis->stop == KW_STOP_RUNS ? analysis->used + 1 : analysis->used};
    if (analysis->stop == KW_STOP_COMPLETE || found.from >= count)
        return found;
    self.shapes = KW_ARENA_NEW(arena, kw_shape);
    self.values = KW_ARENA_ARRAY(arena, kw_value, fields);
    for (size_t field = 0; field < fields; field++)
        if (normalized->bounds[field].count == 1)
            self.values[field] = normalized->bounds[field].values[0];
    for (size_t index = found.from; index < count && take(&self, index); index++)
        ;
    kw_pattern *patterns = KW_ARENA_ARRAY(arena, kw_pattern, self.count);
    found.count = settle(&self, patterns);
    found.patterns = patterns;
    return found;
}
