/* Stand-ins for values that the gateway generates at a put, with the same form and order, so that keys of a
 * sample without such values spread as future keys do. They depend only on the sample, not on a clock or
 * random numbers, so the same sample gives the same advice. */
#include "advise/advise.h"
#include "rule/digest.h"

/* Records without a time are assumed to arrive at a hundred per second from this time on. */
#define FIRST_MS INT64_C(1767225600000)
#define STEP_MS 10

#define UUID_BYTES 16
#define OBJECTID_BYTES 12

static int64_t
unit_of_ms(kw_time_unit unit, int64_t ms)
{
    int64_t time;
    switch (unit) {
    case KW_UNIT_S:
        return ms / 1000;
    case KW_UNIT_MS:
        return ms;
    case KW_UNIT_US:
        return __builtin_mul_overflow(ms, INT64_C(1000), &time) ? INT64_MAX : time;
    case KW_UNIT_NS:
        return __builtin_mul_overflow(ms, INT64_C(1000000), &time) ? INT64_MAX : time;
    }
    g_assert_not_reached();
}

int64_t
kw_advise_time_ms(const kw_field *field, kw_value value)
{
    int64_t ms;
    switch (field->unit) {
    case KW_UNIT_S:
        return __builtin_mul_overflow(value.number, INT64_C(1000), &ms)
                   ? (value.number < 0 ? INT64_MIN : INT64_MAX)
                   : ms;
    case KW_UNIT_MS:
        return value.number;
    case KW_UNIT_US:
        return value.number / 1000;
    case KW_UNIT_NS:
        return value.number / 1000000;
    }
    g_assert_not_reached();
}

/* The time in the field `of`, or in the record's first timestamp field if `of` is empty. A record without
 * this time gets an assumed one (FIRST_MS). */
static int64_t
record_time(const kw_table *table, const kw_record *record, const char *of, size_t number)
{
    for (size_t field = 0; field < table->fields_count; field++) {
        bool wanted = !*of || g_str_equal(of, table->fields[field].name);
        if (wanted && table->fields[field].type == KW_FIELD_TIMESTAMP &&
            record->values[field].kind == KW_VALUE_NUMBER)
            return kw_advise_time_ms(&table->fields[field], record->values[field]);
    }
    return FIRST_MS + (int64_t)number * STEP_MS;
}

/* Approximate: ignores the varying lengths of months and years, and time zones. */
static int64_t
period_ms(kw_period period)
{
    static const int64_t lengths[] = {
        [KW_PERIOD_SECOND] = 1000,
        [KW_PERIOD_MINUTE] = 60000,
        [KW_PERIOD_HOUR] = 3600000,
        [KW_PERIOD_DAY] = 86400000,
        [KW_PERIOD_MONTH] = INT64_C(2592000000),
        [KW_PERIOD_YEAR] = INT64_C(31536000000),
    };
    return lengths[period];
}

static int64_t
next_number(kw_generated_state *state, const kw_model_generate *generate, int64_t time_ms)
{
    uint64_t length = (uint64_t)generate->to - (uint64_t)generate->from + 1;
    int64_t period = generate->per == KW_PERIOD_EVER ? 0 : time_ms / period_ms(generate->per);
    if (period != state->period)
        *state = (kw_generated_state){.period = period};
    uint64_t number = state->count++;
    return (int64_t)((uint64_t)generate->from + (length ? number % length : number));
}

static int64_t
make_snowflake(kw_generated_state *state, const kw_model_generate *generate, int64_t time_ms)
{
    int64_t tick_ms = generate->partitioned ? 1000 : 1;
    uint64_t tick = (uint64_t)(time_ms / tick_ms);
    if (state->period != (int64_t)tick)
        *state = (kw_generated_state){.period = (int64_t)tick};
    uint64_t sequence = state->count++;
    uint64_t id =
        generate->partitioned
            ? tick / 60 % 60 << 57 | (tick & UINT32_MAX) << 25 | UINT64_C(1) << 16 | (sequence & 0xffff)
            : (uint64_t)(time_ms - generate->epoch_ms) << 22 | UINT64_C(1) << 12 | (sequence & 0xfff);
    return (int64_t)(id & INT64_MAX);
}

