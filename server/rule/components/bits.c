/* bits: fields of fixed widths in one big-endian number of whole bytes.
 *
 *   zero 1 | minute 6 | seconds 32 | worker 9 | sequence 16
 *
 * Either the number is combined from a timestamp and int fields. Or it is an int field that was generated
 * elsewhere, with a known meaning of its bits; the time in its bits then answers queries about a timestamp
 * field of the table (`time`).
 */
#include "rule/components/bits.h"

#include "rule/components/kinds.h"
#include "rule/derived.h"

#include <inttypes.h>

/* --- records ---------------------------------------------------------------------------------------- */

static const char *
field_name(const kw_bits *self, int field)
{
    return self->base.table->fields[field].name;
}

bool
kw_bits_read_time(const kw_bits *self, kw_value value, int64_t *ret_tick, kw_error *ret_error)
{
    if (value.kind != KW_VALUE_NUMBER)
        return kw_derived_missing(&self->base, (size_t)self->base.clock, ret_error);
    int64_t tick = kw_floor_div(value.number, self->per_tick);
    if (tick < self->first || tick > self->last)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s, field %s: value %" PRId64 " does not fit into %u bits of %s",
                            self->base.table->name, field_name(self, self->base.clock), value.number,
                            self->parts[self->time].bits, self->parts[self->time].name);
    *ret_tick = tick;
    return true;
}

bool
kw_bits_read_field(const kw_bits *self, const kw_bits_part *part, kw_value value, uint64_t *ret_bits,
                   kw_error *ret_error)
{
    if (value.kind != KW_VALUE_NUMBER)
        return kw_derived_missing(&self->base, (size_t)part->field, ret_error);
    if (value.number < 0 || (uint64_t)value.number > kw_bits_mask(part->bits))
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s, field %s: value %" PRId64 " does not fit into %u bits",
                            self->base.table->name, field_name(self, part->field), value.number, part->bits);
    *ret_bits = (uint64_t)value.number;
    return true;
}

kw_bytes
kw_bits_piece(const kw_bits *self, uint64_t number, kw_arena *arena)
{
    uint8_t *bytes = kw_arena_alloc(arena, self->base.width);
    for (uint32_t index = self->base.width; index > 0; index--, number >>= 8)
        bytes[index - 1] = (uint8_t)number;
    return kw_bytes_of(bytes, self->base.width);
}

static uint64_t
part_of(const kw_bits_part *part, uint64_t number)
{
    return number >> part->shift & kw_bits_mask(part->bits);
}

/* Checks that every part has a valid value. NULL: they do. */
static const char *
what_is_wrong(const kw_bits *self, uint64_t number)
{
    if (self->total < 64 && number >> self->total)
        return "has more bits than its parts";
    for (size_t index = 0; index < self->parts_count; index++) {
        const kw_bits_part *part = &self->parts[index];
        if (part->kind == KW_BITS_CONSTANT && part_of(part, number) != part->constant)
            return "has bits that differ from its constant parts";
    }
    if (self->minute < 0)
        return NULL;
    uint64_t minute = part_of(&self->parts[self->minute], number);
    if (self->time < 0)
        return minute < 60 ? NULL : "has a number above 59 in its minute bits";
    int64_t tick = self->epoch + (int64_t)part_of(&self->parts[self->time], number);
    return minute == kw_bits_minute_of_hour(kw_bits_minutes_since_1970(self, tick))
               ? NULL
               : "has a minute in its bits that differs from its time";
}

/* A known time must equal the time in the bits of a number generated elsewhere. */
static bool
agrees(const kw_component *component, const kw_value *values)
{
    const kw_bits *self = (const kw_bits *)component;
    if (self->number < 0 || component->clock < 0 || values[component->clock].kind != KW_VALUE_NUMBER ||
        values[self->number].kind != KW_VALUE_NUMBER)
        return true;
    uint64_t number = (uint64_t)values[self->number].number;
    int64_t tick = self->epoch + (int64_t)part_of(&self->parts[self->time], number);
    return kw_floor_div(values[component->clock].number, self->per_tick) == tick;
}

/* Checks the parts of a number that was generated elsewhere, without comparing it with its time field. */
static bool
check_number(const kw_bits *self, kw_value value, kw_error *ret_error)
{
    if (value.kind != KW_VALUE_NUMBER)
        return kw_derived_missing(&self->base, (size_t)self->number, ret_error);
    const char *wrong = value.number < 0 ? "is negative" : what_is_wrong(self, (uint64_t)value.number);
    return !wrong ||
           kw_error_set(ret_error, KW_INVALID, "table %s, field %s: value %" PRId64 " %s",
                        self->base.table->name, field_name(self, self->number), value.number, wrong);
}

/* Reads such a number, after checking its parts and comparing it with its time field. */
static bool
read_whole_number(const kw_bits *self, const kw_value *values, uint64_t *ret_number, kw_error *ret_error)
{
    if (!check_number(self, values[self->number], ret_error))
        return false;
    *ret_number = (uint64_t)values[self->number].number;
    return agrees(&self->base, values) ||
           kw_error_set(ret_error, KW_INVALID,
                        "table %s, field %s: value %" PRId64 " differs from the time in the bits of field %s",
                        self->base.table->name, field_name(self, self->base.clock),
                        values[self->base.clock].number, field_name(self, self->number));
}

