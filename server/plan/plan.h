/* Queries and plans: which row ranges answer a query, and in which order.
 *
 *   concat( merge(range, range, ...), merge(...), ... )   in logical order
 *
 * Pure: no clock, lock, log or I/O; any thread. A plan lives in the arena that it was made in, and borrows
 * the policy snapshot and the query.
 */
#pragma once

#include "base/effort.h"
#include "base/pattern.h"
#include "schema/policy.h"

/* The condition on one field. */
typedef struct kw_bound {
    const kw_value *values; /* one: bound; several: any of them; none: unbound */
    size_t count;
} kw_bound;

typedef enum kw_order {
    KW_ORDER_PATH = 0, /* the path's own order: that of a forward scan */
    KW_ORDER_ASCENDING,
    KW_ORDER_DESCENDING
} kw_order;

/* How a window is read. Both forms return the same rows in the same order. */
typedef enum kw_window_form {
    KW_WINDOW_EXACT = 0, /* in ranges for each piece of the calendar */
    KW_WINDOW_WIDE,      /* in one range for all pieces; rows that do not match are dropped */
    KW_WINDOW_OPEN       /* not planned yet: the planner chooses the form and cuts the window */
} kw_window_form;

/* A part of a time interval. A calendar can split an interval into more ranges than one plan should have, so
 * the interval is read in windows, one plan each. */
typedef struct kw_window {
    size_t limit; /* the range_limit used to cut windows; 0: no window */
    int64_t least;
    int64_t most;
    kw_window_form form;
} kw_window;

/* Hard limit of a plan's ranges, whatever the query allows. */
#define KW_PLAN_RANGES_MAX 1000000

/* Maximum bytes that the values of a query have in the keys of a plan's ranges: a query with longer values
 * can have fewer ranges than range_limit. So the time and memory of a plan are limited. */
#define KW_PLAN_KEY_BYTES ((size_t)4 * 1024 * 1024)

/* Approximate number of ranges in a window. */
#define KW_PLAN_WINDOW_RANGES 2048

/* Approximate number of exact ranges that the first wide window replaces (pace.h). */
#define KW_PLAN_WIDE_RANGES 256

typedef struct kw_record_query {
    const kw_table *table;
    int path;                      /* -1: the planner chooses */
    const kw_placement *placement; /* of `path`, to read; NULL: the one that its scans normally read */
    const kw_bound *bounds;        /* one per field of the table */
    int range_field;               /* -1: none */
    kw_value from;                 /* NONE: open */
    kw_value to;
    bool from_inclusive;
    bool to_inclusive;
    kw_order order;     /* by the first unbound field of the path's rule */
    bool full_scan;     /* allows reading the whole table */
    bool records_only;  /* the planner chooses no path with hints */
    uint64_t limit;     /* 0: no limit */
    size_t range_limit; /* maximum number of ranges (limits.ranges), if their keys are not long
                           (KW_PLAN_KEY_BYTES); 0: no limit and no windows */
    kw_window
        window; /* for kw_plan_make: the part of the interval that must still be read (kw_plan.rest, or a
                   cursor's window); the plan covers its beginning. In kw_plan.query: what the plan covers */
    size_t wide_ranges; /* for an open window: how many exact ranges a wide window should replace; 0:
                           KW_PLAN_WIDE_RANGES */
    bool planned; /* the query of a cursor: it is planned as before, so range_limit does not apply. Set by
                     kw_record_query_decode */
    size_t widened_for; /* of a planned query without a window: the limit for which its ranges were widened;
                           0: they were not */
} kw_record_query;

/* The rows of one range are in logical order (the store's order, forward or reversed). Start is inclusive,
 * stop is exclusive, an empty stop means the table's end. Rows of a merge group are ordered by the key
 * without its first `skip` bytes (the range's bucket and bound prefix), then by the range's index. In a
 * group, ranges of one placement are adjacent, so that rows with equal keys are sorted by placement. */
