/* calendar: chosen parts of a timestamp in a time zone, in any order.
 *
 *   text     the parts' digits, with a separator between them: 02-05
 *   packed   the digits of the parts and of a sequence as one number, of 1 to 8 bytes big-endian
 *   decimal  the same number as decimal text without leading zeros, of varying length
 *
 * Without the year (or another part coarser than the finest) the pieces repeat: the calendar is circular.
 */
#include "rule/components/calendar.h"

#include "rule/clock_changes.h"
#include "rule/components/kinds.h"
#include "rule/derived.h"
#include "rule/unique.h"

#include <inttypes.h>
#include <stdio.h>

const int64_t kw_calendar_unit_seconds[] = {0, 31536000, 2419200, 86400, 3600, 60, 1, 1};

/* --- arithmetic ------------------------------------------------------------------------------------- */

void
kw_calendar_bounds(const kw_calendar *self, kw_calendar_unit unit, int64_t local, int64_t *ret_first,
                   int64_t *ret_last)
{
    *ret_first = 0;
    *ret_last = INT64_MAX;
    if (unit == KW_CALENDAR_EVER)
        return;
    if (unit == KW_CALENDAR_MILLI) {
        *ret_first = *ret_last = local;
        return;
    }
    if (unit >= KW_CALENDAR_DAY) {
        int64_t length = kw_calendar_unit_seconds[unit] * self->ticks_per_second;
        *ret_first = kw_floor_div(local, length) * length;
        *ret_last = *ret_first + length - 1;
        return;
    }
    int64_t day = 86400 * self->ticks_per_second;
    kw_civil date = kw_civil_of(kw_floor_div(local, day));
    bool year = unit == KW_CALENDAR_YEAR, december = date.month == 12;
    *ret_first = kw_days_of(date.year, year ? 1 : date.month, 1) * day;
    *ret_last =
        kw_days_of(date.year + (year || december), year || december ? 1 : date.month + 1, 1) * day - 1;
}

static uint32_t
value_of_part(const kw_calendar_part *part, kw_civil date, int64_t days, uint32_t milli_of_day)
{
    switch (part->unit) {
    case KW_CALENDAR_YEAR:
        return (uint32_t)(part->digits == 2 ? date.year % 100 : date.year);
    case KW_CALENDAR_MONTH:
        return date.month;
    case KW_CALENDAR_DAY:
        return part->digits == 2 ? date.day : (uint32_t)(days - kw_days_of(date.year, 1, 1) + 1);
    case KW_CALENDAR_HOUR:
        return milli_of_day / 3600000;
    case KW_CALENDAR_MINUTE:
        return milli_of_day / 60000 % 60;
    case KW_CALENDAR_SECOND:
        return milli_of_day / 1000 % 60;
    case KW_CALENDAR_MILLI:
        return milli_of_day % 1000;
    case KW_CALENDAR_EVER:
        break;
    }
    g_assert_not_reached();
}

uint64_t
kw_calendar_power(uint32_t digits)
{
    uint64_t power = 1;
    while (digits-- > 0)
        power *= 10;
    return power;
}

uint64_t
kw_calendar_code(const kw_calendar *self, int64_t local)
{
    int64_t day = 86400 * self->ticks_per_second, days = kw_floor_div(local, day);
    kw_civil date = kw_civil_of(days);
    uint32_t milli_of_day = (uint32_t)((local - days * day) * 1000 / self->ticks_per_second);
    uint64_t code = 0;
    for (size_t index = 0; index < self->parts_count; index++) {
        const kw_calendar_part *part = self->parts[index];
        code = code * (part->digits == 2   ? 100
                       : part->digits == 3 ? 1000
                                           : 10000) +
               value_of_part(part, date, days, milli_of_day);
    }
    return code;
}

/* Writes a number with this many digits. */
static void
write_digits(uint64_t number, uint32_t digits, uint8_t *to)
{
    for (uint32_t index = digits; index > 0; index--, number /= 10)
        to[index - 1] = (uint8_t)('0' + number % 10);
}

static size_t
write_text(const kw_calendar *self, uint64_t code, uint8_t *to)
{
    uint8_t *end = to + self->base.width, *at = end;
    for (size_t index = self->parts_count; index > 0; index--) {
        uint32_t digits = self->parts[index - 1]->digits;
        uint64_t power = kw_calendar_power(digits);
        at -= digits;
        write_digits(code % power, digits, at);
        code /= power;
        if (index > 1 && self->separator.size > 0) {
            at -= self->separator.size;
            memcpy(at, self->separator.data, self->separator.size);
        }
    }
    return self->base.width;
}

size_t
kw_calendar_write(const kw_calendar *self, uint64_t code, uint64_t sequence, uint8_t *to)
{
    if (self->form == KW_CALENDAR_TEXT)
        return write_text(self, code, to);
    uint64_t number = code * self->sequence_span + sequence;
    if (self->form == KW_CALENDAR_PACKED) {
        for (uint32_t index = self->base.width; index > 0; index--, number >>= 8)
            to[index - 1] = (uint8_t)number;
        return self->base.width;
    }
    uint32_t digits = 1;
    for (uint64_t left = number / 10; left > 0; left /= 10)
        digits++;
    write_digits(number, digits, to);
    return digits;
}

