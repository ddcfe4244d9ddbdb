/* No two records share a key. Over random rules that compile:
 *
 *   records with equal keys are equal in every field that the key stores
 *   keys are in the order of the first component in which they differ, if that one keeps an order
 *   records that share a key under one path also share one under the other
 *
 * and over those without hazards:
 *
 *   no two puts share a key if the gateway can generate the same number for both, or a clock shows the same
 *   local time for both
 *
 * and each kind of value that would break this is rejected with table, field and reason.
 */
#include "rule/compile.h"
#include "rule/policies.h"
#include "rule/random_rules.h"
#include "rule/values.h"

#include <stdlib.h>

#define TABLES 1500
#define RECORDS 80

typedef struct kw_test_key {
    kw_bytes bytes;
    kw_record record;
    kw_key_piece *pieces;
    size_t pieces_count;
} kw_test_key;

typedef struct kw_test_tally {
    size_t accepted, keys, equal, ordered, with_other_time, without_hazards, numbered, alike;
} kw_test_tally;

static int
compare_keys(const void *a, const void *b)
{
    return kw_bytes_compare(((const kw_test_key *)a)->bytes, ((const kw_test_key *)b)->bytes);
}

static int64_t
floor_div(int64_t value, int64_t divisor)
{
    return value / divisor - (value % divisor < 0);
}

static int
compare_in_unit(const kw_component *component, const kw_record *a, const kw_record *b)
{
    kw_value left = a->values[component->field], right = b->values[component->field];
    if (component->unit > 1) {
        left.number = floor_div(left.number, component->unit);
        right.number = floor_div(right.number, component->unit);
    }
    return kw_value_compare(left, right);
}

/* True if the records differ for this component, although they have the same piece. */
static bool
distinguishes(const kw_component *component, const kw_record *a, const kw_record *b, kw_arena *arena)
{
    if (component->field < 0)
        return false;
    for (size_t also = 0; also < component->also_count; also++) {
        if (!kw_value_equal(a->values[component->also[also]], b->values[component->also[also]]))
            return true;
    }
    int64_t left = a->values[component->field].number, right = b->values[component->field].number;
    if (component->grain)
        return strcmp(random_parts(component->grain, left, false, arena),
                      random_parts(component->grain, right, false, arena)) != 0;
    return compare_in_unit(component, a, b) != 0;
}

static size_t
fill_keys(const random_table *random, const kw_layout *layout, kw_arena *arena, kw_test_key *keys)
{
    const kw_field_set *table = kw_layout_fields(layout);
    size_t count = 0;
    for (size_t round = 0; round < RECORDS; round++) {
        kw_record record = kw_record_over(table, arena);
        kw_buffer key = KW_BUFFER_EMPTY;
        for (size_t field = 0; field < table->fields_count; field++)
            record.values[field] = random_value(random, field, arena);
        /* Bucket 0 of the chosen ones: within one bucket no two records can share a key. */
        if (kw_layout_encode(layout, &record, &key, NULL)) {
            kw_test_key *next = &keys[count++];
            *next = (kw_test_key){.bytes = kw_arena_copy(arena, kw_buffer_bytes(&key)), .record = record};
            bool good = kw_layout_pieces(layout, &record, arena, &next->pieces, &next->pieces_count, NULL);
            g_assert_true(good);
        }
        kw_buffer_clear(&key);
    }
    if (count > 1)
        qsort(keys, count, sizeof *keys, compare_keys);
    return count;
}

static void
check_pair(const random_table *random, const kw_layout *layout, const kw_test_key *a, const kw_test_key *b,
           kw_arena *arena, kw_test_tally *tally)
{
    bool equal = kw_bytes_equal(a->bytes, b->bytes);
    tally->equal += equal;
    for (size_t index = 0; index < kw_layout_component_count(layout); index++) {
        const kw_component *component = kw_layout_component(layout, index);
        bool same_piece = kw_bytes_equal(a->pieces[index].bytes, b->pieces[index].bytes);
        if (equal && distinguishes(component, &a->record, &b->record, arena))
            g_error("two records, one key, %s:\n%s", component->text, random->yaml);
        if (equal || same_piece)
            continue;
        /* Calendars and bits: for an hour that the clock shows twice, see test_property.c. */
        if (component->field >= 0 && component->direction != 0 && component->clock < 0) {
            if (compare_in_unit(component, &a->record, &b->record) * component->direction >= 0)
                g_error("keys are not in the order of %s:\n%s", component->text, random->yaml);
            tally->ordered++;
        }
        return; /* the first difference decides */
    }
}

