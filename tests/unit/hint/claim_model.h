/* A model of a unique path (server/hint/claim.h): two records, one claimed value X, two callers that put X or
 * another value or remove, calls that are given up and arrive late, and a cleaner of claims.
 *
 * In every state: at most one row holds X, and the claim names it. A put is REFUSED only if another record
 * held X at a moment of the call. */
#pragma once

#include "explore.h"

#include "hint/claim.h"

typedef struct claim_model {
    bool atomics;
    bool first_holds; /* in the beginning, record 0 holds X */
    int calls;        /* in total */
    int callers;      /* at the same time, at most 3 */
    int retries;      /* how often a step is not met, in total */
    int unknown;      /* calls that are given up */
    int cleans;
    int ticks;
    int moves; /* of the claim's region to a clock that is 1 tick slow, or back */
    bool removes;
    int window, late;
    kw_hint_limits limits;

    /* filling: rows of before have no claims; a copier claims them, and puts of the present version claim */
    bool unfilled; /* record 0 holds X without a claim; the copier runs */

    /* safeguards to remove */
    bool ignores_conflicts; /* the path counts as filled although two records hold X */
    bool fills_early;       /* the copier runs while puts of a gateway write no claims */
    bool no_fence;
    bool reads_late;     /* the own kw:w is read after the claim was written */
    bool no_renewal;     /* a claim that is one's own is not written again */
    bool row_first;      /* the row is written before the claim */
    bool no_age;         /* claims of any age are deleted */
    bool age_after_look; /* atomics: false: the age is judged after the other row was read */
    bool takes_young;    /* atomics: false: young claims are taken over */
    bool deletes_any;    /* the delete does not compare owner and id */
    bool no_window;
    bool same_id; /* a claim that is written again keeps its id */
} claim_model;

claim_model claim_model_new(void);
explored claim_model_explore(const claim_model *model, uint64_t states_max);
