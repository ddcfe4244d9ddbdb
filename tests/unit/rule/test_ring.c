/* The consistent hash ring: its nodes and those of Java's rings, even shares, the keys that move when a node
 * is added or removed, and points that equal rings share. */
#include "rule/component.h"
#include "rule/digest.h"
#include "rule/policies.h"
#include "rule/rings.h"

#include <json-glib/json-glib.h>

#define KEYS 20000

/* A ring of the nodes 0001, 0002, ... before an id. */
static kw_policy *
ring_of(unsigned nodes, const char *more)
{
    GString *yaml = g_string_new("    fields: {id: string}\n    key:\n      - ring: {of: id, nodes: [");
    for (unsigned node = 1; node <= nodes; node++)
        g_string_append_printf(yaml, "%s\"%04u\"", node > 1 ? ", " : "", node);
    g_string_append_printf(yaml, "]%s}\n      - field: id\n", more);
    kw_policy *policy = test_policy(yaml->str);
    g_string_free(yaml, TRUE);
    return policy;
}

static unsigned
node_of(const kw_policy *policy, unsigned number)
{
    char id[32];
    g_snprintf(id, sizeof id, "%010u", number);
    kw_value values[] = {test_text(id)};
    kw_record record = {.values = values};
    kw_buffer key = KW_BUFFER_EMPTY;
    bool done = kw_layout_encode(kw_policy_table(policy, 0)->paths[0].layout, &record, &key, NULL);
    g_assert_true(done);
    g_assert_cmpuint(key.size, ==, 14);
    char name[5] = {0};
    memcpy(name, key.data, 4);
    kw_buffer_clear(&key);
    return (unsigned)g_ascii_strtoull(name, NULL, 10);
}

/* Computed with libxxhash and a sorted map in another language: nodes must never change. */
KW_TEST(test_nodes, "/rule/ring/nodes")
{
    static const struct {
        const char *id, *at_100, *at_1;
    } cases[] = {
        {"315764588", "0007", "0009"},
        {"SF177814904", "0005", "0004"},
        {"\xe8\xae\xa2\xe5\x8d\x95"
         "355726301748",
         "0002", "0009"},
        {"YTO-442691263", "0007", "0009"},
    };
    g_autoptr(kw_policy) hundred = ring_of(10, ", replicas: 100");
    g_autoptr(kw_policy) one = ring_of(10, ", replicas: 1");
    for (size_t index = 0; index < G_N_ELEMENTS(cases); index++) {
        kw_value values[] = {test_text(cases[index].id)};
        kw_record record = {.values = values};
        g_autofree char *id = test_hex(kw_bytes_of_text(cases[index].id));
        g_autofree char *node_100 = test_hex(kw_bytes_of_text(cases[index].at_100));
        g_autofree char *node_1 = test_hex(kw_bytes_of_text(cases[index].at_1));
        g_autofree char *expected_100 = g_strconcat(node_100, id, NULL),
                        *expected_1 = g_strconcat(node_1, id, NULL);
        g_autofree char *key_100 = test_key_hex(kw_policy_table(hundred, 0), 0, &record);
        g_autofree char *key_1 = test_key_hex(kw_policy_table(one, 0), 0, &record);
        g_assert_cmpstr(key_100, ==, expected_100);
        g_assert_cmpstr(key_1, ==, expected_1);
    }
}

/* The nodes that a ring in Java selected (tests/data/JavaRing.java). */
KW_TEST(test_java, "/rule/ring/java")
{
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autoptr(GError) error = NULL;
    json_parser_load_from_file(parser, KW_TEST_DATA "/java_ring.json", &error);
    g_assert_no_error(error);
    JsonArray *cases =
        json_object_get_array_member(json_node_get_object(json_parser_get_root(parser)), "cases");
    g_assert_cmpuint(json_array_get_length(cases), ==, 33);
    for (guint index = 0; index < json_array_get_length(cases); index++) {
        JsonObject *it = json_array_get_object_element(cases, index);
        g_autofree char *more = g_strdup_printf(", algorithm: java_fnv, replicas: %d",
                                                (int)json_object_get_int_member(it, "replicas"));
        g_autoptr(kw_policy) policy = ring_of((unsigned)json_object_get_int_member(it, "nodes"), more);
        const char *id = json_object_get_string_member(it, "id");
        g_assert_cmpint(kw_java_fnv_hash(kw_bytes_of_text(id)), ==, json_object_get_int_member(it, "hash"));
        kw_value values[] = {test_text(id)};
        kw_record record = {.values = values};
        g_autofree char *key = test_key_hex(kw_policy_table(policy, 0), 0, &record);
        g_autofree char *expected = g_strconcat(json_object_get_string_member(it, "node"), id, NULL);
        g_autofree char *expected_hex = test_hex(kw_bytes_of_text(expected));
        g_assert_cmpstr(key, ==, expected_hex);
    }
}