static void
try_layout(const random_table *random, const kw_layout *layout, kw_test_tally *tally)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_test_key keys[RECORDS];
    size_t count = fill_keys(random, layout, arena, keys);
    tally->keys += count;
    for (size_t index = 1; index < count; index++) {
        check_pair(random, layout, &keys[index - 1], &keys[index], arena, tally);
        size_t other = random_below((unsigned)index);
        check_pair(random, layout, &keys[other], &keys[index], arena, tally);
    }
}

/* The record with another time, near or one cycle of some clock away. */
static kw_record
with_other_time(const kw_table *table, const kw_record *record, kw_arena *arena)
{
    static const int64_t steps[] = {1,        2,        500,      1000,       60000,       3600000,
                                    28800000, 86400000, 86400001, 2419200000, 31536000000, 31622400000};
    kw_record moved = kw_record_new(table, arena);
    int time = kw_table_find_field(table, KW_BYTES_LITERAL("t0"));
    memcpy(moved.values, record->values, table->fields_count * sizeof *moved.values);
    int64_t step = steps[random_below(G_N_ELEMENTS(steps))];
    if (ABS(moved.values[time].number) < INT64_MAX / 4)
        moved.values[time].number += random_chance(50) ? step : -step;
    return moved;
}

/* True if both records have a key here; ret_same: the same one. */
static bool
share_key(const kw_layout *layout, const kw_record *a, const kw_record *b, bool *ret_same)
{
    kw_buffer left = KW_BUFFER_EMPTY, right = KW_BUFFER_EMPTY;
    bool good = kw_layout_encode(layout, a, &left, NULL) && kw_layout_encode(layout, b, &right, NULL);
    *ret_same = good && kw_bytes_equal(kw_buffer_bytes(&left), kw_buffer_bytes(&right));
    kw_buffer_clear(&left);
    kw_buffer_clear(&right);
    return good;
}

static void
try_paths(const random_table *random, const kw_table *table, kw_test_tally *tally)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    for (size_t round = 0; round < RECORDS; round++) {
        kw_record record = kw_record_new(table, arena);
        bool one, other;
        for (size_t field = 0; field < table->fields_count; field++)
            record.values[field] = random_value(random, field, arena);
        kw_record moved = with_other_time(table, &record, arena);
        if (!share_key(table->paths[0].layout, &record, &moved, &one) ||
            !share_key(table->paths[1].layout, &record, &moved, &other))
            continue;
        tally->with_other_time += one;
        if (one != other)
            g_error("one record in one path, two in the other:\n%s", random->yaml);
    }
}

/* True if two puts that differ only in their time share a key. */
static bool
share(const random_table *random, const kw_table *table, size_t path, int64_t first, int64_t second,
      kw_arena *arena)
{
    kw_record a = kw_record_new(table, arena), b = kw_record_new(table, arena);
    size_t time = (size_t)kw_table_find_field(table, KW_BYTES_LITERAL("t0"));
    bool same = false;
    for (size_t field = 0; field < table->fields_count; field++)
        a.values[field] = table->fields[field].model->generate.enabled ? test_number(0)
                                                                       : random_value(random, field, arena);
    memcpy(b.values, a.values, table->fields_count * sizeof *b.values);
    a.values[time] = test_number(first);
    b.values[time] = test_number(second);
    return share_key(table->paths[path].layout, &a, &b, &same) && same;
}

/* Numbers of two periods can both be 0. */
static void
try_numbers(const random_table *random, const kw_table *table, size_t path, kw_test_tally *tally)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    size_t number = (size_t)kw_table_find_field(table, KW_BYTES_LITERAL("n0"));
    const kw_layout *layout = table->paths[path].layout;
    if (!random->period || !*random->period || random->wraps || !kw_layout_holds_field(layout, number) ||
        kw_layout_circular(layout)) /* rows of the previous cycle have expired */
        return;
    for (unsigned round = 0; round < RECORDS; round++) {
        int64_t first = random_time();
        int64_t second = random_chance(50) ? random_time() : first + (random_chance(50) ? 3600000 : 1000);
        if (strcmp(random_parts(random->period, first, false, arena),
                   random_parts(random->period, second, false, arena)) == 0)
            continue;
        tally->numbered++;
        if (share(random, table, path, first, second, arena))
            g_error("%" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " share a key:\n%s", (gint64)first,
                    (gint64)second, random->yaml);
    }
}

