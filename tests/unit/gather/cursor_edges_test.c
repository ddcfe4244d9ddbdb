/* Opening a cursor returns the sealed position, for each kind of position. A cursor expires exactly at the
 * end of its lifetime. */
#include "gather/cursor.h"

#include <glib.h>

static kw_keyring *
keyring_new(void)
{
    kw_bytes key = KW_BYTES_LITERAL("a key of 16 bytes");
    return kw_keyring_new(&key, 1);
}

static bool
opens(const kw_keyring *keyring, const kw_cursor *cursor, int64_t now_ms, kw_cursor *ret_cursor,
      kw_error *ret_error)
{
    kw_buffer sealed = KW_BUFFER_EMPTY;
    kw_cursor_seal(keyring, cursor, &sealed);
    *ret_error = KW_ERROR_NONE;
    bool good = kw_cursor_open(keyring, kw_buffer_bytes(&sealed), now_ms, 1000, ret_cursor, ret_error);
    kw_buffer_clear(&sealed);
    return good;
}

static void
test_positions(void)
{
    static const kw_position positions[] = {
        {.started = false},
        {.started = true, .group = 3, .range = 5},
        {.started = true, .at_head = true, .group = 4, .range = 9},
    };
    kw_keyring *keyring = keyring_new();
    for (size_t i = 0; i < G_N_ELEMENTS(positions); i++) {
        kw_cursor cursor = {.table = KW_BYTES_LITERAL("t"), .position = positions[i]}, got;
        kw_error error;
        g_assert_true(opens(keyring, &cursor, 0, &got, &error));
        g_assert_cmpint(got.position.started, ==, positions[i].started);
        g_assert_cmpint(got.position.at_head, ==, positions[i].at_head);
        g_assert_cmpuint(got.position.group, ==, positions[i].group);
        g_assert_cmpuint(got.position.range, ==, positions[i].range);
    }
    kw_keyring_unref(keyring);
}

static void
test_expiry_is_exact(void)
{
    kw_keyring *keyring = keyring_new();
    kw_cursor cursor = {.made_ms = 5000}, got;
    kw_error error;
    g_assert_true(opens(keyring, &cursor, 5999, &got, &error));
    g_assert_false(opens(keyring, &cursor, 6000, &got, &error));
    g_assert_nonnull(strstr(error.text, "expired"));
    kw_keyring_unref(keyring);
}

/* A cursor with a suffix that is longer than a row key is rejected. */
static void
test_long_positions(void)
{
    kw_keyring *keyring = keyring_new();
    g_autofree uint8_t *suffix = g_malloc0(KW_STORE_ROW_KEY_MAX + 1);
    for (size_t more = 0; more < 2; more++) {
        kw_cursor got, cursor = {.position = {.started = true,
                                              .suffix = kw_bytes_of(suffix, KW_STORE_ROW_KEY_MAX + more)}};
        kw_error error;
        g_assert_cmpint(opens(keyring, &cursor, 0, &got, &error), ==, more == 0);
        g_assert_true(more == 0 || strstr(error.text, "damaged"));
    }
    kw_keyring_unref(keyring);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gather/cursor-edges/positions", test_positions);
    g_test_add_func("/gather/cursor-edges/expiry", test_expiry_is_exact);
    g_test_add_func("/gather/cursor-edges/long-positions", test_long_positions);
    return g_test_run();
}
