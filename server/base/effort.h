/* Bounds a piece of work: by a deadline, by an amount of work, by an amount of memory; and it can be
 * cancelled. Work whose size a caller chooses (a filter's expression, a policy text) spends from its effort
 * as it goes on, and ends when nothing is left.
 *
 *   kw_effort effort = {.deadline = deadline, .is_cancelled = is_closed, .user = run};
 *   while (...)
 *       if (!kw_effort_spend(&effort, bytes))
 *           return kw_effort_fail(&effort, "a filter was applied", ret_error);
 *
 * A unit is about what a byte costs that is compared, a nanosecond. Every 64 Ki units the clock is looked at
 * and is_cancelled is asked. One thread at a time.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"

#include <stdint.h>

#define KW_EFFORT_LOOK ((uint64_t)65536)

typedef struct kw_effort {
    kw_deadline deadline;
    bool (*is_cancelled)(void *user); /* NULL: it cannot be */
    void *user;
    uint64_t units_most;     /* 0: no limit */
    size_t bytes_most;       /* 0: no limit */
    size_t kept, held;       /* by parts that are done; by the present one */
    uint64_t spent, look_at; /* look_at: so much of it, and the clock is due */
    bool too_large;          /* it held more than bytes_most */
    bool over;
} kw_effort;

/* For kw_effort_spend. */
bool kw_effort_look(kw_effort *effort);

/* False once it is over; from then on always. NULL: without a limit. */
static inline bool
kw_effort_spend(kw_effort *effort, uint64_t units)
{
    if (!effort)
        return true;
    effort->spent += units;
    return effort->spent < effort->look_at || kw_effort_look(effort);
}

/* The present part of the work holds so many bytes now. False once it is over. NULL: without a limit. */
bool kw_effort_hold(kw_effort *effort, size_t bytes);

/* What the present part holds stays held while other parts are worked on. */
void kw_effort_keep(kw_effort *effort);

/* TIMEOUT "the deadline passed while DOING", UNAVAILABLE when it was cancelled, LIMIT when it cost too much
 * work or memory. Returns false. */
bool kw_effort_fail(const kw_effort *effort, const char *doing, kw_error *ret_error);
