/* The first and the last row key that a copy, pass or sweep visits. Progress is estimated from them; see
 * coordinator_internal.h. */
#include "coordinator/coordinator_internal.h"

void
kw_change_key_range_forget(kw_change_work *work)
{
    g_clear_pointer(&work->first, g_bytes_unref);
    g_clear_pointer(&work->last, g_bytes_unref);
}

static GBytes *
keep(kw_bytes key)
{
    return key.size ? g_bytes_new(key.data, key.size) : NULL;
}

void
kw_change_key_range_keep(kw_change_work *work, const kw_copy_result *result)
{
    kw_change_key_range_forget(work);
    if (result->end)
        return;
    work->first = keep(result->first);
    work->last = keep(result->last);
}

static kw_bytes
key_in_arena(GBytes *key, kw_arena *arena)
{
    gsize size = 0;
    const uint8_t *data = key ? g_bytes_get_data(key, &size) : NULL;
    return key ? kw_arena_copy(arena, kw_bytes_of(data, size)) : KW_BYTES_NONE;
}

void
kw_change_key_range_to_request(kw_change_work *work, kw_copy_request *request, kw_arena *arena)
{
    /* A new scan begins, perhaps of another placement: the kept keys are not valid for it. The first slices
     * of a pass can visit only rows of other regions than the first one, and then have no position either. */
    if (request->after.size == 0 && !request->seen)
        kw_change_key_range_forget(work);
    request->first = key_in_arena(work->first, arena);
    request->last = key_in_arena(work->last, arena);
}
