/* Rows of a merge group are ordered by suffix, then by the index of their range. So the rows after position
 * (suffix, range) are: in ranges up to and including that one, greater suffixes (lesser ones if reversed); in
 * later ranges also equal ones.
 *
 *   forward:   [ prefix + suffix  (+ 0x00 if that row was read) , stop )
 *   reversed:  [ start , prefix + suffix  (+ 0x00 if that row was not read yet) )
 */
#include "gather/bounds.h"

#include <glib.h>

/* The smallest row key after `key`. A key of maximum length cannot be extended: its successor is the key
 * without its trailing 0xff bytes, with the last byte incremented. Empty: there is none. */
static kw_bytes
key_after(kw_bytes key, kw_arena *arena)
{
    uint8_t *after = kw_arena_alloc(arena, key.size + 1);
    memcpy(after, key.data, key.size);
    if (key.size < KW_STORE_ROW_KEY_MAX) {
        after[key.size] = 0;
        return kw_bytes_of(after, key.size + 1);
    }
    size_t size = key.size;
    while (size && after[size - 1] == 0xff)
        size--;
    if (size)
        after[size - 1]++;
    return kw_bytes_of(after, size);
}

static kw_bytes
key_at(const kw_range *range, kw_bytes suffix, kw_arena *arena)
{
    uint8_t *key = kw_arena_alloc(arena, range->skip + suffix.size);
    if (range->skip)
        memcpy(key, range->start.data, range->skip);
    if (suffix.size)
        memcpy(key + range->skip, suffix.data, suffix.size);
    return kw_bytes_of(key, range->skip + suffix.size);
}

static bool
left_forward(const kw_range *range, kw_bytes key, bool was_read, kw_arena *arena, kw_bytes *ret_start)
{
    kw_bytes start = was_read ? key_after(key, arena) : key;
    if (was_read && start.size == 0)
        return false;
    *ret_start = kw_bytes_compare(start, range->start) > 0 ? start : range->start;
    return range->stop.size == 0 || kw_bytes_compare(*ret_start, range->stop) < 0;
}

static bool
left_reversed(const kw_range *range, kw_bytes key, bool was_read, kw_arena *arena, kw_bytes *ret_stop)
{
    kw_bytes stop = was_read ? key : key_after(key, arena);
    if (was_read && stop.size == 0)
        return false; /* no key precedes the empty one; an empty stop would mean the table's end */
    bool earlier = stop.size && (range->stop.size == 0 || kw_bytes_compare(stop, range->stop) < 0);
    *ret_stop = earlier ? stop : range->stop;
    return ret_stop->size == 0 || kw_bytes_compare(range->start, *ret_stop) < 0;
}

bool
kw_range_left(const kw_plan *plan, uint32_t index, const kw_position *position, kw_arena *arena,
              kw_bytes *ret_start, kw_bytes *ret_stop)
{
    const kw_range *range = &plan->ranges[index];
    *ret_start = range->start;
    *ret_stop = range->stop;
    bool whole = range->group == position->group && position->at_head;
    if (!position->started || whole || range->group > position->group)
        return range->stop.size == 0 || kw_bytes_compare(range->start, range->stop) < 0;
    if (range->group < position->group)
        return false;
    kw_bytes key = key_at(range, position->suffix, arena);
    bool was_read = index <= position->range;
    return plan->reversed ? left_reversed(range, key, was_read, arena, ret_stop)
                          : left_forward(range, key, was_read, arena, ret_start);
}

bool
kw_position_is_before(const kw_position *position, const kw_plan *plan, size_t index, kw_bytes key)
{
    const kw_range *range = &plan->ranges[index];
    if (!position->started || range->group != position->group)
        return !position->started || range->group > position->group;
    if (position->at_head)
        return true;
    int order = kw_bytes_compare(kw_range_suffix(range, key), position->suffix);
    if (order)
        return plan->reversed ? order < 0 : order > 0;
    return index > position->range;
}

bool
kw_position_fits(const kw_plan *plan, const kw_position *position)
{
    if (!position->started)
        return true;
    if (position->group >= plan->groups_count || position->range >= plan->ranges_count)
        return false;
    const kw_merge_group *group = &plan->groups[position->group];
    if (position->range < group->first || position->range - group->first >= group->count)
        return false;
    return plan->ranges[position->range].skip + position->suffix.size <= KW_STORE_ROW_KEY_MAX;
}
