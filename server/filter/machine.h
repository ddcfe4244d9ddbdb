/* Applies a filter to the rows of one scan or get, like HBase's state machine.
 *
 *   for each row, in the scan's order:  kw_filter_machine_row -> the cells to return, or "drop the row"
 *
 * It calls the filter as HBase's region scanner does. Families that the filter does not need are passed to it
 * last, and only for rows that have passed. After a skipped cell, its older versions are passed. The verdicts
 * on cells and rows are requested in the same order as in HBase. One machine serves one read and one thread.
 *
 * Differences: HBase has one filter object per region and creates a new one when a scan resumes after a
 * failure; here one machine serves the whole read. In reversed scans HBase's OR of several column filters
 * loses cells; here it returns the same cells as in forward scans.
 */
#pragma once

#include "base/cell.h"
#include "base/effort.h"
#include "filter/prepared.h"

typedef struct kw_filter_machine kw_filter_machine;

/* The filter must outlive the machine. NULL with INVALID if an expression cannot be compiled. */
kw_filter_machine *kw_filter_machine_new(const kw_filter *filter, bool reversed, kw_error *ret_error);

/* The same for a prepared filter, whose expressions are compiled. The effort bounds the cost of all rows, and
 * must outlive the machine; its limits can be changed between rows. NULL: no limit. */
kw_filter_machine *kw_filter_machine_prepared(const kw_prepared *prepared, bool reversed, kw_effort *effort,
                                              kw_error *ret_error);
void kw_filter_machine_free(kw_filter_machine *machine);

typedef enum kw_filter_verdict {
    KW_FILTER_ROW_KEPT,
    KW_FILTER_ROW_DROPPED,
    KW_FILTER_ROW_FAILED /* ret_error is set; do not use the machine again */
} kw_filter_verdict;

/* Filters one row, given as its cells in HBase's order, with all versions that the family keeps. Keeps at
 * most `versions` cells of a column. Kept cells are moved to the front, and *count is set to their number.
 * The filter can replace a value by an empty one, or by four bytes that live until the next row. */
kw_filter_verdict kw_filter_machine_row(kw_filter_machine *machine, kw_bytes row, kw_cell *cells,
                                        size_t *count, int32_t versions, kw_error *ret_error);

/* True if no further row can pass. */
bool kw_filter_machine_done(const kw_filter_machine *machine);
