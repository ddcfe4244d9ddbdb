/* Linear probing; at most half of the slots are used. */
#include "base/key_set.h"

#include <glib.h>

#define SLOTS_LEAST 64

kw_key_set
kw_key_set_in(kw_arena *arena)
{
    return (kw_key_set){.arena = arena};
}

/* The slot of the key, or the free one where it belongs. */
static uint32_t *
slot_of(const kw_key_set *set, kw_bytes key)
{
    size_t at = kw_bytes_hash(key) & (set->slots_count - 1);
    while (set->slots[at] && !kw_bytes_equal(set->keys[set->slots[at] - 1], key))
        at = (at + 1) & (set->slots_count - 1);
    return &set->slots[at];
}

static void
grow(kw_key_set *set)
{
    kw_bytes *keys = set->keys;
    set->slots_count = MAX(2 * set->slots_count, SLOTS_LEAST);
    set->slots = KW_ARENA_ARRAY(set->arena, uint32_t, set->slots_count);
    set->keys = KW_ARENA_ARRAY(set->arena, kw_bytes, set->slots_count / 2);
    for (size_t i = 0; i < set->count; i++) {
        set->keys[i] = keys[i];
        *slot_of(set, keys[i]) = (uint32_t)i + 1;
    }
}

bool
kw_key_set_has(const kw_key_set *set, kw_bytes key)
{
    return set->count > 0 && *slot_of(set, key) != 0;
}

uint32_t
kw_key_set_add(kw_key_set *set, kw_bytes key, bool *ret_new)
{
    g_assert(set->count < UINT32_MAX - 1);
    if (2 * (set->count + 1) > set->slots_count)
        grow(set);
    uint32_t *slot = slot_of(set, key);
    *ret_new = *slot == 0;
    if (*ret_new) {
        set->keys[set->count++] = key;
        *slot = (uint32_t)set->count;
    }
    return *slot - 1;
}
