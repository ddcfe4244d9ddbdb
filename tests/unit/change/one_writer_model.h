/* A model of a change of a key rule in a store with one writer (server/change/ladder.h, the versions STORE,
 * BOTH_OLD, BOTH_NEW, BOTH_LAST and STORE_NEW). There is one record with fields a and b, its row in the old
 * placement O and its row in the new one N.
 *
 *   a write      begins -> is committed: the rows of all placements of its version, in one step -> is answered
 *   a read       begins -> reads the row of one placement -> is answered
 *   the copier   copies the row of O to N in one step, under BOTH_OLD
 *   a kill       drops the calls that run; the version in the catalog stays
 *
 * An atomic operation compares field a in the row of the placement that get operations read, and writes the
 * rows of all placements of its version in the same step.
 *
 * A call runs under the version in effect when it begins or, until all calls of the version before have
 * ended, under that one: the loops of a gateway do not change the version at the same moment. The writer
 * gives the timestamps; writes that follow each other can get equal ones, and the cell that is written last
 * replaces the other one.
 *
 * Or a path is added (STORE, FILLING, FILLED): N is its row. Gets read O, scans read O or N. A path is
 * dropped while no call runs.
 *
 * A history is right if it is linearizable. Gets must show a record in one of its states; pages of scans only
 * a state of each field.
 */
#pragma once

#include "explore.h"
#include "place_copy.h"

typedef enum one_writer_kind {
    ONE_WRITER_NOTHING,
    ONE_WRITER_PUT,          /* field a */
    ONE_WRITER_PUT_BOTH,     /* fields a and b */
    ONE_WRITER_PUT_OTHER,    /* field b */
    ONE_WRITER_REMOVE,       /* the record */
    ONE_WRITER_REMOVE_FIELD, /* a */
    ONE_WRITER_GET,
    ONE_WRITER_SCAN,   /* leaves a cursor of the placement that it read */
    ONE_WRITER_CURSOR, /* a page of a scan that began earlier */
    ONE_WRITER_ATOMIC, /* sets a if it has the expected value */
    ONE_WRITER_KINDS
} one_writer_kind;

#define ONE_WRITER_BIT(kind) (1u << ONE_WRITER_##kind)

typedef struct one_writer_model {
    place_copy places[KW_PLACES]; /* the server's; tests remove safeguards from this copy */
    unsigned kinds;               /* bits */
    int calls;                    /* in total */
    int callers;                  /* at the same time */
    int ticks;                    /* milliseconds that pass */
    int turns;                    /* how often the direction changes */
    int kills;                    /* of the gateway */
    int purges;                   /* how often a compaction drops the delete markers of a row */
    int copies;                   /* how often the row is copied in addition to the first time */
    bool adds;                    /* a path, instead of a change of a key rule */

    /* safeguards to remove; others are columns of the versions */
    bool copies_early;    /* the copier runs beside calls of the version before */
    bool copies_torn;     /* the copier reads the row in one step and writes it in another */
    bool copies_no_floor; /* writes to N do not get timestamps after those of the writes to O before */
    bool no_comparison;   /* N keeps cells that O lacks */
    bool repairs_blind;   /* the comparison removes also cells that are newer than those that it has read */
    bool writes_torn;     /* a write commits the row of O in one step and the row of N in another */
    bool no_drain;        /* the next place is set, and retired rows are dropped, beside older calls */
    bool reuses_rows;     /* N has the rows that a cancelled change has left there */
    uint64_t one_row_in;  /* bits of versions: an atomic operation writes only the row that it compares */
    bool compares_new;    /* atomic operations of BOTH_OLD compare in N */
    bool stale_cursors;   /* cursors are accepted as long as their placement is in the policy */
    bool drops_beside;    /* a path is dropped beside calls that use it */
} one_writer_model;

/* The server's ladder, and nothing else set. */
one_writer_model one_writer_model_new(void);
/* The same for a path that is added. */
one_writer_model one_writer_model_adding(void);
explored one_writer_model_explore(const one_writer_model *model, uint64_t states_max);
