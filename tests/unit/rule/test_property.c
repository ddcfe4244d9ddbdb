/* Properties of components and layouts over random rules and values:
 *
 *   if a component keeps order, the order of its pieces is the order of the values
 *   no piece of a delimited component is a prefix of another one
 *   enumerate lists the piece of every value within the span
 *   a key that decodes is the encoding of the decoded record, whatever its bytes (mutated and random keys)
 *   the fingerprint depends on the rule alone
 */
#include "rule/component.h"
#include "rule/policies.h"
#include "rule/random_rules.h"

#define TABLES 1500
#define PAIRS 30

typedef struct kw_test_tally {
    size_t pairs, ordered, listed, mutated, decoded, choices;
} kw_test_tally;

static bool
piece_of(const kw_component *component, const kw_value *values, kw_arena *arena, kw_bytes *ret_piece)
{
    kw_buffer out = KW_BUFFER_EMPTY;
    bool done = component->kind->encode(component, values, KW_BYTES_NONE, &out, NULL);
    *ret_piece = kw_arena_copy(arena, kw_buffer_bytes(&out));
    kw_buffer_clear(&out);
    return done;
}

static void
check_order(const kw_component *component, kw_value a, kw_value b, kw_bytes left, kw_bytes right)
{
    int order = kw_value_compare(a, b), bytes = kw_bytes_compare(left, right);
    if (component->unit > 1)
        g_assert_cmpint(order * component->direction * bytes, >=, 0);
    else
        g_assert_cmpint((order > 0) - (order < 0), ==, component->direction * ((bytes > 0) - (bytes < 0)));
}

static void
check_pair(const random_table *random, const kw_component *component, kw_arena *arena, kw_test_tally *tally)
{
    kw_record a = kw_record_over(component->table, arena), b = kw_record_over(component->table, arena);
    size_t field = (size_t)component->field;
    a.values[field] = random_value(random, field, arena);
    b.values[field] = random_value(random, field, arena);
    for (size_t also = 0; also < component->also_count; also++)
        a.values[component->also[also]] = b.values[component->also[also]] =
            random_value(random, component->also[also], arena);
    kw_bytes left, right;
    if (!piece_of(component, a.values, arena, &left) || !piece_of(component, b.values, arena, &right))
        return;
    tally->pairs++;
    if (component->width)
        g_assert_cmpuint(left.size, ==, component->width);
    if (component->unit == 1)
        g_assert_true(kw_bytes_equal(left, right) == kw_value_equal(a.values[field], b.values[field]));
    if (component->delimited && !kw_bytes_equal(left, right))
        g_assert_false(kw_bytes_starts_with(left, right) || kw_bytes_starts_with(right, left));
    if (component->direction != 0) {
        check_order(component, a.values[field], b.values[field], left, right);
        tally->ordered++;
    }
}

/* The piece of a value within a span around it is listed. */
static void
check_listed(const random_table *random, const kw_component *component, kw_arena *arena, kw_test_tally *tally)
{
    if (component->of_rest)
        return;
    kw_record record = kw_record_over(component->table, arena);
    for (size_t index = 0; index < component->inputs_count; index++)
        record.values[component->inputs[index]] = random_value(random, component->inputs[index], arena);
    kw_value value = record.values[component->inputs[0]];
    kw_value_span span = {.field = (int)component->inputs[0],
                          .from = value,
                          .to = value,
                          .from_inclusive = true,
                          .to_inclusive = true};
    if (value.kind == KW_VALUE_NUMBER && value.number > 0 && value.number < INT64_MAX / 2) {
        span.from.number -= random_below(5);
        span.to.number += random_below(5);
    }
    kw_bytes piece;
    if (!piece_of(component, record.values, arena, &piece))
        return;
    const kw_bucket *buckets;
    size_t count = component->kind->enumerate(component, &span, arena, &buckets);
    g_assert_cmpuint(count, <=, component->buckets);
    size_t found = 0;
    for (size_t index = 0; index < count; index++) {
        if (!kw_bytes_equal(buckets[index].bytes, piece))
            continue;
        found++;
        if (buckets[index].narrowed)
            g_assert_true(buckets[index].least <= value.number && value.number <= buckets[index].most);
        if (buckets[index].field >= 0)
            g_assert_true(kw_value_equal(buckets[index].value, record.values[buckets[index].field]));
    }
    g_assert_cmpuint(found, ==, 1);
    tally->listed++;
}

