/* The range of a scan as Thrift2's TScan. TScan's start is inclusive and its stop exclusive in both
 * directions. That does not fit a reversed scan, which starts at the exclusive stop of the range and includes
 * its start. Pure. */
#pragma once

#include "store/store.h"
#include "thrift/hbase2_wire.h"

/* The TScan of the range's rows after `last` (NULL: all rows); false if there cannot be any. Slices are valid
 * as long as arena and spec. A reversed scan can also return a row before the range (at the exclusive
 * stop, where it starts) and rows after it. kw_hbase_range_locate recognizes them. */
bool kw_hbase_range_to_scan(kw_arena *arena, const kw_range_scan_spec *spec, const kw_buffer *last,
                            kw_hb_TScan *ret_scan);

typedef enum kw_hbase_range_position {
    KW_HBASE_BEFORE_RANGE,
    KW_HBASE_IN_RANGE,
    KW_HBASE_AFTER_RANGE
} kw_hbase_range_position;

/* True if the scan starts at a key outside the range. */
bool kw_hbase_range_starts_outside(const kw_range_scan_spec *spec, const kw_buffer *last);

/* The position of a row that the scan returned, in the scan's direction. */
kw_hbase_range_position kw_hbase_range_locate(const kw_range_scan_spec *spec, const kw_buffer *last,
                                              kw_bytes row);
