#include "plan/cover.h"

static kw_bytes
with_byte(kw_bytes head, unsigned byte, kw_arena *arena)
{
    uint8_t *bytes = kw_arena_alloc(arena, head.size + 1);
    if (head.size)
        memcpy(bytes, head.data, head.size);
    bytes[head.size] = (uint8_t)byte;
    return kw_bytes_of(bytes, head.size + 1);
}

static size_t
add(kw_bytes head, unsigned first, unsigned last, kw_arena *arena, kw_bytes *to)
{
    for (unsigned byte = first; byte <= last; byte++)
        to[byte - first] = with_byte(head, byte, arena);
    return last - first + 1;
}

size_t
kw_cover(kw_bytes low, kw_bytes high, size_t most, kw_arena *arena, kw_bytes *ret_beginnings)
{
    g_assert(low.size == high.size && most > 0);
    size_t same = 0;
    while (same < low.size && low.data[same] == high.data[same])
        same++;
    kw_bytes head = kw_bytes_of(low.data, same);
    if (same == low.size || (size_t)(high.data[same] - low.data[same]) >= most) {
        ret_beginnings[0] = head;
        return same ? 1 : 0;
    }
    if (high.data[same] - low.data[same] == 1 &&
        same + 1 < low.size) { /* the bytes are adjacent: split by the next byte, too */
        unsigned from = low.data[same + 1], to = high.data[same + 1];
        if ((size_t)(256 - from) + to + 1 <= most) {
            size_t count = add(with_byte(head, low.data[same], arena), from, 255, arena, ret_beginnings);
            return count + add(with_byte(head, high.data[same], arena), 0, to, arena, ret_beginnings + count);
        }
    }
    return add(head, low.data[same], high.data[same], arena, ret_beginnings);
}
