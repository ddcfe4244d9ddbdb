/* See range.h. The smallest key after a key is the key with a zero byte appended. A greatest key before a key
 * exists only if the key ends in a zero byte: it is the key without this byte. Otherwise a reversed scan
 * starts at the key itself, or stops at a key that is a little too low; the extra rows are dropped (at the
 * low end there is hardly ever one). */
#include "store/hbase/thrift2/range.h"

#include "store/hbase/thrift2/convert.h"

/* The number of 0xff bytes after the decremented key; HBase's own clients append 9. */
#define BELOW_PADDING 9

static kw_bytes
next_key(kw_arena *arena, kw_bytes key)
{
    uint8_t *next = kw_arena_alloc(arena, key.size + 1);
    memcpy(next, key.data, key.size);
    next[key.size] = 0;
    return kw_bytes_of(next, key.size + 1);
}

/* A key below `key`, which must not be empty, with almost no possible keys between them. */
static kw_bytes
key_below(kw_arena *arena, kw_bytes key)
{
    g_assert(key.size > 0);
    if (key.data[key.size - 1] == 0)
        return kw_bytes_of(key.data, key.size - 1);
    size_t padding = MIN(BELOW_PADDING, KW_STORE_ROW_KEY_MAX - key.size);
    uint8_t *lower = kw_arena_alloc(arena, key.size + padding);
    memcpy(lower, key.data, key.size);
    lower[key.size - 1]--;
    memset(lower + key.size, 0xff, padding);
    return kw_bytes_of(lower, key.size + padding);
}

static void
set_bounds(kw_bytes start, kw_bytes stop, kw_hb_TScan *scan)
{
    scan->has_startRow = start.size != 0;
    scan->startRow = start;
    scan->has_stopRow = stop.size != 0;
    scan->stopRow = stop;
}

static bool
forward_bounds(kw_arena *arena, const kw_range_scan_spec *spec, const kw_buffer *last, kw_hb_TScan *scan)
{
    kw_bytes start = last ? next_key(arena, kw_buffer_bytes(last)) : spec->start;
    set_bounds(start, spec->stop, scan);
    return spec->stop.size == 0 || kw_bytes_compare(start, spec->stop) < 0;
}

static bool
reversed_bounds(kw_arena *arena, const kw_range_scan_spec *spec, const kw_buffer *last, kw_hb_TScan *scan)
{
    kw_bytes top = last ? kw_arena_copy(arena, kw_buffer_bytes(last)) : spec->stop;
    if (top.size && kw_bytes_compare(spec->start, top) >= 0)
        return false;
    bool exact = top.size && top.data[top.size - 1] == 0;
    kw_bytes start = exact ? kw_bytes_of(top.data, top.size - 1) : top;
    if (exact && start.size == 0)
        return false; /* no key is below a single zero byte */
    set_bounds(start, spec->start.size ? key_below(arena, spec->start) : KW_BYTES_NONE, scan);
    scan->has_reversed = true;
    scan->reversed = true;
    return true;
}

static void
set_selection(kw_arena *arena, const kw_range_scan_spec *spec, kw_hb_TScan *scan)
{
    scan->has_maxVersions = true;
    scan->maxVersions = MAX(spec->max_versions, 1);
    scan->has_filterString = spec->filter.size != 0;
    scan->filterString = spec->filter;
    scan->has_cacheBlocks = spec->keep_blocks_out_of_cache;
    if (spec->columns_count) {
        scan->has_columns = true;
        scan->columns.items = kw_hbase_to_columns(arena, spec->columns, spec->columns_count);
        scan->columns.count = (uint32_t)spec->columns_count;
    }
    if (spec->time_from || spec->time_to) {
        kw_hb_TTimeRange *range = KW_ARENA_NEW(arena, kw_hb_TTimeRange);
        range->minStamp = spec->time_from;
        range->maxStamp = spec->time_to;
        scan->has_timeRange = true;
        scan->timeRange = range;
    }
}

bool
kw_hbase_range_to_scan(kw_arena *arena, const kw_range_scan_spec *spec, const kw_buffer *last,
                       kw_hb_TScan *ret_scan)
{
    *ret_scan = (kw_hb_TScan){0};
    bool some = spec->reversed ? reversed_bounds(arena, spec, last, ret_scan)
                               : forward_bounds(arena, spec, last, ret_scan);
    if (some)
        set_selection(arena, spec, ret_scan);
    return some;
}

bool
kw_hbase_range_starts_outside(const kw_range_scan_spec *spec, const kw_buffer *last)
{
    kw_bytes top = last ? kw_buffer_bytes(last) : spec->stop;
    return spec->reversed && top.size && top.data[top.size - 1] != 0;
}

kw_hbase_range_position
kw_hbase_range_locate(const kw_range_scan_spec *spec, const kw_buffer *last, kw_bytes row)
{
    if (!spec->reversed)
        return KW_HBASE_IN_RANGE;
    kw_bytes top = last ? kw_buffer_bytes(last) : spec->stop;
    if (top.size && kw_bytes_compare(row, top) >= 0)
        return KW_HBASE_BEFORE_RANGE;
    return kw_bytes_compare(row, spec->start) < 0 ? KW_HBASE_AFTER_RANGE : KW_HBASE_IN_RANGE;
}
