/* Finds the errors in a history; checks one promise after the other:
 *
 *   each field    of each record, as each view shows it, is linearizable
 *   whole         the record as a whole is linearizable, if that was promised (judge_whole)
 *   scans         are complete and in order; no record twice, no value from before or after the scan
 *   numbers       none is generated twice
 *   counters      with increments only: the final value is at least the sum of the acknowledged increments,
 *                 and at most that sum plus the increments of unknown outcome
 *   views         show the same in the end, except after concurrent writes or writes of unknown outcome
 */
#pragma once

#include "histories/operation.h"

typedef enum judge_whole {
    JUDGE_FIELDS,  /* each field alone */
    JUDGE_RECORD,  /* the record in one step, but a removal can remove one field after the other */
    JUDGE_IN_STEP, /* the record in one step */
} judge_whole;

typedef struct judgement {
    char *wrong;        /* the errors, one per line (judgement_clear); NULL if the history is right */
    unsigned undecided; /* objects with too many concurrent operations to judge */
    unsigned differing; /* records that two views show differently, for allowed reasons */
} judgement;

judgement judge(const operations *all, judge_whole whole);
void judgement_clear(judgement *of);
