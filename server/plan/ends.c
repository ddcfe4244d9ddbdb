/* Ends of ranges: the pieces of a descending component are in the reverse order of the values, so the lower
 * end of the values gives the upper end of the bytes. kw_edge is the piece nearest to an end. A range of
 * bytes starts or stops at this piece, or after all keys with it (after_piece).
 */
#include "plan/ends.h"

bool
kw_bytes_successor(kw_bytes prefix, kw_arena *arena, kw_bytes *ret_bytes)
{
    size_t size = prefix.size;
    while (size > 0 && prefix.data[size - 1] == 0xff)
        size--;
    if (size == 0)
        return false;
    uint8_t *bytes = kw_arena_alloc(arena, size);
    memcpy(bytes, prefix.data, size);
    bytes[size - 1]++;
    *ret_bytes = kw_bytes_of(bytes, size);
    return true;
}

/* The smallest byte string after all keys with this piece; false if there is none. If the component is not
 * delimited, keys that only begin with the same bytes can have longer pieces, which are greater. */
static bool
after(const kw_component *component, kw_bytes piece, kw_arena *arena, kw_bytes *ret_bytes)
{
    if (component->delimited)
        return kw_bytes_successor(piece, arena, ret_bytes);
    uint8_t *bytes = kw_arena_alloc(arena, piece.size + 1);
    if (piece.size > 0)
        memcpy(bytes, piece.data, piece.size);
    bytes[piece.size] = 0;
    *ret_bytes = kw_bytes_of(bytes, piece.size + 1);
    return true;
}

/* True for a piece of fixed width that is the smallest one. */
static bool
is_least(const kw_component *component, kw_bytes piece)
{
    for (size_t index = 0; index < piece.size; index++) {
        if (piece.data[index] != 0)
            return false;
    }
    return component->width != 0 && piece.size == component->width;
}

static void
set_low(kw_ends *ends, const kw_component *component, kw_bytes piece, bool after_piece, kw_arena *arena)
{
    if (!after_piece)
        ends->low = is_least(component, piece) ? KW_BYTES_NONE : piece;
    else if (!after(component, piece, arena, &ends->low))
        ends->empty = true;
}

static void
set_high(kw_ends *ends, const kw_component *component, kw_bytes piece, bool after_piece, kw_arena *arena)
{
    if (!after_piece) {
        ends->high = piece;
        ends->empty = ends->empty || is_least(component, piece);
    }
    ends->high_open = after_piece && !after(component, piece, arena, &ends->high);
}

/* Sets the end of the bytes from the lower (from) or upper (to) end of the values. */
static void
take_end(kw_ends *ends, const kw_component *component, kw_value value, bool inclusive, bool lower,
         kw_arena *arena)
{
    if (value.kind == KW_VALUE_NONE)
        return;
    kw_edge edge;
    if (!component->kind->edge(component, value, lower, arena, &edge)) {
        ends->loose = true;
        return;
    }
    ends->loose = ends->loose || edge.loose;
    /* True if the value of the nearest piece is within the range. */
    bool within = edge.side == 0 ? inclusive : lower == (edge.side < 0);
    bool after_edge = within != lower; /* from: after what is excluded. to: after what is included */
    if (component->direction > 0 && lower)
        set_low(ends, component, edge.bytes, after_edge, arena);
    else if (component->direction > 0)
        set_high(ends, component, edge.bytes, after_edge, arena);
    else if (lower)
        set_high(ends, component, edge.bytes, within, arena);
    else
        set_low(ends, component, edge.bytes, !within, arena);
}

kw_ends
kw_ends_of(const kw_component *component, const kw_value_span *span, kw_arena *arena)
{
    g_assert(component->direction != 0);
    kw_ends ends = {.high_open = true};
    take_end(&ends, component, span->from, span->from_inclusive, true, arena);
    take_end(&ends, component, span->to, span->to_inclusive, false, arena);
    if (!ends.high_open && kw_bytes_compare(ends.low, ends.high) >= 0)
        ends.empty = true;
    return ends;
}
