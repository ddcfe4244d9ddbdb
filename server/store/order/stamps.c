/* Reserves stamps, so that writes of one record get different stamps where they must. */
#include "store/order/order_internal.h"

/* Reserves a stamp in a slot: at least stamp_ms, and not lower than any stamp reserved before. exclusive: no
 * later reservation gets the same one. */
static int64_t
reserve_in_slot(_Atomic int64_t *slot, int64_t stamp_ms, bool exclusive)
{
    int64_t least = atomic_load(slot), reserved, next;
    do {
        reserved = MAX(stamp_ms, least);
        next = exclusive ? reserved + 1 : reserved;
        if (next == least)
            return reserved;
    } while (!atomic_compare_exchange_weak(slot, &least, next));
    return reserved;
}

static size_t
add_slot(kw_order_store *store, kw_bytes row, _Atomic int64_t **slots, size_t count)
{
    _Atomic int64_t *slot = &store->least_ms[kw_bytes_hash(row) % KW_ORDER_SLOTS];
    for (size_t i = 0; i < count; i++)
        if (slots[i] == slot)
            return count;
    slots[count] = slot;
    return count + 1;
}

int64_t
kw_order_reserve(kw_order_handle *handle, const kw_bytes *rows, size_t count, int64_t stamp_ms,
                 bool exclusive, kw_arena *arena)
{
    _Atomic int64_t **slots = KW_ARENA_ARRAY(arena, _Atomic int64_t *, count);
    size_t slots_count = 0;
    for (size_t i = 0; i < count; i++)
        slots_count = add_slot(kw_order_store_of(handle), rows[i], slots, slots_count);
    for (size_t i = 0, same = 0; same < slots_count; i = (i + 1) % slots_count) {
        int64_t reserved = reserve_in_slot(slots[i], stamp_ms, exclusive);
        same = reserved == stamp_ms ? same + 1 : 1;
        stamp_ms = reserved;
    }
    return stamp_ms;
}
