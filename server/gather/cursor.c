/* The format of a cursor; numbers are big-endian, byte strings have a 4-byte length before them:
 *
 *   version (1)  created (8)  remaining (8)  page rows (4)  page bytes (4)
 *   state (1)  group (4)  range (4)
 *   suffix  table  path  layouts  caller  columns  query  filter  [hints]      each: length, bytes
 *   HMAC-SHA256 of "keyway cursor" and everything before (32)
 *
 * The state is 0 if the position is not started, 1 if it is, 2 if it is at its group's head; plus 4 if the
 * query skips undecodable rows; plus 8 if `hints` follows.
 *
 * The signature is compared first, in constant time; bytes without a valid signature are never parsed.
 */
#include "gather/cursor.h"

#include <glib.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdatomic.h>

#define VERSION 1
#define FIXED_SIZE 34
#define MAC_SIZE 32
#define KEY_MIN 16
#define SKIPS_UNDECODABLE 4
#define HAS_HINTS 8
#define DOMAIN "keyway cursor"
#define HASH_DOMAIN "keyway record"

struct kw_keyring {
    _Atomic int references;
    size_t count;
    EVP_MAC_CTX *keys[]; /* templates: each use works on a copy */
};

static EVP_MAC_CTX *
key_new(kw_bytes key)
{
    char digest[] = "SHA256";
    OSSL_PARAM parameters[] = {OSSL_PARAM_utf8_string("digest", digest, 6), OSSL_PARAM_END};
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    g_assert(hmac);
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(hmac);
    EVP_MAC_free(hmac);
    bool made = context && EVP_MAC_init(context, key.data, key.size, parameters) == 1;
    g_assert(made);
    return context;
}

kw_keyring *
kw_keyring_new(const kw_bytes *keys, size_t count)
{
    g_assert(count > 0);
    kw_keyring *keyring = g_malloc0(sizeof(kw_keyring) + count * sizeof(EVP_MAC_CTX *));
    atomic_init(&keyring->references, 1);
    keyring->count = count;
    for (size_t i = 0; i < count; i++) {
        g_assert(keys[i].size >= KEY_MIN);
        keyring->keys[i] = key_new(keys[i]);
    }
    return keyring;
}

kw_keyring *
kw_keyring_ref(kw_keyring *keyring)
{
    atomic_fetch_add(&keyring->references, 1);
    return keyring;
}

void
kw_keyring_unref(kw_keyring *keyring)
{
    if (!keyring || atomic_fetch_sub(&keyring->references, 1) != 1)
        return;
    for (size_t i = 0; i < keyring->count; i++)
        EVP_MAC_CTX_free(keyring->keys[i]);
    g_free(keyring);
}

static void
sign_in(const EVP_MAC_CTX *key, kw_bytes domain, kw_bytes body, uint8_t ret_mac[MAC_SIZE])
{
    EVP_MAC_CTX *context = EVP_MAC_CTX_dup(key);
    size_t size = 0;
    bool signed_ = context && EVP_MAC_update(context, domain.data, domain.size) == 1 &&
                   EVP_MAC_update(context, body.data, body.size) == 1 &&
                   EVP_MAC_final(context, ret_mac, &size, MAC_SIZE) == 1;
    g_assert(signed_ && size == MAC_SIZE);
    EVP_MAC_CTX_free(context);
}

static void
sign(const EVP_MAC_CTX *key, kw_bytes body, uint8_t ret_mac[MAC_SIZE])
{
    sign_in(key, KW_BYTES_LITERAL(DOMAIN), body, ret_mac);
}

size_t
kw_keyring_count(const kw_keyring *keyring)
{
    return keyring->count;
}

uint64_t
kw_keyring_hash(const kw_keyring *keyring, size_t key, kw_bytes bytes)
{
    uint8_t mac[MAC_SIZE];
    g_assert(key < keyring->count);
    sign_in(keyring->keys[key], KW_BYTES_LITERAL(HASH_DOMAIN), bytes, mac);
    return kw_be64_load(mac);
}

/* --- writing --------------------------------------------------------------------------------------- */

static void
append_bytes(kw_buffer *out, kw_bytes bytes)
{
    g_assert(bytes.size <= UINT32_MAX);
    kw_be32_store(kw_buffer_reserve(out, 4), (uint32_t)bytes.size);
    out->size += 4;
    kw_buffer_append(out, bytes);
}

