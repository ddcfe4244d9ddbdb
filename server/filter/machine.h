/* A filter at work: HBase's state machine over the rows of one scan or get.
 *
 *   for each row, in the scan's order:  kw_filter_machine_row -> which of its cells are answered, or that it
 * is not
 *
 * What HBase does around a filter is done here as well: families that the filter does not need are shown to
 * it last, and only of rows that passed; older versions of a cell that was skipped are tried; row and cell
 * verdicts come in HBase's order. One machine serves one read and one thread.
 *
 * HBase has a machine per region and starts it anew when a scan goes on after a failure; here there is one
 * from start to end. In reversed scans HBase's OR of several column filters loses cells; here it answers as
 * forward.
 */
#pragma once

#include "base/cell.h"
#include "base/effort.h"
#include "filter/prepared.h"

typedef struct kw_filter_machine kw_filter_machine;

/* The filter must live as long. NULL: INVALID, an expression that cannot be compiled. */
kw_filter_machine *kw_filter_machine_new(const kw_filter *filter, bool reversed, kw_error *ret_error);

/* The same of a filter whose expressions are compiled; `effort` bounds what the rows cost and lives as long,
 * too: what is left of it may be set anew between rows. NULL: no bound. */
kw_filter_machine *kw_filter_machine_prepared(const kw_prepared *prepared, bool reversed, kw_effort *effort,
                                              kw_error *ret_error);
void kw_filter_machine_free(kw_filter_machine *machine);

typedef enum kw_filter_verdict {
    KW_FILTER_ROW_KEPT,
    KW_FILTER_ROW_DROPPED,
    KW_FILTER_ROW_FAILED /* the error says why; the machine is of no use any more */
} kw_filter_verdict;

/* One row: its cells in HBase's order, all versions that the family keeps; at most `versions` of a column are
 * kept. The cells that are kept are moved to the front and counted anew; a value may be replaced, by one of
 * four bytes that lives until the next row, or none. */
kw_filter_verdict kw_filter_machine_row(kw_filter_machine *machine, kw_bytes row, kw_cell *cells,
                                        size_t *count, int32_t versions, kw_error *ret_error);

/* No row behind the last one can pass. */
bool kw_filter_machine_done(const kw_filter_machine *machine);
