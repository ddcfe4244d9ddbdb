/* Slices are ordered like HBase's row keys; buffers contain what was appended; integers are big-endian. */
#include "base/bytes.h"

#include "base/clock.h"
#include "support/seed.h"

#include <glib.h>

KW_TEST(order_is_unsigned_and_shorter_first, "/base/bytes/order")
{
    static const kw_bytes ascending[] = {
        KW_BYTES_LITERAL(""),     KW_BYTES_LITERAL("\0"),   KW_BYTES_LITERAL("\0\0"),
        KW_BYTES_LITERAL("\0a"),  KW_BYTES_LITERAL("a"),    KW_BYTES_LITERAL("a\0"),
        KW_BYTES_LITERAL("ab"),   KW_BYTES_LITERAL("b"),    KW_BYTES_LITERAL("\x7f"),
        KW_BYTES_LITERAL("\x80"), KW_BYTES_LITERAL("\xff"), KW_BYTES_LITERAL("\xff\xff")};
    for (size_t i = 0; i < G_N_ELEMENTS(ascending); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(ascending); j++) {
            int order = kw_bytes_compare(ascending[i], ascending[j]);
            g_assert_cmpint((order > 0) - (order < 0), ==, (i > j) - (i < j));
            g_assert_cmpint(kw_bytes_equal(ascending[i], ascending[j]), ==, i == j);
        }
    }
    g_assert_true(kw_bytes_equal(KW_BYTES_NONE, KW_BYTES_LITERAL("")));
    g_assert_cmpint(kw_bytes_compare(KW_BYTES_NONE, KW_BYTES_LITERAL("")), ==, 0);
}

KW_TEST(prefixes, "/base/bytes/prefixes")
{
    kw_bytes whole = KW_BYTES_LITERAL("row key");
    g_assert_true(kw_bytes_starts_with(whole, KW_BYTES_LITERAL("row")));
    g_assert_true(kw_bytes_starts_with(whole, whole));
    g_assert_true(kw_bytes_starts_with(whole, KW_BYTES_NONE));
    g_assert_true(kw_bytes_starts_with(KW_BYTES_NONE, KW_BYTES_NONE));
    g_assert_false(kw_bytes_starts_with(whole, KW_BYTES_LITERAL("row key!")));
    g_assert_false(kw_bytes_starts_with(whole, KW_BYTES_LITERAL("key")));
    g_assert_true(kw_bytes_equal(kw_bytes_skip(whole, 4), KW_BYTES_LITERAL("key")));
    g_assert_cmpuint(kw_bytes_skip(whole, 7).size, ==, 0);
    g_assert_cmpuint(kw_bytes_of_text(NULL).size, ==, 0);
}

KW_TEST(equal_bytes_have_equal_hashes, "/base/bytes/hash")
{
    char one[] = "the same", two[] = "the same";
    g_assert_cmpuint(kw_bytes_hash(kw_bytes_of_text(one)), ==, kw_bytes_hash(kw_bytes_of_text(two)));
    two[0] = 'T';
    g_assert_cmpuint(kw_bytes_hash(kw_bytes_of_text(one)), !=, kw_bytes_hash(kw_bytes_of_text(two)));
    kw_bytes_hash(KW_BYTES_NONE);
}

KW_TEST(a_buffer_contains_what_was_appended, "/base/bytes/buffer")
{
    kw_random_inject(test_seed());
    g_autoptr(GByteArray) expected = g_byte_array_new();
    kw_buffer buffer = KW_BUFFER_EMPTY;
    for (int i = 0; i < 3000; i++) {
        uint8_t piece[300];
        guint size = (guint)(kw_random_u64() % sizeof piece);
        memset(piece, i, sizeof piece);
        kw_buffer_append(&buffer, kw_bytes_of(piece, size));
        g_byte_array_append(expected, piece, size);
        if (kw_random_u64() % 4 == 0) {
            guint drop = (guint)(kw_random_u64() % (expected->len + 1));
            kw_buffer_consume(&buffer, drop);
            g_byte_array_remove_range(expected, 0, drop);
        }
        g_assert_true(kw_bytes_equal(kw_buffer_bytes(&buffer), kw_bytes_of(expected->data, expected->len)));
    }
    kw_buffer_clear(&buffer);
    g_assert_true(buffer.data == NULL && buffer.size == 0 && buffer.capacity == 0);
}

KW_TEST(texts_and_reserved_space, "/base/bytes/texts")
{
    kw_buffer buffer = KW_BUFFER_EMPTY;
    kw_buffer_append(&buffer, KW_BYTES_NONE);
    kw_buffer_append_text(&buffer, "a");
    kw_buffer_append_byte(&buffer, 'b');
    kw_buffer_printf(&buffer, "%03d", 7);
    memcpy(kw_buffer_reserve(&buffer, 100000), "cd", 2);
    buffer.size += 2;
    g_assert_cmpuint(buffer.capacity, >=, 100005);
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&buffer), KW_BYTES_LITERAL("ab007cd")));
    kw_buffer_consume(&buffer, 7);
    g_assert_cmpuint(buffer.size, ==, 0);
    kw_buffer_clear(&buffer);
}

KW_TEST(big_endian, "/base/bytes/big-endian")
{
    uint8_t bytes[8];
    kw_be16_store(bytes, 0x0102);
    g_assert_true(memcmp(bytes, "\x01\x02", 2) == 0);
    g_assert_cmpuint(kw_be16_load(bytes), ==, 0x0102);
    kw_be32_store(bytes, 0x81020304);
    g_assert_true(memcmp(bytes, "\x81\x02\x03\x04", 4) == 0);
    g_assert_cmpuint(kw_be32_load(bytes), ==, 0x81020304);
    kw_be64_store(bytes, 0x8102030405060708);
    g_assert_true(memcmp(bytes, "\x81\x02\x03\x04\x05\x06\x07\x08", 8) == 0);
    g_assert_cmpuint(kw_be64_load(bytes), ==, 0x8102030405060708);
}
