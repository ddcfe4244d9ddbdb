#include "sequence/id_source.h"

#include "base/bytes.h"

#include <glib.h>
#include <openssl/rand.h>

#define UUID_COUNT_MAX 0xfff
#define OBJECT_COUNTS (UINT32_C(1) << 24)

static void
take_random(kw_id_source *self, uint8_t *to, size_t count)
{
    if (self->pool_left < count) {
        if (RAND_bytes(self->pool, sizeof self->pool) != 1)
            g_error("the system returned no random bytes");
        self->pool_left = sizeof self->pool;
    }
    memcpy(to, self->pool + sizeof self->pool - self->pool_left, count);
    self->pool_left -= count;
}

void
kw_id_source_init(kw_id_source *self)
{
    uint8_t start[4];
    *self = (kw_id_source){.uuid_ms = INT64_MIN, .object_s = INT64_MIN};
    take_random(self, self->object_random, sizeof self->object_random);
    take_random(self, start, sizeof start);
    self->object_count = kw_be32_load(start) % OBJECT_COUNTS;
}

static void
mark_version(uint8_t uuid[KW_UUID_BYTES], unsigned version)
{
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | version << 4);
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
}

void
kw_id_source_uuid4(kw_id_source *self, uint8_t to[KW_UUID_BYTES])
{
    take_random(self, to, KW_UUID_BYTES);
    mark_version(to, 4);
}

/* The count of a millisecond begins in the lower half, so that there is space to count up. */
void
kw_id_source_uuid7(kw_id_source *self, int64_t now_ms, uint8_t to[KW_UUID_BYTES])
{
    uint8_t time[8];
    take_random(self, to, KW_UUID_BYTES);
    if (now_ms > self->uuid_ms) {
        self->uuid_ms = now_ms;
        self->uuid_count = (uint16_t)((to[6] << 8 | to[7]) & (UUID_COUNT_MAX >> 1));
    } else if (++self->uuid_count > UUID_COUNT_MAX) {
        self->uuid_ms++;
        self->uuid_count = 0;
    }
    kw_be64_store(time, (uint64_t)self->uuid_ms);
    memcpy(to, time + 2, 6);
    kw_be16_store(to + 6, self->uuid_count);
    mark_version(to, 7);
}

void
kw_id_source_objectid(kw_id_source *self, int64_t now_ms, uint8_t to[KW_OBJECTID_BYTES])
{
    uint8_t count[4];
    if (now_ms / 1000 > self->object_s) {
        self->object_s = now_ms / 1000;
        self->object_used = 0;
    } else if (self->object_used == OBJECT_COUNTS) {
        self->object_s++;
        self->object_used = 0;
    }
    self->object_used++;
    kw_be32_store(to, (uint32_t)self->object_s);
    memcpy(to + 4, self->object_random, sizeof self->object_random);
    kw_be32_store(count, self->object_count);
    memcpy(to + 9, count + 1, 3);
    self->object_count = (self->object_count + 1) % OBJECT_COUNTS;
}

void
kw_hex_print(const uint8_t *bytes, size_t count, char *to)
{
    for (size_t i = 0; i < count; i++) {
        *to++ = "0123456789abcdef"[bytes[i] >> 4];
        *to++ = "0123456789abcdef"[bytes[i] & 15];
    }
}

void
kw_uuid_print(const uint8_t uuid[KW_UUID_BYTES], char to[KW_UUID_TEXT])
{
    static const size_t groups[] = {4, 2, 2, 2, 6};
    for (size_t i = 0; i < G_N_ELEMENTS(groups); i++) {
        if (i > 0)
            *to++ = '-';
        kw_hex_print(uuid, groups[i], to);
        uuid += groups[i];
        to += 2 * groups[i];
    }
}
