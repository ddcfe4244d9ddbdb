/* A model of `order: stamp`: gateways assign the timestamps, from a clock that they know with an error, and
 * every placement of a record gets the same one. There is one record with two fields in one or two
 * placements. Replies can be lost, and calls can arrive late or twice. A test chooses the safeguards and the
 * possible failures; the search reports whether any history is wrong. */
#pragma once

#include "explore.h"

/* Operations of the callers; bits. */
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
    int calls;      /* in total */
    int callers;    /* at the same time, at most 3 */
    int ticks;      /* of the store's clock, in milliseconds */
    int placements; /* 1 or 2 */
    int error;      /* a gateway's latest possible time is at most this many milliseconds ahead of the store's
                       clock */
    int unknown;    /* calls whose reply is lost; they can be applied late */
    int repeats;    /* removals that are sent twice; the first attempt can arrive at any time, even after the
                       answer */
    int doubts;     /* puts without an answer that the gateway checks with a read */
    int purges;     /* how often a compaction drops the delete markers of a placement */
    bool whole;     /* the whole record must be linearizable, not only each field */

    /* safeguards to remove */
    bool eager_writes;  /* writes are acknowledged before their stamp has surely passed */
    bool eager_reads;   /* reads are returned before the stamps that they saw have surely passed */
    bool no_gone;       /* removals leave no readable cell */
    bool gone_too_low;  /* that cell has the stamp of the delete marker, which hides it */
    bool early_removal; /* a removal is acknowledged when its own stamp has passed, instead of the next one */
    bool repeats_puts;  /* puts are sent twice like removals */
    bool short_read;    /* a read of one field does not read the record's gone cell */
    bool no_stamp;      /* each placement stamps its row itself */
} stamp_model;

explored stamp_model_explore(const stamp_model *model, uint64_t states_max);
