#include "verb/row_keys.h"

#include "rule/layout.h"

#include <glib.h>

kw_bytes
kw_row_key_after(kw_bytes key, kw_arena *arena)
{
    if (key.size == 0)
        return KW_BYTES_NONE;
    uint8_t *after = kw_arena_alloc(arena, key.size + 1);
    memcpy(after, key.data, key.size);
    after[key.size] = 0;
    return kw_bytes_of(after, key.size + 1);
}

void
kw_row_key_append(kw_buffer *to, kw_bytes key)
{
    g_assert(key.size <= UINT16_MAX);
    kw_be16_store(kw_buffer_reserve(to, 2), (uint16_t)key.size);
    to->size += 2;
    kw_buffer_append(to, key);
}

bool
kw_row_key_take(kw_bytes *rest, kw_bytes *ret_key)
{
    if (rest->size < 2)
        return false;
    size_t size = kw_be16_load(rest->data);
    if (size > rest->size - 2 || size > KW_ROW_KEY_MAX)
        return false;
    *ret_key = kw_bytes_of(rest->data + 2, size);
    *rest = kw_bytes_skip(*rest, 2 + size);
    return true;
}
