/* UUIDs, object ids, the bits of snowflakes, and blocks: their form, order and uniqueness. */
#include "base/bytes.h"
#include "sequence/block.h"
#include "sequence/id_source.h"
#include "sequence/snowflake.h"
#include "support/seed.h"

#include <glib.h>
#include <string.h>

#define NOW INT64_C(1612551884712)

static kw_id_source unique;

static void
check_uuid(const uint8_t *uuid, unsigned version)
{
    char text[KW_UUID_TEXT + 1] = "";
    kw_uuid_print(uuid, text);
    g_assert_true(g_uuid_string_is_valid(text));
    g_assert_cmpint(text[14], ==, (int)('0' + version));
    g_assert_nonnull(strchr("89ab", text[19]));
}

/* Checks that the ids are sorted and all different; `ids` has `size` bytes for each. */
static void
check_ascending(const uint8_t *ids, size_t size, size_t count)
{
    for (size_t i = 1; i < count; i++)
        g_assert_cmpint(memcmp(ids + (i - 1) * size, ids + i * size, size), <, 0);
}

KW_TEST(test_uuid4, "/ids/uuid4")
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (int i = 0; i < 2000; i++) {
        uint8_t uuid[KW_UUID_BYTES];
        char *text = g_malloc0(KW_UUID_TEXT + 1);
        kw_id_source_uuid4(&unique, uuid);
        check_uuid(uuid, 4);
        kw_uuid_print(uuid, text);
        g_assert_true(g_hash_table_add(seen, text));
    }
}

/* Ids are ordered by their generation, even when the clock stops or is set back, and for 10,000 ids in one
 * millisecond. */
KW_TEST(test_uuid7, "/ids/uuid7")
{
    enum { COUNT = 10000 };
    g_autofree uint8_t *ids = g_malloc(COUNT * KW_UUID_BYTES);
    for (size_t i = 0; i < COUNT; i++) {
        int64_t now = i < 20 ? NOW + (int64_t)i : i < 40 ? NOW - 5000 : NOW + 19;
        kw_id_source_uuid7(&unique, now, ids + i * KW_UUID_BYTES);
        check_uuid(ids + i * KW_UUID_BYTES, 7);
    }
    check_ascending(ids, KW_UUID_BYTES, COUNT);
    uint8_t first[8] = {0};
    memcpy(first + 2, ids, 6);
    g_assert_cmpint((int64_t)kw_be64_load(first), ==, NOW);
}

KW_TEST(test_objectid, "/ids/objectid")
{
    kw_id_source other;
    uint8_t one[KW_OBJECTID_BYTES], two[KW_OBJECTID_BYTES];
    char text[2 * KW_OBJECTID_BYTES + 1] = "";
    kw_id_source_init(&other);
    kw_id_source_objectid(&unique, NOW, one);
    kw_id_source_objectid(&other, NOW, two);
    g_assert_cmpuint(kw_be32_load(one), ==, NOW / 1000);
    g_assert_cmpint(memcmp(one + 4, two + 4, 5), !=, 0); /* each generator has its own random bytes */
    kw_id_source_objectid(&unique, NOW - 60000, two);
    g_assert_cmpuint(kw_be32_load(two), ==, NOW / 1000); /* the clock was set back, the ids still increase */
    g_assert_cmpuint(((kw_be32_load(one + 8) & 0xffffff) + 1) & 0xffffff, ==,
                     kw_be32_load(two + 8) & 0xffffff);
    kw_hex_print((const uint8_t *)"\x00\x9f\xff", 3, text);
    g_assert_cmpstr(text, ==, "009fff");
}

/* After all numbers of one second are used, the next id belongs to the next second. */
KW_TEST(test_objectid_counter, "/ids/objectid_counter")
{
    kw_id_source own;
    uint8_t id[KW_OBJECTID_BYTES], first[KW_OBJECTID_BYTES];
    kw_id_source_init(&own);
    kw_id_source_objectid(&own, NOW, first);
    for (uint32_t i = 1; i < UINT32_C(1) << 24; i++)
        kw_id_source_objectid(&own, NOW, id);
    g_assert_cmpuint(kw_be32_load(id), ==, NOW / 1000);
    kw_id_source_objectid(&own, NOW, id);
    g_assert_cmpuint(kw_be32_load(id), ==, NOW / 1000 + 1);
    g_assert_cmpint(memcmp(first + 4, id + 4, 8), ==, 0); /* the counter is unchanged */
}

/* --- snowflakes --------------------------------------------------------------------------------------- */

static kw_model_generate
snowflake(bool partitioned, int64_t epoch_ms)
{
    return (kw_model_generate){
        .enabled = true, .kind = KW_GENERATE_SNOWFLAKE, .partitioned = partitioned, .epoch_ms = epoch_ms};
}