/* Two times that the clock of a calendar shows alike, because it was set back between them, must not share a
 * key. Only for calendars of hours or finer parts. */
static void
try_alike(const random_table *random, const kw_table *table, size_t path, kw_test_tally *tally)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_layout *layout = table->paths[path].layout;
    const kw_component *clock = NULL;
    for (size_t index = 0; index < kw_layout_component_count(layout); index++) {
        const kw_component *it = kw_layout_component(layout, index);
        clock = it->offsets && it->cell_s < 86400 ? it : clock;
    }
    if (!clock || random->period)
        return;
    g_autofree char *parts = g_strdup_printf("yyyy MM dd HH mm ss in %s", clock->zone);
    for (unsigned round = 0; round < RECORDS; round++) {
        int64_t first = random_time(), second = first + (random_chance(80) ? 3600000 : 1800000);
        if (strcmp(random_parts(parts, first, false, arena), random_parts(parts, second, false, arena)) != 0)
            continue;
        tally->alike++;
        if (share(random, table, path, first, second, arena))
            g_error("%" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " share a key:\n%s", (gint64)first,
                    (gint64)second, random->yaml);
    }
}

static void
try_without_hazards(const random_table *random, const kw_policy *policy, kw_test_tally *tally)
{
    const kw_table *table = kw_policy_table(policy, 0);
    if (kw_policy_hazards_count(policy) > 0)
        return;
    tally->without_hazards++;
    for (size_t path = 0; path < table->queried_paths_count; path++) {
        try_numbers(random, table, path, tally);
        try_alike(random, table, path, tally);
    }
}

KW_TEST(test_random_rules, "/rule/collisions/random_rules")
{
    kw_test_tally tally = {0};
    for (unsigned round = 0; round < TABLES; round++) {
        random_table random;
        random_table_make(&random);
        kw_policy *policy = test_policy_maybe(random.yaml);
        const kw_table *table = policy ? kw_policy_table(policy, 0) : NULL;
        tally.accepted += policy != NULL;
        for (size_t path = 0; table && path < table->queried_paths_count; path++)
            try_layout(&random, table->paths[path].layout, &tally);
        if (table && table->queried_paths_count > 1)
            try_paths(&random, table, &tally);
        if (policy)
            try_without_hazards(&random, policy, &tally);
        kw_policy_unref(policy);
        random_table_clear(&random);
    }
    g_print(
        "# %zu of %d rules accepted, %zu keys, %zu equal pairs, %zu ordered pairs, %zu with another time\n",
        tally.accepted, TABLES, tally.keys, tally.equal, tally.ordered, tally.with_other_time);
    g_print("# %zu rules without hazards, %zu pairs with one number, %zu pairs that a clock shows alike\n",
            tally.without_hazards, tally.numbered, tally.alike);
    g_assert_cmpuint(tally.without_hazards, >, TABLES / 5);
    g_assert_cmpuint(tally.numbered, >, 1000);
    g_assert_cmpuint(tally.alike, >, 20);
    g_assert_cmpuint(tally.with_other_time, >, 100); /* of two times that the keys do not distinguish */
    g_assert_cmpuint(tally.accepted, >, TABLES / 5);
    g_assert_cmpuint(tally.equal, >, 100); /* the same record twice */
    g_assert_cmpuint(tally.ordered, >, 1000);
}

/* --- values that cannot be in a key ------------------------------------------------------------- */

typedef struct kw_test_value {
    const char *type;  /* of the field f */
    const char *field; /* the component's other settings */
    kw_value value;
    const char *expected_text;
} kw_test_value;

