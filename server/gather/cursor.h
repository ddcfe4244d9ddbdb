/* Cursors: signed tokens that let any gateway with the same keys continue a scan.
 *
 * A cursor contains version, table, path, the number and fingerprint (first 8 bytes) of each layout that the
 * scan reads, caller, creation time, query, columns, filter, rows still wanted, page sizes and the position,
 * with an HMAC-SHA256 over all of it. The server stores nothing. The size does not depend on the number of
 * buckets.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "gather/gather.h"

typedef struct kw_keyring kw_keyring;

/* The first key signs; every key verifies. Keys have at least 16 bytes. */
kw_keyring *kw_keyring_new(const kw_bytes *keys, size_t count);
kw_keyring *kw_keyring_ref(kw_keyring *keyring);
void kw_keyring_unref(kw_keyring *keyring);

/* A secret hash, the same in all gateways with these keys. There is one for each key. */
size_t kw_keyring_count(const kw_keyring *keyring);
uint64_t kw_keyring_hash(const kw_keyring *keyring, size_t key, kw_bytes bytes);

/* Size of a fingerprint in a cursor: the first bytes of the layout's SHA-256. */
#define KW_CURSOR_FINGERPRINT_SIZE 8
#define KW_CURSOR_LAYOUT_SIZE (4 + KW_CURSOR_FINGERPRINT_SIZE)

typedef struct kw_cursor {
    kw_bytes table;
    kw_bytes path;
    kw_bytes layouts;   /* of KW_CURSOR_LAYOUT_SIZE bytes each: number, big-endian, and fingerprint */
    kw_bytes caller;    /* identity; empty: anonymous */
    int64_t created_ms; /* creation time by the wall clock */
    kw_bytes query;     /* kw_record_query_encode */
    kw_bytes columns;   /* names of fields, each after a 2-byte length; empty: all */
    kw_bytes filter;
    uint64_t remaining; /* rows still wanted; 0: no limit */
    uint32_t page_rows;
    uint32_t page_bytes;
    bool skip_undecodable;
    kw_position position;
    kw_bytes hints; /* of a query by a hint path: what its pages must know; opaque here. Empty: nothing */
} kw_cursor;

void kw_cursor_seal(const kw_keyring *keyring, const kw_cursor *cursor, kw_buffer *out);

/* Returns slices of `sealed`. INVALID if the signature does not match, another release created it in another
 * format, it is damaged, or it has expired. The expiry is checked here, not stored in the cursor, so that a
 * shorter expiry also applies to existing cursors. The caller compares identity, table and layout. */
bool kw_cursor_open(const kw_keyring *keyring, kw_bytes sealed, int64_t now_ms, int64_t expiry_ms,
                    kw_cursor *ret_cursor, kw_error *ret_error);
