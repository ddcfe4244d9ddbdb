/* How long a piece of work may go on: until its deadline passes, until somebody cancels it, or until it has
 * cost so much. Work that can be long for reasons that a caller chose (a filter's expression, a policy text)
 * spends from it as it goes on, and ends when there is nothing left.
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
    uint64_t spent, look_at; /* look_at: so much of it, and the clock is due */
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

/* TIMEOUT "the deadline passed while DOING", UNAVAILABLE when it was cancelled, LIMIT when it cost too much.
 * Returns false. */
bool kw_effort_fail(const kw_effort *effort, const char *doing, kw_error *ret_error);
