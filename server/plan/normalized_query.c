/* Normalizes queries, so that equivalent queries become equal. */
#include "plan/normalized_query.h"

#include "base/sorting.h"

#include <stdlib.h>

/* A value that a field is bound to, and its code in keys. Sorted by code. */
typedef struct kw_coarse_value {
    int64_t code;
    kw_value value;
} kw_coarse_value;

struct kw_coarse {
    const kw_coarse_value *values; /* NULL: not bound, or keys contain the field exactly or not at all */
    size_t count;
};

/* A double field also accepts integers: converts them to doubles. */
static kw_value
settle_kind(const kw_field *field, kw_value value)
{
    if (field->type == KW_FIELD_DOUBLE && value.kind == KW_VALUE_NUMBER)
        return (kw_value){.kind = KW_VALUE_REAL, .real = (double)value.number};
    return value;
}

/* The ends of a range can be longer or greater than any value of the field: only the kind must fit. */
static bool
check_end(const kw_table *table, const kw_field *field, kw_value end, kw_error *ret_error)
{
    kw_value_kind wanted = kw_field_value_kind(field->type);
    if (end.kind == KW_VALUE_NONE || settle_kind(field, end).kind == wanted)
        return true;
    return kw_error_set(ret_error, KW_INVALID,
                        "table %s, field %s: an end of the range does not have the field's type", table->name,
                        field->name);
}

/* False if no value can match. */
static bool
settle_span(kw_value_span *span)
{
    if (span->from.kind == KW_VALUE_NUMBER && !span->from_inclusive) {
        span->from_inclusive = true;
        if (__builtin_add_overflow(span->from.number, 1, &span->from.number))
            return false;
    }
    if (span->to.kind == KW_VALUE_NUMBER && !span->to_inclusive) {
        span->to_inclusive = true;
        if (__builtin_sub_overflow(span->to.number, 1, &span->to.number))
            return false;
    }
    if (span->from.kind == KW_VALUE_NONE || span->to.kind == KW_VALUE_NONE)
        return true;
    int order = kw_value_compare(span->from, span->to);
    return order < 0 || (order == 0 && span->from_inclusive && span->to_inclusive);
}

static bool
take_span(const kw_record_query *query, kw_normalized_query *normalized, kw_error *ret_error)
{
    normalized->span = normalized->also = (kw_value_span){.field = -1};
    bool open = query->from.kind == KW_VALUE_NONE && query->to.kind == KW_VALUE_NONE;
    if (query->range_field < 0)
        return true;
    g_assert((size_t)query->range_field < normalized->table->fields_count);
    const kw_field *field = &normalized->table->fields[query->range_field];
    if (!check_end(normalized->table, field, query->from, ret_error) ||
        !check_end(normalized->table, field, query->to, ret_error))
        return false;
    if (open)
        return true;
    normalized->span = (kw_value_span){
        .field = query->range_field,
        .from = settle_kind(field, query->from),
        .to = settle_kind(field, query->to),
        .from_inclusive = query->from_inclusive,
        .to_inclusive = query->to_inclusive,
    };
    normalized->empty = !settle_span(&normalized->span);
    return true;
}

static int
compare_values(const void *a, const void *b)
{
    return kw_value_compare(*(const kw_value *)a, *(const kw_value *)b);
}

/* Sorts the values of one field and removes repeated ones. Returns the number of values that remain. Texts
 * are sorted without comparing whole texts, which can be long. */
static size_t
sort_texts(kw_value *values, size_t count)
{
    size_t kept = 0;
    g_autofree kw_sort_item *items = g_new(kw_sort_item, count);
    g_autofree kw_value *sorted = g_new(kw_value, count);
    for (size_t index = 0; index < count; index++)
        items[index] = (kw_sort_item){.bytes = values[index].bytes, .index = index};
    kw_sort_items(items, count);
    for (size_t index = 0; index < count; index++)
        if (index == 0 || !kw_bytes_equal(items[index - 1].bytes, items[index].bytes))
            sorted[kept++] = values[items[index].index];
    memcpy(values, sorted, kept * sizeof *values);
    return kept;
}

static size_t
sort_values(const kw_field *field, kw_value *values, size_t count)
{
    size_t kept = 0;
    kw_value_kind kind = kw_field_value_kind(field->type);
    if (count > 1 && (kind == KW_VALUE_TEXT || kind == KW_VALUE_BYTES))
        return sort_texts(values, count);
    if (count > 1)
        qsort(values, count, sizeof *values, compare_values);
    for (size_t index = 0; index < count; index++)
        if (kept == 0 || kw_value_compare(values[kept - 1], values[index]) != 0)
            values[kept++] = values[index];
    return kept;
}

/* A layout that distinguishes records as all layouts of the table do, and that can encode all of them. */
static const kw_layout *
identity_layout(const kw_table *table)
{
    return kw_path_scanned(&table->paths[0])->layout;
}

