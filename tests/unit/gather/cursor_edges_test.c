/* Opening a cursor returns the sealed position, for each kind of position. A cursor expires exactly at the
 * end of its lifetime. */
#include "gather/cursor.h"

#include <dlfcn.h>
#include <glib.h>
#include <openssl/evp.h>

static unsigned contexts_freed;

/* Used instead of OpenSSL's function, to count what a keyring frees. */
void
EVP_MAC_CTX_free(EVP_MAC_CTX *context)
{
    static void (*original)(EVP_MAC_CTX *);
    if (!original)
        *(void **)&original = dlsym(RTLD_NEXT, "EVP_MAC_CTX_free");
    contexts_freed++;
    original(context);
}

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

KW_TEST(test_positions, "/gather/cursor-edges/positions")
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
        g_assert_false(got.skip_undecodable);
        cursor.skip_undecodable = true;
        g_assert_true(opens(keyring, &cursor, 0, &got, &error));
        g_assert_true(got.skip_undecodable);
        g_assert_cmpint(got.position.started, ==, positions[i].started);
        g_assert_cmpint(got.position.at_head, ==, positions[i].at_head);
    }
    kw_keyring_unref(keyring);
}

KW_TEST(test_expiry_is_exact, "/gather/cursor-edges/expiry")
{
    kw_keyring *keyring = keyring_new();
    kw_cursor cursor = {.created_ms = 5000}, got;
    kw_error error;
    g_assert_true(opens(keyring, &cursor, 5999, &got, &error));
    g_assert_false(opens(keyring, &cursor, 6000, &got, &error));
    g_assert_nonnull(strstr(error.text, "expired"));
    kw_keyring_unref(keyring);
}

/* Signed bytes that are no cursor are rejected. The signature is HMAC-SHA256 of a label and the body. */
static void
check_rejected(const kw_keyring *keyring, const uint8_t *body, size_t size, const char *why)
{
    static const char secret[] = "a key of 16 bytes";
    uint8_t sealed[100 + 32];
    gsize mac_size = 32;
    g_assert_cmpuint(size, <=, 100);
    memcpy(sealed, body, size);
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, (const guchar *)secret, sizeof secret - 1);
    g_hmac_update(hmac, (const guchar *)"keyway cursor", -1);
    g_hmac_update(hmac, body, (gssize)size);
    g_hmac_get_digest(hmac, sealed + size, &mac_size);
    g_hmac_unref(hmac);
    kw_cursor got;
    kw_error error = KW_ERROR_NONE;
    g_assert_false(kw_cursor_open(keyring, kw_bytes_of(sealed, size + mac_size), 0, 1000, &got, &error));
    g_assert_cmpint(error.code, ==, KW_INVALID);
    g_assert_nonnull(strstr(error.text, why));
}

KW_TEST(test_damaged_bodies, "/gather/cursor-edges/damaged-bodies")
{
    kw_keyring *keyring = keyring_new();
    uint8_t body[34 + 8 * 4] = {1};
    check_rejected(keyring, body, 0, "cursor was changed or made with another key");
    for (size_t size = 1; size < sizeof body; size++)
        check_rejected(keyring, body, size, "cursor is damaged");
    body[25] = 3; /* an unknown kind of position */
    check_rejected(keyring, body, sizeof body, "cursor is damaged");
    body[25] = 7; /* the same, of a query that skips rows */
    check_rejected(keyring, body, sizeof body, "cursor is damaged");
    body[25] = 8;
    check_rejected(keyring, body, sizeof body, "cursor is damaged");
    body[0] = 2;
    check_rejected(keyring, body, sizeof body, "cursor has version 2, made by another release");
    kw_keyring_unref(keyring);
}

/* A cursor with a suffix that is longer than a row key is rejected. */
KW_TEST(test_long_positions, "/gather/cursor-edges/long-positions")
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

/* The last reference frees every key, so that OpenSSL erases it from memory, and no other reference does. */
KW_TEST(test_last_reference, "/gather/cursor-edges/last reference")
{
    enum { KEYS = 50 };
    kw_bytes keys[KEYS];
    char texts[KEYS][32];
    for (size_t i = 0; i < KEYS; i++) {
        g_snprintf(texts[i], sizeof texts[i], "secret key number %zu", i);
        keys[i] = kw_bytes_of_text(texts[i]);
    }
    kw_keyring *keyring = kw_keyring_new(keys, KEYS);
    kw_keyring_unref(NULL);
    for (int more = 0; more < 3; more++)
        g_assert_true(kw_keyring_ref(keyring) == keyring);
    contexts_freed = 0;
    for (int held = 4; held > 1; held--) {
        kw_keyring_unref(keyring);
        g_assert_cmpuint(contexts_freed, ==, 0);
    }
    kw_keyring_unref(keyring);
    g_assert_cmpuint(contexts_freed, ==, KEYS);
}
