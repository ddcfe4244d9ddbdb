/* Cursors: opening a sealed cursor returns its fields. A cursor that was changed, cut or sealed with another
 * key is rejected. */
#include "gather/cursor.h"

#include "base/clock.h"

#include <glib.h>

static const kw_cursor example = {
    .table = KW_BYTES_LITERAL("orders"),
    .path = KW_BYTES_LITERAL("by_time"),
    .layouts = KW_BYTES_LITERAL("\0\0\0\x03"
                                "12345678"
                                "\0\0\0\x04"
                                "abcdefgh"),
    .caller = KW_BYTES_LITERAL("CN=shop"),
    .created_ms = 5000,
    .query = KW_BYTES_LITERAL("query\0with a zero"),
    .columns = KW_BYTES_LITERAL("\0\x04"
                                "city"),
    .filter = KW_BYTES_LITERAL("PrefixFilter('a')"),
    .remaining = UINT64_C(0x123456789abcdef0),
    .page_rows = 100,
    .page_bytes = 1 << 20,
    .position = {
        .started = true, .group = 7, .range = 4000000000, .suffix = KW_BYTES_LITERAL("\xff\x00row")}};

static kw_keyring *
keyring_of(const char *key)
{
    kw_bytes bytes = kw_bytes_of_text(key);
    return kw_keyring_new(&bytes, 1);
}

static void
assert_bytes(kw_bytes a, kw_bytes b)
{
    g_assert_true(kw_bytes_equal(a, b));
}

KW_TEST(test_round_trip, "/gather/cursor/round trip")
{
    kw_keyring *keyring = keyring_of("a key of 16 bytes");
    kw_buffer sealed = KW_BUFFER_EMPTY;
    kw_buffer_append_text(&sealed, "earlier content");
    size_t before = sealed.size;
    kw_cursor_seal(keyring, &example, &sealed);
    kw_cursor got;
    kw_error error;
    g_assert_true(
        kw_cursor_open(keyring, kw_bytes_skip(kw_buffer_bytes(&sealed), before), 5999, 1000, &got, &error));
    assert_bytes(got.table, example.table);
    assert_bytes(got.path, example.path);
    assert_bytes(got.layouts, example.layouts);
    assert_bytes(got.caller, example.caller);
    assert_bytes(got.query, example.query);
    assert_bytes(got.columns, example.columns);
    assert_bytes(got.filter, example.filter);
    assert_bytes(got.position.suffix, example.position.suffix);
    g_assert_cmpint(got.created_ms, ==, 5000);
    g_assert_cmpuint(got.remaining, ==, example.remaining);
    g_assert_cmpuint(got.page_rows, ==, 100);
    g_assert_cmpuint(got.page_bytes, ==, 1 << 20);
    g_assert_true(got.position.started);
    g_assert_cmpuint(got.position.group, ==, 7);
    g_assert_cmpuint(got.position.range, ==, 4000000000);
    kw_buffer_clear(&sealed);
    kw_keyring_unref(keyring);
}

/* A cursor of a query by a hint path has more; the others do not grow. */
KW_TEST(test_hints, "/gather/cursor/hints")
{
    kw_keyring *keyring = keyring_of("a key of 16 bytes");
    g_auto(kw_buffer) without = KW_BUFFER_EMPTY, with = KW_BUFFER_EMPTY;
    kw_cursor more = example, got;
    kw_error error;
    more.skip_undecodable = true;
    kw_cursor_seal(keyring, &more, &without);
    more.hints = KW_BYTES_LITERAL("12345678");
    kw_cursor_seal(keyring, &more, &with);
    g_assert_cmpuint(with.size, ==, without.size + 4 + 8);
    g_assert_true(kw_cursor_open(keyring, kw_buffer_bytes(&without), 5999, 1000, &got, &error));
    g_assert_cmpuint(got.hints.size, ==, 0);
    g_assert_true(kw_cursor_open(keyring, kw_buffer_bytes(&with), 5999, 1000, &got, &error));
    assert_bytes(got.hints, more.hints);
    g_assert_true(got.skip_undecodable && got.position.started);
    kw_keyring_unref(keyring);
}

