/* A model of a hint path while the primary path changes its key rule (server/change/ladder.h): full puts and
 * removals of one record, partial puts, calls that are given up, the copy and passes, and the cleaner.
 * Partial puts are atomic operations: they are held where those are, and write the placement that gets read
 * first.
 *
 * In every state: if a reader of the row sees a tuple, the hint of this tuple is visible. The rows are those
 * of the placements that gets read at the present place, or at the one before. */
#pragma once

#include "explore.h"

#include "change/ladder.h"

typedef enum primary_cleans {
    CLEANS_ALONE,  /* where only one placement has a role */
    CLEANS_MIDDLE, /* not where puts write both placements */
    CLEANS_ALWAYS
} primary_cleans;

typedef struct primary_model {
    int calls;
    int callers;
    int unknown;
    int cleans;
    bool partial; /* also partial puts */
    kw_change_place first, last;
    primary_cleans where;
    bool asks_both; /* the cleaner reads the rows of both placements */
    bool no_drain;  /* a slice of the cleaner does not count as a call of its place */
    bool row_first; /* puts write the row before the hint */
} primary_model;

primary_model primary_model_new(void);
explored primary_model_explore(const primary_model *model, uint64_t states_max);
