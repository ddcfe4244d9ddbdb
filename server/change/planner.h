/* What the holder of a change does next, in a store that several gateways write. Pure.
 *
 *   registrations, as read ---> kw_change_planner_note ---> who has not reported; when a gateway disappeared
 *                                                              |
 *   record of the change, time ---------------> kw_change_planner_next ---> set a place, work, or wait
 *
 * The table in change/ladder.c has the places and what each step needs. A step needs, in this order: the
 * reports of all gateways, the times that must pass, the work at the present place, the command of the
 * operator.
 *
 * A grace is over when no write that was given up can still be applied. A living gateway reports a place
 * only when its own grace is over. The holder waits `store.late` after a gateway has disappeared, after it
 * became the holder itself (because it does not know which gateways disappeared before), and after its work,
 * if a write of the work was given up.
 *
 * Passes are repeated, because atomic operations are held during the last one, and puts take longer on the
 * rungs from `spacing` on. After the comparison, a pass at both-old visits all records. Further passes visit
 * only the records that were written since the pass before began. While the change waits for the operator,
 * such a pass runs at both-old now and then. After the command, such passes run on `spaced`, one after the
 * other until one is short. After `reverse`, the same passes run on side new.
 *
 *   both: pass -> both again: pass -> (command) -> spacing -> spaced: pass -> spaced again: pass
 *     -> last-pass: pass -> get-both
 *
 * Which records a pass visits is decided by the timestamps of their cells. When all gateways have reported a
 * place, no call is under way with a timestamp lower than `set_at_ms` of the place. So after a
 * pass that begins then, both placements have the same cells with lower timestamps; `settled_ms` records
 * this. Each time that a place is set again, its `set_at_ms` is later. tests/unit/change explores this.
 *
 * Sweeps are repeated in the same way, first on rung `alone`, and keep control cells with timestamps from
 * `set_at_ms` on: a call whose timestamp lies between `set_at_ms` and that of the control cell can still be
 * under way. A change that ends on `alone` or `filled` must also remove the control cells that calls
 * at earlier places wrote: they do not expire, and no later sweep would remove them. So it waits until
 * the timestamps of these cells are lower than a new `set_at_ms`, sets its place again, and sweeps a last
 * time.
 */
#pragma once

#include "change/progress.h"

typedef struct kw_change_planner {
    int64_t started_ms;    /* of the change */
    uint64_t step;         /* the one that gateways must report */
    GPtrArray *present;    /* names of the living registrations that had the table when they were last read */
    GPtrArray *dead;       /* names of those that were dead then */
    GPtrArray *unreported; /* ids of those that have not reported */
    uint64_t lost_ns;     /* when one was last found to have disappeared, or this gateway became the holder */
    uint64_t doubt_ns;    /* kw_store_last_doubt_ns when the last work ended; 0: no write was given up */
    uint64_t reported_ns; /* when all were first seen to have reported; 0: not yet */
} kw_change_planner;

/* Initializes the planner of a gateway that has just become the holder. All times are of kw_clock_boot_ns. */
void kw_change_planner_init(kw_change_planner *planner, const kw_change_record *record, uint64_t now_ns);
void kw_change_planner_clear(kw_change_planner *planner);

/* Call it after each read of the registrations. `followers`: all registrations that have the table. `record`:
 * as it was when they were read. `now_ns`: when the read ended, or later. */
void kw_change_planner_note(kw_change_planner *planner, const kw_change_record *record,
                            const kw_change_follower *followers, size_t count, uint64_t now_ns);

typedef enum kw_change_act {
    KW_CHANGE_ACT_WAIT,
    KW_CHANGE_ACT_STEP, /* set the place `to` */
    KW_CHANGE_ACT_END,  /* end the change, with the place `to` or, if that is KW_PLACE_NONE, with
                           the present one. The path keeps the placement that is read there */
    KW_CHANGE_ACT_COPY, /* a slice of work */
    KW_CHANGE_ACT_COMPARE,
    KW_CHANGE_ACT_PASS,
    KW_CHANGE_ACT_SWEEP
} kw_change_act;