static bool
take_bound(const kw_record_query *query, size_t number, kw_normalized_query *normalized, kw_arena *arena,
           kw_bound *ret_bound, kw_error *ret_error)
{
    const kw_bound *asked = &query->bounds[number];
    const kw_field *field = &normalized->table->fields[number];
    bool coarse = kw_layout_holds_coarsely(identity_layout(normalized->table), number);
    kw_value *values = KW_ARENA_ARRAY(arena, kw_value, asked->count);
    size_t count = 0;
    for (size_t index = 0; index < asked->count; index++) {
        if (!kw_table_check_value(normalized->table, number, asked->values[index], ret_error))
            return false;
        values[count] = settle_kind(field, asked->values[index]);
        if (coarse || normalized->span.field != (int)number ||
            kw_value_span_holds(&normalized->span, values[count]))
            count++;
    }
    size_t kept = sort_values(field, values, count);
    *ret_bound = (kw_bound){.values = values, .count = kept};
    if (kept == 0)
        normalized->empty = true;
    if (normalized->span.field == (int)number) {
        normalized->also = coarse ? normalized->span : normalized->also;
        normalized->span.field = -1; /* every remaining value meets it, or `also` checks each row */
    }
    return true;
}

static int
compare_codes(const void *a, const void *b)
{
    const kw_coarse_value *left = a, *right = b;
    return (left->code > right->code) - (left->code < right->code);
}

/* If keys store a time coarsely, all times with the same code identify the same record, whatever its exact
 * time is. */
static const struct kw_coarse *
take_coarse(const kw_normalized_query *normalized, const kw_bound *bounds, kw_arena *arena)
{
    const kw_layout *layout = identity_layout(normalized->table);
    struct kw_coarse *coarse = NULL;
    for (size_t field = 0; field < normalized->table->fields_count; field++) {
        const kw_bound *bound = &bounds[field];
        if (bound->count == 0 || !kw_layout_holds_coarsely(layout, field))
            continue;
        coarse = coarse ? coarse : KW_ARENA_ARRAY(arena, struct kw_coarse, normalized->table->fields_count);
        kw_coarse_value *values = KW_ARENA_ARRAY(arena, kw_coarse_value, bound->count);
        size_t count = 0;
        for (size_t index = 0; index < bound->count; index++) {
            values[count].value = bound->values[index];
            count += kw_layout_code(layout, field, bound->values[index], &values[count].code);
        }
        if (count > 1)
            qsort(values, count, sizeof *values, compare_codes);
        coarse[field] = (struct kw_coarse){.values = values, .count = count};
    }
    return coarse;
}

/* --- the limit of ranges --------------------------------------------------------------------------- */

/* A plan with as many ranges as this limit allows has at least this many, whatever the size of its keys. */
#define RANGES_LEAST 128

static size_t
text_size(kw_value value)
{
    bool sized = value.kind == KW_VALUE_TEXT || value.kind == KW_VALUE_BYTES;
    return sized ? value.bytes.size : 0;
}

static size_t
average_size(const kw_bound *bound)
{
    size_t sum = 0;
    for (size_t index = 0; index < bound->count; index++)
        sum += text_size(bound->values[index]);
    return bound->count ? sum / bound->count : 0;
}

static bool
is_in_a_key(const kw_table *table, size_t field)
{
    for (size_t index = 0; index < table->placements_count; index++)
        if (kw_layout_holds_field(table->placements[index].layout, field))
            return true;
    return false;
}

/* The bytes that the query's values have in one key, on average. */
static size_t
key_bytes(const kw_normalized_query *normalized)
{
    size_t sum = 0;
    for (size_t field = 0; field < normalized->table->fields_count; field++) {
        size_t bytes = average_size(&normalized->bounds[field]);
        if (normalized->span.field == (int)field)
            bytes = MAX(text_size(normalized->span.from), text_size(normalized->span.to));
        if (bytes && is_in_a_key(normalized->table, field))
            sum += bytes;
    }
    return sum;
}

/* A cursor's query is planned as before. */
static void
settle_limit(const kw_record_query *query, kw_normalized_query *normalized)
{
    size_t limit = query->planned ? query->widened_for : query->range_limit;
    normalized->range_limit = query->window.limit ? query->window.limit : limit;
    normalized->range_limit = MIN(normalized->range_limit, KW_PLAN_RANGES_MAX);
    if (query->planned || query->window.limit || normalized->range_limit == 0)
        return;
    size_t bytes = key_bytes(normalized), most = MAX(KW_PLAN_KEY_BYTES / MAX(bytes, 1), RANGES_LEAST);
    if (most >= normalized->range_limit)
        return;
    normalized->range_limit = most;
    normalized->key_bytes = bytes;
}

const char *
kw_normalized_query_limit_reason(const kw_normalized_query *normalized, char text[KW_LIMIT_REASON_MAX])
{
    text[0] = '\0';
    if (normalized->key_bytes > 0)
        g_snprintf(text, KW_LIMIT_REASON_MAX, ", because the query's values have %zu bytes in each key",
                   normalized->key_bytes);
    return text;
}

