/* Determines how many components of a path's rule a query can use, before any range is built. Private to this
 * module.
 *
 *   components   c0        c1         c2        c3       c4
 *                compute   fan out    compute   stop     (not used)
 *
 * The components are analysed from the front. A component whose fields are known is computed. An enumerable
 * component fans out if its own field has the range, or if a later component then narrows or orders the rows.
 * To fan out means that each of its pieces gets its own ranges. The first component that is neither computed
 * nor fanned out is the stop: its field determines the order of the rows and can have the range.
 *
 * A clock is a component computed from a time (calendar, bits). If the query has a range of this time, and
 * a later component is bound or stores the time itself in order, the clock can fan out into the pieces within
 * the range. Otherwise the analysis can stop at the clock, which gets one range for each run of adjacent
 * pieces. clocks.h decides.
 */
#pragma once

#include "plan/normalized_query.h"

typedef enum kw_stop {
    KW_STOP_COMPLETE, /* there is no stop: the whole key is known */
    KW_STOP_RANGE,    /* at the field with the range */
    KW_STOP_ORDERED,  /* at an unbound field: rows are in its order */
    KW_STOP_RUNS,     /* at a clock: its runs of pieces are in the order of time */
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
    int direction;      /* order of the rows: that of the stop's field */
    bool *known;        /* per field: every branch of the plan has one value of it */
    bool *covered;      /* per field: all rows of the ranges meet the query's condition on it */
    bool span_fans_out; /* the range is on an enumerable field, which fans out */
    bool listed;        /* a clock fanned out into its pieces within the range; branches are in their order */
    int clock_direction; /* direction of those pieces */
    bool span_on_clock;  /* clocks.h listed the clock whose time has the range, or stopped at it */
    bool blurred;        /* a clock fanned out into all its pieces, which are not in the order of time */
    bool concat;         /* KW_STOP_RUNS: the runs belong to several times, so the rows have no order */
    uint64_t runs;       /* KW_STOP_RUNS: upper bound of the number of runs */
    bool all_pieces[KW_RULE_COMPONENTS_MAX]; /* a clock fans out into all its pieces */
    int64_t blur_s;  /* rows within this many seconds can be out of order; 0: all rows are in order */
    int64_t cell_s;  /* if an order is requested: seconds per range; 0: a fixed number of ranges */
    bool disordered; /* the rows of one piece of the clock are in another order than the requested one */
    uint64_t pieces[KW_RULE_COMPONENTS_MAX]; /* upper bound of the pieces that each component fans out into */
    bool has_other_keys;                     /* the ranges can contain keys of other values */
    bool narrow;                             /* less than the whole table is read */
    bool windowed;        /* the time range is read in windows, because it has too many ranges */
    size_t window_at;     /* the clock that the windows are built from */
    bool window_pieces;   /* true: a window consists of pieces of the clock; false: of runs */
    uint64_t window_most; /* maximum number of pieces or runs in a window; 0: even one has too many ranges */
    uint64_t others;      /* ranges for each of these pieces or runs */
    size_t equalities;    /* bound fields in the prefix */
    uint64_t ranges;      /* upper bound, before pruning */
    /* The number of ranges for the comparison with other paths. If an order is requested, the pieces and runs
     * of clocks are not counted. */
    uint64_t weight;
    bool eligible;
    bool reversed;
    bool descending;     /* groups are in descending order of the field that orders the rows */
    const char *why_not; /* why the path is not eligible */
} kw_path_analysis;

/* True if each piece belongs to one value of the field: to list the pieces is then to list the values. */
static inline bool
kw_component_determines_field(const kw_component *component)
{
    return component->field >= 0 && component->buckets && component->clock < 0;
}

/* True if the component can be computed: all its inputs are known, and it depends neither on the rest of the
 * key nor on a choice. */
bool kw_path_analysis_computes(const kw_path_analysis *analysis, const kw_component *component);

void kw_path_analysis_make(const kw_normalized_query *normalized, const kw_placement *placement,
                           kw_order order, kw_arena *arena, kw_path_analysis *ret_analysis);

/* Analyses the path of an analysis again, but only its first `used` components, with the same decisions. The
 * rest of the key is not used; `stop` is KW_STOP_UNORDERED, or KW_STOP_RUNS to use the runs of the clock at
 * `used`. False if the clock has no runs for the query, or if a component was computed from the rest of the
 * key. */
bool kw_path_analysis_shorten(const kw_path_analysis *whole, const kw_normalized_query *normalized,
                              size_t used, kw_stop stop, kw_order order, kw_arena *arena,
                              kw_path_analysis *ret_analysis);

/* True if a is better than b. */
bool kw_path_analysis_better(const kw_path_analysis *a, const kw_path_analysis *b);

/* Returns what the query must bind to use the path, for example "bind order_id (path primary)" or "bind ts or
 * give it a range (path by_time)". */
const char *kw_path_analysis_suggest(const kw_path_analysis *analysis, kw_arena *arena);
