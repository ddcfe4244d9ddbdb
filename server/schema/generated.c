/* See generated.h. Samples represent all values of a kind: a component that accepts the samples accepts every
 * value. Only for times, it suffices that it accepts one of the samples. */
#include "schema/generated.h"

/* Bytes are tried with each value of a byte, because one of them can be a terminator. */
#define SAMPLES_MAX 256

typedef struct samples {
    kw_value items[SAMPLES_MAX];
    size_t count;
    bool any; /* true: it suffices that one of them fits */
} samples;

static void
add_number(samples *values, int64_t number)
{
    values->items[values->count++] = (kw_value){.kind = KW_VALUE_NUMBER, .number = number};
}

/* The greatest snowflake of a second. Its minute of the hour must be the one that its bits encode. */
static int64_t
partitioned_at(int64_t seconds)
{
    return seconds / 60 % 60 << 57 | seconds << 25 | ((1 << 25) - 1);
}

static void
sample_numbers(const kw_model_generate *how, samples *values)
{
    if (how->kind == KW_GENERATE_SEQUENCE) {
        add_number(values, how->from);
        if (how->to != INT64_MAX) /* otherwise see kw_generated_outgrows */
            add_number(values, how->to);
    } else if (how->partitioned) {
        add_number(values, partitioned_at(UINT32_MAX));
        add_number(values, partitioned_at(INT64_C(1767229199))); /* minute 59 */
    } else {
        add_number(values, INT64_MAX);
    }
}

/* Times of 2026 and 2036. A range of times that contains only one of them is not a mistake. */
static void
sample_times(kw_time_unit unit, samples *values)
{
    static const int64_t per_s[] = {1, 1000, 1000000, 1000000000};
    values->any = true;
    add_number(values, INT64_C(1767225600) * per_s[unit]); /* 2026 */
    add_number(values, INT64_C(2082758400) * per_s[unit]); /* 2036 */
}

static void
sample_ids(const kw_field *field, kw_arena *arena, samples *values)
{
    bool object = field->model->generate.kind == KW_GENERATE_OBJECTID;
    size_t size = object ? 12 : 16;
    if (field->type == KW_FIELD_STRING) {
        const char *text = object ? "0123456789abcdef01234567" : "01234567-89ab-7cde-8f01-23456789abcd";
        values->items[values->count++] = (kw_value){.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of_text(text)};
        return;
    }
    for (unsigned byte = 0; byte < SAMPLES_MAX; byte++) {
        uint8_t *id = kw_arena_alloc(arena, size);
        memset(id, (int)byte, size);
        values->items[values->count++] = (kw_value){.kind = KW_VALUE_BYTES, .bytes = kw_bytes_of(id, size)};
    }
}

static void
collect_samples(const kw_field *field, kw_arena *arena, samples *ret_values)
{
    *ret_values = (samples){.count = 0};
    switch (field->model->generate.kind) {
    case KW_GENERATE_SEQUENCE:
    case KW_GENERATE_SNOWFLAKE:
        sample_numbers(&field->model->generate, ret_values);
        return;
    case KW_GENERATE_NOW:
        sample_times(field->unit, ret_values);
        return;
    case KW_GENERATE_UUID4:
    case KW_GENERATE_UUID7:
    case KW_GENERATE_OBJECTID:
        sample_ids(field, arena, ret_values);
        return;
    }
    g_assert_not_reached();
}

/* ------------------------------------------------------------------------------------------------------ */

static bool
is_held(const kw_table *table, const kw_component *component, size_t field, kw_value value,
        kw_error *ret_error)
{
    if (component)
        return component->kind->accepts(component, field, value, ret_error);
    return kw_table_check_value(table, field, value, ret_error);
}

/* component NULL: the field's column. */
static bool
all_held(const kw_table *table, const kw_component *component, size_t field, const samples *values,
         kw_error *ret_error)
{
    bool some = false;
    for (size_t index = 0; index < values->count; index++) {
        bool held = is_held(table, component, field, values->items[index], ret_error);
        if (!held && !values->any)
            return false;
        some = some || held;
    }
    return some;
}

static const char *
hint_of(const kw_model_generate *how)
{
    return how->kind == KW_GENERATE_SEQUENCE
               ? "end the sequence (to) at a number that fits, or use an encoding for greater numbers"
               : "use an encoding and a width that hold every such value";
}

static void
check_component(kw_hazards *hazards, const kw_path *path, const kw_component *component, size_t field,
                const samples *values)
{
    kw_error error = KW_ERROR_NONE;
    bool reads = false;
    for (size_t input = 0; input < component->inputs_count; input++)
        reads = reads || component->inputs[input] == field;
    if (!reads || !component->kind->accepts || all_held(path->table, component, field, values, &error))
        return;
    kw_hazards_add(hazards, path->table, path, component->mark,
                   hint_of(&component->table->fields[field].model->generate),
                   "path %s: %s cannot hold every generated value: %s", path->name, component->text,
                   error.text);
}

void
kw_generated_check(kw_hazards *hazards, const kw_table *table)
{
    for (size_t index = 0; index < table->generated_count; index++) {
        size_t number = table->generated[index];
        const kw_field *field = &table->fields[number];
        kw_error error = KW_ERROR_NONE;
        samples values;
        collect_samples(field, hazards->arena, &values);
        if (!all_held(table, NULL, number, &values, &error))
            kw_hazards_add(hazards, table, NULL, field->model->generate.mark,
                           hint_of(&field->model->generate),
                           "the column of the field cannot hold every generated value: %s", error.text);
        for (size_t path = 0; path < table->paths_count; path++)
            for (size_t at = 0; at < table->paths[path].layout->count; at++)
                check_component(hazards, &table->paths[path], table->paths[path].layout->components[at],
                                number, &values);
    }
}

bool
kw_generated_outgrows(const kw_component *component, size_t field, kw_error *ret_error)
{
    const kw_model_generate *how = &component->table->fields[field].model->generate;
    kw_value last = {.kind = KW_VALUE_NUMBER, .number = INT64_MAX};
    return how->enabled && how->kind == KW_GENERATE_SEQUENCE && how->to == INT64_MAX &&
           component->kind->accepts && !component->kind->accepts(component, field, last, ret_error);
}
