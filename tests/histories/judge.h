/* What is wrong with a history: everything that was promised, looked at in turn.
 *
 *   each field    of each record, as each view shows it, is linearizable by itself
 *   whole         so is the record as a whole, if that was promised (judge_whole)
 *   scans         complete, in order, no record twice, no value from the past or the future
 *   numbers       no number twice
 *   counters      that are only added to end between what was acknowledged, and that plus what is unknown
 *   views         show the same in the end, but for writes that were under way together or are unknown
 */
#pragma once

#include "histories/operation.h"

typedef enum judge_whole {
    JUDGE_FIELDS,  /* fields by themselves only */
    JUDGE_RECORD,  /* the record in one step, but that a removal may reach one field after the other */
    JUDGE_IN_STEP, /* the record in one step */
} judge_whole;

typedef struct judgement {
    char *wrong;        /* NULL: right; else what is wrong, one thing a line (judgement_clear) */
    unsigned undecided; /* objects with too much under way to say */
    unsigned differing; /* records that two views show differently, for reasons that are allowed */
} judgement;

judgement judge(const operations *all, judge_whole whole);
void judgement_clear(judgement *of);