/* --------------------------------------------------------------------------------------------------- */

bool
kw_record_query_has_condition(const kw_record_query *query, size_t field)
{
    bool is_open = query->from.kind == KW_VALUE_NONE && query->to.kind == KW_VALUE_NONE;
    return query->bounds[field].count > 0 || (query->range_field == (int)field && !is_open);
}

bool
kw_normalized_query_make(const kw_record_query *query, kw_effort *effort, kw_arena *arena,
                         const kw_normalized_query **ret_normalized, kw_error *ret_error)
{
    kw_normalized_query *normalized = KW_ARENA_NEW(arena, kw_normalized_query);
    normalized->effort = effort;
    normalized->held = effort ? effort->held - MIN(effort->held, kw_arena_used(arena)) : 0;
    normalized->table = query->table;
    if (!take_span(query, normalized, ret_error))
        return false;
    kw_bound *bounds = KW_ARENA_ARRAY(arena, kw_bound, normalized->table->fields_count);
    for (size_t number = 0; number < normalized->table->fields_count; number++) {
        if (query->bounds[number].count > 0 &&
            !take_bound(query, number, normalized, arena, &bounds[number], ret_error))
            return false;
    }
    normalized->bounds = bounds;
    settle_limit(query, normalized);
    normalized->coarse = take_coarse(normalized, bounds, arena);
    *ret_normalized = normalized;
    return true;
}

const kw_normalized_query *
kw_normalized_query_within(const kw_normalized_query *normalized, const kw_window *window, kw_arena *arena)
{
    kw_normalized_query *within = KW_ARENA_NEW(arena, kw_normalized_query);
    *within = *normalized;
    kw_value_span *span = &within->span;
    g_assert(span->field >= 0);
    if (window->least > (span->from.kind == KW_VALUE_NUMBER ? span->from.number : INT64_MIN)) {
        span->from = (kw_value){.kind = KW_VALUE_NUMBER, .number = window->least};
        span->from_inclusive = true;
    }
    if (window->most < (span->to.kind == KW_VALUE_NUMBER ? span->to.number : INT64_MAX)) {
        span->to = (kw_value){.kind = KW_VALUE_NUMBER, .number = window->most};
        span->to_inclusive = true;
    }
    within->empty = within->empty || !settle_span(span);
    return within;
}

bool
kw_normalized_query_fail(const kw_normalized_query *normalized, kw_error *ret_error)
{
    return kw_effort_fail(normalized->effort, "a query was planned", ret_error);
}

bool
kw_normalized_query_binds(const kw_normalized_query *normalized, const kw_component *component)
{
    bool bound = component->field >= 0 && normalized->bounds[component->field].count > 0;
    for (size_t index = 0; bound && index < component->also_count; index++)
        bound = normalized->bounds[component->also[index]].count > 0;
    return bound;
}

static bool
is_among(const kw_bound *bound, kw_value value)
{
    return bsearch(&value, bound->values, bound->count, sizeof *bound->values, compare_values) != NULL;
}

static bool
is_alike_one(const kw_normalized_query *normalized, size_t field, kw_value value)
{
    const kw_layout *layout = identity_layout(normalized->table);
    const struct kw_coarse *coarse = &normalized->coarse[field];
    kw_coarse_value wanted = {.value = value};
    if (!kw_layout_code(layout, field, value, &wanted.code))
        return false;
    size_t low = 0, high = coarse->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (coarse->values[middle].code < wanted.code)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < coarse->count && coarse->values[low].code == wanted.code; low++)
        if (kw_layout_alike(layout, field, coarse->values[low].value, value))
            return true;
    return false;
}

static bool
meets_bound(const kw_normalized_query *normalized, size_t field, kw_value value)
{
    if (value.kind == KW_VALUE_NONE)
        return false;
    return normalized->coarse && normalized->coarse[field].values
               ? is_alike_one(normalized, field, value)
               : is_among(&normalized->bounds[field], value);
}

/* True if keys of the layout have the field; without a layout, always. */
static bool
is_known(const kw_layout *layout, size_t field)
{
    return !layout || kw_layout_holds_field(layout, field);
}

static bool
meets_span(const kw_value_span *span, const kw_layout *layout, const kw_value *values)
{
    return span->field < 0 || !is_known(layout, (size_t)span->field) ||
           (values[span->field].kind != KW_VALUE_NONE && kw_value_span_holds(span, values[span->field]));
}

bool
kw_normalized_query_match(const kw_normalized_query *normalized, const kw_layout *layout,
                          const kw_value *values)
{
    if (normalized->empty)
        return false;
    for (size_t number = 0; number < normalized->table->fields_count; number++)
        if (normalized->bounds[number].count > 0 && is_known(layout, number) &&
            !meets_bound(normalized, number, values[number]))
            return false;
    return meets_span(&normalized->also, layout, values) && meets_span(&normalized->span, layout, values);
}
