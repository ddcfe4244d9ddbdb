/* The state of a change in a store that several gateways write, for people. The holder shows what it waits
 * for. Other gateways show what the record in the catalog implies. */
#include "base/units.h"
#include "coordinator/coordinator_internal.h"

#define NAMES_MAX 3

/* --- phases -------------------------------------------------------------------------------------------- */

static const char *
version_name(const kw_change_record *record)
{
    return kw_change_place_name(record->place);
}

/* "a, b, c and 2 others" */
static const char *
list_names(const GPtrArray *names, kw_arena *arena)
{
    const char *text = "";
    for (guint i = 0; i < names->len && i < NAMES_MAX; i++)
        text = kw_arena_printf(arena, "%s%s%s", text, i ? ", " : "", (const char *)names->pdata[i]);
    return names->len > NAMES_MAX ? kw_arena_printf(arena, "%s and %u others", text, names->len - NAMES_MAX)
                                  : text;
}

static const char *
waits_for_reports(const kw_change_record *record, const kw_change_work *work, kw_arena *arena)
{
    if (work->planner.step != record->step || work->planner.unreported->len == 0)
        return kw_arena_printf(arena, "checking whether all gateways serve %s", version_name(record));
    return kw_arena_printf(arena, "waiting for gateway %s to report %s",
                           list_names(work->planner.unreported, arena), version_name(record));
}

static const char *
waits_until(const kw_change_work *work, const char *why, kw_arena *arena)
{
    uint64_t now_ns = kw_clock_boot_ns();
    uint64_t left_ms = work->next.until_ns > now_ns ? (work->next.until_ns - now_ns) / KW_NS_PER_MS : 0;
    return kw_arena_printf(arena, "waiting %" G_GUINT64_FORMAT " s more %s", (left_ms + 999) / 1000, why);
}

static const char *
work_name(kw_change_act act)
{
    switch (act) {
    case KW_CHANGE_ACT_COPY:
        return "copying";
    case KW_CHANGE_ACT_COMPARE:
        return "comparing";
    case KW_CHANGE_ACT_PASS:
        return "copying the newest cells to the old and the new rows";
    case KW_CHANGE_ACT_SWEEP:
        return "removing control cells";
    case KW_CHANGE_ACT_WAIT:
    case KW_CHANGE_ACT_STEP:
    case KW_CHANGE_ACT_END:
        break;
    }
    return "setting the next place";
}

static const char *
at_goal(const kw_change_record *record, kw_arena *arena)
{
    if (record->adds)
        return kw_change_why_not_switch(record, true, arena) ? "rows differ" : "rows cannot be copied";
    if (record->place == KW_NEW(BOTH))
        return "ready to complete";
    return kw_change_why_not_switch(record, true, arena) ? "rows differ" : "ready to switch";
}

static const char *
holder_phase(const kw_change_record *record, const kw_change_work *work, kw_arena *arena)
{
    if (work->next.act != KW_CHANGE_ACT_WAIT)
        return work_name(work->next.act);
    switch (work->next.wait) {
    case KW_CHANGE_WAIT_REPORTS:
        return waits_for_reports(record, work, arena);
    case KW_CHANGE_WAIT_GRACE:
        return waits_until(work, "(store.late): writes without an answer can still be applied", arena);
    case KW_CHANGE_WAIT_SWEEP:
        return waits_until(work, "until the last control cells are old enough to be removed", arena);
    case KW_CHANGE_WAIT_RESUME:
        return "paused";
    case KW_CHANGE_WAIT_CURSORS:
        return "waiting until cursors of the old key rule have expired";
    case KW_CHANGE_WAIT_COMMAND:
        return at_goal(record, arena);
    case KW_CHANGE_WAIT_TIME:
    case KW_CHANGE_WAIT_NONE:
        break;
    }
    return "setting the next place";
}

static const char *
other_phase(const kw_change_record *record, const kw_change_work *work, kw_arena *arena)
{
    if (kw_change_waits_for_command(record))
        return at_goal(record, arena);
    kw_change_act act = kw_change_work_left(record);
    if (act != KW_CHANGE_ACT_WAIT && record->paused)
        return "paused";
    if (act != KW_CHANGE_ACT_WAIT)
        return work_name(act);
    if (!record->holder[0])
        return "waiting for a gateway that continues it";
    return kw_arena_printf(arena, "gateway %s sets the next place; its status shows what it waits for",
                           work->holder ? work->holder : "(unknown)");
}

const char *
kw_change_phase_of(const kw_change_record *record, const kw_change_work *work, kw_arena *arena)
{
    if (work->problem.code != KW_OK)
        return "trying again after a failure";
    return work->is_holder ? holder_phase(record, work, arena) : other_phase(record, work, arena);
}

/* --- commands ------------------------------------------------------------------------------------------ */

static const char *
next_before_switch(const kw_change_record *record, kw_arena *arena)
{
    if (kw_change_work_left(record) != KW_CHANGE_ACT_WAIT || !kw_change_waits_for_command(record))
        return "cancel";
    return kw_change_why_not_switch(record, true, arena) ? "compare, cancel" : "switch, cancel";
}

static const char *
next_for_goal(const kw_change_record *record, kw_arena *arena)
{
    if (kw_change_is_final(record) || record->drops)
        return "";
    if (record->atomics)
        return kw_change_is_cancelled(record) ? "" : "cancel";
    if (kw_change_is_cancelled(record))
        return kw_change_can_withdraw(record) ? "reverse" : "";
    if (record->adds)
        return record->goal == kw_change_copy_place(kw_change_ladder_of(record))
                   ? next_before_switch(record, arena)
                   : "cancel";
    if (record->goal == KW_OLD(BOTH))
        return kw_change_reads_old(record) ? next_before_switch(record, arena) : "";
    if (record->goal == KW_NEW(BOTH) && record->place == record->goal)
        return "complete, reverse";
    return kw_change_reads_old(record) ? "reverse, cancel" : "reverse";
}

/* Lists the commands that are useful now, `resume` first if the change is paused. `pause` and `throttle` are
 * never listed. */
const char *
kw_change_next_of(const kw_change_record *record, kw_arena *arena)
{
    const char *next = next_for_goal(record, arena);
    if (!record->paused)
        return next;
    return next[0] ? kw_arena_printf(arena, "resume, %s", next) : "resume";
}
