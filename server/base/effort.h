/* Bounds a piece of work by a deadline, by an amount of work, by an amount of memory and by cancellation.
 * Work whose size a caller chooses (a filter's expression, a policy text) reports its progress to its effort,
 * and stops when the effort is used up.
 *
 *   kw_effort effort = {.deadline = deadline, .is_cancelled = is_closed, .user = run};
 *   while (...)
 *       if (!kw_effort_spend(&effort, bytes))
 *           return kw_effort_fail(&effort, "a filter was applied", ret_error);
 *
 * A unit is about the cost of comparing one byte, which is about a nanosecond. The clock, the arena and
 * is_cancelled are checked every 64 Ki units. One thread at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/budget.h"
#include "base/clock.h"
#include "base/error.h"

#include <stdint.h>

#define KW_EFFORT_LOOK ((uint64_t)65536)

typedef struct kw_effort {
    kw_deadline deadline;
    bool (*is_cancelled)(void *user); /* NULL: it cannot be cancelled */
    void *user;
    uint64_t units_most;     /* 0: no limit */
    size_t bytes_most;       /* 0: no limit */
    size_t kept, held;       /* bytes held by finished parts, and by the present part */
    const kw_arena *arena;   /* the work ends when memory is too short for this arena to grow; NULL: none */
    kw_account *account;     /* for kw_effort_charge; NULL: none */
    size_t charged;          /* bytes charged to it */
    kw_shortage shortage;    /* why it cannot hold more */
    uint64_t spent, look_at; /* look_at: the value of spent at which the clock is checked next */
    bool too_large;          /* the work held more than bytes_most */
    bool over;
} kw_effort;

/* For kw_effort_spend. */
bool kw_effort_look(kw_effort *effort);

/* False once the effort is used up or cancelled, and on every later call. NULL: no limit. */
static inline bool
kw_effort_spend(kw_effort *effort, uint64_t units)
{
    if (!effort)
        return true;
    effort->spent += units;
    return effort->spent < effort->look_at || kw_effort_look(effort);
}

/* Reports how many bytes the present part of the work holds now. False like kw_effort_spend. NULL: no
 * limit. */
bool kw_effort_hold(kw_effort *effort, size_t bytes);

/* Charges what the work holds to the account, for memory that is not in an arena. False like kw_effort_spend;
 * also if the call needs more than its share or memory is short. */
bool kw_effort_charge(kw_effort *effort);
/* Removes the charge. */
void kw_effort_release(kw_effort *effort);

/* Finishes the present part: its bytes stay held while other parts are worked on. */
void kw_effort_keep(kw_effort *effort);

/* TIMEOUT "the deadline passed while DOING", UNAVAILABLE when it was cancelled, LIMIT when it needed too much
 * work or memory, BUSY when memory was short. Returns false. */
bool kw_effort_fail(const kw_effort *effort, const char *doing, kw_error *ret_error);