/* What the holder waits for. */
typedef enum kw_change_wait {
    KW_CHANGE_WAIT_NONE,
    KW_CHANGE_WAIT_REPORTS, /* of gateways (kw_change_planner.unreported) */
    KW_CHANGE_WAIT_TIME,    /* a time that must pass after all have reported, until `until_ns` */
    KW_CHANGE_WAIT_GRACE,   /* store.late, until `until_ns` */
    KW_CHANGE_WAIT_SWEEP,   /* control cells of earlier places are too young, until `until_ns` */
    KW_CHANGE_WAIT_RESUME,  /* the operator has paused the work */
    KW_CHANGE_WAIT_CURSORS, /* cursors of the old key rule have not expired */
    KW_CHANGE_WAIT_COMMAND  /* the goal is reached */
} kw_change_wait;

typedef struct kw_change_next {
    kw_change_act act;
    kw_change_place to;
    kw_change_wait wait;
    uint64_t until_ns;
} kw_change_next;

typedef struct kw_change_times {
    uint64_t now_ns;  /* kw_clock_boot_ns */
    int64_t store_ms; /* the store's clock has surely passed it; 0: unknown */
    uint64_t late_ns; /* store.late */
    uint64_t skew_ns; /* store.max_clock_skew */
    /* Calls that ended this long before a place is set have timestamps lower than its set_at_ms. */
    uint64_t width_ns;
    bool can_select_by_time; /* a pass can visit only the records with recent cells
                                (kw_copy_can_select_by_time) */
    bool cursors_expired;
} kw_change_times;

/* Decides what the holder does now. The change must be under way and have several writers. */
kw_change_next kw_change_planner_next(const kw_change_planner *planner, const kw_change_record *record,
                                      const kw_change_times *times);

/* The functions below and those of progress.h need only the record.
 *
 * True if the goal is reached, so that the change continues only after a command. */
bool kw_change_waits_for_command(const kw_change_record *record);
kw_change_act kw_change_work_left(const kw_change_record *record);

/* Sets the next place in the record, or the same one again (another round): increases `step`, and resets its
 * pass and the rates of its work. opening-old and marked-old also reset the copy and the comparison.
 * now_ms: wall clock. set_at_ms: calls that begin from now on do not get a lower timestamp; 0: unknown. */
void kw_change_set_place(kw_change_record *record, kw_change_place place, int64_t now_ms, int64_t set_at_ms);
/* True if a pass at the place reads only cells with timestamps lower than `set_at_ms`: puts beside it can
 * have the timestamp of an acknowledged one (change/ladder.h), and the pass must not copy one over another.
 */
bool kw_change_pass_is_limited(const kw_change_record *record);
/* True if the place must be set with a known time: calls leave control cells, and passes and sweeps select
 * cells by timestamp. */
bool kw_change_needs_set_at(kw_change_ladder ladder, kw_change_place place);
/* A pass or sweep of all rows that it must visit has ended, after took_ms since the place was set.
 * before_ms: the same of the round before; 0: unknown. */
void kw_change_end_round(kw_change_record *record, kw_change_act act, int64_t took_ms, int64_t before_ms);
/* True if atomic operations are held at the place, so that work there must be short. */
bool kw_change_atomics_are_held(const kw_change_record *record);
/* Lets all rows be compared again. If `copies`, and some rows could not be copied, lets all rows be copied
 * again, too. */
void kw_change_compare_again(kw_change_record *record, bool copies);
/* Resets the progress of the present work that the record shows. */
void kw_change_forget_rates(kw_change_record *record);
/* Sets another goal. If the change then goes in the other direction, a pass that has been made does not count
 * any more, except at the place where rows are copied. */
void kw_change_set_goal(kw_change_record *record, kw_change_place goal);
