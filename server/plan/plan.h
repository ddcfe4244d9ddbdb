/* Questions and plans: which row ranges answer a question, in which order.
 *
 *   concat( merge(range, range, ...), merge(...), ... )   in logical order
 *
 * Pure: no clock, lock, log or I/O; any thread. A plan lives in the arena it was made in and borrows the
 * policy snapshot and the question.
 */
#pragma once

#include "base/effort.h"
#include "base/pattern.h"
#include "schema/policy.h"

/* What is asked about one field. */
typedef struct kw_bound {
    const kw_value *values; /* one: bound; several: any of them; none: unbound */
    size_t count;
} kw_bound;

typedef enum kw_order {
    KW_ORDER_PATH = 0, /* the path's own: the store read forward */
    KW_ORDER_ASCENDING,
    KW_ORDER_DESCENDING
} kw_order;

/* A part of the time that is asked about: a calendar may make more ranges of an interval than one plan should
 * have, so it is read in windows, one plan each. */
typedef struct kw_window {
    size_t limit; /* the range_limit that windows are cut by; 0: no window */
    int64_t least;
    int64_t most;
} kw_window;

/* A plan never has more ranges than this, whatever the question allows. */
#define KW_PLAN_RANGES_MAX 1000000

/* About so many ranges make a window. */
#define KW_PLAN_WINDOW_RANGES 2048

typedef struct kw_question {
    const kw_table *table;
    int path;               /* -1: the planner chooses */
    const kw_bound *bounds; /* one per field of the table */
    int range_field;        /* -1: none */
    kw_value from;          /* NONE: open */
    kw_value to;
    bool from_inclusive;
    bool to_inclusive;
    kw_order order;     /* of the first field of the path's rule that is not bound */
    bool full_scan;     /* allowed to read everything */
    uint64_t limit;     /* 0: none */
    size_t range_limit; /* most ranges a plan may have (limits.list_values x buckets guard); 0: none, and
                           never a window */
    kw_window window;   /* the rest of an interval (kw_plan.rest, or a cursor's window): a plan is made of
                           its beginning */
} kw_question;

/* Rows of one range are in logical order (the store's order, forward or reversed). Start inclusive, stop
 * exclusive, empty stop = the table's end. Within a merge group rows are ordered by the key without its
 * first `skip` bytes (those are the range's bucket and bound prefix), then by the range's index. */
typedef struct kw_range {
    kw_bytes start;
    kw_bytes stop;
    uint32_t skip;
    uint32_t group;
    /* Not 0: only rows whose key has exactly so many bytes are of this range; others that lie within it (a
     * raw string with something behind it: keys of other strings interleave) must be dropped. */
    uint32_t row_size;
    uint32_t
        at; /* where plan->patterns start in its keys; KW_RANGE_NOWHERE: they say nothing of this range */
    /* Only rows whose field plan->clock is within least..most are of this range: its keys stand for other
     * times, too (kw_plan_matches_in). */
    bool timed;
    int64_t least;
    int64_t most;
} kw_range;

#define KW_RANGE_NOWHERE UINT32_MAX

typedef struct kw_merge_group {
    size_t first; /* index into plan->ranges */
    size_t count;
} kw_merge_group;

typedef struct kw_plan {
    const kw_question *question; /* its window is what this plan covers */
    const kw_path *path;
    const kw_layout *layout;
    const kw_range *ranges; /* grouped, groups in the order in which they are read */
    size_t ranges_count;
    const kw_merge_group *groups;
    size_t groups_count;
    bool reversed; /* read the store backwards */
    bool point;    /* every range is exactly one row key: use point reads */
    bool residual; /* rows must pass kw_plan_matches, which reads the fields that the question names */
    /* Behind the ranges' known beginnings, keys of rows that pass kw_plan_matches match one of these. */
    const kw_pattern *patterns;
    size_t patterns_count;      /* 0: nothing can be said */
    double expected_efficiency; /* rows scanned / rows returned */
    const char *const *notes;   /* sentences for explain: what fanned out, what was pruned, residuals */
    size_t notes_count;
    int clock;                    /* the field of timed ranges; -1: there are none */
    const struct kw_terms *terms; /* for kw_plan_matches; NULL in a plan made by hand */
    kw_window rest; /* what follows in logical order: for the question of the next plan; limit 0: nothing */
} kw_plan;

/* When an interval of a clock's field would make many ranges, the plan covers its first window in logical
 * order, and `rest` says what follows. Made again for its own question, the plan of an interval of a clock's
 * field is the same one, whatever range_limit is by then.
 *
 * INVALID when a value does not fit, or when no path can answer without reading everything and full_scan
 * is false (the text says what to bind); LIMIT beyond range_limit. A question that nothing can match (an
 * empty range) gives a plan without ranges. */
bool kw_plan_make(const kw_question *question, kw_arena *arena, const kw_plan **ret_plan,
                  kw_error *ret_error);

/* The same, within the memory and time of an effort, whose error it returns. NULL: without a limit. */
bool kw_plan_make_within(const kw_question *question, kw_effort *effort, kw_arena *arena,
                         const kw_plan **ret_plan, kw_error *ret_error);

/* The patterns as they are in the keys of one range; none when they say nothing of it. */
static inline kw_patterns
kw_plan_patterns(const kw_plan *plan, size_t range)
{
    uint32_t at = plan->ranges[range].at;
    if (at == KW_RANGE_NOWHERE)
        return (kw_patterns){.count = 0};
    return (kw_patterns){.items = plan->patterns, .count = plan->patterns_count, .at = at};
}

/* Does a decoded record meet every condition of the question, within the plan's window? For residual plans.
 */
bool kw_plan_matches(const kw_plan *plan, const kw_record *record);

/* ... and is it one of this range? For rows that were read from it. */
bool kw_plan_matches_in(const kw_plan *plan, size_t range, const kw_record *record);

/* The plan for people, several lines. In the arena. */
const char *kw_plan_text(const kw_plan *plan, kw_arena *arena);

/* A canonical byte form of a question and its window, without its limit (a question with one is encoded as if
 * full_scan were allowed: it was admitted once) and range_limit, for cursors: bounded, self-contained,
 * decodable under the same table. decode checks everything (it may come from a forged or older cursor):
 * INVALID. */
void kw_question_encode(const kw_question *question, kw_buffer *out);
bool kw_question_decode(const kw_table *table, kw_bytes bytes, kw_arena *arena, kw_question *ret_question,
                        size_t *ret_used, kw_error *ret_error);
