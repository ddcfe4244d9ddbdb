/* The filter of one read, if it has one: rows are read into memory of the sieve's own and only what the
 * filter keeps is copied into the answer. One thread at a time; a run's sieve lives as long as the run, so
 * that a filter that counts counts on.
 */
#pragma once

#include "filter/machine.h"
#include "store/embedded/view.h"

typedef struct kw_sieve {
    kw_prepared *prepared; /* a reference; NULL: no filter */
    kw_filter_machine *machine;
    kw_rows scratch; /* the present row, before the filter */
    int32_t versions;
} kw_sieve;

/* effort: what filtering may cost, and until when. False: INVALID. A zeroed sieve is one without a filter. */
bool kw_sieve_init(kw_sieve *sieve, const kw_asked *asked, bool reversed, kw_effort *effort,
                   kw_error *ret_error);
void kw_sieve_clear(kw_sieve *sieve);

static inline bool
kw_sieve_filters(const kw_sieve *sieve)
{
    return sieve->machine != NULL;
}

/* The next row that is read goes to the sieve. */
void kw_sieve_begin(kw_sieve *sieve, kw_view *view);

/* A row that was read. KEPT: ret_row is what is left of it, in the memory of `rows`, whose bytes are counted.
 */
kw_filter_verdict kw_sieve_row(kw_sieve *sieve, kw_row *row, kw_rows *rows, kw_row *ret_row,
                               kw_error *ret_error);
