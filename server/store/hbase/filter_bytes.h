/* Filters as HBase serialises them, for TScan.filterBytes: what its filter language cannot say, above all
 * what the bytes of a row key are from an offset on.
 *
 *   Filter {name, bytes of the filter's own message}     FilterList {ALL, [FuzzyRowFilter, the text's tree]}
 *
 * From HBase 2.6.1: Filter.proto, Comparator.proto, HBase.proto (BytesBytesPair, CompareType), names of the
 * Java classes and, for what a text means, their createFilterFromArguments. ThriftUtilities.scanFromThrift
 * sets the filter of filterString first and that of filterBytes after it, so that the latter replaces it: it
 * has to say all. A server that knows no filterBytes still has the text.
 */
#pragma once

#include "base/pattern.h"
#include "filter/filter.h"

typedef enum kw_hbase_sifting {
    /* RowFilter with a regular expression over ISO-8859-1, which every server understands: each row is looked
     * at. */
    KW_HBASE_FUZZY_EACH,
    /* FuzzyRowFilter, which also tells where to seek next. Masks are in the form that programs hand to it (0
     * fixed, 1 any): every version turns them into its own, which differ (-1 and 0 before HBASE-15676, -1 and
     * 2 since; is_mask_v2 says which). Not backward: there its hints pass rows by (getNextForFuzzyRule takes
     * free bytes behind a fixed one as 0, not as 255). And not where HBasePlatformDependent.unaligned() is
     * false (a Java 17 whose java.nio was not opened): there no row matches, since masks are shifted
     * (idempotentMaskShift) that were never turned. */
    KW_HBASE_FUZZY_SEEKING
} kw_hbase_sifting;

/* The filter (NULL: none) and the patterns; empty when there are no patterns. */
kw_bytes kw_hbase_filter_bytes(const kw_filter *filter, const kw_patterns *patterns, kw_hbase_sifting how,
                               kw_arena *arena);

/* A tree of the filter language alone. */
void kw_hbase_filter_serialise(const kw_filter *filter, kw_buffer *to);
