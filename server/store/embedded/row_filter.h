/* The filter of a read. Rows are read into a scratch arena, and only the cells that the filter keeps are
 * copied to the result. A range scan keeps its row filter for its lifetime, because a filter can count rows
 * across fetches. One thread at a time. */
#pragma once

#include "filter/machine.h"
#include "store/embedded/version_filter.h"

typedef struct kw_row_filter {
    kw_prepared *prepared; /* a reference; NULL: no filter */
    kw_filter_machine *machine;
    kw_rows scratch; /* the current row, unfiltered */
    int32_t versions;
} kw_row_filter;

/* effort: limits the cost of filtering. The scratch arena is charged to the account, which must outlive it.
 * Without a filter in the request, the row filter is inactive, like a zeroed one. False with INVALID if the
 * filter is malformed. */
bool kw_row_filter_init(kw_row_filter *row_filter, const kw_read_request *request, bool reversed,
                        kw_account *account, kw_effort *effort, kw_error *ret_error);
void kw_row_filter_clear(kw_row_filter *row_filter);

static inline bool
kw_row_filter_is_active(const kw_row_filter *row_filter)
{
    return row_filter->machine != NULL;
}

/* Directs the next row that is read to the scratch arena. The row filter must be active. */
void kw_row_filter_begin_row(kw_row_filter *row_filter, kw_version_filter *version_filter);

/* Filters a row that was read after kw_row_filter_begin_row. KEPT: ret_row contains what the filter keeps,
 * in the arena of `rows`; its size is added to rows->bytes. */
kw_filter_verdict kw_row_filter_apply(kw_row_filter *row_filter, kw_row *row, kw_rows *rows, kw_row *ret_row,
                                      kw_error *ret_error);

/* Frees the memory of the last row: a scan that waits for its next fetch does not hold it. The row filter can
 * be inactive. */
void kw_row_filter_rest(kw_row_filter *row_filter);