static const kw_test_value values[] = {
    {"string", "encoding: terminated", TEXT("a\0b"), "contains the byte 0x00 that ends it"},
    {"string", "encoding: terminated, order: desc", TEXT("a\0b"), "contains the byte 0x00 that ends it"},
    {"string", "encoding: terminated, terminator: '|'", TEXT("a|b"), "contains the byte 0x7C that ends it"},
    {"bytes", "encoding: terminated", BYTES("\0"), "contains the byte 0x00 that ends it"},
    {"string", "encoding: ordered", TEXT("a\0"), "contains the byte 0x00 that ends it"},
    {"string", "encoding: fixed, width: 3", TEXT("abcd"), "has 4 bytes; the row key can hold 3"},
    {"string", "encoding: fixed, width: 3", TEXT("a\0"), "ends with the byte 0x00, which is the padding"},
    {"bytes", "encoding: fixed, width: 3", BYTES("ab"), "has 2 bytes; the row key needs exactly 3"},
    {"bytes", "encoding: fixed, width: 3", BYTES("abcd"), "has 4 bytes"},
    {"string", "encoding: digits, width: 3", TEXT("12"), "is not a string of exactly 3 decimal digits"},
    {"string", "encoding: digits, width: 3", TEXT("12a"), "is not a string of exactly 3 decimal digits"},
    {"string", "encoding: digits, width: 3, reverse: true", TEXT("1234"), "exactly 3 decimal digits"},
    {"string", "encoding: hex, width: 2", TEXT("00fg"), "hex digits"},
    {"string", "encoding: hex, width: 2", TEXT("00FF"), "lower"},
    {"string", "encoding: uuid", TEXT("00112233-4455-6677-8899-aabbccddeef"), "UUID"},
    {"string", "encoding: uuid", TEXT("00112233-4455-6677-8899-AABBCCDDEEFF"), "UUID"},
    {"int", "encoding: int, width: 1", NUMBER(128), "is out of range; int in 1 bytes holds -128 to 127"},
    {"int", "encoding: int, width: 4", NUMBER(INT64_C(-2147483649)), "holds -2147483648 to 2147483647"},
    {"int", "encoding: raw_int", NUMBER(-1), "is negative; raw_int holds 0 to 9223372036854775807"},
    {"int", "encoding: raw_int, width: 2", NUMBER(32768), "holds 0 to 32767"},
    {"int", "encoding: max_minus, width: 4", NUMBER(INT64_C(2147483648)), "holds 0 to 2147483647"},
    {"int", "encoding: max_minus", NUMBER(-1), "is negative"},
    {"int", "encoding: decimal, width: 3", NUMBER(1000), "holds 0 to 999"},
    {"int", "encoding: decimal, width: 3, reverse: true", NUMBER(1000), "holds 0 to 999"},
    {"int", "encoding: decimal, width: 3", NUMBER(-5), "is negative"},
    {"int", "encoding: max_minus_decimal, width: 10", NUMBER(INT64_C(2147483648)), "2147483647"},
    {"int", "encoding: max_minus_decimal", NUMBER(INT64_MIN), "is negative"},
    {"int", "encoding: phoenix, width: 4", NUMBER(INT64_C(2147483648)), "is out of range"},
    {"int", "encoding: ordered, width: 3", NUMBER(40000), "is out of range"},
    {"double", "encoding: float", REAL(0.1), "float"},
    {"double", "encoding: float", REAL(1e39), "float"},
    {"double", "encoding: phoenix, width: 4", REAL(16777217.0), "float"},
    {"double", "encoding: ordered, width: 5", REAL(1e-46), "float"},
    {"string", NULL, TEXT("other"), "is not a declared value"},
};

KW_TEST(test_refused_values, "/rule/collisions/refused_values")
{
    for (size_t index = 0; index < G_N_ELEMENTS(values); index++) {
        const kw_test_value *it = &values[index];
        g_autofree char *yaml =
            it->field ? g_strdup_printf(
                            "    fields: {f: %s, n: int}\n    key: [{field: {name: f, %s}}, {field: n}]\n",
                            it->type, it->field)
                      : g_strdup("    fields: {f: {type: string, values: [x, y]}, n: int}\n"
                                 "    key: [{enum: f}, {field: n}]\n");
        g_autoptr(kw_policy) policy = test_policy(yaml);
        g_autoptr(kw_arena) arena = kw_arena_new();
        const kw_table *table = kw_policy_table(policy, 0);
        kw_record record = kw_record_new(table, arena);
        record.values[0] = it->value;
        record.values[1] = test_number(1);
        kw_buffer key = KW_BUFFER_EMPTY;
        kw_error error = KW_ERROR_NONE;
        g_assert_false(kw_layout_encode(table->paths[0].layout, &record, &key, &error));
        g_assert_cmpint(error.code, ==, KW_INVALID);
        g_assert_cmpuint(key.size, ==, 0);
        if (!g_str_has_prefix(error.text, "table t, field f: value ") ||
            !strstr(error.text, it->expected_text))
            g_error("%s\nis rejected with: %s; expected: %s", yaml, error.text, it->expected_text);
        kw_buffer_clear(&key);
    }
}

KW_TEST_START(start)
{
    random_seed();
}
