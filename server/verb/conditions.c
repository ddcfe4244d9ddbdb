#include "verb/conditions.h"

#include <math.h>

/* Most values of one field, and most bytes of one value, that are worth comparing with every row. */
#define VALUES_MOST 32
#define VALUE_BYTES_MOST 1024

bool
kw_condition_needs_column(const kw_plan *plan, size_t field)
{
    const kw_record_query *query = plan->query;
    bool open = query->from.kind == KW_VALUE_NONE && query->to.kind == KW_VALUE_NONE; /* no condition */
    bool asked = query->bounds[field].count > 0 || (query->range_field == (int)field && !open);
    return asked && query->table->fields[field].stored && !kw_plan_keys_hold(plan, field);
}

/* --- one comparison ------------------------------------------------------------------------------- */

typedef struct column {
    const kw_field *field;
    kw_arena *arena;
} column;

static const kw_filter *
compare(const column *self, kw_filter_operator op, kw_bytes cell)
{
    kw_filter *filter = KW_ARENA_NEW(self->arena, kw_filter);
    filter->kind = KW_FILTER_SINGLE_COLUMN_VALUE;
    filter->bytes = KW_ARENA_ARRAY(self->arena, kw_bytes, 2);
    filter->bytes[0] = self->field->family;
    filter->bytes[1] = self->field->qualifier;
    filter->bytes_count = 2;
    filter->op = op;
    filter->comparator = KW_FILTER_COMPARE_BINARY;
    filter->operand = cell;
    filter->flags[0] = filter->flags[1] = true;
    return filter;
}

static const kw_filter *
join(const column *self, kw_filter_kind kind, const kw_filter *a, const kw_filter *b)
{
    const kw_filter *parts[] = {a, b};
    return kw_filter_join(kind, parts, 2, self->arena);
}

/* --- equal ---------------------------------------------------------------------------------------- */

/* Java reads any byte except zero as true, and so does Keyway: true is "not zero". */
static const kw_filter *
equal_flag(const column *self, bool flag)
{
    kw_bytes zero = kw_field_encode_cell(self->field, (kw_value){.kind = KW_VALUE_FLAG}, self->arena);
    return compare(self, !flag ? KW_FILTER_EQUAL : KW_FILTER_NOT_EQUAL, zero);
}

static bool
has_one_form(const kw_field *field)
{
    bool bytes = field->type == KW_FIELD_STRING || field->type == KW_FIELD_BYTES;
    bool whole = field->type == KW_FIELD_INT || field->type == KW_FIELD_TIMESTAMP;
    return bytes || (whole && field->form != KW_CELL_TEXT) ||
           (field->type == KW_FIELD_DOUBLE && field->form == KW_CELL_RAW_BE);
}

/* Other programs store -0.0, too. */
static const kw_filter *
equal_zero(const column *self)
{
    static const kw_value zeros[] = {{.kind = KW_VALUE_REAL, .real = 0.0},
                                     {.kind = KW_VALUE_REAL, .real = -0.0}};
    return join(self, KW_FILTER_OR,
                compare(self, KW_FILTER_EQUAL, kw_field_encode_cell(self->field, zeros[0], self->arena)),
                compare(self, KW_FILTER_EQUAL, kw_field_encode_cell(self->field, zeros[1], self->arena)));
}

static const kw_filter *
equal(const column *self, kw_value value)
{
    const kw_field *field = self->field;
    if (field->type == KW_FIELD_BOOL && field->form == KW_CELL_RAW_BE && value.kind == KW_VALUE_FLAG)
        return equal_flag(self, value.flag);
    if (!has_one_form(field) || (value.kind == KW_VALUE_REAL && isnan(value.real)))
        return NULL;
    if (value.kind == KW_VALUE_REAL && value.real == 0)
        return equal_zero(self);
    kw_bytes cell = kw_field_encode_cell(field, value, self->arena);
    return cell.size <= VALUE_BYTES_MOST ? compare(self, KW_FILTER_EQUAL, cell) : NULL;
}

static const kw_filter *
one_of(const column *self, const kw_bound *bound)
{
    const kw_filter *parts[VALUES_MOST];
    if (bound->count > VALUES_MOST)
        return NULL;
    for (size_t i = 0; i < bound->count; i++)
        if (!(parts[i] = equal(self, bound->values[i])))
            return NULL;
    return kw_filter_join(KW_FILTER_OR, parts, bound->count, self->arena);
}

/* --- between -------------------------------------------------------------------------------------- */

static const kw_filter *
between_bytes(const column *self, const kw_record_query *query)
{
    const kw_filter *from = NULL, *to = NULL;
    if (query->from.kind != KW_VALUE_NONE && query->from.bytes.size <= VALUE_BYTES_MOST)
        from = compare(self, query->from_inclusive ? KW_FILTER_GREATER_OR_EQUAL : KW_FILTER_GREATER,
                       query->from.bytes);
    if (query->to.kind != KW_VALUE_NONE && query->to.bytes.size <= VALUE_BYTES_MOST)
        to = compare(self, query->to_inclusive ? KW_FILTER_LESS_OR_EQUAL : KW_FILTER_LESS, query->to.bytes);
    return from && to ? join(self, KW_FILTER_AND, from, to) : from ? from : to;
}