/* The hash depends on the key and on all bytes, and is the same for all gateways with the key. */
KW_TEST(test_hash, "/gather/cursor/hash")
{
    kw_bytes keys[] = {KW_BYTES_LITERAL("a key of 16 bytes"), KW_BYTES_LITERAL("another of 16 bytes")};
    kw_bytes row = KW_BYTES_LITERAL("row 1"), other = KW_BYTES_LITERAL("row 2");
    kw_keyring *two = kw_keyring_new(keys, 2), *one = keyring_of("another of 16 bytes");
    g_assert_cmpuint(kw_keyring_count(two), ==, 2);
    g_assert_cmphex(kw_keyring_hash(two, 1, row), ==, kw_keyring_hash(one, 0, row));
    g_assert_cmphex(kw_keyring_hash(two, 0, row), !=, kw_keyring_hash(two, 1, row));
    g_assert_cmphex(kw_keyring_hash(one, 0, row), !=, kw_keyring_hash(one, 0, other));
    kw_keyring_unref(two);
    kw_keyring_unref(one);
}

static void
assert_rejected(const kw_keyring *keyring, kw_bytes sealed, int64_t now_ms, const char *text)
{
    kw_cursor got;
    kw_error error;
    g_assert_false(kw_cursor_open(keyring, sealed, now_ms, 1000, &got, &error));
    g_assert_cmpint(error.code, ==, KW_INVALID);
    g_assert_nonnull(strstr(error.text, text));
}

KW_TEST(test_every_bit, "/gather/cursor/every bit")
{
    kw_keyring *keyring = keyring_of("a key of 16 bytes");
    kw_buffer sealed = KW_BUFFER_EMPTY;
    kw_cursor_seal(keyring, &example, &sealed);
    for (size_t bit = 0; bit < 8 * sealed.size; bit++) {
        sealed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_rejected(keyring, kw_buffer_bytes(&sealed), 0, "cursor was changed or made with another key");
        sealed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t size = 0; size < sealed.size; size++)
        assert_rejected(keyring, kw_bytes_of(sealed.data, size), 0, "cursor was changed");
    kw_buffer_append_byte(&sealed, 0);
    assert_rejected(keyring, kw_buffer_bytes(&sealed), 0, "cursor was changed");
    assert_rejected(keyring, KW_BYTES_NONE, 0, "cursor was changed");
    kw_buffer_clear(&sealed);
    kw_keyring_unref(keyring);
}

KW_TEST(test_keys_and_expiry, "/gather/cursor/keys and expiry")
{
    kw_bytes keys[] = {KW_BYTES_LITERAL("the new key, in use"), KW_BYTES_LITERAL("the old key, known")};
    kw_keyring *new = kw_keyring_new(keys, 1), *both = kw_keyring_new(keys, 2),
               *old = kw_keyring_new(keys + 1, 1);
    kw_buffer sealed = KW_BUFFER_EMPTY;
    kw_cursor got;
    kw_error error;
    kw_cursor_seal(old, &example, &sealed);
    g_assert_true(kw_cursor_open(both, kw_buffer_bytes(&sealed), 0, 1000, &got, &error));
    assert_rejected(new, kw_buffer_bytes(&sealed), 0, "made with another key");
    assert_rejected(old, kw_buffer_bytes(&sealed), 6000, "cursor expired");
    sealed.size = 0;
    kw_cursor_seal(both, &example, &sealed); /* sealed with the first key */
    g_assert_true(kw_cursor_open(new, kw_buffer_bytes(&sealed), 0, 1000, &got, &error));
    kw_buffer_clear(&sealed);
    kw_keyring *again = kw_keyring_ref(new);
    kw_keyring_unref(new);
    kw_keyring_unref(again);
    kw_keyring_unref(both);
    kw_keyring_unref(old);
}
