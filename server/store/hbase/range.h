/* A run's range as Thrift2 scans it. TScan's start is inclusive and its stop exclusive in both
 * directions, which for a reversed scan is the wrong way round: it starts at the exclusive stop of the
 * range and must go down to its inclusive start. Pure. */
#pragma once

#include "store/store.h"
#include "thrift/hbase2_wire.h"

/* The scan of what is left of the range behind `last` (NULL: all of it); false when nothing can be left.
 * Slices live as long as arena, spec and last. A reversed scan may yield a row too many at its start
 * (the exclusive end of the range) and at its end: see kw_hbase_range_place. */
bool kw_hbase_range_scan(kw_arena *arena, const kw_range_scan_spec *spec, const kw_buffer *last,
                         kw_hb_TScan *ret_scan);

typedef enum kw_hbase_place {
    KW_HBASE_BEFORE_RANGE,
    KW_HBASE_IN_RANGE,
    KW_HBASE_BEHIND_RANGE
} kw_hbase_place;

/* Does the scan start at a key that it must not yield? */
bool kw_hbase_range_starts_outside(const kw_range_scan_spec *spec, const kw_buffer *last);

/* Where a row that such a scan gave lies, in the scan's direction. */
kw_hbase_place kw_hbase_range_place(const kw_range_scan_spec *spec, const kw_buffer *last, kw_bytes row);