/* --- records ---------------------------------------------------------------------------------------- */

static bool
occurred_twice(const kw_calendar *self, int64_t tick)
{
    int64_t utc = kw_floor_div(tick, self->ticks_per_second);
    return utc < KW_CLOCKS_FROM && kw_local_time_repeats(self->zone, utc);
}

bool
kw_calendar_read_time(const kw_calendar *self, kw_value value, int64_t *ret_tick, kw_error *ret_error)
{
    if (value.kind != KW_VALUE_NUMBER)
        return kw_derived_missing(&self->base, (size_t)self->base.field, ret_error);
    int64_t tick = kw_calendar_tick(self, value.number);
    if (tick < self->first || tick > self->last)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s, field %s: value %" PRId64 " is outside the years %" PRId64
                            " to %" PRId64 " of its calendar in %s",
                            self->base.table->name, self->base.table->fields[self->base.field].name,
                            value.number, self->first_year, self->last_year, self->zone->name);
    if (self->base.rejects_repeated && occurred_twice(self, tick))
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s, field %s: value %" PRId64
                            " is a local time that occurred twice in %s, because clocks were set back; the "
                            "row key cannot distinguish the two",
                            self->base.table->name, self->base.table->fields[self->base.field].name,
                            value.number, self->zone->name);
    *ret_tick = tick;
    return true;
}

bool
kw_calendar_read_sequence(const kw_calendar *self, kw_value value, uint64_t *ret_sequence,
                          kw_error *ret_error)
{
    *ret_sequence = 0;
    if (self->sequence < 0)
        return true;
    if (value.kind != KW_VALUE_NUMBER)
        return kw_derived_missing(&self->base, (size_t)self->sequence, ret_error);
    if (value.number < 0 || (uint64_t)value.number >= self->sequence_span)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s, field %s: value %" PRId64 " does not fit into %u digits",
                            self->base.table->name, self->base.table->fields[self->sequence].name,
                            value.number, self->sequence_digits);
    *ret_sequence = (uint64_t)value.number;
    return true;
}

static bool
encode(const kw_component *component, const kw_value *values, kw_bytes rest, kw_buffer *out,
       kw_error *ret_error)
{
    const kw_calendar *self = (const kw_calendar *)component;
    (void)rest;
    int64_t tick;
    uint64_t sequence = 0;
    if (!kw_calendar_read_time(self, values[component->field], &tick, ret_error) ||
        (self->sequence >= 0 &&
         !kw_calendar_read_sequence(self, values[self->sequence], &sequence, ret_error)))
        return false;
    int64_t local = tick + kw_calendar_offset(self, kw_calendar_step(self, tick));
    out->size += kw_calendar_write(self, kw_calendar_code(self, local), sequence,
                                   kw_buffer_reserve(out, KW_CALENDAR_PIECE_MAX));
    return true;
}

static bool
accepts(const kw_component *component, size_t field, kw_value value, kw_error *ret_error)
{
    const kw_calendar *self = (const kw_calendar *)component;
    int64_t tick;
    uint64_t sequence;
    return (int)field == component->field ? kw_calendar_read_time(self, value, &tick, ret_error)
                                          : kw_calendar_read_sequence(self, value, &sequence, ret_error);
}

static bool
code(const kw_component *component, kw_value value, int64_t *ret_code)
{
    const kw_calendar *self = (const kw_calendar *)component;
    int64_t tick;
    if (!kw_calendar_read_time(self, value, &tick, NULL))
        return false;
    int64_t local = tick + kw_calendar_offset(self, kw_calendar_step(self, tick));
    *ret_code = (int64_t)kw_calendar_code(self, local);
    return true;
}

static bool
corrupt(const kw_calendar *self, const char *why, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_CORRUPT, "table %s, field %s: the row key's calendar %s",
                        self->base.table->name, self->base.table->fields[self->base.field].name, why);
}

/* Reads the digits of the whole piece as a number; separators must be at their positions. */
static bool
read_number(const kw_calendar *self, kw_bytes piece, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (self->form == KW_CALENDAR_PACKED) {
        for (size_t index = 0; index < piece.size; index++)
            number = number << 8 | piece.data[index];
        *ret_number = number;
        return true;
    }
    bool decimal = self->form == KW_CALENDAR_DECIMAL;
    if (decimal && (piece.size == 0 || piece.size > 18 || (piece.data[0] == '0' && piece.size > 1)))
        return false;
    uint32_t left = decimal ? (uint32_t)piece.size : self->parts[0]->digits;
    for (size_t at = 0, part = 0; at < piece.size; at++, left--) {
        if (left == 0) {
            if (!kw_bytes_starts_with(kw_bytes_skip(piece, at), self->separator))
                return false;
            at += self->separator.size;
            left = self->parts[++part]->digits;
        }
        if (!g_ascii_isdigit(piece.data[at]))
            return false;
        number = number * 10 + (uint64_t)(piece.data[at] - '0');
    }
    *ret_number = number;
    return true;
}

