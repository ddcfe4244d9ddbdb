/* Internal to store/order: atomic operations with order: stamp: increments, conditional and derived writes;
 * with order: store: derived writes.
 *
 *   cas.c            a round: reads the row, and writes it on condition that kw:w is unchanged
 *   cas_row.c        the operations of a row that wait; answers
 *   cas_values.c     what the operations of a round read and write
 *   cas_preceding.c  the puts that precede a derived write
 *   cas_others.c     the record's other rows
 *   cas_store.c      the write with order: store
 *
 *   operations of one row --> waiting --> round --> answers
 *
 *   the row and its control cells are read --> the clock is known --> evaluate --> stamp --> compare
 *        ^                                                               |                     |
 *        '--------- the compare was not applied -------------------------|---------------------+ applied
 *                                                                        | not met             v
 *                      answers <-- the clock has passed what was read <--'          the record's other rows
 *                          ^                                                                   |
 *                          '--------------- the clock has passed the stamp <-------------------'
 *
 * A round executes waiting increments of a row together, and writes their sums. A conditional or derived
 * write is a round of its own. A derived write writes the preceding puts after it was evaluated; all of them
 * must be answered OK. It is stamped after that, with the time that the clock shows then, and compared at
 * most KW_ORDER_WINDOW_MS after the read. The next round of a row begins after the compare of the present one
 * is decided, and waits a little for callers that increment again. tests/unit/order/cas_model.h explores
 * these steps.
 *
 * If the record has several rows (or kw_regime.waits_for_next_ms is set), the stamp is higher than
 * kw_cas_newest and not lower than the latest possible time of the store. If it has one row, cells with equal
 * timestamps are in the order of their arrival. So the stamp can be equal to kw_cas_newest, and the clock can
 * have passed it already. Then the answer does not wait.
 *
 * With order: store, no step needs the clock. The store sets the timestamp, and the record has one row. The
 * compare also changes kw:g, so that a removal in progress notices it.
 */
#pragma once

#include "store/order/order_internal.h"

typedef struct kw_cas_row kw_cas_row;

/* The operation of one caller. */
typedef struct kw_cas_op {
    kw_cas_row *row;
    const kw_increment *increment; /* NULL: it is a conditional write */
    const kw_write *write;
    const kw_check *check;           /* NULL: it is a derived write */
    const kw_derivation *derivation; /* of a derived write */
    kw_increment_done incremented;
    kw_write_if_done written;
    void *user;
    GList link;          /* in the waiting operations of the row, or in those of a round */
    kw_fine_timer timer; /* while it waits: its deadline */
    /* evaluated */
    bool condition_met;
    int64_t *sums;  /* of an increment, parallel to its columns */
    kw_error error; /* why it cannot be executed; code KW_OK: it can */
} kw_cas_op;

typedef struct kw_cas_round {
    kw_order_handle *handle;
    kw_arena *arena; /* contains this struct */
    kw_cas_row *row; /* NULL: decided */
    GQueue ops;      /* of kw_cas_op; at least one */
    kw_deadline deadline;
    kw_wait wait;
    kw_get get;
    uint64_t read_ns;         /* when the read was started */
    kw_rows *rows;            /* what was read */
    kw_span time;             /* the store's, after the read */
    kw_write put;             /* table, row and ordering are set at the beginning */
    int64_t callers_stamp_ms; /* KW_TIMESTAMP_NONE: the caller gave none */
    kw_check unchanged;
    kw_bytes writer; /* the value of kw:w that it writes */
    uint64_t sent_ns;
    unsigned sent;    /* how often this compare was sent */
    bool answer_lost; /* the last compare got no answer */
    bool doubtful;    /* a compare may have been applied */
    /* of a derived write */
    bool derived_is_known; /* since the last read; false: it was not derived, or failed */
    bool preceding_is_written;
    kw_derived derived;
    kw_written *preceding; /* the answers */
    unsigned tries;
    /* the record's other rows */
    const kw_row_target *others;
    size_t others_count;
    kw_write *copies;
    const kw_write **list;
    kw_written *written;
    size_t *indexes; /* of the list in the copies */
    kw_written *listed;
    size_t list_count;
    size_t checks, checked;
    bool copies_sent_again;
    bool stamp_is_exclusive; /* no later write may get the same stamp */
} kw_cas_round;

/* --- cas.c ---------------------------------------------------------------------------------------- */

/* Starts a round with the operations that it has. */
void kw_cas_begin(kw_cas_round *round);
/* Begins again with the read, after a short pause. */
void kw_cas_begin_again(kw_cas_round *round);
/* Continues with the stamp. */
void kw_cas_continue(kw_cas_round *round);
/* Sends the put on condition that kw:w is as it was read. writer: the value of kw:w that the put writes. */
void kw_cas_compare(kw_cas_round *round, kw_bytes writer);
/* Ends the round with UNKNOWN or FAILED. */
void kw_cas_fail(kw_cas_round *round, const kw_error *error);
void kw_cas_fail_wait(kw_cas_round *round, kw_wait_result result);
/* Ends it with REFUSED because of a timestamp that is ahead of the store's clock. */
void kw_cas_refuse_ahead(kw_cas_round *round, int64_t newest_ms, int64_t left_ms);
/* True if KW_ORDER_WINDOW_MS have passed since the read. */
bool kw_cas_is_too_late(const kw_cas_round *round);

/* --- cas_row.c ------------------------------------------------------------------------------------ */

/* Adds waiting operations that can be executed together with those of the round. */
void kw_cas_absorb(kw_cas_round *round);
/* The compare is decided: the next round can begin. Does nothing the second time. */
void kw_cas_release(kw_cas_round *round);
/* Answers the operations and frees the round. Those with an error of their own are FAILED with it, and those
 * with an unmet condition are OK. */
void kw_cas_finish(kw_cas_round *round, kw_outcome outcome, const kw_error *error);

/* --- cas_values.c --------------------------------------------------------------------------------- */

/* The columns that the round reads. */
void kw_cas_prepare_get(kw_cas_round *round);
/* Evaluates the operations with what was read. False: there is nothing to write. */
bool kw_cas_evaluate(kw_cas_round *round);
/* The result of an increment of the round. */
kw_rows *kw_cas_result(const kw_cas_round *round, const kw_cas_op *op);
/* The newest timestamp that the stamp depends on (see the head of this file); -1: none. It is the newest one
 * of the control cells and of the cells that the round replaces, as far as they were read. For increments,
 * all cells that were read are replaced. For a conditional write, that is the compared cell, if the write
 * replaces its column. The timestamp of the compared cell can be one that a caller supplied. A derived write
 * must have been evaluated. */
int64_t kw_cas_newest(const kw_cas_round *round);
/* The newest timestamp of what the operations have read; -1: none. */
int64_t kw_cas_newest_seen(const kw_cas_round *round);

/* --- cas_preceding.c ------------------------------------------------------------------------------ */

/* Writes the preceding puts, and continues with the stamp; or begins again, or fails. */
void kw_cas_write_preceding(kw_cas_round *round);

/* --- cas_store.c ---------------------------------------------------------------------------------- */

/* Compares; the store sets the timestamp. */
void kw_cas_write_unstamped(kw_cas_round *round);

/* --- cas_others.c --------------------------------------------------------------------------------- */

/* Writes the other rows, waits for the clock, and finishes the round. */
void kw_cas_write_others(kw_cas_round *round);
