/* A model of a change of a key rule (server/change/ladder.h, versions 0 to 8 and the way back), or of a path
 * that is added or dropped (versions 0, FILLING_..., FILLED_STAMPED). There is one record with fields a and
 * b, in the old placement O and the new one N, from the moment that `first` is in effect.
 *
 * Calls run under the version in effect or, until all gateways have reported, under the version before. So
 * the model has any number of gateways. A call that is given up (its gateway died, or it timed out) is
 * UNKNOWN to its caller, and what it has sent can be applied later, until a grace. The copier and passes can
 * be given up, too.
 *
 * The clock is not modeled: a stamp is at least every stamp that was acknowledged or returned to a reader,
 * and at most `spread` more. test_order_stamp explores how gateways achieve that.
 *
 * A history is right if each field is linearizable: reads return a write that is not older than the writes
 * that were acknowledged, and the values that were read, before the read began; a new write is newer than
 * those. The order is that of the ranks (model_row.h). In every state, the model also checks the reads that
 * could run now.
 */
#pragma once

#include "explore.h"
#include "place_copy.h"

typedef enum call_kind {
    CALL_NOTHING,
    CALL_PUT,          /* field a */
    CALL_PUT_BOTH,     /* fields a and b */
    CALL_PUT_OWN,      /* field a, with an old timestamp of the caller's, once */
    CALL_REMOVE,       /* the record */
    CALL_REMOVE_FIELD, /* a */
    CALL_GET,
    CALL_SCAN,   /* must show the acknowledged writes, but need not agree with gets about others */
    CALL_ATOMIC, /* replaces a; its result is the value before */
    CALL_COPY,
    CALL_PASS,
    CALL_SWEEP,
    CALL_KINDS
} call_kind;

#define CALL_BIT(kind) (1u << CALL_##kind)

typedef struct several_writers_model {
    place_copy places[KW_PLACES]; /* the server's; tests remove safeguards from this copy */
    kw_change_place first, last;  /* forward as far as `last`, back as far as `first` */
    unsigned kinds;               /* bits: CALL_PUT to CALL_ATOMIC */
    int calls;                    /* in total */
    int callers;                  /* at the same time */
    int spread;                   /* of stamps */
    int unknown;                  /* calls, copies and passes that are given up */
    int purges;                   /* how often a compaction drops the delete markers of a row */
    int turns;                    /* how often the direction changes */
    int sweeps;                   /* of control cells, under version `last` */
    int rounds;                   /* how often a version is set again for another pass */
    bool ties; /* writes in progress can have equal stamps; writes of one millisecond count as equal */

    bool resends;  /* a write that got no answer from a placement can be sent there again, instead of being
                      given up; the first attempt can be applied later */
    bool distinct; /* no write gets the stamp of an acknowledged one */
    bool gone_can_miss; /* a read that shows nothing is right also if the gone cell of a removal is missing */

    bool unwritten;    /* the record has no kw:w at first: it was written before writes left kw:w */
    bool notices;      /* checks that atomic operations notice what a pass has copied and a get has returned;
                          for puts of one field */
    bool no_copy;      /* no rows are copied before the pass */
    bool gone_expires; /* gone cells that removals leave under version 0 have expired when rows are copied;
                          not together with `unknown` */

    /* a path that is added or dropped */
    bool drops; /* begins with version `last`, and goes back */
    bool alone; /* only calls that write one placement are given up. Then both placements show the same in
                   version `last` while no call runs */

    /* safeguards to remove; others are columns of the versions */
    bool no_write_back;            /* a get of both placements returns without writing back */
    bool no_gone;                  /* removals leave no gone cell */
    bool no_writer;                /* puts and removals leave no kw:w */
    bool passes_no_writer;         /* a pass copies cells and gone cells without their kw:w */
    bool copies_no_gone;           /* the copier copies cells alone, without gone cells */
    bool gone_too_low;             /* control cells of a removal have its stamp, not the next one */
    bool compaction_drops_control; /* compactions drop control cells together with delete markers */
    bool no_drain;                 /* a version counts as reported while calls of the one before still run */
    bool far_apart;                /* the next place is set before all have reported */
    bool no_gap;                   /* a version is set in the millisecond in which all have reported */
    bool fails_late;               /* a write is answered FAILED though one placement has it */
    bool acks_after_lease;         /* a gateway that was paused answers calls of an old version */
    bool sends_after_lease;        /* a gateway that was paused sends what it was about to send */
    bool low_atomics;              /* an atomic operation's stamp is not above those that it read */
    bool copies_again;     /* rows are copied again although every version since wrote both placements */
    bool turns_late;       /* a change goes forward again from versions whose removals write O alone */
    bool sweeps_no_marker; /* a sweep removes gone cells without deleting what they hide */
    bool sweeps_young;     /* a sweep does not spare gone cells that calls with lower stamps can follow */
    bool no_trace;         /* puts with a caller's timestamp leave no trace */
    bool settles_at_begin; /* a pass counts for all stamps before it began */
    bool
        passes_young; /* passes beside puts that are not spaced also copy cells that such puts can tie with */
    bool passes_one_side; /* a pass ends when it has scanned one of the placements */
    bool no_whole_pass;   /* even the first pass visits only records written since 2 */
} several_writers_model;

/* The server's versions, and nothing else set. */
several_writers_model several_writers_model_new(void);
/* The same for a path that is added. */
several_writers_model several_writers_model_adding(void);
explored several_writers_model_explore(const several_writers_model *model, uint64_t states_max);
