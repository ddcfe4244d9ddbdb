/* Keys that one rule made, judged by another: what does not fit, and which settings would. */
#include "rule/alternatives.h"
#include "rule/policies.h"

#include <stdio.h>

#define FIELDS "    fields: {usr: {type: string, max_bytes: 40}, ts: {type: timestamp, unit: ms}, n: int}\n"
#define KEYS 40
#define FIRST_MS INT64_C(1700000000000)
#define DAY_MS INT64_C(86400000)

/* The time, if the key holds it, is one of those of make_keys. */
static bool
accept_times(void *user, const kw_record *record)
{
    (void)user;
    kw_value time = record->values[1];
    return time.kind == KW_VALUE_NONE || (time.number >= FIRST_MS && time.number < FIRST_MS + KEYS * DAY_MS);
}

/* The keys of some records under a rule. */
static void
make_keys(const char *key, size_t count, kw_arena *arena, kw_bytes *to)
{
    g_autofree char *yaml = g_strdup_printf(FIELDS "    key: %s\n", key);
    g_autoptr(kw_policy) policy = test_policy(yaml);
    const kw_table *table = kw_policy_table(policy, 0);
    for (size_t i = 0; i < count; i++) {
        kw_record record = kw_record_new(table, arena);
        kw_error error = KW_ERROR_NONE;
        kw_buffer out = KW_BUFFER_EMPTY;
        record.values[0] = test_text(kw_arena_printf(arena, "u%03zu", i * 7 % count));
        record.values[1] = test_number(FIRST_MS + (int64_t)i * (DAY_MS - 1));
        record.values[2] = test_number((int64_t)i * 37 + 100);
        if (!kw_layout_encode(table->paths->layout, &record, &out, &error))
            g_error("%s", error.text);
        to[i] = kw_arena_copy(arena, kw_buffer_bytes(&out));
        kw_buffer_clear(&out);
    }
}

typedef struct made_by {
    const char *rule;     /* that made the keys */
    const char *policy;   /* of the policy */
    const char *expected; /* the alternative; NULL: none */
} made_by;

#define TS_END                                                                                               \
    "{field: {name: usr, encoding: terminated, terminator: \"|\"}}, {field: {name: ts, encoding: raw_int}}"
static const made_by cases[] = {
    /* the number of buckets */
    {"[{salt: {of: [usr], buckets: 16, algorithm: crc32}}, " TS_END "]",
     "[{salt: {of: [usr], buckets: 8, algorithm: crc32}}, " TS_END "]", "salt: {buckets: 16}"},
    {"[{salt: {of: [usr], buckets: 1000, algorithm: xxh64}}, " TS_END "]",
     "[{salt: {of: [usr], buckets: 300}}, " TS_END "]", "salt: {buckets: 1000}"},
    {"[{mod: {of: n, buckets: 7}}, {field: n}]", "[{mod: {of: n, buckets: 8}}, {field: n}]",
     "mod: {buckets: 7}"},
    /* the algorithm, alone and with the number */
    {"[{salt: {of: [usr], buckets: 16, algorithm: java_string}}, " TS_END "]",
     "[{salt: {of: [usr], buckets: 16}}, " TS_END "]", "salt: {algorithm: java_string}"},
    {"[{salt: {of: [usr], buckets: 100, algorithm: murmur3, as: decimal}}, " TS_END "]",
     "[{salt: {of: [usr], buckets: 64, as: decimal}}, " TS_END "]",
     "salt: {buckets: 100, algorithm: murmur3}"},
    /* the same buckets, unless the hash is INT32_MIN */
    {"[{salt: {buckets: 8, algorithm: hbasewd}}, " TS_END "]",
     "[{salt: {of: [usr], buckets: 8}}, " TS_END "]", "salt: {of: (none), algorithm: phoenix}"},
    {"[{hash: {of: [usr], algorithm: sha1, take: 4}}, " TS_END "]",
     "[{hash: {of: [usr], algorithm: md5, take: 4}}, " TS_END "]", "hash: {algorithm: sha1}"},
    {"[{hash: {of: [usr], algorithm: md5, take: 6}}, " TS_END "]",
     "[{hash: {of: [usr], algorithm: md5, take: 4}}, " TS_END "]", "hash: {take: 6}"},
    /* which field is hashed */
    {"[{salt: {of: [ts], buckets: 16}}, " TS_END "]", "[{salt: {of: [usr], buckets: 16}}, " TS_END "]",
     "salt: {of: [ts]}"},
    /* the width, order, terminator and encoding of a field */
    {"[{field: {name: usr, encoding: terminated}}, {field: {name: n, encoding: raw_int, width: 4}}]",
     "[{field: {name: usr, encoding: terminated}}, {field: {name: n, encoding: raw_int}}]",
     "field n: {width: 4}"},
    {"[{field: {name: usr, encoding: terminated, order: desc}}, {field: n}]",
     "[{field: {name: usr, encoding: terminated}}, {field: n}]", "field usr: {order: desc}"},
    {"[{field: {name: usr, encoding: terminated, terminator: \"|\"}}, {field: {name: n, encoding: raw_int, "
     "width: 4}}]",
     "[{field: {name: usr, encoding: terminated}}, {field: {name: n, encoding: raw_int, width: 4}}]",
     "field usr: {terminator: |}"},
    {"[{field: {name: ts, encoding: decimal, width: 13}}, {field: usr}]",
     "[{field: {name: ts, encoding: raw_int}}, {field: {name: usr, encoding: uuid}}]", NULL},
    {"[{field: {name: ts, encoding: decimal, width: 13}}, {field: usr}]",
     "[{field: {name: ts, encoding: decimal, width: 15}}, {field: usr}]", "field ts: {width: 13}"},
    /* without the salt, the rule would fit keys with any salt */
    {"[" TS_END "]", "[{salt: {of: [usr], buckets: 8}}, " TS_END "]", NULL},
};

