/* Values that are unique without a counter: UUIDs (RFC 9562, versions 4 and 7) and object ids (MongoDB's
 * form: 4 bytes of seconds, 5 random bytes, 3 of a counter). One source per loop, used on its thread; each
 * draws its own random bytes, so loops and gateways need no coordination.
 *
 * Times of one source never decrease: when the clock is set back, uuid7 and object ids continue from the
 * last time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define KW_UUID_BYTES 16
#define KW_UUID_TEXT 36
#define KW_OBJECTID_BYTES 12

typedef struct kw_id_source {
    uint8_t pool[1024]; /* random bytes not used yet */
    size_t pool_left;
    int64_t uuid_ms;
    uint16_t uuid_count; /* 12 bits; increases within a millisecond */
    int64_t object_s;
    uint32_t object_count; /* 24 bits */
    uint32_t object_used;  /* in this second */
    uint8_t object_random[5];
} kw_id_source;

void kw_id_source_init(kw_id_source *self);
void kw_id_source_uuid4(kw_id_source *self, uint8_t to[KW_UUID_BYTES]);
void kw_id_source_uuid7(kw_id_source *self, int64_t now_ms, uint8_t to[KW_UUID_BYTES]);
void kw_id_source_objectid(kw_id_source *self, int64_t now_ms, uint8_t to[KW_OBJECTID_BYTES]);

/* 8-4-4-4-12 lower-case hex digits; not terminated. */
void kw_uuid_print(const uint8_t uuid[KW_UUID_BYTES], char to[KW_UUID_TEXT]);
/* Lower-case hex digits; not terminated. */
void kw_hex_print(const uint8_t *bytes, size_t count, char *to);
