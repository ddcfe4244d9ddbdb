/* A model of writes to a record with hint paths, and of the cleaner (server/hint). The record has three
 * fields, each with the values 1 and 2 or absent; hint paths have some of them as tuple. There are two
 * callers at most, one cleaner, and calls that were given up and can arrive late.
 *
 * In every state, the model checks invariant H: if the row has a complete tuple, the hint of this tuple is
 * visible. It also checks that the record is linearizable, and that a read of a tuple is.
 */
#pragma once

#include "explore.h"
#include "monitor.h"

#include "change/ladder.h"
#include "hint/clean.h"
#include "hint/program.h"
#include "hint/tuple.h"

#define PATHS_MAX 2
#define A 1u
#define B 2u
#define C 4u
#define AB (A | B)
#define ABC (A | B | C)
#define WALK_MAX 8
/* In write_model.puts: puts of just these fields. */
#define GIVES(fields) (1u << (fields))

/* What gateways do at a place of a change (change/ladder.h). */
typedef struct walk_rules {
    bool marks;                /* every write leaves kw:w */
    bool hints_old, hints_new; /* puts write these hints, and the fields count as those of a tuple */
    bool reads_old, reads_new; /* queries, or cursors of earlier ones */
    unsigned needs;            /* bits: before the next place is set */
} walk_rules;

typedef struct write_model {
    kw_write_order order;
    kw_hint_fields tuples[PATHS_MAX];
    size_t paths;
    uint8_t first[FIELDS]; /* the record at the beginning, with its hints; 0: absent */
    bool first_unmarked;   /* it was written before writes left kw:w */
    /* operations of the callers */
    unsigned puts;     /* bits: GIVES */
    unsigned put_ifs;  /* the same, if field a has the value that the caller believes */
    unsigned removals; /* the same: of fields; of ABC: of the record */
    bool gets, finds;  /* gets of the record; reads of a tuple of the first path */
    int calls;         /* in total */
    int callers;       /* at the same time */
    int unknown;       /* calls that are given up */
    int cleans;
    int ticks;     /* of the store's clock */
    int spread;    /* of stamps above the clock */
    int moves;     /* of the hint's region to a server whose clock is `slow` ticks slow, or back */
    int row_moves; /* of the row's region */
    int slow;
    int ttl, hint_ttl;     /* 0: none */
    bool each_field;       /* only each field is linearizable, not the record; not with finds */
    bool hints_only;       /* only invariant H is checked: a region that moves to a slow clock hides writes */
    kw_hint_limits limits; /* of the cleaner, in ticks; the window and `late` also bound the calls */
    kw_hint_program programs[KW_HINT_OPERATIONS]; /* the server's; tests remove safeguards from this copy */
    /* The places that gateways pass, in this order. None: all write and read all paths. Otherwise path 0 is
     * the old one, path 1 the new one. */
    walk_rules walk[WALK_MAX];
    int places;
    int window, late; /* what calls do, whatever the cleaner believes */

    /* safeguards to remove */
    bool no_drain;            /* the next place is set while calls of the one before are in progress */
    bool copies_before_grace; /* the copy begins before the grace */
    bool copies_first;    /* the copy begins when the place is set, before all gateways have reported it */
    bool not_awaited;     /* the row is sent together with its hints */
    bool given_alone;     /* a compare writes the given fields only */
    bool plain_fields;    /* a put in place of a compare writes all touched fields */
    bool no_gone;         /* a partial put in order: stamp leaves absent fields as they are */
    bool gone_up_to;      /* ... or removes them up to its stamp, not below it */
    bool gone_short;      /* ... or up to two below it */
    bool no_closure;      /* a partial put touches only paths that have a given field */
    bool no_writer;       /* full puts leave no kw:w */
    bool record_unmarked; /* removals of the record leave no kw:w */
    bool field_unmarked;  /* removals of fields leave no kw:w */
    bool no_generation;   /* removals compare nothing */
    bool same_no_hint;    /* a tuple that is written again gets no new hint even if hints expire */
    bool no_window;       /* the row is sent at any time after its hints */
    bool no_age;          /* hints of any age are cleaned */
    bool age_after_read;  /* the age is judged after the row was read */
    bool row_before_hint; /* the cleaner reads the row before the hint */
    bool delete_unstamped;
    bool cleaner_no_wait; /* the cleaner does not wait for the clock */
} write_model;

/* The server's programs, limits that fit the calls, and nothing else set. */
write_model write_model_new(kw_write_order order, kw_hint_fields tuple);
/* The walk from one place of the ladder to another. */
void write_model_walk(write_model *model, kw_change_ladder ladder, kw_change_place from, kw_change_place to);
explored write_model_explore(const write_model *model, uint64_t states_max);
