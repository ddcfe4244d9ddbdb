#include "base/units.h"
#include "coordinator/coordinator_internal.h"
#include "store/check.h"

#include <math.h>

#define NS_PER_S 1e9
#define PPM 1e6
/* A shorter wait for the limit of rows per second is not shown. */
#define SHOWN_WAIT_NS (2000 * KW_NS_PER_MS)

const char *
kw_change_why_not_switch(const kw_change_record *record, bool leave_undecodable, kw_arena *arena)
{
    if (!record->copied)
        return "its rows are still being copied";
    if (!record->compared)
        return "its rows are still being compared";
    if (kw_change_unrepaired(record) > 0)
        return kw_arena_printf(arena,
                               "%" G_GUINT64_FORMAT
                               " rows differ between the old and the new store table and could not be "
                               "repaired; see keyway change diff, then run keyway change compare",
                               kw_change_unrepaired(record));
    if (record->undecodable > 0 && !leave_undecodable && record->adds)
        return kw_arena_printf(
            arena,
            "%" G_GUINT64_FORMAT
            " rows cannot have a key in the added path (the first: %s). Delete them and run "
            "keyway change compare, or let queries use the path without them (keyway change "
            "switch --leave-undecodable)",
            record->undecodable, record->example);
    if (record->undecodable > 0 && !leave_undecodable)
        return kw_arena_printf(arena,
                               "%" G_GUINT64_FORMAT
                               " rows were not copied, because their keys do not follow the old key rule, "
                               "or their records have no key under the new one (the first: %s). Delete them "
                               "and run keyway change compare, or switch "
                               "without them (--leave-undecodable)",
                               record->undecodable, record->example);
    return NULL;
}

const char *
kw_change_why_not_cancel(const kw_change_record *record, int64_t current, kw_arena *arena)
{
    bool several = record->writers == KW_CHANGE_SEVERAL_WRITERS;
    const char *instead = record->atomics ? "Wait until it has ended, then apply a policy with atomics: false"
                          : record->adds  ? "Wait until the path is complete, then drop it"
                          : several       ? "Complete the change, then change the key rule again"
                                          : "To cancel it, apply a policy that has the old key rule";
    return kw_arena_printf(arena,
                           "policy version %" G_GINT64_FORMAT " was applied after version %" G_GINT64_FORMAT
                           ", which began the change. %s",
                           current, record->new_version, instead);
}

const char *
kw_change_other_place(const char *place, const char *expected, kw_arena *arena)
{
    return kw_arena_printf(arena, "its change is at %s, not at %s; nothing was changed", place,
                           kw_show(kw_bytes_of_text(expected)).text);
}

/* Says that the work waits for its limit, if it does so for long. */
static const char *
with_limit(const char *phase, const kw_change_record *record, const kw_change_work *work, kw_arena *arena)
{
    uint64_t now_ns = kw_clock_mono_ns(), until_ns = kw_change_limit_until_ns(record, work);
    if (record->paused || work->began_ns == 0 || until_ns < now_ns + SHOWN_WAIT_NS)
        return phase;
    return kw_arena_printf(arena,
                           "%s, waiting %" G_GUINT64_FORMAT " s more for the limit of %" G_GUINT64_FORMAT
                           " rows per second",
                           phase, (until_ns - now_ns) / (1000 * KW_NS_PER_MS), record->rows_per_second);
}

static const char *
phase_of(kw_coordinator *self, const kw_change_record *record, const kw_change_work *work, kw_arena *arena)
{
    if (record->writers == KW_CHANGE_SEVERAL_WRITERS)
        return kw_change_phase_of(record, work, arena);
    if (kw_coordinator_earlier_in_use(self))
        return "waiting for calls that began before the last step";
    if (work->problem.code != KW_OK)
        return "trying again after a failure";
    if (!record->copied || !record->compared)
        return record->paused ? "paused" : record->copied ? "comparing" : "copying";
    if (record->place == KW_NEW(BOTH))
        return record->completing ? "waiting until cursors of the old key rule have expired"
                                  : "ready to complete";
    if (record->place == KW_NEW(CLOSING))
        return "completing";
    if (record->adds && kw_change_is_filled(record))
        return "completing";
    if (record->adds)
        return kw_change_why_not_switch(record, true, arena) ? "rows differ" : "rows cannot be copied";
    return kw_change_why_not_switch(record, true, arena) ? "rows differ" : "ready to switch";
}