static bool
put_together(const kw_bits *self, const kw_value *values, uint64_t *ret_number, kw_error *ret_error)
{
    uint64_t number = 0;
    int64_t tick;
    if (!kw_bits_read_time(self, values[self->base.clock], &tick, ret_error))
        return false;
    for (size_t index = 0; index < self->parts_count; index++) {
        const kw_bits_part *part = &self->parts[index];
        uint64_t bits = part->constant;
        if (part->kind == KW_BITS_TIME)
            bits = (uint64_t)(tick - self->epoch);
        else if (part->kind == KW_BITS_MINUTE)
            bits = kw_bits_minute_of_hour(kw_bits_minutes_since_1970(self, tick));
        else if (part->kind == KW_BITS_FIELD &&
                 !kw_bits_read_field(self, part, values[part->field], &bits, ret_error))
            return false;
        number |= bits << part->shift;
    }
    *ret_number = number;
    return true;
}

static bool
encode(const kw_component *component, const kw_value *values, kw_bytes rest, kw_buffer *out,
       kw_error *ret_error)
{
    const kw_bits *self = (const kw_bits *)component;
    (void)rest;
    uint64_t number = 0;
    if (!(self->number >= 0 ? read_whole_number(self, values, &number, ret_error)
                            : put_together(self, values, &number, ret_error)))
        return false;
    uint8_t *to = kw_buffer_reserve(out, component->width);
    for (uint32_t index = component->width; index > 0; index--, number >>= 8)
        to[index - 1] = (uint8_t)number;
    out->size += component->width;
    return true;
}

static bool
accepts(const kw_component *component, size_t field, kw_value value, kw_error *ret_error)
{
    const kw_bits *self = (const kw_bits *)component;
    int64_t tick;
    uint64_t bits;
    if (self->number >= 0)
        return (int)field != self->number || check_number(self, value, ret_error);
    if ((int)field == component->field)
        return kw_bits_read_time(self, value, &tick, ret_error);
    for (size_t index = 0; index < self->parts_count; index++)
        if (self->parts[index].kind == KW_BITS_FIELD && self->parts[index].field == (int)field)
            return kw_bits_read_field(self, &self->parts[index], value, &bits, ret_error);
    g_assert_not_reached();
}

static bool
code(const kw_component *component, kw_value value, int64_t *ret_code)
{
    int64_t tick;
    if (!kw_bits_read_time((const kw_bits *)component, value, &tick, NULL))
        return false;
    *ret_code = tick;
    return true;
}

static bool
decode(const kw_component *component, kw_bytes piece, kw_arena *arena, kw_value *values, kw_error *ret_error)
{
    const kw_bits *self = (const kw_bits *)component;
    (void)arena;
    uint64_t number = 0;
    for (size_t index = 0; index < piece.size; index++)
        number = number << 8 | piece.data[index];
    const char *wrong = what_is_wrong(self, number);
    int64_t tick = self->time < 0 ? 0 : self->epoch + (int64_t)part_of(&self->parts[self->time], number);
    if (!wrong && self->base.clock >= 0 && tick > self->last)
        wrong = "has a time outside the range of its field";
    if (wrong)
        return kw_error_set(ret_error, KW_CORRUPT, "table %s, field %s: the number in the row key %s",
                            component->table->name, field_name(self, component->field), wrong);
    if (self->number >= 0) {
        values[self->number] = (kw_value){.kind = KW_VALUE_NUMBER, .number = (int64_t)number};
        return true;
    }
    for (size_t index = 0; index < self->parts_count; index++) {
        const kw_bits_part *part = &self->parts[index];
        if (part->kind == KW_BITS_FIELD)
            values[part->field] =
                (kw_value){.kind = KW_VALUE_NUMBER, .number = (int64_t)part_of(part, number)};
    }
    if (component->unit == 1)
        values[component->field] = (kw_value){.kind = KW_VALUE_NUMBER, .number = tick * self->per_tick};
    return true;
}

static bool
edge(const kw_component *component, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge)
{
    const kw_bits *self = (const kw_bits *)component;
    (void)lower;
    g_assert(self->number >= 0); /* for a combined number, the planner uses runs instead */
    uint64_t most = MIN(kw_bits_mask(self->total), (uint64_t)INT64_MAX);
    int side = value.number < 0 ? -1 : (uint64_t)value.number > most ? 1 : 0;
    uint64_t number = side < 0 ? 0 : side > 0 ? most : (uint64_t)value.number;
    *ret_edge = (kw_edge){.bytes = kw_bits_piece(self, number, arena), .side = side};
    return true;
}

static kw_bytes
piece(const kw_component *component, uint64_t index, kw_arena *arena)
{
    const kw_bits *self = (const kw_bits *)component;
    uint64_t number = 0;
    for (int at = 0; at < self->minute; at++)
        number |= self->parts[at].constant << self->parts[at].shift;
    const kw_bits_part *minute = &self->parts[self->minute];
    kw_bytes whole = kw_bits_piece(self, number | index << minute->shift, arena);
    uint32_t size = (self->total - minute->shift + 7) / 8;
    return kw_bytes_of(whole.data, MIN(size, MAX(component->width - 1, 1)));
}

const kw_component_kind kw_component_bits = {
    .schema = &kw_bits_schema,
    .compile = kw_bits_compile,
    .encode = encode,
    .agrees = agrees,
    .accepts = accepts,
    .code = code,
    .decode = decode,
    .edge = edge,
    .count = kw_bits_count,
    .runs = kw_bits_runs,
    .reach = kw_bits_reach,
    .piece = piece,
};