static const kw_filter *
between_numbers(const column *self, const kw_record_query *query)
{
    kw_cell_form form = self->field->form;
    bool narrow = form == KW_CELL_RAW_BE4 || form == KW_CELL_PHOENIX4;
    bool turned = form == KW_CELL_PHOENIX || form == KW_CELL_PHOENIX4;
    int64_t least = narrow ? INT32_MIN : INT64_MIN, most = narrow ? INT32_MAX : INT64_MAX;
    if (query->from.kind == KW_VALUE_NUMBER)
        least = MAX(least, query->from.number); /* treated as inclusive: more rows pass */
    if (query->to.kind == KW_VALUE_NUMBER)
        most = MIN(most, query->to.number);
    if (least > most)
        return NULL;
    kw_value from = {.kind = KW_VALUE_NUMBER, .number = least},
             to = {.kind = KW_VALUE_NUMBER, .number = most};
    const kw_filter *above = compare(self, KW_FILTER_GREATER_OR_EQUAL,
                                     kw_field_encode_cell(self->field, from, self->arena)),
                    *below = compare(self, KW_FILTER_LESS_OR_EQUAL,
                                     kw_field_encode_cell(self->field, to, self->arena));
    bool one_sign = least >= 0 || most < 0;
    return join(self, turned || one_sign ? KW_FILTER_AND : KW_FILTER_OR, above, below);
}

/* NULL: that end is open. */
static const kw_filter *
end_of_reals(const column *self, kw_filter_operator op, kw_value end)
{
    if (end.kind == KW_VALUE_NONE)
        return NULL;
    return compare(self, op, kw_field_encode_cell(self->field, end, self->arena));
}

static const kw_filter *
both(const column *self, const kw_filter *a, const kw_filter *b)
{
    return a && b ? join(self, KW_FILTER_AND, a, b) : a ? a : b;
}

static double
real_of(kw_value value)
{
    return value.kind == KW_VALUE_NUMBER ? (double)value.number : value.real;
}

static bool
is_below_zero(kw_value value)
{
    return value.kind != KW_VALUE_NONE && signbit(real_of(value));
}

/* Raw IEEE bits: non-negative doubles come first in ascending order, then negative ones in descending order.
 */
static const kw_filter *
between_raw_reals(const column *self, kw_value from, kw_value to)
{
    static const uint8_t sign[8] = {0x80};
    kw_bytes below_zero = kw_bytes_of(sign, self->field->form == KW_CELL_RAW_BE4 ? 4 : 8);
    if (from.kind != KW_VALUE_NONE && !is_below_zero(from)) {
        const kw_filter *most = end_of_reals(self, KW_FILTER_LESS_OR_EQUAL, to);
        if (!most)
            most = compare(self, KW_FILTER_LESS, below_zero);
        return both(self, end_of_reals(self, KW_FILTER_GREATER_OR_EQUAL, from), most);
    }
    const kw_filter *least = end_of_reals(self, KW_FILTER_LESS_OR_EQUAL, from), *most;
    if (is_below_zero(to))
        return both(self, least, end_of_reals(self, KW_FILTER_GREATER_OR_EQUAL, to));
    most = end_of_reals(self, KW_FILTER_LESS_OR_EQUAL, to);
    if (most)
        most = join(self, KW_FILTER_OR, most, compare(self, KW_FILTER_GREATER_OR_EQUAL, below_zero));
    return both(self, least, most);
}

/* Treats the ends as inclusive, rounds those of floats, and includes -0.0, which other programs store: more
 * rows pass. */
static const kw_filter *
between_reals(const column *self, const kw_record_query *query)
{
    kw_value from = query->from, to = query->to;
    if ((from.kind != KW_VALUE_NONE && isnan(real_of(from))) ||
        (to.kind != KW_VALUE_NONE && isnan(real_of(to))))
        return NULL;
    if (from.kind != KW_VALUE_NONE && real_of(from) == 0)
        from = (kw_value){.kind = KW_VALUE_REAL, .real = -0.0};
    if (to.kind != KW_VALUE_NONE && real_of(to) == 0)
        to = (kw_value){.kind = KW_VALUE_REAL, .real = 0.0};
    if (self->field->form == KW_CELL_RAW_BE || self->field->form == KW_CELL_RAW_BE4)
        return between_raw_reals(self, from, to);
    return both(self, end_of_reals(self, KW_FILTER_GREATER_OR_EQUAL, from),
                end_of_reals(self, KW_FILTER_LESS_OR_EQUAL, to));
}

static const kw_filter *
between(const column *self, const kw_record_query *query)
{
    const kw_field *field = self->field;
    if (field->type == KW_FIELD_STRING || field->type == KW_FIELD_BYTES)
        return between_bytes(self, query);
    if (field->type == KW_FIELD_DOUBLE && field->form != KW_CELL_TEXT)
        return between_reals(self, query);
    bool whole = field->type == KW_FIELD_INT || field->type == KW_FIELD_TIMESTAMP;
    return whole && has_one_form(field) ? between_numbers(self, query) : NULL;
}

/* --- all ------------------------------------------------------------------------------------------ */

const kw_filter *
kw_conditions_filter(const kw_plan *plan, kw_arena *arena)
{
    const kw_record_query *query = plan->query;
    const kw_filter **parts = KW_ARENA_ARRAY(arena, const kw_filter *, 2 * query->table->fields_count);
    size_t count = 0;
    for (size_t i = 0; i < query->table->fields_count; i++) {
        column self = {&query->table->fields[i], arena};
        if (!kw_condition_needs_column(plan, i))
            continue;
        bool coarse =
            kw_plan_keys_hold_coarsely(plan, i); /* values that a key cannot distinguish count as equal */
        if (query->bounds[i].count && !coarse && (parts[count] = one_of(&self, &query->bounds[i])))
            count++;
        if (query->range_field == (int)i && (parts[count] = between(&self, query)))
            count++;
    }
    return count ? kw_filter_join(KW_FILTER_AND, parts, count, arena) : NULL;
}
