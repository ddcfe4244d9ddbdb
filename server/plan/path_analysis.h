/* Determines how many components of a path's rule a query can use, before any range is built. Private to this
 * module.
 *
 *   components   c0        c1         c2        c3       c4
 *                compute   fan out    compute   stop     (not used)
 *
 * From the front: a component whose fields are known is computed. An enumerable component fans out if a later
 * one then narrows or orders the rows. The first component that can be neither computed nor fanned out is the
 * stop: its field determines the order of the rows and can have the range. A clock (calendar, bits) within a
 * range of its field fans out into its pieces if a later component is known; otherwise it stops with its runs
 * of pieces.
 */
#pragma once

#include "plan/normalized_query.h"

typedef enum kw_stop {
    KW_STOP_COMPLETE, /* none: the whole key is known */
    KW_STOP_RANGE,    /* at the field with the range */
    KW_STOP_ORDERED,  /* at an unbound field: rows are in its order */
    KW_STOP_RUNS,     /* at a clock: its runs of pieces, in the order of time */
    KW_STOP_TRIVIAL,  /* only enumerable fields are unbound */
    KW_STOP_UNORDERED /* at a component without an order */
} kw_stop;

typedef struct kw_path_analysis {
    const kw_placement *placement;
    const kw_path *path;     /* of the placement */
    const kw_layout *layout; /* of the placement */
    kw_stop stop;
    size_t used; /* components before the stop */
    bool fan_out[KW_RULE_COMPONENTS_MAX];
    int direction;       /* order of the rows: that of the stop's field */
    bool *known;         /* per field: each branch determines its value */
    bool *covered;       /* per field: every row of the ranges meets its condition */
    bool span_fans;      /* an enumerable field has the range */
    bool listed;         /* a clock fanned out into its pieces within the range: branches are in its order */
    int clock_direction; /* direction of those pieces */
    bool clocked;        /* the path stops at a clock, with the clock's runs within the range */
    bool blurred;        /* a clock fanned out into all its pieces, without an order */
    bool concat;         /* KW_STOP_RUNS: the runs belong to several times, so the rows have no order */
    uint64_t runs;       /* KW_STOP_RUNS: upper bound of the number of runs */
    bool whole_round[KW_RULE_COMPONENTS_MAX]; /* a clock fans out into all its pieces, whatever the range */
    int64_t blur_s;  /* rows are in the requested order except within this many seconds; 0: exactly */
    int64_t cell_s;  /* an order is requested, and there is one range per this many seconds of the interval */
    bool disordered; /* within the pieces of its clock, rows have another order than the requested one */
    uint64_t pieces[KW_RULE_COMPONENTS_MAX]; /* upper bound of the pieces that each component fans out into */
    bool has_other_keys;                     /* the ranges can contain keys of other values */
    bool narrow;                             /* less than the whole table is read */
    bool windowed;        /* there are too many ranges, so the time range is read in windows */
    size_t window_at;     /* the clock that the windows are built from */
    bool window_pieces;   /* true: a window consists of pieces of the clock; false: of runs */
    uint64_t window_most; /* maximum number of pieces or runs in a window; 0: even one has too many ranges */
    size_t equalities;    /* bound fields in the prefix */
    uint64_t ranges;      /* upper bound, before pruning */
    uint64_t
        weight; /* ranges by which paths are compared; without those of clocks if an order is requested */
    bool eligible;
    bool reversed;
    bool falling;        /* groups are in descending order of the order's field */
    const char *why_not; /* why a path is not eligible */
} kw_path_analysis;

/* True if the piece determines the value of its field, so that listing the pieces lists the values. */
static inline bool
kw_component_determines_field(const kw_component *component)
{
    return component->field >= 0 && component->buckets && component->clock < 0;
}

/* True if all inputs are known. A component computed from the rest of the key is known only with the whole
 * key; a chosen bucket is never known. */
bool kw_path_analysis_computes(const kw_path_analysis *analysis, const kw_component *component);

void kw_path_analysis_make(const kw_normalized_query *normalized, const kw_placement *placement,
                           kw_order order, kw_arena *arena, kw_path_analysis *ret_analysis);

/* True if a is better than b. */
bool kw_path_analysis_better(const kw_path_analysis *a, const kw_path_analysis *b);

/* What to bind so that the path can be used, for example "bind order_id (path primary)" or "bind ts or give
 * it a range (path by_time)". */
const char *kw_path_analysis_wish(const kw_path_analysis *analysis, kw_arena *arena);
