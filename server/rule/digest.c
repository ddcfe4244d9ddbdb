/* Hashes of row keys; xxh64 is libxxhash's. */
#include "rule/digest.h"

#include "rule/md5.h"
#include "rule/sha1.h"

#include <inttypes.h>
#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const struct {
    const char *name;
    size_t size;
} digests[] = {
    [KW_DIGEST_MD5] = {"md5", 16},
    [KW_DIGEST_MURMUR3] = {"murmur3", 4},
    [KW_DIGEST_XXH64] = {"xxh64", 8},
    [KW_DIGEST_SHA1] = {"sha1", 20},
    [KW_DIGEST_MURMUR2] = {"murmur2", 4},
    [KW_DIGEST_CRC32] = {"crc32", 4},
    [KW_DIGEST_JENKINS] = {"jenkins", 4},
    [KW_DIGEST_JAVA_FNV] = {"java_fnv", 4},
    [KW_DIGEST_JAVA_FNV_ALT] = {"java_fnv_alt", 4},
};

bool
kw_digest_find(const char *name, kw_digest *ret_digest)
{
    for (size_t index = 0; index < G_N_ELEMENTS(digests); index++) {
        if (strcmp(digests[index].name, name) == 0) {
            *ret_digest = (kw_digest)index;
            return true;
        }
    }
    return false;
}

const char *
kw_digest_name(kw_digest digest)
{
    g_assert((size_t)digest < G_N_ELEMENTS(digests));
    return digests[digest].name;
}

size_t
kw_digest_size(kw_digest digest)
{
    g_assert((size_t)digest < G_N_ELEMENTS(digests));
    return digests[digest].size;
}

void
kw_digest_compute(kw_digest digest, kw_bytes input, uint8_t *to)
{
    switch (digest) {
    case KW_DIGEST_MD5:
        kw_md5(input, to);
        return;
    case KW_DIGEST_MURMUR3:
        kw_be32_store(to, kw_murmur3_32(input, 0));
        return;
    case KW_DIGEST_XXH64:
        kw_be64_store(to, kw_xxh64(input));
        return;
    case KW_DIGEST_SHA1:
        kw_sha1(input, to);
        return;
    case KW_DIGEST_MURMUR2:
        kw_be32_store(to, kw_murmur2_32(input, 0));
        return;
    case KW_DIGEST_CRC32:
        kw_be32_store(to, kw_crc32(input));
        return;
    case KW_DIGEST_JENKINS:
        kw_be32_store(to, kw_jenkins_32(input, 0));
        return;
    case KW_DIGEST_JAVA_FNV:
        kw_be32_store(to, (uint32_t)kw_java_fnv_hash(input));
        return;
    case KW_DIGEST_JAVA_FNV_ALT:
        kw_be32_store(to, (uint32_t)kw_java_fnv_alt_hash(input));
        return;
    }
    g_assert_not_reached();
}

uint64_t
kw_xxh64(kw_bytes input)
{
    return XXH64(input.data, input.size, 0);
}

int32_t
kw_java_bytes_hash(kw_bytes input)
{
    uint32_t hash = 1;
    for (size_t index = 0; index < input.size; index++) {
        int32_t signed_byte = (int8_t)input.data[index];
        hash = 31 * hash + (uint32_t)signed_byte;
    }
    return (int32_t)hash;
}

/* The UTF-16 units of the next character: one, or two of which the first is stored. Returns the last one. */
static uint32_t
next_unit(kw_bytes text, size_t *at, uint32_t *ret_first)
{
    uint32_t lead = text.data[(*at)++], more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    uint32_t point = more ? lead & (0x3fu >> more) : lead;
    for (; more > 0 && *at < text.size; more--)
        point = point << 6 | (text.data[(*at)++] & 0x3fu);
    *ret_first = 0;
    if (point < 0x10000)
        return point;
    *ret_first = 0xd800 + ((point - 0x10000) >> 10);
    return 0xdc00 + ((point - 0x10000) & 0x3ff);
}

int32_t
kw_java_string_hash(kw_bytes text)
{
    uint32_t hash = 0, first;
    for (size_t at = 0; at < text.size;) {
        uint32_t last = next_unit(text, &at, &first);
        if (first)
            hash = 31 * hash + first;
        hash = 31 * hash + last;
    }
    return (int32_t)hash;
}

/* Java's >> keeps the sign. */
static uint32_t
shift_right(uint32_t hash, unsigned by)
{
    return (uint32_t)((int32_t)hash >> by);
}

/* One of Java's hashes in the manner of FNV-1a. */
typedef struct fnv_form {
    uint32_t offset;
    uint32_t prime;
    unsigned first_right; /* the shifts after the last unit: left 13, right, left 3, right, left 5 */
    unsigned second_right;
} fnv_form;

static int32_t
fnv_hash(const fnv_form *form, kw_bytes text)
{
    uint32_t hash = form->offset, first;
    for (size_t at = 0; at < text.size;) {
        uint32_t last = next_unit(text, &at, &first);
        if (first)
            hash = (hash ^ first) * form->prime;
        hash = (hash ^ last) * form->prime;
    }
    hash += hash << 13;
    hash ^= shift_right(hash, form->first_right);
    hash += hash << 3;
    hash ^= shift_right(hash, form->second_right);
    hash += hash << 5;
    return (int32_t)(hash >> 31 ? 0 - hash : hash);
}

int32_t
kw_java_fnv_hash(kw_bytes text)
{
    static const fnv_form form = {2166136261, 16777619, 7, 17};
    return fnv_hash(&form, text);
}

int32_t
kw_java_fnv_alt_hash(kw_bytes text)
{
    static const fnv_form form = {1865261311, 1677761999, 8, 18};
    return fnv_hash(&form, text);
}

static void
append_be64(kw_buffer *out, uint64_t value)
{
    kw_be64_store(kw_buffer_reserve(out, 8), value);
    out->size += 8;
}

void
kw_digest_input(kw_value value, bool numbers_as_text, kw_buffer *out)
{
    uint64_t bits;
    switch (value.kind) {
    case KW_VALUE_NONE:
        break;
    case KW_VALUE_FLAG:
        kw_buffer_append_byte(out, value.flag);
        return;
    case KW_VALUE_NUMBER:
        if (numbers_as_text) {
            char text[24];
            int length = snprintf(text, sizeof text, "%" PRId64, value.number);
            kw_buffer_append(out, kw_bytes_of(text, (size_t)length));
        } else {
            append_be64(out, (uint64_t)value.number);
        }
        return;
    case KW_VALUE_REAL:
        memcpy(&bits, &value.real, sizeof bits);
        append_be64(out, bits);
        return;
    case KW_VALUE_TEXT:
    case KW_VALUE_BYTES:
        kw_buffer_append(out, value.bytes);
        return;
    case KW_VALUE_MAP:
        break;
    }
    g_assert_not_reached(); /* absent fields and maps were rejected before */
}
