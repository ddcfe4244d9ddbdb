/* Finds the errors in a history; checks one promise after the other:
 *
 *   each field    of each record is linearizable, as its views show it together (judge_paths)
 *   whole         the record as a whole is linearizable, if that was promised (judge_whole)
 *   scans         are complete and in order; no record twice, no value from before or after the scan
 *   hint paths    a query returns records that it has read at one moment, matching then, and misses none that
 *                 matches throughout. On one page, no record is twice; on several pages, at most twice, the
 *                 second time with newer values
 *   numbers       none is generated twice
 *   counters      with increments only: the final value is at least the sum of the acknowledged increments,
 *                 and at most that sum plus the increments of unknown outcome
 *   views         show the same in the end, except after concurrent writes or writes of unknown outcome
 *   versions      are the newest puts since the last removal, as many as the store keeps
 *   expiry        a value is visible for as long as its cell lives, and not longer
 */
#pragma once

#include "histories/operation.h"

typedef enum judge_whole {
    JUDGE_FIELDS,  /* each field alone */
    JUDGE_RECORD,  /* the record in one step, but a removal can remove one field after the other */
    JUDGE_IN_STEP, /* the record in one step */
} judge_whole;

/* What is promised of the views of a record, that is, of the paths of its table. */
typedef enum judge_paths {
    /* A write takes effect in all views at the same moment. */
    JUDGE_PATHS_TOGETHER,
    /* All views show the writes in the same order. A write in progress can take effect in one view earlier
     * than in another one. */
    JUDGE_PATHS_IN_ORDER,
    /* The same, but counters that are also put are judged as with APART: two gateways can put one in the same
     * millisecond, and ties of numbers are not known (judge_untie). */
    JUDGE_PATHS_TEXTS_IN_ORDER,
    /* Each view is judged alone. For histories in which two gateways can have written a record in the same
     * millisecond, if it is not known when they did: then the order can differ (judge_tie). */
    JUDGE_PATHS_APART,
} judge_paths;

typedef struct judge_rules {
    judge_whole whole;
    judge_paths paths;
    int expires_ms; /* how long a cell lives; 0: forever. Only with JUDGE_FIELDS */
    int versions; /* how many versions of a record the store keeps, if all puts are of whole records; 0: they
                     are not judged */
    /* Of tables with order: stamp and atomic operations: a put or removal in progress at the same time as an
     * atomic operation on its fields is exempt (linear.h). */
    bool exempt;
    /* The table has paths with the sides of both texts in their keys: a put of one text compares, and writes
     * the other fields as it has read them. */
    bool rewrites;
    /* Queries of hint paths that take longer can miss records; 0: no limit. */
    int keep_ms;
} judge_rules;

/* Two puts of a field of a record had the same timestamp: which of them replaced the other one can differ
 * between two placements. Keyway does not promise that it is the same; so both values count as equal. */
typedef struct judge_tie {
    uint32_t record;
    int64_t one, other;
} judge_tie;

typedef struct judgement {
    char *wrong;        /* the errors, one per line (judgement_clear); NULL if the history is right */
    unsigned undecided; /* objects with too many concurrent operations to judge */
    bool tied;          /* it is right only because ties count as equal; set by the caller of judge_untie */
    unsigned differing; /* records that two views show differently, for allowed reasons */
} judgement;

judgement judge(const operations *all, judge_rules rules);
/* The same history with one value for both of each tie. */
operations *judge_untie(const operations *all, const judge_tie *ties, size_t count);
void judgement_clear(judgement *of);
