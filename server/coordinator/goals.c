/* Commands of the operator, for a change in a store that several gateways write. Any gateway accepts them.
 *
 *   the record in the catalog -> is the command possible? -> its goal, pause, limit or comparison changes
 *     -> the holder reads the record (holder.c)
 */
#include "base/log.h"
#include "catalog/changes.h"
#include "change/merge.h"
#include "coordinator/request.h"
#include "store/check.h"

typedef kw_change_request request;

static bool
refuse(kw_error *ret_error, const kw_change_record *record, const char *why)
{
    return kw_error_set(ret_error, KW_REFUSED, "table %s: %s", record->table, why);
}

void
kw_change_throttle(const kw_change_command *command, kw_change_record *record)
{
    if (command->has_rows_per_second)
        record->rows_per_second = command->rows_per_second;
    if (command->has_share)
        record->share_percent = command->share_percent;
}

/* --- goals --------------------------------------------------------------------------------------------- */

static bool
run_switch(const kw_change_command *command, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    if (record->goal == KW_OLD(BOTH) && kw_change_goes_back(record))
        return refuse(ret_error, record,
                      "its change is going back to the old rows; wait until it has done so");
    if (record->goal == KW_NEW(BOTH) || !kw_change_reads_old(record))
        return refuse(ret_error, record, "the change was switched already");
    if (kw_change_is_cancelled(record))
        return refuse(ret_error, record, "its change is being cancelled");
    const char *why = kw_change_waits_for_switch(record)
                          ? kw_change_why_not_switch(record, command->leave_undecodable, arena)
                          : "its rows have not been copied yet";
    if (!why && record->settled_ms == 0)
        why = "its rows are copied and compared, but the first pass over both store tables has not ended";
    if (why)
        return refuse(ret_error, record, why);
    kw_change_set_goal(record, KW_NEW(BOTH));
    return true;
}

static bool
withdraw_cancellation(kw_change_record *record, kw_error *ret_error)
{
    if (!kw_change_can_withdraw(record))
        return refuse(ret_error, record,
                      "its change is being cancelled, and removals no longer reach the new rows; wait until "
                      "it has ended, then begin it again");
    kw_change_set_goal(record, kw_change_copy_place(kw_change_ladder_of(record)));
    return true;
}

/* Also withdraws a command to cancel. */
static bool
run_reverse(kw_change_record *record, kw_error *ret_error)
{
    if (kw_change_is_cancelled(record))
        return withdraw_cancellation(record, ret_error);
    if (record->adds)
        return refuse(
            ret_error, record,
            kw_change_is_final(record)
                ? "queries use the path already; to drop it, apply a policy without it"
                : "no query reads the path that is being added; to end it, run keyway change cancel");
    if (kw_change_is_final(record))
        return refuse(ret_error, record, "its change is being completed and cannot go back");
    if (record->goal == KW_OLD(BOTH))
        return refuse(ret_error, record,
                      kw_change_reads_old(record) ? "queries read the old rows already"
                                                  : "its change is going back to the old rows already");
    kw_change_set_goal(record, KW_OLD(BOTH));
    return true;
}

static bool
run_complete(const kw_change_command *command, kw_change_record *record, kw_error *ret_error)
{
    if (kw_change_is_final(record))
        return true; /* it is being completed */
    if (record->place != KW_NEW(BOTH) || record->goal == KW_OLD(BOTH))
        return refuse(ret_error, record,
                      record->goal == KW_NEW(BOTH)
                          ? "the switch has not ended; see keyway change status"
                          : "queries read the old rows, or its change is going back to them; switch first: "
                            "keyway change switch");
    record->completing = !command->expire_cursors;
    kw_change_set_goal(record, kw_change_last_place(record->store_order));
    return true;
}

/* `switch` and `complete` are the same for an added path: queries use it, without the rows that could not be
 * copied. */
static bool
run_added(const kw_change_command *command, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    if (kw_change_is_final(record))
        return true; /* queries use it already */
    if (kw_change_is_cancelled(record))
        return refuse(ret_error, record, "its change is being cancelled");
    const char *why = record->place == kw_change_copy_place(kw_change_ladder_of(record))
                          ? kw_change_why_not_switch(record, command->leave_undecodable, arena)
                          : "its rows have not been copied yet";
    if (why)
        return refuse(ret_error, record, why);
    kw_change_set_goal(record, KW_OLD(FILLED));
    return true;
}

/* `current`: the current policy version in the catalog; this gateway can still serve an earlier one. */
static bool
run_cancel(int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    if (record->adds && kw_change_is_final(record))
        return refuse(ret_error, record, "queries use the path; to drop it, apply a policy without it");
    if (!kw_change_reads_old(record))
        return refuse(ret_error, record, "queries read the new rows; go back first: keyway change reverse");
    if (current != record->new_version)
        return refuse(ret_error, record, kw_change_why_not_cancel(record, current, arena));
    kw_change_set_goal(record, kw_change_first_place(record->store_order));
    return true;
}