/* The cases of the group partitioned_snowflake of the vectors. */
KW_TEST(test_partitioned, "/ids/snowflake/partitioned")
{
    static const struct {
        int64_t ts_ms;
        uint32_t worker, sequence;
        uint64_t key;
    } cases[] = {
        {1612551884712, 105, 25855, 0x08c03b2d986964ff}, {1588154450767, 432, 14260, 0x00bd52a0a5b037b4},
        {1485157914599, 208, 28312, 0x66b10b6c34d06e98}, {1779624749006, 486, 15280, 0x18d425d65be63bb0},
        {1608481700551, 266, 58321, 0x38bfbef7490ae3d1}, {1680004779336, 117, 7853, 0x76c845ad56751ead},
        {1751995483957, 300, 64508, 0x30d0daa8b72cfbfc}, {1705560739189, 492, 13548, 0x68cb519547ec34ec}};
    kw_model_generate how = snowflake(true, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int64_t id;
        kw_error error;
        g_assert_true(
            kw_snowflake_pack(&how, cases[i].ts_ms / 1000, cases[i].worker, cases[i].sequence, &id, &error));
        g_assert_cmphex((uint64_t)id, ==, cases[i].key);
    }
}

KW_TEST(test_standard, "/ids/snowflake/standard")
{
    kw_model_generate how = snowflake(false, 1000);
    kw_error error;
    int64_t id;
    g_assert_true(kw_snowflake_pack(&how, 1000 + 5, 3, 7, &id, &error));
    g_assert_cmpint(id, ==, INT64_C(5) << 22 | 3 << 12 | 7);
    g_assert_true(kw_snowflake_pack(&how, 1000 + (INT64_C(1) << 41) - 1, 1023, 4095, &id, &error));
    g_assert_cmpint(id, ==, INT64_MAX);
    g_assert_false(kw_snowflake_pack(&how, 1000 + (INT64_C(1) << 41), 0, 0, &id, &error));
    g_assert_cmpint(error.code, ==, KW_LIMIT);
    g_assert_false(kw_snowflake_pack(&how, 999, 0, 0, &id, &error));
    g_assert_nonnull(strstr(error.text, "before"));
}

/* With random clocks, every (tick, sequence) occurs once, in order, within the bound. */
KW_TEST(test_ticks, "/ids/snowflake/ticks")
{
    g_autoptr(GRand) dice = g_rand_new_with_seed((guint32)test_seed());
    kw_snowflake_form form = kw_snowflake_form_of(false);
    kw_ticks ticks = {100, UINT32_C(1) << form.sequence_bits};
    int64_t now = 100, last_tick = 100, last_sequence = 0, refused = 0;
    for (int i = 0; i < 100000; i++) {
        now += g_rand_int_range(dice, 0, 20) == 0 ? g_rand_int_range(dice, -50, 50) : 0;
        int64_t most = now + 20;
        kw_tick_part part;
        if (!kw_ticks_allocate(&ticks, form, now, most, (uint32_t)g_rand_int_range(dice, 1, 300), &part)) {
            refused++;
            continue;
        }
        g_assert_cmpint(part.tick, <=, MAX(most, last_tick));
        if (part.tick == last_tick)
            g_assert_cmpint(part.first, ==, last_sequence + 1);
        else
            g_assert_true(part.tick > last_tick && part.first == 0);
        g_assert_cmpuint(part.first + part.count, <=, 1u << form.sequence_bits);
        last_tick = part.tick;
        last_sequence = (int64_t)(part.first + part.count) - 1;
    }
    g_assert_cmpint(refused, >, 0);
}

/* --- blocks ------------------------------------------------------------------------------------------- */

KW_TEST(test_blocks, "/ids/blocks")
{
    kw_model_generate how = {.from = 10, .to = 19, .block = 4};
    kw_number_range range = kw_number_range_of(&how);
    kw_block block;
    g_assert_cmpuint(range.length, ==, 10);
    g_assert_cmpuint(range.prefetch_at, ==, 2);
    g_assert_true(kw_block_of(&range, 4, 4, &block));
    g_assert_cmpint(kw_number_at(&range, block.next), ==, 10);
    g_assert_true(kw_block_of(&range, 4, 12, &block)); /* cut at the end */
    g_assert_cmpuint(kw_block_left(&block), ==, 2);
    g_assert_true(kw_block_of(&range, 4, 16, &block));
    g_assert_cmpuint(kw_block_left(&block), ==, 0);
    g_assert_false(kw_block_of(&range, 4, 3, &block));
    g_assert_false(kw_block_of(&range, 4, INT64_MIN, &block));
    range.wrap = true;
    g_assert_true(kw_block_of(&range, 4, 12, &block));
    g_assert_cmpint(kw_number_at(&range, 9), ==, 19);
    g_assert_cmpint(kw_number_at(&range, 10), ==, 10);
    g_assert_cmpuint(kw_number_consecutive(&range, 8, 4), ==, 2);
    how = (kw_model_generate){.from = 0, .to = INT64_MAX};
    g_assert_cmpuint(kw_number_range_of(&how).length, ==, UINT64_C(1) << 63);
    g_assert_cmpuint(kw_number_range_of(&how).block, ==, 1000);
    how.to = 99;
    g_assert_cmpuint(kw_number_range_of(&how).block, ==, 2);
}

KW_TEST_START(start)
{
    kw_id_source_init(&unique);
}
