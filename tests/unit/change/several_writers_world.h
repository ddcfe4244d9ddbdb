/* The state of several_writers_model, for its parts: several_writers_calls.c takes the steps of calls,
 * several_writers_model.c the others.
 */
#pragma once

#include "model_row.h"
#include "several_writers_model.h"

#define SLOTS 6
#define PLACES 2
#define OLD 0
#define NEW 1
#define ATOMICS 4
#define STAMPS_MAX 31

/* In world.done, in addition to the bits of version.h: a pass has scanned the rows of a placement, and has
 * visited the record. */
#define PASSED(place) BIT(7 - (place))
#define VISITED 32

typedef enum call_state {
    CALL_NONE,
    CALL_ACTIVE,
    CALL_LATE,  /* given up; what it has sent can be applied */
    CALL_PAUSED /* its gateway was paused, and its lease has ended */
} call_state;

typedef struct call {
    uint8_t kind;
    uint8_t state;
    uint8_t version;
    uint8_t stage; /* writes: placements written; others: the part of the work */
    uint8_t place; /* scans, sweeps: the placement; passes: that whose rows are visited */
    rank write;
    rank replaced;  /* atomics: the value of a that was read */
    uint8_t todo;   /* bits: the placements still to write, or to read or to write back to */
    uint8_t newest; /* reads: the newest timestamp read */
    uint8_t until;  /* sweeps: of removals with lower stamps; passes: of cells with lower ones. 0: of all */
    uint8_t counts_for; /* passes, with `settles_at_begin`: for cells with lower timestamps */
    uint8_t since;      /* passes: of cells with this timestamp and later ones */
    uint8_t touch;      /* puts with a caller's timestamp: that of the trace */
    uint8_t outdated;   /* of a gateway that has not reported the present round */
    rank before[CELLS]; /* what was acknowledged or read before the call began */
    rank result[CELLS];
    row rows[PLACES]; /* what was read; then what to write back */
} call;

typedef struct world {
    row rows[PLACES];
    call calls[SLOTS]; /* sorted: equal states have equal bytes */
    uint8_t at, from;  /* versions; `from` while some gateways have not reported */
    uint8_t moving, back, graced, done;
    uint8_t calls_left, unknown_left, purges_left, turns_left, sweeps_left, rounds_left;
    uint8_t floor;            /* no new write gets a lower stamp */
    uint8_t set_at;           /* `floor` when the present version, or round, was set */
    uint8_t settled;          /* both placements have the same cells with lower timestamps */
    rank seen[CELLS];         /* the newest write acknowledged or returned by a get */
    rank acked[CELLS];        /* the newest write acknowledged */
    rank removed[CELLS];      /* the newest removal that has begun */
    rank failed;              /* a write that was answered FAILED */
    rank passed;              /* with `notices`: what a pass wrote last to the authority */
    uint8_t swept, wrong;     /* gone cells were removed; an answer was wrong */
    rank atomics[ATOMICS][2]; /* the values that atomic operations replaced and wrote */
    uint8_t in_use[4];        /* bits: stamps of writes in progress or of unknown outcome */
} world;

typedef struct search {
    const several_writers_model *model;
    explorer *of;
} search;

typedef enum event {
    BEGINS,
    BEGINS_BEFORE,
    READS_OLD,
    READS_NEW,
    WRITES_OLD,
    WRITES_NEW,
    IS_GIVEN_UP,
    IS_SENT_AGAIN,
    FAILS,
    IS_PAUSED,
    EVENTS
} event;

static inline bool
is_removal(const call *of)
{
    return of->kind == CALL_REMOVE || of->kind == CALL_REMOVE_FIELD;
}

static inline bool
is_write(const call *of)
{
    return of->kind == CALL_PUT || of->kind == CALL_PUT_BOTH || of->kind == CALL_PUT_OWN || is_removal(of);
}

static inline bool
is_work(const call *of)
{
    return of->kind == CALL_COPY || of->kind == CALL_PASS || of->kind == CALL_SWEEP;
}

static inline uint8_t
fields_of(const call *of)
{
    return of->kind == CALL_PUT_BOTH || of->kind == CALL_REMOVE ? BIT(A) | BIT(B) : BIT(A);
}

static inline const place_copy *
version_of(const search *with, uint8_t version)
{
    return &with->model->places[version];
}

/* Sorts the calls and visits the state; `of`: the call whose step it is, as it was before. */
void world_step(const search *with, world *next, const call *of, event what);

bool world_uses_stamp(const world *in, unsigned stamp);
void world_use_stamp(world *in, unsigned stamp, bool used);
/* How many acknowledged writes of this millisecond a new write of the call's fields follows. */
uint8_t world_number(const search *with, const world *in, const call *of, uint8_t stamp);

/* A free place in calls. */
call *world_free_slot(world *in);

/* The placement whose cells count if stamps are equal: the one that scans read. */
int version_authority(const place_copy *version);
/* The write that a reader of these cells sees last in a field. */
rank world_rank(const search *with, const world *in, const row *read, unsigned field, rank before);

/* The pass has ended. until: with `settles_at_begin`, it counts for lower stamps. */
void world_end_pass(const search *with, world *in, uint8_t until);

/* All steps of one call. */
void call_expand(const search *with, const world *in, int index);