/* Only `cancel` is possible: there is no work to pause, and the change ends by itself. */
static bool
run_atomics(const kw_change_command *command, int64_t current, kw_change_record *record, kw_arena *arena,
            kw_error *ret_error)
{
    if (record->drops)
        return refuse(ret_error, record, "its atomics are being set to false; that ends by itself");
    if (command->action == KW_CHANGE_CANCEL)
        return run_cancel(current, record, arena, ret_error);
    return refuse(
        ret_error, record,
        "its atomics are being set to true; that ends by itself, and only cancel is possible before");
}

/* --- commands for the work ------------------------------------------------------------------------- */

static bool
run_compare(kw_change_record *record, kw_error *ret_error)
{
    kw_change_place copies = kw_change_copy_place(kw_change_ladder_of(record));
    bool can = record->adds ? record->place == copies && !kw_change_is_cancelled(record)
                            : kw_change_waits_for_switch(record);
    if (!can)
        return refuse(ret_error, record,
                      record->adds
                          ? "rows are compared again only before queries use the path, after they were "
                            "copied"
                          : "rows are compared again only before the switch, after they were copied");
    kw_change_compare_again(record, true);
    return true;
}

/* --- all ----------------------------------------------------------------------------------------------- */

static bool
change_record(const kw_change_command *command, int64_t current, kw_change_record *record, kw_arena *arena,
              kw_error *ret_error)
{
    if (record->atomics)
        return run_atomics(command, current, record, arena, ret_error);
    if (record->drops)
        return refuse(ret_error, record, "one of its paths is being dropped; this change ends by itself");
    bool is_switch_or_complete = command->action == KW_CHANGE_SWITCH || command->action == KW_CHANGE_COMPLETE;
    if (record->adds && is_switch_or_complete)
        return run_added(command, record, arena, ret_error);
    switch (command->action) {
    case KW_CHANGE_SWITCH:
        return run_switch(command, record, arena, ret_error);
    case KW_CHANGE_REVERSE:
        return run_reverse(record, ret_error);
    case KW_CHANGE_COMPLETE:
        return run_complete(command, record, ret_error);
    case KW_CHANGE_CANCEL:
        return run_cancel(current, record, arena, ret_error);
    case KW_CHANGE_COMPARE:
        return run_compare(record, ret_error);
    case KW_CHANGE_PAUSE:
    case KW_CHANGE_RESUME:
        record->paused = command->action == KW_CHANGE_PAUSE;
        return true;
    case KW_CHANGE_THROTTLE:
        kw_change_throttle(command, record);
        return true;
    case KW_CHANGE_SHOW:
        break;
    }
    g_assert_not_reached();
}

static bool
check_expected(const kw_change_command *command, const kw_change_record *record, kw_arena *arena,
               kw_error *ret_error)
{
    const char *place = kw_change_place_name(record->place), *expected = command->expected;
    return !expected || g_str_equal(expected, place) ||
           refuse(ret_error, record, kw_change_other_place(place, expected, arena));
}

bool
kw_change_goal_edit(const kw_change_command *command, int64_t current, kw_change_record *record,
                    kw_arena *arena, kw_error *ret_error)
{
    return check_expected(command, record, arena, ret_error) &&
           change_record(command, current, record, arena, ret_error);
}

/* The holder's progress, which the state of the change shows, can be newer than the catalog's. The command is
 * decided by it, and writes it. A command that resets the progress does not save it. */
static bool
edit(void *user, int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    request *self = user;
    self->refusal = KW_ERROR_NONE;
    self->saved_mine = kw_coordinator_add_progress(self->coordinator, record, arena);
    kw_change_record before = *record;
    if (!kw_change_goal_edit(&self->command, current, record, arena, &self->refusal)) {
        *ret_error = self->refusal;
        return false;
    }
    self->saved_mine = self->saved_mine && kw_change_same_progress(&before, record);
    return true;
}

static void
on_edited(void *user, const kw_current *current, const kw_error *error)
{
    request *self = user;
    bool refused = error && self->refusal.code != KW_OK; /* the error of the catalog names the catalog
                                                            first; `refusal` does not */
    if (!error)
        kw_coordinator_take_edited(self->coordinator, current, self->saved_mine);
    kw_change_request_finish(self, refused ? &self->refusal : error);
}

void
kw_change_goal_run_command(kw_change_request *self)
{
    const kw_control *control = self->coordinator->control;
    kw_catalog_edit_change(control->catalog, self->command.table, NULL, edit, self,
                           kw_control_call_deadline(control), on_edited, self);
}