/* Every bucket that can be chosen is listed at its position, and can be decoded from its piece. */
static void
check_choices(const kw_component *component, kw_arena *arena, kw_test_tally *tally)
{
    kw_value_span span = {.field = -1};
    const kw_bucket *buckets;
    size_t count = component->kind->enumerate(component, &span, arena, &buckets);
    g_assert_cmpuint(count, ==, component->buckets);
    for (uint32_t index = 0; index < count; index++) {
        kw_buffer piece = KW_BUFFER_EMPTY;
        component->kind->choose(component, index, &piece);
        g_assert_cmpuint(piece.size, ==, component->width);
        g_assert_true(kw_bytes_equal(kw_buffer_bytes(&piece), buckets[index].bytes));
        g_assert_cmpuint(component->kind->chosen(component, kw_buffer_bytes(&piece)), ==, index);
        piece.data[random_below((unsigned)piece.size)] = (uint8_t)(3 + random_below(45));
        uint32_t other = component->kind->chosen(component, kw_buffer_bytes(&piece));
        g_assert_true(other == UINT32_MAX || kw_bytes_equal(kw_buffer_bytes(&piece), buckets[other].bytes));
        kw_buffer_clear(&piece);
        tally->choices++;
    }
}

/* True if the key is the record's, in one of the buckets that can be chosen. */
static bool
is_key_of(const kw_layout *layout, const kw_record *record, kw_bytes key)
{
    bool found = false;
    for (uint32_t bucket = 0; bucket < kw_layout_choice(layout).buckets; bucket++) {
        kw_buffer again = KW_BUFFER_EMPTY;
        kw_error error = KW_ERROR_NONE;
        if (!kw_layout_encode_chosen(layout, record, bucket, &again, &error))
            g_error("decoded, but does not encode: %s", error.text);
        found = found || kw_bytes_equal(key, kw_buffer_bytes(&again));
        kw_buffer_clear(&again);
    }
    return found;
}

/* Any bytes: rejected, or the encoding of the decoded record. */
/* Finds something wrong in exactly the keys that do not decode; the pieces are the beginning of the key. */
static void
check_dissected(const kw_layout *layout, kw_bytes key, bool decodes, const kw_record *decoded,
                kw_arena *arena)
{
    kw_record record = kw_record_over(kw_layout_fields(layout), arena);
    size_t components = kw_layout_component_count(layout), size = 0;
    kw_dissected_key found;
    kw_layout_dissect(layout, key, arena, &record, &found);
    g_assert_true(decodes == (found.why == NULL));
    for (size_t index = 0; index < found.pieces_count; index++) {
        g_assert_true(found.pieces[index].bytes.data == key.data + size);
        size += found.pieces[index].bytes.size;
    }
    g_assert_cmpuint(size, <=, key.size);
    g_assert_cmpuint(found.wrong, <=, components);
    for (size_t field = 0; decodes && field < kw_layout_fields(layout)->fields_count; field++)
        g_assert_true(kw_value_equal(record.values[field], decoded->values[field]));
    if (decodes) {
        g_assert_cmpuint(found.pieces_count, ==, components);
        g_assert_cmpuint(size, ==, key.size);
    } else {
        g_assert_cmpstr(found.why, !=, "");
    }
}