/* Numbers are hashed as Java's String.valueOf prints them; values without such a text are rejected. */
static void
check_java_numbers(const char *algorithm)
{
#define NODES "nodes: [\"0001\", \"0002\", \"0003\"]"
    g_autofree char *rule = g_strdup_printf("    fields: {id: int}\n    key:\n"
                                            "      - ring: {of: id, algorithm: %s, " NODES "}\n"
                                            "      - field: id\n",
                                            algorithm);
    g_autofree char *more = g_strdup_printf(", algorithm: %s", algorithm);
    g_autofree char *two = g_strdup_printf("    fields: {id: string, d: double}\n    key:\n"
                                           "      - ring: {of: [id, d], algorithm: %s, " NODES "}\n"
                                           "      - field: id\n      - field: d\n",
                                           algorithm);
    g_autofree char *refusal = g_strdup_printf("ring: %s hashes strings", algorithm);
    g_autoptr(kw_policy) numbers = test_policy(rule);
    g_autoptr(kw_policy) texts = ring_of(3, more);
    for (int64_t id = -500; id < 500; id++) {
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, id);
        kw_value number = test_number(id), same = test_text(text);
        kw_record of_number = {.values = &number}, of_text = {.values = &same};
        g_autofree char *key = test_key_hex(kw_policy_table(numbers, 0), 0, &of_number);
        g_autofree char *expected = test_key_hex(kw_policy_table(texts, 0), 0, &of_text);
        g_assert_true(strncmp(key, expected, 8) == 0);
    }
    g_autofree char *expected_text = test_refused(two);
    g_assert_nonnull(strstr(expected_text, refusal));
    g_assert_nonnull(strstr(expected_text, "d is neither"));
}

KW_TEST(test_java_numbers, "/rule/ring/java_numbers")
{
    check_java_numbers("java_fnv");
    check_java_numbers("java_fnv_alt");
}

/* Sequential ids reach all nodes, each within a third of its share. */
KW_TEST(test_shares, "/rule/ring/shares")
{
    g_autoptr(kw_policy) policy = ring_of(10, "");
    unsigned of_node[11] = {0};
    for (unsigned key = 0; key < KEYS; key++)
        of_node[node_of(policy, key)]++;
    g_assert_cmpuint(of_node[0], ==, 0);
    unsigned most = 0;
    for (unsigned node = 1; node <= 10; node++) {
        g_assert_cmpuint(of_node[node], >, KEYS / 10 * 2 / 3);
        g_assert_cmpuint(of_node[node], <, KEYS / 10 * 4 / 3);
        most = MAX(most, of_node[node]);
    }
    double fullest = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0)->fullest;
    g_assert_cmpfloat_with_epsilon(fullest, (double)most / (KEYS / 10.0), 0.06);
}

/* A sort by comparison gives the same points: those of equal hashes belong to the last node. */
static void
check_points(const kw_ring_nodes *nodes, const kw_ring_points *points)
{
    g_autoptr(GHashTable) node_of_hash = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    for (size_t node = 0; node < nodes->count; node++) {
        for (uint32_t number = 0; number < nodes->replicas; number++) {
            uint8_t digest[KW_DIGEST_MAX];
            g_autofree char *name = g_strdup_printf("%.*s%u", (int)nodes->names[node].size,
                                                    (const char *)nodes->names[node].data, number);
            kw_digest_compute(nodes->digest, kw_bytes_of_text(name), digest);
            uint64_t hash = kw_ring_place(digest, nodes->digest);
            g_hash_table_replace(node_of_hash, g_memdup2(&hash, sizeof hash), GUINT_TO_POINTER(node));
        }
    }
    g_assert_cmpuint(points->count, ==, g_hash_table_size(node_of_hash));
    for (size_t index = 0; index < points->count; index++) {
        const kw_ring_point *point = &points->items[index];
        g_assert_true(index == 0 || points->items[index - 1].hash < point->hash);
        g_assert_cmpuint(point->node, ==, GPOINTER_TO_UINT(g_hash_table_lookup(node_of_hash, &point->hash)));
    }
}