/* True if only a command lets the change proceed. */
static bool
is_waiting(const kw_coordinator *self, const kw_change_record *record, const kw_change_work *work)
{
    if (record->writers == KW_CHANGE_SEVERAL_WRITERS)
        return work->problem.code == KW_OK &&
               (kw_change_waits_for_command(record) ||
                (record->paused && kw_change_work_left(record) != KW_CHANGE_ACT_WAIT));
    if (kw_coordinator_earlier_in_use(self) || work->problem.code != KW_OK)
        return false;
    if (!record->copied || !record->compared)
        return record->paused;
    if (record->adds)
        return !kw_change_is_filled(record);
    return record->place != KW_NEW(CLOSING) && !record->completing;
}

static const char *
next_of(const kw_change_record *record, kw_arena *arena)
{
    if (record->writers == KW_CHANGE_SEVERAL_WRITERS)
        return kw_change_next_of(record, arena);
    if (record->place == KW_NEW(BOTH))
        return "complete, reverse";
    if (record->place == KW_NEW(CLOSING))
        return "";
    if (!record->copied || !record->compared)
        return record->paused ? "resume, cancel" : "cancel";
    if (record->adds && kw_change_is_filled(record))
        return "";
    return kw_change_why_not_switch(record, true, arena) ? "compare, cancel" : "switch, cancel";
}

/* How long the tasks take compared with the copy: measured. On HBase, a pass follows the comparison, and
 * slices are so slow that the longest pauses make tasks equal. */
#define WEIGHT_OF_COMPARISON 3
#define WEIGHT_OF_COMPARISON_SEVERAL 2

unsigned
kw_change_weight_of_comparison(const kw_change_record *record)
{
    return record->writers == KW_CHANGE_SEVERAL_WRITERS ? WEIGHT_OF_COMPARISON_SEVERAL : WEIGHT_OF_COMPARISON;
}

static unsigned
weight_of(const kw_change_record *record)
{
    return record->copied && !record->compared ? kw_change_weight_of_comparison(record) : 1;
}

static unsigned
weight_after(const kw_change_record *record)
{
    unsigned pass = record->writers == KW_CHANGE_SEVERAL_WRITERS;
    return !record->copied ? kw_change_weight_of_comparison(record) + pass : !record->compared ? pass : 0;
}

/* True if rows are left to copy, compare or pass, so that a task that was not measured yet can be estimated.
 */
static bool
has_task(const kw_change_record *record, const kw_change_work *work)
{
    return work->began_ns > 0 || !record->copied || !record->compared;
}

/* How long writes that the work gave up can still be applied: the change waits for that after its work. */
static int64_t
grace_left_ms(const kw_coordinator *self, const kw_change_record *record)
{
    uint64_t now_ns = kw_clock_boot_ns(), doubt_ns = kw_store_last_doubt_ns(self->control->store);
    uint64_t until_ns =
        doubt_ns + (uint64_t)kw_control_model(self->control)->store.hbase.late_ms * KW_NS_PER_MS;
    bool waits = record->writers == KW_CHANGE_SEVERAL_WRITERS && doubt_ns > 0 && until_ns > now_ns;
    return waits ? (int64_t)((until_ns - now_ns) / KW_NS_PER_MS) : 0;
}

void
kw_change_rates_of(kw_coordinator *self, const kw_change_record *record, double *ret_progress,
                   double *ret_rows_per_second, int64_t *ret_left_ms)
{
    const kw_change_work *work = kw_change_work_of(self, record);
    *ret_progress = work->progress;
    *ret_rows_per_second = 0;
    *ret_left_ms = -1;
    if (!has_task(record, work))
        return;
    int64_t left_ms = kw_change_estimate_left_ms(&work->estimate, weight_of(record), weight_after(record));
    *ret_left_ms = left_ms < 0 ? -1 : MAX(left_ms, grace_left_ms(self, record));
    double seconds = work->began_ns > 0 ? (double)(kw_clock_mono_ns() - work->began_ns) / NS_PER_S : 0;
    if (seconds > 0 && !isnan(work->progress_before))
        *ret_rows_per_second = (double)work->rows / seconds;
}

