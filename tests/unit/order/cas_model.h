/* A model of atomic operations with order: stamp. There is one record with two fields in one or two
 * placements. Every write also writes the control cell kw:w. An atomic operation reads the row of the first
 * placement and writes it on condition that kw:w is as it was read; then it writes the same cells with the
 * same stamp to the other placement. A test chooses the safeguards and the possible failures; the search
 * reports whether any history is wrong.
 *
 * The named exemption: a plain write that is in progress at the same time as an atomic operation on one of
 * its fields can be ordered before it although the operation has not seen it. In the model such a write may
 * have no effect. If others could have read it before the operation replaced it, the history is not followed.
 *
 * If `turns` is set, a change allows or forbids atomic operations while two gateways serve the table. What
 * gateways do in the middle of it is that of stamped-old in change/ladder.c. A gateway loads the
 * next version at any time; its calls in progress end under the one under which they began. A gateway that
 * dies or stands still leaves calls without an answer, which can be applied late.
 */
#pragma once

#include "explore.h"

/* Operations of the callers; bits. Field a is plain, field b is a counter. */
enum {
    CAS_PUT = 1,           /* a */
    CAS_PUT_BOTH = 2,      /* a and b */
    CAS_GET = 4,           /* both, from any placement */
    CAS_REMOVE = 8,        /* the record */
    CAS_REMOVE_FIELD = 16, /* a */
    CAS_PUT_IF = 32,       /* a, if a is as the caller believes */
    CAS_PUT_IF_OTHER = 64, /* b, if a is as the caller believes */
    CAS_INCREMENT = 128,   /* b */
};

/* What gateways do with the table. */
typedef enum cas_turn {
    CAS_FORBIDDEN, /* atomic operations are refused; writes do not write kw:w */
    CAS_HELD,      /* KW_OLD(STAMPED) */
    CAS_ALLOWED    /* atomic operations run; every write writes kw:w */
} cas_turn;

#define CAS_TURNS_MAX 5

typedef struct cas_model {
    unsigned kinds;
    int calls;      /* in total */
    int callers;    /* at the same time, at most 3 */
    int ticks;      /* of the store's clock, in milliseconds */
    int placements; /* 1 or 2 */
    int error;    /* a gateway's latest possible time is at most this many milliseconds ahead of the clock */
    int unknown;  /* calls whose reply is lost, or whose gateway dies; what it has sent can be applied late */
    int below;    /* the stamp of an atomic operation can be this many milliseconds below the store's time */
    bool equal;   /* and equal to the newest that it read */
    int asks;     /* compares that got no answer and are sent again, with the same id */
    int resends;  /* writes of the other placement that got no answer and are sent again */
    bool no_ties; /* writes in progress at the same time have different stamps */
    int repeats;  /* compares that HBase's own client sends again after a lost answer */
    int slow;     /* rejections that come so late that they could be those of a repeated compare */
    int purges;   /* how often a compaction drops the delete markers of a placement */
    int expiries; /* how often the kw:w of a removal expires */
    bool whole;   /* the whole record must be linearizable, not only each field */
    bool fails;   /* atomic operations can fail before the compare is sent */
    /* The versions that the table has, one after the other; turns_count 0: CAS_ALLOWED all the time. */
    cas_turn turns[CAS_TURNS_MAX];
    int turns_count;

    /* safeguards to remove */
    bool no_writer;         /* puts do not write kw:w */
    bool no_removal_writer; /* removals do not write it */
    bool writer_too_low;    /* the kw:w of a removal has the stamp of its delete marker, which hides it */
    bool no_compare;        /* atomic operations write without a condition */
    bool low_stamps;        /* their stamp need not be above those that they read */
    bool eager_answers;     /* they are answered before their stamp has surely passed */
    bool eager_refusals;    /* "not met" is answered before what was read has surely passed */
    bool follower_first;    /* the other placement is written before the first one */
    bool skips_follower;    /* they are answered before the other placement has them */
    bool fails_late;        /* they are answered FAILED though the first placement has them */
    bool believes_refusals; /* a late rejection counts as that of a first attempt */
    bool eager_resends;     /* after a second attempt, later writes can get the same stamp */
    bool begins_again;      /* an operation whose compare got no answer begins again */
    bool expires_early;     /* the kw:w of a removal can expire between a read and its compare */
    bool no_drain;          /* the next version begins while calls of the version before are in progress */
    bool no_reports;        /* the next version begins before all gateways serve the present one */
    bool no_grace;          /* it begins while calls without an answer can still be applied */
} cas_model;

explored cas_model_explore(const cas_model *model, uint64_t states_max);
