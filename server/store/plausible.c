#include "store/plausible.h"

#include <stdlib.h>

static bool
is_near(int64_t a_ms, int64_t b_ms)
{
    return llabs(a_ms - b_ms) <= KW_PLAUSIBLE_NEAR_MS;
}

bool
kw_plausible_is_time(int64_t stamp_ms)
{
    return stamp_ms >= 0 && stamp_ms <= KW_PLAUSIBLE_MAX_MS;
}

bool
kw_plausible_judge(kw_plausible *self, int64_t stamp_ms, int64_t mono_ms, int64_t wall_ms)
{
    if (!kw_plausible_is_time(stamp_ms))
        return false;
    int64_t ahead_ms = stamp_ms - mono_ms;
    bool near = is_near(stamp_ms, wall_ms) || (self->trusts && is_near(ahead_ms, self->trusted_ms));
    if (!near && !(self->doubts && is_near(ahead_ms, self->doubted_ms)))
        self->doubted_at_ms = mono_ms;
    self->doubts = !near;
    self->doubted_ms = ahead_ms;
    if (!near && mono_ms - self->doubted_at_ms < KW_PLAUSIBLE_AFTER_MS)
        return false;
    self->trusts = true;
    self->newest_stamp_ms = stamp_ms > self->newest_stamp_ms ? stamp_ms : self->newest_stamp_ms;
    self->trusted_ms = ahead_ms;
    self->doubts = false;
    return true;
}
