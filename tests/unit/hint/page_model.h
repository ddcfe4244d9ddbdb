/* A model of a query by a hint path (server/hint/page.h): a record that moves between places, one that does
 * not, writers, a cleaner, and a reader of one page or several. Each record must be returned as often as
 * docs/design/paths.md promises. */
#pragma once

#include "explore.h"

#include "hint/page.h"

#define PAGE_PLACES 4 /* in the ranges of the query; a record can also move out of them */

typedef struct page_model {
    int moves;      /* of the moving record */
    int writers;    /* at the same time, at most 2 */
    int lost_hints; /* writers that die between hint and row */
    int cleans;
    int ticks;         /* the query ends within this time */
    int batch;         /* hints that are read together */
    int limit;         /* records of a page; 0: the query has one page */
    bool leaves;       /* the record can move out of the ranges, and back */
    bool may_lag;      /* a row's timestamp can be 1 below the time at which it is written */
    bool first_recent; /* the record was written just before the query */
    bool first_stale;  /* it has a stale hint at the last place */
    bool stale_before; /* ... at the first place */
    bool snapshot; /* the hints are read as they were when the range scan was opened, which stays open over
                      batches, and possibly over pages */
    bool cuts;     /* with a snapshot: a batch, or a page, can end after any hint of a batch */
    kw_hint_limits limits;

    /* safeguards to remove */
    bool only_hints; /* rows are returned only by their hints */
    bool any_time;   /* rows need not be recent to be returned at a place that was passed */
    bool no_memory;
    bool starts_no_lag;  /* the start of the query does not consider the lag */
    bool cleans_no_lag;  /* the cleaner does not */
    bool no_keep;        /* hints of rows that have moved just now are cleaned */
    bool no_page_set;    /* a record that is on the page already is added again */
    bool end_is_last;    /* a place is after the batch also if the ranges have no further hints */
    bool begun_is_after; /* with a snapshot: range scans stay open although a place in them is read later */
    bool judged_first; /* with cuts: a record is judged with its first hint of the batch, also if another one
                          is that of its tuple */
    bool rows_first;   /* the rows of a batch are read before its last hint */
} page_model;

/* All safeguards, and limits that fit. */
page_model page_model_new(void);
explored page_model_explore(const page_model *model, uint64_t states_max);