/* The holder writes its rates to the record, for the other gateways. */
static void
set_rates(kw_coordinator *self, const kw_change_record *record, kw_change_status *status)
{
    bool elsewhere =
        record->writers == KW_CHANGE_SEVERAL_WRITERS && !kw_change_work_of(self, record)->is_holder;
    kw_change_rates_of(self, record, &status->progress, &status->rows_per_second, &status->left_ms);
    if (elsewhere) {
        status->progress = (double)record->work_ppm / PPM;
        status->rows_per_second = (double)record->work_rows_per_second;
        status->left_ms = record->work_left_ms ? (int64_t)record->work_left_ms : -1;
    }
    if (record->paused) {
        status->rows_per_second = 0;
        status->left_ms = -1;
    }
}

unsigned
kw_change_filled_of(kw_coordinator *self, const kw_change_record *record, size_t path)
{
    kw_change_status status;
    set_rates(self, record, &status);
    double parts = (double)kw_change_paths_count(record);
    double share = record->compared ? 1 : status.progress * parts - (double)path;
    return (record->copied ? 100 : 0) + (unsigned)(100 * CLAMP(share, 0, 1));
}

static const char *
holder_of(const kw_coordinator *self, const kw_change_record *record, const kw_change_work *work,
          kw_arena *arena)
{
    if (record->writers != KW_CHANGE_SEVERAL_WRITERS)
        return "";
    const char *id = kw_change_is_holder(self, record) ? self->control->id : work->holder;
    return kw_arena_text(arena, kw_bytes_of_text(id ? id : ""));
}

static const char *
goal_name(const kw_change_record *record)
{
    if (kw_change_is_cancelled(record))
        return "cancelled";
    if (record->goal == KW_OLD(BOTH) && kw_change_goes_back(record))
        return "reversed";
    if (record->goal == kw_change_copy_place(kw_change_ladder_of(record)))
        return "copied";
    return record->goal == KW_NEW(BOTH) ? "switched" : "completed";
}

static void
set_paths(const kw_change_record *record, kw_arena *arena, kw_change_status *to)
{
    if (!record->adds)
        return;
    to->drops = record->drops;
    to->paths_count = kw_change_paths_count(record);
    const char **names = KW_ARENA_ARRAY(arena, const char *, to->paths_count);
    for (size_t i = 0; i < to->paths_count; i++)
        names[i] = kw_arena_text(arena, kw_bytes_of_text(kw_change_path_name(record, i)));
    to->paths = names;
}

void
kw_change_status_of(kw_coordinator *self, const kw_change_record *record, kw_arena *arena,
                    kw_change_status *ret_status)
{
    const kw_change_work *work = kw_change_work_of(self, record);
    *ret_status = (kw_change_status){
        .table = kw_arena_text(arena, kw_bytes_of_text(record->table)),
        .path = kw_arena_text(arena, kw_bytes_of_text(record->path)),
        .version = kw_change_place_name(record->place),
        .phase = with_limit(phase_of(self, record, work, arena), record, work, arena),
        .next = next_of(record, arena),
        .author = kw_arena_text(arena, kw_bytes_of_text(record->author)),
        .reason = kw_arena_text(arena, kw_bytes_of_text(record->reason)),
        .policy_version = record->new_version,
        .started_ms = record->started_ms,
        .version_at_ms = record->place_at_ms,
        .old_layout = record->old.layout,
        .layout = record->now.layout,
        .old_store_table = kw_arena_text(arena, kw_bytes_of_text(record->old.store_table)),
        .store_table = kw_arena_text(arena, kw_bytes_of_text(record->now.store_table)),
        .reads_new = !kw_change_reads_old(record),
        .paused = record->paused,
        .waiting = is_waiting(self, record, work),
        .limit_rows_per_second = record->rows_per_second,
        .share_percent = record->share_percent,
        .left_ms = -1,
        .copied = record->copied,
        .compared = record->compared,
        .rows_copied = record->rows_copied,
        .rows_compared = record->rows_compared,
        .missing = record->missing,
        .different = record->different,
        .extra = record->extra,
        .repaired = record->repaired,
        .undecodable = record->undecodable,
        .example = kw_arena_text(arena, kw_bytes_of_text(record->example)),
        .cursors_until_ms = kw_change_cursors_until_ms(self, record),
        .problem = kw_arena_text(arena, kw_bytes_of_text(work->problem.code ? work->problem.text : "")),
        .goal = record->writers == KW_CHANGE_SEVERAL_WRITERS ? goal_name(record) : "",
        .unreported = work->is_holder ? work->planner.unreported->len : 0,
        .holder = holder_of(self, record, work, arena),
    };
    set_rates(self, record, ret_status);
    set_paths(record, arena, ret_status);
}
