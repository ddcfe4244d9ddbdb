#include "store/embedded/key.h"

void
kw_key_escape(kw_buffer *to, kw_bytes bytes)
{
    uint8_t *at = kw_buffer_reserve(to, bytes.size * 2 + 2);
    if (bytes.size && !memchr(bytes.data, 0, bytes.size)) {
        memcpy(at, bytes.data, bytes.size);
        at += bytes.size;
    } else {
        for (size_t i = 0; i < bytes.size; i++) {
            *at++ = bytes.data[i];
            if (bytes.data[i] == 0)
                *at++ = 0xff;
        }
    }
    *at++ = 0;
    *at++ = 0;
    to->size = (size_t)(at - to->data);
}

size_t
kw_key_unescaped_size(kw_bytes escaped)
{
    size_t size = escaped.size;
    const uint8_t *at = escaped.data, *end = escaped.data + escaped.size;
    while (at < end && (at = memchr(at, 0, (size_t)(end - at)))) {
        size--;
        at += 2;
    }
    return size;
}

void
kw_key_unescape(uint8_t *to, kw_bytes escaped)
{
    if (escaped.size && !memchr(escaped.data, 0, escaped.size)) {
        memcpy(to, escaped.data, escaped.size);
        return;
    }
    for (size_t i = 0; i < escaped.size; i++) {
        *to++ = escaped.data[i];
        if (escaped.data[i] == 0)
            i++;
    }
}

void
kw_key_row(kw_buffer *to, uint32_t table, kw_bytes row)
{
    kw_be32_store(kw_buffer_reserve(to, 4), table);
    to->size += 4;
    kw_key_escape(to, row);
}

size_t
kw_key_row_size(kw_bytes key)
{
    const uint8_t *end = key.data + key.size;
    const uint8_t *at = key.data + 4;
    if (key.size < 6)
        return 0;
    while (end - at >= 2 && (at = memchr(at, 0, (size_t)(end - at - 1)))) {
        if (at[1] == 0)
            return (size_t)(at + 2 - key.data);
        at += 2;
    }
    return 0;
}

static void
append_u64(kw_buffer *to, uint64_t value)
{
    kw_be64_store(kw_buffer_reserve(to, 8), value);
    to->size += 8;
}

void
kw_key_family_marker(kw_buffer *to, unsigned family, int64_t timestamp)
{
    g_assert(family < KW_KEY_FAMILIES_MAX && timestamp >= 0);
    kw_buffer_append_byte(to, (uint8_t)(family * 2));
    append_u64(to, ~(uint64_t)timestamp);
}

void
kw_key_column(kw_buffer *to, unsigned family, kw_bytes qualifier, int64_t timestamp, kw_key_kind kind)
{
    g_assert(family < KW_KEY_FAMILIES_MAX && timestamp >= 0);
    kw_buffer_append_byte(to, (uint8_t)(family * 2 + 1));
    kw_key_escape(to, qualifier);
    append_u64(to, ~(uint64_t)timestamp);
    kw_buffer_append_byte(to, (uint8_t)kind);
}

bool
kw_key_parse(kw_bytes after_row, kw_key_cell *ret_cell)
{
    if (after_row.size < 9)
        return false;
    unsigned tag = after_row.data[0];
    *ret_cell = (kw_key_cell){.family = tag / 2, .family_marker = !(tag & 1)};
    if (ret_cell->family_marker) {
        ret_cell->timestamp = (int64_t)~kw_be64_load(after_row.data + 1);
        return after_row.size == 9;
    }
    if (after_row.size < 12)
        return false;
    ret_cell->qualifier = kw_bytes_of(after_row.data + 1, after_row.size - 12);
    ret_cell->timestamp = (int64_t)~kw_be64_load(after_row.data + after_row.size - 9);
    ret_cell->kind = after_row.data[after_row.size - 1] ? KW_KEY_PUT : KW_KEY_DELETE;
    return true;
}