/* Pseudorandom bytes. */
static void
scramble(size_t number, uint8_t to[UUID_BYTES])
{
    uint64_t seeds[2] = {number, ~(uint64_t)number};
    kw_be64_store(to, kw_xxh64(kw_bytes_of(&seeds[0], sizeof seeds[0])));
    kw_be64_store(to + 8, kw_xxh64(kw_bytes_of(&seeds[1], sizeof seeds[1])));
}

static kw_value
as_field_type(const kw_field *field, const uint8_t *bytes, size_t size, kw_arena *arena)
{
    if (field->type == KW_FIELD_BYTES)
        return (kw_value){.kind = KW_VALUE_BYTES, .bytes = kw_arena_copy(arena, kw_bytes_of(bytes, size))};
    g_autoptr(GString) text = g_string_new(NULL);
    for (size_t index = 0; index < size; index++) {
        bool dash = size == UUID_BYTES && (index == 4 || index == 6 || index == 8 || index == 10);
        g_string_append_printf(text, dash ? "-%02x" : "%02x", bytes[index]);
    }
    return (kw_value){.kind = KW_VALUE_TEXT, .bytes = kw_arena_copy(arena, kw_bytes_of_text(text->str))};
}

static kw_value
make_unique(const kw_field *field, size_t number, int64_t time_ms, kw_arena *arena)
{
    kw_generate_kind kind = field->model->generate.kind;
    uint8_t bytes[UUID_BYTES], time[8];
    scramble(number, bytes);
    if (kind == KW_GENERATE_OBJECTID) {
        kw_be64_store(time, (uint64_t)(time_ms / 1000) << 32);
        memcpy(bytes, time, 4);
        memcpy(bytes + 4, "stand", 5);
        bytes[9] = (uint8_t)(number >> 16);
        bytes[10] = (uint8_t)(number >> 8);
        bytes[11] = (uint8_t)number;
        return as_field_type(field, bytes, OBJECTID_BYTES, arena);
    }
    if (kind == KW_GENERATE_UUID7) {
        kw_be64_store(time, (uint64_t)time_ms << 16);
        memcpy(bytes, time, 6);
    }
    bytes[6] = (uint8_t)((bytes[6] & 0x0f) | (kind == KW_GENERATE_UUID7 ? 0x70 : 0x40));
    bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
    return as_field_type(field, bytes, UUID_BYTES, arena);
}

static kw_value
make_value(kw_generated_state *state, const kw_table *table, const kw_field *field, const kw_record *record,
           size_t number, kw_arena *arena)
{
    const kw_model_generate *generate = &field->model->generate;
    int64_t time_ms = record_time(table, record, generate->of ? generate->of : "", number);
    switch (generate->kind) {
    case KW_GENERATE_SEQUENCE:
        return (kw_value){.kind = KW_VALUE_NUMBER, .number = next_number(state, generate, time_ms)};
    case KW_GENERATE_SNOWFLAKE:
        return (kw_value){.kind = KW_VALUE_NUMBER, .number = make_snowflake(state, generate, time_ms)};
    case KW_GENERATE_NOW:
        return (kw_value){.kind = KW_VALUE_NUMBER, .number = unit_of_ms(field->unit, time_ms)};
    case KW_GENERATE_UUID4:
    case KW_GENERATE_UUID7:
    case KW_GENERATE_OBJECTID:
        return make_unique(field, number, time_ms, arena);
    }
    g_assert_not_reached();
}

void
kw_advise_fill_generated(const kw_table *table, size_t number, kw_generated_state *states, kw_arena *arena,
                         kw_record *record)
{
    for (size_t index = 0; index < table->generated_count; index++) {
        size_t field = table->generated[index];
        if (record->values[field].kind == KW_VALUE_NONE)
            record->values[field] =
                make_value(&states[index], table, &table->fields[field], record, number, arena);
    }
}