static void
check_any_key(const kw_layout *layout, kw_bytes key, kw_arena *arena, kw_test_tally *tally)
{
    kw_record record = kw_record_over(kw_layout_fields(layout), arena);
    kw_error error = KW_ERROR_NONE;
    tally->mutated++;
    bool decodes = kw_layout_decode(layout, key, arena, &record, &error);
    check_dissected(layout, key, decodes, &record, arena);
    if (!decodes) {
        g_assert_cmpint(error.code, ==, KW_CORRUPT);
        g_assert_cmpstr(error.text, !=, "");
        return;
    }
    for (size_t index = 0; index < kw_layout_component_count(layout); index++) {
        if (kw_layout_component(layout, index)->unit > 1)
            return; /* the fields do not encode to the key */
    }
    g_assert_true(is_key_of(layout, &record, key));
    tally->decoded++;
}

static void
check_keys(const random_table *random, const kw_layout *layout, kw_arena *arena, kw_test_tally *tally)
{
    const kw_field_set *table = kw_layout_fields(layout);
    kw_record record = kw_record_over(table, arena);
    for (size_t field = 0; field < table->fields_count; field++)
        record.values[field] = random_value(random, field, arena);
    kw_buffer key = KW_BUFFER_EMPTY;
    kw_buffer_append_byte(&key, 0x5a); /* the bytes before the key remain */
    kw_error error = KW_ERROR_NONE;
    uint32_t bucket = random_below(kw_layout_choice(layout).buckets);
    if (!kw_layout_encode_chosen(layout, &record, bucket, &key, &error)) {
        g_assert_cmpuint(key.size, ==, 1);
        g_assert_nonnull(strstr(error.text, "table t"));
    }
    kw_bytes whole = kw_arena_copy(arena, kw_bytes_skip(kw_buffer_bytes(&key), 1));
    kw_buffer_clear(&key);
    uint8_t *bytes = (uint8_t *)whole.data;
    check_any_key(layout, whole, arena, tally);
    for (unsigned round = 0; round < 4 && whole.size > 0; round++) {
        bytes[random_below((unsigned)whole.size)] = random_chance(50) ? (uint8_t)random_below(256) : 0;
        check_any_key(layout, kw_bytes_of(bytes, whole.size - random_below(2)), arena, tally);
    }
}

static void
try_table(kw_test_tally *tally)
{
    random_table random;
    random_table_make(&random);
    kw_policy *policy = test_policy_maybe(random.yaml);
    kw_arena *arena = kw_arena_new();
    const kw_layout *layout = policy ? kw_policy_table(policy, 0)->paths[0].layout : NULL;
    for (size_t index = 0; layout && index < kw_layout_component_count(layout); index++) {
        const kw_component *component = kw_layout_component(layout, index);
        for (unsigned round = 0; round < PAIRS && component->field >= 0; round++)
            check_pair(&random, component, arena, tally);
        for (unsigned round = 0; round < PAIRS && component->buckets && !component->choice; round++)
            check_listed(&random, component, arena, tally);
        if (component->choice)
            check_choices(component, arena, tally);
    }
    for (unsigned round = 0; layout && round < PAIRS; round++)
        check_keys(&random, layout, arena, tally);
    if (layout) {
        g_autoptr(kw_policy) again = test_policy_with_hazards(random.yaml);
        g_assert_cmpstr(kw_layout_fingerprint(layout), ==,
                        kw_layout_fingerprint(kw_policy_table(again, 0)->paths[0].layout));
    }
    kw_arena_free(arena);
    kw_policy_unref(policy);
    random_table_clear(&random);
}

KW_TEST(test_random_rules, "/rule/property/random_rules")
{
    kw_test_tally tally = {0};
    for (unsigned index = 0; index < TABLES; index++)
        try_table(&tally);
    g_print("# %zu pairs, %zu in order; %zu listed; %zu keys, of which %zu decode\n", tally.pairs,
            tally.ordered, tally.listed, tally.mutated, tally.decoded);
    g_assert_cmpuint(tally.ordered, >, 1000);
    g_assert_cmpuint(tally.listed, >, 1000);
    g_assert_cmpuint(tally.choices, >, 100);
    g_assert_cmpuint(tally.decoded, >, 1000);
    g_assert_cmpuint(tally.mutated, >, tally.decoded);
}

KW_TEST_START(start)
{
    random_seed();
}