typedef struct kw_range {
    const kw_placement *placement; /* where the rows are */
    kw_bytes start;
    kw_bytes stop;
    uint32_t skip;
    uint32_t group;
    /* If not 0: only rows whose key has exactly this many bytes belong to the range. Other rows between start
     * and stop must be dropped: keys with a raw string interleave with those of longer strings. */
    uint32_t row_size;
    uint32_t
        at; /* where plan->patterns begin in its keys; KW_RANGE_NOWHERE: they do not apply to this range */
    /* If set: only rows whose field plan->clock is within least..most belong to this range, because keys in
     * it can also belong to other times (kw_plan_matches_in). */
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
    const kw_record_query *query; /* its window is the part that this plan covers */
    const kw_path *path;
    const kw_placement *const *placements; /* of the ranges, each once; at least one, even without ranges */
    size_t placements_count;
    const kw_range *ranges; /* by group; groups in the order of reading */
    size_t ranges_count;
    const kw_merge_group *groups;
    size_t groups_count;
    bool reversed; /* scan the store backward */
    bool point;    /* every range is exactly one row key: use point reads */
    bool residual; /* rows must pass kw_plan_matches, which reads the fields named by the query */
    /* After the ranges' known prefixes, the keys of matching rows match one of these patterns. */
    const kw_pattern *patterns;
    size_t patterns_count;         /* 0: there are none */
    double expected_reads_per_row; /* rows scanned per row returned: 1 is best */
    const char *const *notes; /* sentences for explain: what fanned out, what was pruned, which conditions are
                                 checked per row */
    size_t notes_count;
    int clock;                                    /* the field of timed ranges; -1: there are none */
    const struct kw_normalized_query *normalized; /* for kw_plan_matches; NULL in a plan built by hand */
    const struct kw_normalized_query *whole;      /* the same without the window */
    kw_window
        rest; /* the part that follows in logical order, for the query of the next plan; limit 0: nothing */
    uint64_t replaces; /* of a wide window: upper bound of the exact ranges that it replaces; otherwise 0 */
} kw_plan;

/* If an interval of a clock's field needs many ranges, the plan covers its first window in logical order, and
 * `rest` is the remainder. A plan that would have more than range_limit ranges is widened if possible
 * (widening.h). Decoding the encoded plan->query and planning it returns the same plan, even with another
 * range_limit.
 *
 * INVALID if a value does not fit its field, if no path has the requested order, or if every path would read
 * the whole table, full_scan is false and no limit ends the scan (the text says what to bind). REFUSED if
 * only a path that is being filled can answer. LIMIT if there are more than range_limit ranges, or fewer with
 * more than KW_PLAN_KEY_BYTES, and they cannot be widened. A query that no record can match gives a plan
 * without ranges.
 */
bool kw_plan_make(const kw_record_query *query, kw_arena *arena, const kw_plan **ret_plan,
                  kw_error *ret_error);

/* Like kw_plan_make, limited by the memory and time of an effort, whose error it returns. NULL: no limit. */
bool kw_plan_make_within(const kw_record_query *query, kw_effort *effort, kw_arena *arena,
                         const kw_plan **ret_plan, kw_error *ret_error);

/* True if the row keys of every placement in the plan hold the field. Then the ranges ensure the conditions
 * on it, and no cell needs to be checked. */
bool kw_plan_keys_hold(const kw_plan *plan, size_t field);

/* True if the row keys of a placement in the plan hold the field with less precision than records do. */
bool kw_plan_keys_hold_coarsely(const kw_plan *plan, size_t field);

/* The patterns for the keys of one range; none if they do not apply to it. */
static inline kw_patterns
kw_plan_patterns(const kw_plan *plan, size_t range)
{
    uint32_t at = plan->ranges[range].at;
    if (at == KW_RANGE_NOWHERE)
        return (kw_patterns){.count = 0};
    return (kw_patterns){.items = plan->patterns, .count = plan->patterns_count, .at = at};
}

/* True if a decoded record meets every condition of the query, within the plan's window. For residual plans.
 */
bool kw_plan_matches(const kw_plan *plan, const kw_record *record);

/* True if the record also belongs to this range. For rows read from it. */
bool kw_plan_matches_in(const kw_plan *plan, size_t range, const kw_record *record);

/* For a row of a hint path: false if the fields that its key holds show that the record does not meet the
 * query's conditions, or does not belong to this range. record: decoded from the key; other fields can be
 * absent. */
bool kw_plan_key_matches_in(const kw_plan *plan, size_t range, const kw_record *record);

/* Where a query reads a record, relative to one of its plans. */
typedef enum kw_plan_part {
    KW_PART_NONE,    /* the record does not meet the query's conditions */
    KW_PART_EARLIER, /* in an earlier window */
    KW_PART_PRESENT, /* in this plan */
    KW_PART_LATER    /* in a later window */
} kw_plan_part;
/* known: only the fields that keys of this layout hold are known; NULL: all are. Unknown fields meet all
 * conditions. */
kw_plan_part kw_plan_part_of(const kw_plan *plan, const kw_layout *known, const kw_record *record);

/* The plan as text for people, several lines. In the arena. */
const char *kw_plan_text(const kw_plan *plan, kw_arena *arena);

/* A canonical encoding of a query and its window for cursors: bounded, self-contained, decodable with the
 * same table. Omits range_limit, wide_ranges and the limit; a query with a limit is encoded with full_scan
 * set, because it was admitted once. decode validates everything, because a cursor can be forged or outdated,
 * and fails with INVALID. */
void kw_record_query_encode(const kw_record_query *query, kw_buffer *out);
bool kw_record_query_decode(const kw_table *table, kw_bytes bytes, kw_arena *arena,
                            kw_record_query *ret_query, size_t *ret_used, kw_error *ret_error);
