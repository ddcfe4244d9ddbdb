/* A model of the way from `order: store` into a change and back out (server/change/ladder.h, the versions
 * ENTER_... and LEAVE_...). There is one record with one field in one placement, and time: gateways know the
 * store's clock with an error, and the clock of the server with the row differs from it.
 *
 * Calls run under the version in effect or, until all gateways have reported, under the version before. Calls
 * can be given up; what they have sent can be applied until a grace. A history is right if it is
 * linearizable. */
#pragma once

#include "explore.h"
#include "place_copy.h"

typedef enum entry_kind {
    ENTRY_NOTHING,
    ENTRY_PUT,
    ENTRY_REMOVE,
    ENTRY_GET,
    ENTRY_ATOMIC,
    ENTRY_KINDS
} entry_kind;

#define ENTRY_BIT(kind) (1u << ENTRY_##kind)

typedef struct entry_model {
    place_copy places[KW_PLACES]; /* the server's; tests remove safeguards from this copy */
    kw_change_place first, last;
    bool back;      /* from `first` the change goes back to `last` */
    unsigned kinds; /* bits */
    int calls;      /* in total */
    int callers;    /* at the same time */
    int ticks;      /* milliseconds that pass */
    int error;      /* a gateway's latest possible time is at most this much ahead of the store's clock */
    int skew;       /* max_clock_skew */
    int offset;     /* the clock of the row's server minus the store's */
    int unknown;    /* calls that are given up */
    int purges;     /* how often a compaction drops the delete markers */

    /* safeguards to remove; others are columns of the versions */
    bool raised_blind;         /* a raised stamp does not depend on the newest timestamp in the row */
    bool raised_early;         /* a raised put is sent at once */
    bool raised_early_removal; /* a removal beside raised puts does not wait for the skew */
    bool raised_no_wait;       /* gets beside raised puts are returned at once */
} entry_model;

/* The server's versions, and nothing else set. */
entry_model entry_model_new(void);
explored entry_model_explore(const entry_model *model, uint64_t states_max);
