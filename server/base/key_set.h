/* A set of byte strings, numbered in the order in which they were added. It lives in an arena, which grows
 * with it; the set does not free what it outgrew. The strings are borrowed.
 */
#pragma once

#include "base/arena.h"

typedef struct kw_key_set {
    kw_arena *arena;
    kw_bytes *keys; /* in the order of their numbers */
    size_t count;
    uint32_t *slots; /* 1 + number of a key; 0: free */
    size_t slots_count;
} kw_key_set;

/* An empty set. */
kw_key_set kw_key_set_in(kw_arena *arena);
bool kw_key_set_has(const kw_key_set *set, kw_bytes key);
/* Returns the key's number. ret_new: the set did not have it. At most UINT32_MAX - 1 keys. */
uint32_t kw_key_set_add(kw_key_set *set, kw_bytes key, bool *ret_new);
