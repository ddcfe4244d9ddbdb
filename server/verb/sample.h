/* Checks a sample of the rows of a store table that Keyway has not recorded before: whether they follow the
 * key rule of a placement, and whether their values can be decoded.
 *
 *   sample.c          which rows: the first and last rows of every region, and rows after random keys
 *   sample_verdict.c  what the sample shows: the refusal, and other settings that would fit. Pure
 *
 * Every row that is read must fit. The check does not prove that all rows do (kw_verify does).
 */
#pragma once

#include "path/judge.h"
#include "verb/verb.h"

typedef struct kw_sample_request {
    const kw_placement *placement;
    int64_t time_ms; /* the check ends after this time, even if it has not read every region */
} kw_sample_request;

typedef struct kw_sample_result {
    uint64_t rows; /* different rows that were checked */
    uint64_t misfits;
    size_t regions; /* with rows that were checked */
    size_t regions_all;
    bool all_rows;    /* the store table has no other rows */
    kw_error refusal; /* KW_OK: all rows that were checked fit. REFUSED names a row that does not */
} kw_sample_result;

typedef void (*kw_sample_done)(void *user, const kw_sample_result *result, const kw_error *error);
/* Reads rows without their ordering, so it does not need to know the store's clock. A missing store table has
 * no rows. The request must live until done. */
void kw_verb_sample(kw_call *call, const kw_sample_request *request, kw_sample_done done, void *user);

/* --- sample_verdict.c ------------------------------------------------------------------------------ */

typedef struct kw_sample_verdict kw_sample_verdict;

/* In the arena, which must live as long. scratch: cleared with each row. */
kw_sample_verdict *kw_sample_verdict_new(const kw_placement *placement, kw_arena *arena, kw_arena *scratch);
/* Frees what is not in the arena. */
void kw_sample_verdict_clear(kw_sample_verdict *self);
/* A row that was read before is ignored. */
void kw_sample_verdict_add(kw_sample_verdict *self, const kw_row *row);
/* Sets rows, misfits and refusal. Can take some milliseconds if rows do not fit. */
void kw_sample_verdict_end(kw_sample_verdict *self, kw_sample_result *result);
