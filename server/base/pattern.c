#include "base/pattern.h"

kw_patterns
kw_patterns_copy(const kw_patterns *patterns, kw_arena *arena)
{
    kw_pattern *items = KW_ARENA_ARRAY(arena, kw_pattern, patterns->count);
    for (size_t i = 0; i < patterns->count; i++) {
        const kw_pattern *from = &patterns->items[i];
        kw_bytes mask = kw_arena_copy(arena, kw_bytes_of(from->mask, from->bytes.size));
        items[i] = (kw_pattern){.bytes = kw_arena_copy(arena, from->bytes), .mask = mask.data};
    }
    return (kw_patterns){.items = items, .count = patterns->count, .at = patterns->at};
}

static bool
is_any(const kw_patterns *patterns, const kw_pattern *pattern, size_t position)
{
    return position < patterns->at || pattern->mask[position - patterns->at];
}

/* Index of the first byte of the key that differs from the pattern; the key's size if none does. */
static size_t
first_difference(const kw_patterns *patterns, const kw_pattern *pattern, kw_bytes key)
{
    size_t end = patterns->at + pattern->bytes.size;
    for (size_t i = patterns->at; i < end && i < key.size; i++)
        if (!pattern->mask[i - patterns->at] && pattern->bytes.data[i - patterns->at] != key.data[i])
            return i;
    return key.size;
}

bool
kw_patterns_match(const kw_patterns *patterns, kw_bytes key)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (first_difference(patterns, &patterns->items[i], key) == key.size)
            return true;
    return patterns->count == 0;
}

/* `key` differs from the pattern at `differs`. Returns the length of the longest prefix that a later key that
 * matches (an earlier one if reversed) can share with `key`. This is `differs` itself if the pattern's byte
 * is greater than the key's there (less if reversed). Otherwise it is the position of the last "any" byte
 * before `differs` that can be increased (decreased if reversed). SIZE_MAX if there is none. */
static size_t
split_position(const kw_patterns *patterns, const kw_pattern *pattern, kw_bytes key, size_t differs,
               bool reversed)
{
    uint8_t wanted = pattern->bytes.data[differs - patterns->at];
    if ((wanted > key.data[differs]) != reversed)
        return differs;
    for (size_t i = differs; i > 0; i--)
        if (is_any(patterns, pattern, i - 1) && key.data[i - 1] != (reversed ? 0 : 0xff))
            return i - 1;
    return SIZE_MAX;
}

/* Writes the nearest prefix for this pattern to `to`. False if there is none. */
static bool
next_of(const kw_patterns *patterns, const kw_pattern *pattern, kw_bytes key, bool reversed, uint8_t *to)
{
    size_t differs = first_difference(patterns, pattern, key);
    size_t from = split_position(patterns, pattern, key, differs, reversed);
    if (from == SIZE_MAX)
        return false;
    memcpy(to, key.data, from);
    for (size_t i = from; i < patterns->at + pattern->bytes.size; i++) {
        bool any = is_any(patterns, pattern, i);
        to[i] = any ? (reversed ? 0xff : 0) : pattern->bytes.data[i - patterns->at];
    }
    if (from != differs)
        to[from] = (uint8_t)(key.data[from] + (reversed ? -1 : 1));
    return true;
}

/* True if keys that begin with `bytes` are nearer than those that begin with `than`. */
static bool
is_nearer(kw_bytes bytes, kw_bytes than, bool reversed)
{
    if (!reversed)
        return kw_bytes_compare(bytes, than) < 0;
    return kw_bytes_starts_with(than, bytes) || /* a shorter prefix also covers greater keys */
           (kw_bytes_compare(bytes, than) > 0 && !kw_bytes_starts_with(bytes, than));
}

bool
kw_patterns_next(const kw_patterns *patterns, kw_bytes key, bool reversed, kw_buffer *to)
{
    bool found = false;
    to->size = 0;
    for (size_t i = 0; i < patterns->count; i++) {
        size_t size = patterns->at + patterns->items[i].bytes.size;
        uint8_t *here = kw_buffer_reserve(to, size); /* after the best prefix so far */
        if (!next_of(patterns, &patterns->items[i], key, reversed, here))
            continue;
        if (!found || is_nearer(kw_bytes_of(here, size), kw_buffer_bytes(to), reversed)) {
            memmove(to->data, here, size);
            to->size = size;
        }
        found = true;
    }
    return found;
}