KW_TEST(test_points, "/rule/ring/points")
{
    static const kw_digest digests[] = {KW_DIGEST_XXH64, KW_DIGEST_JAVA_FNV};
    /* "a" with the points 10 to 19 has the hashes of "a1" with the points 0 to 9 */
    const kw_bytes names[] = {KW_BYTES_LITERAL("a"), KW_BYTES_LITERAL("a1"), KW_BYTES_LITERAL("other")};
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_autoptr(kw_rings) rings = kw_rings_new();
    for (size_t index = 0; index < G_N_ELEMENTS(digests); index++) {
        kw_ring_nodes nodes = {digests[index], names, G_N_ELEMENTS(names), 1000};
        const kw_ring_points *points = kw_rings_points(rings, &nodes, arena);
        check_points(&nodes, points);
        g_assert_cmpuint(points->count, <, 3000);
        g_assert_true(kw_rings_points(rings, &nodes, arena) == points);
        g_assert_true(kw_rings_points(NULL, &nodes, arena) != points);
        nodes.replicas++;
        g_assert_true(kw_rings_points(rings, &nodes, arena) != points);
        nodes = (kw_ring_nodes){digests[index], names + 1, 2, 1000};
        g_assert_true(kw_rings_points(rings, &nodes, arena) != points);
        check_points(&nodes, kw_rings_points(rings, &nodes, arena));
    }
}

/* A thousand rings, of two kinds: those of the first kind need 512 KiB each. */
KW_TEST(test_equal_rings, "/rule/ring/equal_rings")
{
#define TABLE                                                                                                \
    "    fields: {id: string}\n    key:\n"                                                                   \
    "      - ring: {of: id, nodes: [a, b, c, d, e, f, g, h], replicas: 4096}\n"                              \
    "      - ring: {of: id, nodes: [y, z], replicas: 4096}\n      - field: id\n"
    GString *yaml = g_string_new(TABLE);
    for (unsigned table = 1; table < 500; table++)
        g_string_append_printf(yaml, "  t%u:\n" TABLE, table);
    int64_t before = kw_budget_used();
    g_autoptr(kw_policy) policy = test_policy(yaml->str);
    g_assert_cmpuint(kw_policy_table_count(policy), ==, 500);
    g_assert_cmpint(kw_budget_used() - before, <, 16 << 20);
    g_string_free(yaml, TRUE);
}

/* About 1 of n + 1 keys move, all of them to the added node. */
KW_TEST(test_growth, "/rule/ring/growth")
{
    for (unsigned nodes = 2; nodes <= 32; nodes *= 2) {
        g_autoptr(kw_policy) before = ring_of(nodes, ", replicas: 256");
        g_autoptr(kw_policy) after = ring_of(nodes + 1, ", replicas: 256");
        unsigned moved = 0;
        for (unsigned key = 0; key < KEYS; key++) {
            unsigned from = node_of(before, key), to = node_of(after, key);
            if (from != to)
                g_assert_cmpuint(to, ==, nodes + 1);
            moved += from != to;
        }
        g_test_message("%u nodes and one more: %u of %d keys move", nodes, moved, KEYS);
        g_assert_cmpuint(moved, >, KEYS / (nodes + 1) * 2 / 3);
        g_assert_cmpuint(moved, <, KEYS / (nodes + 1) * 4 / 3);
    }
}

/* Names of several lengths, none of which is a prefix of another, and the rule's description. */
KW_TEST(test_names, "/rule/ring/names")
{
    const char *yaml = "    fields: {id: string, n: int}\n    key:\n"
                       "      - ring: {of: [id, n], nodes: [west, east-1, up], replicas: 16}\n"
                       "      - field: id\n      - field: {name: n, width: 1}\n";
    g_autoptr(kw_policy) policy = test_policy(yaml);
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_layout *layout = kw_policy_table(policy, 0)->paths[0].layout;
    g_assert_cmpstr(kw_layout_component_text(layout, 0), ==,
                    "ring(xxh64 of id, n, 16 replicas of \"west\", \"east-1\", \"up\")");
    g_assert_cmpuint(kw_layout_buckets(layout), ==, 3);
    size_t seen[128] = {0};
    for (int64_t n = 0; n < 100; n++) {
        kw_value values[] = {test_text("a"), test_number(n)};
        kw_record record = {.values = values}, back = kw_record_new(kw_policy_table(policy, 0), arena);
        kw_buffer key = KW_BUFFER_EMPTY;
        bool done = kw_layout_encode(layout, &record, &key, NULL);
        g_assert_true(done);
        done = kw_layout_decode(layout, kw_buffer_bytes(&key), arena, &back, NULL);
        g_assert_true(done && kw_value_equal(back.values[1], values[1]));
        seen[key.data[0] & 127]++;
        key.data[0] = 'x'; /* not a node */
        done = kw_layout_decode(layout, kw_buffer_bytes(&key), arena, &back, NULL);
        g_assert_false(done);
        kw_buffer_clear(&key);
    }
    g_assert_true(seen['w'] > 0 && seen['e'] > 0 && seen['u'] > 0);
}
