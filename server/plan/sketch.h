/* How far one path's rule can be used for a question, before any range is made. Inside of the room.
 *
 *   components   c0        c1         c2        c3       c4
 *                compute   fan out    compute   stop     (not used)
 *
 * From the front: a component whose fields are known is computed, an enumerable one fans out when something
 * behind it is worth it, and the first one that can be neither is the stop: its field gives the order of the
 * rows and may take the range. A clock (calendar, bits) within a range of its field is fanned out into its
 * pieces when something behind it is known, and else stops with its runs of pieces.
 */
#pragma once

#include "plan/terms.h"

typedef enum kw_stop {
    KW_STOP_COMPLETE, /* none: the whole key is known */
    KW_STOP_RANGE,    /* at the field that the range is about */
    KW_STOP_ORDERED,  /* at an unbound field: rows are in its order */
    KW_STOP_RUNS,     /* at a clock: its runs of pieces, in the order of time */
    KW_STOP_TRIVIAL,  /* no unbound field follows but enumerable ones */
    KW_STOP_UNORDERED /* at something that keeps no order */
} kw_stop;

typedef struct kw_sketch {
    const kw_path *path;
    const kw_layout *layout;
    kw_stop stop;
    size_t used; /* components before the stop */
    bool fan_out[KW_RULE_COMPONENTS_MAX];
    int direction;  /* order of the rows: of the stop's field */
    bool *known;    /* per field: its value is known in each branch */
    bool *covered;  /* per field: its bound is met by every row of the ranges */
    bool span_fans; /* an enumerable field takes the range */
    bool listed;    /* a clock was fanned out into its pieces within the range: branches are in its order */
    int clock_direction; /* ... of those pieces */
    bool clocked;        /* ... or stops with its runs within the range */
    bool blurred;        /* a clock was fanned out into all its pieces, without an order */
    bool concat;         /* (runs) of several moments: rows are in no order of a field */
    uint64_t runs;       /* (runs) as many at most */
    bool whole_round[KW_RULE_COMPONENTS_MAX]; /* a clock is fanned out into all its pieces, whatever the range
                                               */
    int64_t blur_s; /* rows are in the order that is asked for to so many seconds; 0: exactly */
    int64_t
        cell_s; /* an order is asked for, and the longer the time, the more ranges: one for so many seconds */
    bool disordered; /* within the pieces of its clock rows come in another order than the one that is asked
                        for */
    uint64_t pieces[KW_RULE_COMPONENTS_MAX]; /* that a component is fanned out into, at most */
    bool foreign;                            /* keys of other values may lie within the ranges */
    bool narrow;                             /* less than everything is read */
    bool windowed;        /* there are so many that the time is better read in windows ... */
    size_t window_at;     /* ... of this clock's */
    bool window_pieces;   /* ... pieces, else runs */
    uint64_t window_most; /* ... so many of them in one; 0: even one makes more ranges than there may be */
    size_t equalities;    /* bound fields that the prefix holds */
    uint64_t ranges;      /* as many at most, before pruning */
    uint64_t weight;      /* ... for the choice of a path: without those of clocks if an order is asked for */
    bool eligible;
    bool reversed;
    bool falling;        /* groups come from the greatest values of the order's field to the least */
    const char *why_not; /* of a path that is not eligible */
} kw_sketch;

/* Does the piece give the value of its field, so that listing the pieces tells it? */
static inline bool
kw_component_tells(const kw_component *component)
{
    return component->field >= 0 && component->buckets && component->clock < 0;
}

/* All inputs are known. What is computed over the rest of the key is known only with the whole key; what was
 * chosen is never known. */
bool kw_sketch_computes(const kw_sketch *sketch, const kw_component *component);

void kw_sketch_make(const kw_terms *terms, const kw_path *path, kw_order order, kw_arena *arena,
                    kw_sketch *ret_sketch);

/* Is a the better path? */
bool kw_sketch_better(const kw_sketch *a, const kw_sketch *b);

/* "bind order_id (path primary)", "bind ts or give it a range (path by_time)": what to bind so that the path
 * is of use.
 */
const char *kw_sketch_wish(const kw_sketch *sketch, kw_arena *arena);