/* Splits a code into its parts; false if one is out of range. */
static bool
read_parts(const kw_calendar *self, uint64_t code, int64_t *of_unit, int64_t *ret_yearday)
{
    *ret_yearday = 0;
    for (size_t index = self->parts_count; index > 0; index--) {
        const kw_calendar_part *part = self->parts[index - 1];
        uint64_t power = kw_calendar_power(part->digits);
        int64_t value = (int64_t)(code % power);
        code /= power;
        if (value < part->least || value > part->most)
            return false;
        if (part->unit == KW_CALENDAR_DAY && part->digits == 3)
            *ret_yearday = value;
        else
            of_unit[part->unit] = part->unit == KW_CALENDAR_YEAR && part->digits == 2 ? 2000 + value : value;
    }
    return code == 0;
}

/* True if the day exists; calendars without a year use 2000, a leap year. */
static bool
is_date(const kw_calendar *self, const int64_t *of_unit, int64_t yearday, int64_t *ret_days)
{
    int64_t first = kw_days_of(of_unit[KW_CALENDAR_YEAR], 1, 1);
    *ret_days = first + yearday - 1;
    if (yearday)
        return *ret_days < kw_days_of(of_unit[KW_CALENDAR_YEAR] + 1, 1, 1);
    *ret_days = kw_days_of(of_unit[KW_CALENDAR_YEAR], (uint32_t)of_unit[KW_CALENDAR_MONTH],
                           (uint32_t)of_unit[KW_CALENDAR_DAY]);
    (void)self;
    return kw_civil_of(*ret_days).day == of_unit[KW_CALENDAR_DAY];
}

static bool
decode(const kw_component *component, kw_bytes piece, kw_arena *arena, kw_value *values, kw_error *ret_error)
{
    const kw_calendar *self = (const kw_calendar *)component;
    (void)arena;
    uint64_t number;
    if (!read_number(self, piece, &number))
        return corrupt(self, "does not have the form of its rule", ret_error);
    int64_t of_unit[] = {0, 2000, 1, 1, 0, 0, 0, 0}, yearday, days;
    if (!read_parts(self, number / self->sequence_span, of_unit, &yearday) ||
        !is_date(self, of_unit, yearday, &days))
        return corrupt(self, "is not a time", ret_error);
    if (self->sequence >= 0)
        values[self->sequence] =
            (kw_value){.kind = KW_VALUE_NUMBER, .number = (int64_t)(number % self->sequence_span)};
    if (component->unit != 1)
        return true;
    int64_t seconds = days * 86400 + of_unit[KW_CALENDAR_HOUR] * 3600 + of_unit[KW_CALENDAR_MINUTE] * 60 +
                      of_unit[KW_CALENDAR_SECOND];
    int64_t millis = self->ticks_per_second == 1000 ? of_unit[KW_CALENDAR_MILLI] : 0;
    int64_t local = seconds * self->ticks_per_second + millis;
    int64_t tick = local - kw_calendar_offset(self, 0);
    size_t step = kw_calendar_step(self, tick);
    for (size_t at = step ? step - 1 : 0; at < self->zone->count && at <= step + 1; at++) {
        tick = local - kw_calendar_offset(self, at);
        if (kw_calendar_step(self, tick) == at && tick >= self->first && tick <= self->last) {
            values[component->field] = (kw_value){.kind = KW_VALUE_NUMBER, .number = tick * self->per_tick};
            return true;
        }
    }
    return corrupt(self, "is a local time that never occurred", ret_error);
}

static kw_bytes
piece(const kw_component *component, uint64_t index, kw_arena *arena)
{
    const kw_calendar *self = (const kw_calendar *)component;
    const kw_calendar_part *head = self->parts[0];
    uint64_t code = head->least + index;
    for (size_t part = 1; part < self->parts_count; part++)
        code = code * kw_calendar_power(self->parts[part]->digits);
    uint8_t *bytes = kw_arena_alloc(arena, KW_CALENDAR_PIECE_MAX);
    size_t size = kw_calendar_write(self, code, 0, bytes);
    if (self->form == KW_CALENDAR_TEXT)
        size = head->digits;
    else if (self->parts_count > 1 || self->sequence >= 0)
        size--; /* a prefix: the following bytes do not matter */
    return kw_bytes_of(bytes, size);
}

const kw_component_kind kw_component_calendar = {
    .schema = &kw_calendar_schema,
    .compile = kw_calendar_compile,
    .encode = encode,
    .accepts = accepts,
    .code = code,
    .decode = decode,
    .enumerate = kw_calendar_enumerate,
    .count = kw_calendar_count,
    .runs = kw_calendar_runs,
    .reach = kw_calendar_reach,
    .piece = piece,
};
