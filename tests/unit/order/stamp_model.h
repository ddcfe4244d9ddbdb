/* `order: stamp`: gateways give the timestamps, from a clock that they know to within an error, and every
 * placement of a record gets the same one. One record in one or two placements, with two fields; answers that
 * are lost, and calls that arrive late or twice. Which safeguards are in force, and what else may happen, is
 * chosen; the search says whether any history is wrong.
 */
#pragma once

#include "explore.h"

/* What callers may do; bits. */
enum {
    STAMP_PUT = 1,           /* field a */
    STAMP_PUT_BOTH = 2,      /* fields a and b */
    STAMP_GET = 4,           /* both, from any placement */
    STAMP_GET_FIELD = 8,     /* a */
    STAMP_REMOVE = 16,       /* the record */
    STAMP_REMOVE_FIELD = 32, /* a */
};

typedef struct stamp_model {
    unsigned kinds;
    int calls;      /* in all */
    int callers;    /* at a time, at most 3 */
    int ticks;      /* of the store's clock, in milliseconds */
    int placements; /* 1 or 2 */
    int error;      /* a gateway's latest is at most so many milliseconds ahead of the store's clock */
    int unknown;    /* calls whose answer is lost; they may be applied late */
    int repeats;    /* removals that are sent twice: the first try may arrive at any time, after the answer as
                       well */
    int doubts;     /* puts without an answer whose gateway looks whether they were applied */
    int purges;     /* times that a compaction drops the delete markers of a placement */
    bool whole;     /* the record as a whole is held to be linearizable, not each field by itself */

    /* safeguards removed */
    bool eager_writes;  /* writes are acknowledged before their stamp has surely passed */
    bool eager_reads;   /* reads are returned before what they saw has surely passed */
    bool no_gone;       /* removals leave no readable cell */
    bool gone_too_low;  /* it is written at the stamp of the delete marker, which hides it */
    bool early_removal; /* a removal is acknowledged when its own stamp has passed, not one more */
    bool repeats_puts;  /* puts are sent twice like removals */
    bool short_read;    /* a read of one field does not look at the record's gone cell */
    bool no_stamp;      /* each placement stamps its row itself */
} stamp_model;

explored stamp_model_explore(const stamp_model *model, uint64_t states_most);
