/* The steps of writes of a table with hint paths. The table in program.c is the only place that defines them;
 * the explorations in tests/unit/hint read the same table. Pure.
 *
 *   put, full      hints ----------> put
 *   put, partial   read --> hints --> compare
 *                   ^                   |
 *                   '--- not met -------'
 *
 * Each step begins when the one before was answered. An operation is full, partial or outside: tuple.h.
 */
#pragma once

#include "base/ordering.h"

#include <stdbool.h>

typedef enum kw_hint_operation {
    KW_HINT_PUT_OUTSIDE,
    KW_HINT_PUT_FULL,
    KW_HINT_PUT_PARTIAL,
    KW_HINT_PUT_IF_OUTSIDE,
    KW_HINT_PUT_IF_FULL,
    KW_HINT_PUT_IF_PARTIAL,
    KW_HINT_INCREMENT, /* of a field of a tuple */
    KW_HINT_REMOVE,    /* of the record or of fields */
    KW_HINT_OPERATIONS
} kw_hint_operation;

typedef enum kw_hint_step {
    KW_HINT_STEP_END,
    KW_HINT_STEP_READ,    /* reads the touched fields and kw:w; evaluates the condition */
    KW_HINT_STEP_HINTS,   /* writes the hints of all paths that need one, at once and without timestamps. All
                             must be answered OK. If no path needs one, the step is skipped */
    KW_HINT_STEP_STAMP,   /* takes the stamp, above those that were read */
    KW_HINT_STEP_PUT,     /* a plain put of the given fields */
    KW_HINT_STEP_NATIVE,  /* the store compares the caller's condition, and writes the given fields */
    KW_HINT_STEP_COMPARE, /* checkAndMutate on the kw:w that was read; writes what kw_hint_mutation_of says */
    KW_HINT_STEP_REMOVE   /* the removal of store/order */
} kw_hint_step;

#define KW_HINT_STEPS_MAX 6

typedef struct kw_hint_program {
    kw_hint_step steps[KW_HINT_STEPS_MAX]; /* up to END */
    /* The last step writes a new kw:w, with an id of its own. That of a removal stays, too, and can expire
     * when the grace (clean.h) is over. */
    bool leaves_writer;
    /* order: store. The last step writes a new kw:g, so that a removal in progress notices it. */
    bool leaves_generation;
    bool needs_atomics; /* refused if the table has `atomics: false` */
} kw_hint_program;

/* With atomics: false, no write leaves kw:w. order: not RAISED. */
kw_hint_program kw_hint_program_of(kw_write_order order, kw_hint_operation operation, bool atomics);

/* How a step was answered. */
typedef enum kw_hint_reply {
    KW_HINT_REPLY_OK,
    KW_HINT_REPLY_NOT_MET, /* the store compared, and wrote nothing */
    KW_HINT_REPLY_FAILED,  /* it was certainly not executed */
    KW_HINT_REPLY_DOUBTFUL /* it can be executed later */
} kw_hint_reply;

typedef enum kw_hint_next {
    KW_HINT_NEXT_STEP,
    KW_HINT_NEXT_AGAIN,  /* again from the first step, within the deadline */
    KW_HINT_NEXT_FAILED, /* the caller's outcome */
    KW_HINT_NEXT_UNKNOWN,
    KW_HINT_NEXT_NOT_MET
} kw_hint_next;

/* What follows a step. A hint that was not answered OK makes the write FAILED, not UNKNOWN, because the row
 * is not sent; the hint can also be sent again within the deadline. */
kw_hint_next kw_hint_next_after(kw_hint_step step, kw_hint_reply reply);

/* The row is sent no later than this after its hints were first sent; then the write begins again with the
 * hints. Cleaners count on it. Equal to KW_ORDER_WINDOW_MS of store/order. */
#define KW_HINT_WINDOW_MS 30000