void
kw_cursor_seal(const kw_keyring *keyring, const kw_cursor *cursor, kw_buffer *out)
{
    size_t begin = out->size;
    uint8_t *fixed = kw_buffer_reserve(out, FIXED_SIZE);
    fixed[0] = VERSION;
    kw_be64_store(fixed + 1, (uint64_t)cursor->created_ms);
    kw_be64_store(fixed + 9, cursor->remaining);
    kw_be32_store(fixed + 17, cursor->page_rows);
    kw_be32_store(fixed + 21, cursor->page_bytes);
    fixed[25] =
        (uint8_t)(cursor->position.started + cursor->position.at_head +
                  (cursor->skip_undecodable ? SKIPS_UNDECODABLE : 0) + (cursor->hints.size ? HAS_HINTS : 0));
    kw_be32_store(fixed + 26, cursor->position.group);
    kw_be32_store(fixed + 30, cursor->position.range);
    out->size += FIXED_SIZE;
    append_bytes(out, cursor->position.suffix);
    append_bytes(out, cursor->table);
    append_bytes(out, cursor->path);
    append_bytes(out, cursor->layouts);
    append_bytes(out, cursor->caller);
    append_bytes(out, cursor->columns);
    append_bytes(out, cursor->query);
    append_bytes(out, cursor->filter);
    if (cursor->hints.size)
        append_bytes(out, cursor->hints);
    uint8_t mac[MAC_SIZE];
    sign(keyring->keys[0], kw_bytes_of(out->data + begin, out->size - begin), mac);
    kw_buffer_append(out, kw_bytes_of(mac, MAC_SIZE));
}

/* --- reading --------------------------------------------------------------------------------------- */

static bool
take_bytes(kw_bytes *rest, kw_bytes *ret_bytes)
{
    if (rest->size < 4)
        return false;
    uint32_t size = kw_be32_load(rest->data);
    if (size > rest->size - 4)
        return false;
    *ret_bytes = kw_bytes_of(rest->data + 4, size);
    *rest = kw_bytes_skip(*rest, 4 + (size_t)size);
    return true;
}

static bool
parse(kw_bytes body, kw_cursor *cursor)
{
    if (body.size < FIXED_SIZE)
        return false;
    const uint8_t *fixed = body.data;
    unsigned started = fixed[25] & ~(unsigned)(SKIPS_UNDECODABLE | HAS_HINTS);
    if (started > 2)
        return false;
    cursor->created_ms = (int64_t)kw_be64_load(fixed + 1);
    cursor->remaining = kw_be64_load(fixed + 9);
    cursor->page_rows = kw_be32_load(fixed + 17);
    cursor->page_bytes = kw_be32_load(fixed + 21);
    cursor->skip_undecodable = fixed[25] & SKIPS_UNDECODABLE;
    cursor->position.started = started > 0;
    cursor->position.at_head = started == 2;
    cursor->position.group = kw_be32_load(fixed + 26);
    cursor->position.range = kw_be32_load(fixed + 30);
    kw_bytes rest = kw_bytes_skip(body, FIXED_SIZE);
    bool whole = take_bytes(&rest, &cursor->position.suffix) && take_bytes(&rest, &cursor->table) &&
                 take_bytes(&rest, &cursor->path) && take_bytes(&rest, &cursor->layouts) &&
                 take_bytes(&rest, &cursor->caller) && take_bytes(&rest, &cursor->columns) &&
                 take_bytes(&rest, &cursor->query) && take_bytes(&rest, &cursor->filter) &&
                 (!(fixed[25] & HAS_HINTS) || take_bytes(&rest, &cursor->hints));
    return whole && rest.size == 0 && cursor->position.suffix.size <= KW_STORE_ROW_KEY_MAX;
}

static bool
is_signed(const kw_keyring *keyring, kw_bytes body, const uint8_t *mac)
{
    bool good = false;
    for (size_t i = 0; i < keyring->count; i++) {
        uint8_t expected[MAC_SIZE];
        sign(keyring->keys[i], body, expected);
        good |= CRYPTO_memcmp(expected, mac, MAC_SIZE) == 0;
    }
    return good;
}

bool
kw_cursor_open(const kw_keyring *keyring, kw_bytes sealed, int64_t now_ms, int64_t expiry_ms,
               kw_cursor *ret_cursor, kw_error *ret_error)
{
    bool possible = sealed.size > MAC_SIZE;
    kw_bytes body = kw_bytes_of(sealed.data, possible ? sealed.size - MAC_SIZE : 0);
    if (!possible || !is_signed(keyring, body, body.data + body.size))
        return kw_error_set(ret_error, KW_INVALID,
                            "cursor was changed or made with another key; start the scan again");
    if (body.data[0] != VERSION)
        return kw_error_set(ret_error, KW_INVALID,
                            "cursor has version %u, made by another release, but this one reads version %u; "
                            "start the scan again",
                            body.data[0], VERSION);
    kw_cursor cursor = {.hints = KW_BYTES_NONE};
    if (!parse(body, &cursor))
        return kw_error_set(ret_error, KW_INVALID, "cursor is damaged");
    if (cursor.created_ms <= now_ms - expiry_ms)
        return kw_error_set(ret_error, KW_INVALID, "cursor expired; start the scan again");
    *ret_cursor = cursor;
    return true;
}
