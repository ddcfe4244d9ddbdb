/* Components that are computed from fields: the pieces within a span, and records without these fields. */
#include "rule/component.h"
#include "rule/policies.h"

enum { N, M, ID, FIELDS };
enum { MOD, SALT, COMPONENTS };

static kw_policy *
policy_with_buckets(void)
{
    return test_policy("    fields: {n: int, m: int, id: string}\n"
                       "    key: [{mod: {of: n, buckets: 16}}, {salt: {of: [n, m], buckets: 8}},\n"
                       "          {field: n}, {field: m}, {field: {name: id, encoding: raw}}]\n");
}

static const kw_component *
component_of(const kw_policy *policy, size_t index)
{
    return kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, index);
}

static size_t
count_within(const kw_component *component, int field, int64_t from, int64_t to)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_value_span span = {.field = field,
                          .from = test_number(from),
                          .to = test_number(to),
                          .from_inclusive = true,
                          .to_inclusive = true};
    const kw_bucket *buckets;
    return component->kind->enumerate(component, &span, arena, &buckets);
}

/* A short span of the field selects the buckets of its values. A span of another field, or of one field of
 * several, selects all buckets. */
KW_TEST(test_spans, "/rule/derived/spans")
{
    g_autoptr(kw_policy) policy = policy_with_buckets();
    g_assert_cmpuint(count_within(component_of(policy, MOD), N, 3, 5), ==, 3);
    g_assert_cmpuint(count_within(component_of(policy, MOD), N, 3, 300), ==, 16);
    g_assert_cmpuint(count_within(component_of(policy, MOD), M, 3, 5), ==, 16);
    g_assert_cmpuint(count_within(component_of(policy, SALT), N, 3, 3), ==, 8);
}

/* A record without the fields has no piece. */
KW_TEST(test_missing_fields, "/rule/derived/missing-fields")
{
    g_autoptr(kw_policy) policy = policy_with_buckets();
    const kw_value none[FIELDS] = {{.kind = KW_VALUE_NONE}};
    for (size_t index = 0; index < COMPONENTS; index++) {
        const kw_component *component = component_of(policy, index);
        kw_buffer piece = KW_BUFFER_EMPTY;
        kw_error error = KW_ERROR_NONE;
        g_assert_false(component->kind->encode(component, none, KW_BYTES_NONE, &piece, &error));
        g_assert_nonnull(strstr(error.text, "field n"));
        kw_buffer_clear(&piece);
    }
}

/* The same for every hash that a salt can use. */
KW_TEST(test_missing_field_of_a_salt, "/rule/derived/missing-field-of-a-salt")
{
    static const char *const algorithms[] = {"xxh64",   "murmur2",   "murmur3",    "crc32",
                                             "jenkins", "java_long", "java_string"};
    const kw_value none[FIELDS] = {{.kind = KW_VALUE_NONE}};
    for (size_t i = 0; i < G_N_ELEMENTS(algorithms); i++) {
        g_autofree char *yaml = g_strdup_printf(
            "    fields: {n: int, m: int, id: string}\n"
            "    key: [{salt: {of: [n], buckets: 8, algorithm: %s}}, {field: n}, {field: m}, {field: id}]\n",
            algorithms[i]);
        g_autoptr(kw_policy) policy = test_policy(yaml);
        kw_buffer piece = KW_BUFFER_EMPTY;
        kw_error error = KW_ERROR_NONE;
        const kw_component *salt = component_of(policy, 0);
        g_assert_false(salt->kind->encode(salt, none, KW_BYTES_NONE, &piece, &error));
        g_assert_nonnull(strstr(error.text, "field n"));
        kw_buffer_clear(&piece);
    }
}
