/* The filter of one read, if it has one: rows are read into memory of the row filter's own and only what the
 * filter keeps is copied into the answer. One thread at a time; a run's row filter lives as long as the run,
 * so that a filter that counts counts on.
 */
#pragma once

#include "filter/machine.h"
#include "store/embedded/version_filter.h"

typedef struct kw_row_filter {
    kw_prepared *prepared; /* a reference; NULL: no filter */
    kw_filter_machine *machine;
    kw_rows scratch; /* the present row, before the filter */
    int32_t versions;
} kw_row_filter;

/* effort: what filtering may cost, and until when. False: INVALID. A zeroed row filter is one without a
 * filter. */
bool kw_row_filter_init(kw_row_filter *row_filter, const kw_asked *asked, bool reversed, kw_effort *effort,
                        kw_error *ret_error);
void kw_row_filter_clear(kw_row_filter *row_filter);

static inline bool
kw_row_filter_filters(const kw_row_filter *row_filter)
{
    return row_filter->machine != NULL;
}

/* The next row that is read goes to the row filter. */
void kw_row_filter_begin(kw_row_filter *row_filter, kw_version_filter *view);

/* A row that was read. KEPT: ret_row is what is left of it, in the memory of `rows`, whose bytes are counted.
 */
kw_filter_verdict kw_row_filter_row(kw_row_filter *row_filter, kw_row *row, kw_rows *rows, kw_row *ret_row,
                                    kw_error *ret_error);