static void
assert_alternative(const made_by *given, size_t count, const char *expected)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_bytes *keys = KW_ARENA_ARRAY(arena, kw_bytes, count);
    make_keys(given->rule, count, arena, keys);
    g_autofree char *yaml = g_strdup_printf(FIELDS "    key: %s\n", given->policy);
    g_autoptr(kw_policy) policy = test_policy(yaml);
    const kw_layout *layout = kw_policy_table(policy, 0)->paths->layout;
    kw_record record = kw_record_new(kw_policy_table(policy, 0), arena);
    kw_dissected_key judged;
    size_t wrong = 0, misfits = 0;
    for (size_t i = 0; i < count; i++) {
        kw_layout_judge(layout, keys[i], arena, &record, &judged);
        if (!judged.why)
            continue;
        kw_bytes moved = keys[misfits];
        keys[misfits] = keys[i];
        keys[i] = moved;
        wrong = misfits++ ? wrong : judged.wrong;
    }
    g_assert_cmpuint(misfits, >, 0);
    kw_key_sample sample = {.keys = keys, .count = count, .accepts = accept_times};
    const char *found = kw_rule_find_alternative(layout, &sample, wrong, arena);
    if (g_strcmp0(found, expected) != 0)
        g_error("%s\nas %s\ngot: %s\nnot: %s", given->rule, given->policy, found, expected);
}

KW_TEST(test_found, "/rule/alternatives/found")
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_alternative(&cases[i], KEYS, cases[i].expected);
}

/* A few keys fit too many rules. */
KW_TEST(test_few_keys, "/rule/alternatives/few-keys")
{
    assert_alternative(&cases[0], KW_ALTERNATIVE_KEYS - 1, NULL);
}

static bool
accept_none(void *user, const kw_record *record)
{
    (void)record;
    ++*(size_t *)user;
    return false;
}

/* A form whose fields cannot be those of a key is not proposed. */
KW_TEST(test_rejected, "/rule/alternatives/rejected")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_bytes keys[KEYS];
    size_t asked = 0;
    make_keys(cases[0].rule, KEYS, arena, keys);
    g_autofree char *yaml = g_strdup_printf(FIELDS "    key: %s\n", cases[0].policy);
    g_autoptr(kw_policy) policy = test_policy(yaml);
    kw_key_sample sample = {.keys = keys, .count = KEYS, .accepts = accept_none, .user = &asked};
    g_assert_null(kw_rule_find_alternative(kw_policy_table(policy, 0)->paths->layout, &sample, 0, arena));
    g_assert_cmpuint(asked, >, 0);
}
