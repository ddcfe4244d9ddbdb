#include "base/effort.h"

#include "base/shortage.h"

static bool
is_cancelled(const kw_effort *effort)
{
    return effort->is_cancelled && effort->is_cancelled(effort->user);
}

static bool
is_used_up(const kw_effort *effort)
{
    return effort->units_most && effort->spent >= effort->units_most;
}

static bool
is_short_of_memory(kw_effort *effort)
{
    if (effort->arena && kw_arena_shortage(effort->arena) == KW_SHORTAGE_OF_MEMORY)
        effort->shortage = KW_SHORTAGE_OF_MEMORY;
    return effort->shortage != KW_SHORTAGE_NONE;
}

bool
kw_effort_look(kw_effort *effort)
{
    effort->over = effort->over || is_used_up(effort) || is_cancelled(effort) || is_short_of_memory(effort) ||
                   kw_deadline_passed(effort->deadline);
    effort->look_at = effort->spent + KW_EFFORT_LOOK;
    if (effort->units_most && effort->look_at > effort->units_most)
        effort->look_at = effort->units_most;
    if (effort->over)
        effort->look_at = 0; /* checked on every call */
    return !effort->over;
}

bool
kw_effort_hold(kw_effort *effort, size_t bytes)
{
    if (!effort)
        return true;
    effort->held = bytes;
    if (effort->bytes_most && effort->kept + bytes > effort->bytes_most) {
        effort->too_large = effort->over = true;
        effort->look_at = 0;
    }
    return !effort->over;
}

bool
kw_effort_charge(kw_effort *effort)
{
    size_t now = effort->kept + effort->held;
    if (now > effort->charged)
        effort->shortage = kw_budget_shortage(effort->account, effort->charged, now - effort->charged);
    if (effort->shortage != KW_SHORTAGE_NONE) {
        effort->over = true;
        effort->look_at = 0;
        return false;
    }
    kw_account_charge(effort->account, KW_MEMORY_CALLS, (int64_t)now - (int64_t)effort->charged);
    effort->charged = now;
    return !effort->over;
}

void
kw_effort_release(kw_effort *effort)
{
    kw_account_charge(effort->account, KW_MEMORY_CALLS, -(int64_t)effort->charged);
    effort->charged = 0;
}

void
kw_effort_keep(kw_effort *effort)
{
    effort->kept += effort->held;
    effort->held = 0;
}

bool
kw_effort_fail(const kw_effort *effort, const char *doing, kw_error *ret_error)
{
    if (effort->shortage != KW_SHORTAGE_NONE)
        return kw_shortage_fail(effort->shortage, ret_error);
    if (effort->too_large)
        return kw_error_set(ret_error, KW_LIMIT, "more than %zu MiB of memory were needed while %s",
                            effort->bytes_most >> 20, doing);
    if (is_cancelled(effort))
        return kw_error_set(ret_error, KW_UNAVAILABLE, "cancelled while %s", doing);
    if (is_used_up(effort))
        return kw_error_set(ret_error, KW_LIMIT, "too much work while %s", doing);
    return kw_error_set(ret_error, KW_TIMEOUT, "the deadline passed while %s", doing);
}
