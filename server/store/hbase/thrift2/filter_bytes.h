/* Filters as HBase serialises them, for TScan.filterBytes. They express conditions that HBase's filter
 * language cannot express, mainly on the bytes of a row key after an offset.
 *
 *   each filter:               Filter {name, bytes of the filter's own message}
 *   patterns and a text:       FilterList {ALL, [filter of the patterns, filter of the text]}
 *
 * The messages are those of HBase 2.6.1, in Filter.proto, Comparator.proto and HBase.proto (BytesBytesPair,
 * CompareType). The names are those of its Java classes. What a filter's text means is defined by
 * createFilterFromArguments of these classes. ThriftUtilities.scanFromThrift sets the filter of filterString
 * first and then that of filterBytes, which replaces it. So filterBytes must contain the whole filter. A
 * server without filterBytes uses the text.
 */
#pragma once

#include "base/pattern.h"
#include "filter/filter.h"

typedef enum kw_hbase_pattern_filter {
    /* RowFilter with a regular expression over ISO-8859-1. Every server supports it; it examines each row. */
    KW_HBASE_PATTERN_REGEX,
    /* FuzzyRowFilter, which also seeks to the next possible match. Masks have the form of its public
     * constructor (0 fixed, 1 any). Each version converts them to its own form (-1 and 0 before HBASE-15676,
     * -1 and 2 since; is_mask_v2 says which). Do not use it in two cases:
     * - Backward scans: its hints skip matching rows, because getNextForFuzzyRule sets free bytes after a
     * fixed one to 0 instead of 255.
     * - HBasePlatformDependent.unaligned() is false, for example on Java 17 without --add-opens for java.nio:
     * no row matches, because idempotentMaskShift shifts masks that were never converted. */
    KW_HBASE_PATTERN_FUZZY
} kw_hbase_pattern_filter;

/* Serialises the patterns and the filter (NULL: none). Empty if there are no patterns. */
kw_bytes kw_hbase_filter_bytes(const kw_filter *filter, const kw_patterns *patterns,
                               kw_hbase_pattern_filter how, kw_arena *arena);

/* Serialises a filter of the filter language. */
void kw_hbase_filter_serialise(const kw_filter *filter, kw_buffer *to);
