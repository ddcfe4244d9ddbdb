/* Commands that the gateway gives itself. With one writer, it continues a change after the operator has run
 * `complete`, or when an added path has all rows. As the holder of a change in a store with several writers,
 * it sets the next place.
 */
#include "base/container.h"
#include "base/log.h"
#include "coordinator/request.h"
#include "policy/follower.h"

#define LOOK_AGAIN_MS 60000 /* longest wait before the wall clock, which can be set, is read again */
#define AGAIN_NS (UINT64_C(1000) * 1000 * 1000)
/* After a step that failed because another change had made one. */
#define AGAIN_SOON_NS (UINT64_C(100) * 1000 * 1000)
/* A place is set only if the registrations were read within this time. */
#define FRESH_NS (UINT64_C(1000) * 1000 * 1000)

typedef kw_change_request request;

/* True if the change must continue without a command: the operator has run `complete` and the change has
 * not ended, or an added path has all rows. */
static bool
is_to_continue(const kw_change_record *record)
{
    bool filled = record->adds && kw_change_is_filled(record);
    return record->under_way && record->writers == KW_CHANGE_ONE_WRITER &&
           (record->place == KW_NEW(CLOSING) || record->completing || filled);
}

/* --- carrying out --------------------------------------------------------------------------------------- */

/* True if this gateway is the holder and has just read the registrations. */
static bool
is_decided_now(const kw_coordinator *coordinator, const kw_change_record *record, const kw_change_work *work)
{
    return work->is_holder && kw_change_is_holder(coordinator, record) &&
           kw_change_can_work(coordinator, record) && kw_clock_boot_ns() - work->read_ns < FRESH_NS;
}

/* Decides again, because jobs before this one can have changed the record. */
static void
run_as_holder(request *self)
{
    kw_coordinator *coordinator = self->coordinator;
    const kw_change_set *set = coordinator->control->changes;
    const kw_change_record *record =
        kw_changes_find(set->records, set->count, self->command.table, self->path);
    kw_change_work *work = record && record->under_way ? kw_change_work_of(coordinator, record) : NULL;
    if (!work || !is_decided_now(coordinator, record, work)) {
        kw_change_request_finish(self, NULL);
        return;
    }
    kw_change_times times = kw_change_times_now(coordinator, record);
    self->next = kw_change_planner_next(&work->planner, record, &times);
    bool ends = self->next.act == KW_CHANGE_ACT_END;
    if (ends && kw_change_ends_as_before(record) && !record->drops) /* a drop leaves the text as it is */
        self->command.action = KW_CHANGE_CANCEL;
    if (ends || self->next.act == KW_CHANGE_ACT_STEP)
        kw_change_step_wait(self);
    else
        kw_change_request_finish(self, NULL);
}

static void
run(kw_control_request *base)
{
    request *self = KW_CONTAINER(base, request, request);
    const kw_control *control = base->control;
    const kw_change_set *set = control->changes;
    size_t index = set ? kw_change_set_find_under_way(set, self->command.table) : 0;
    if (!kw_control_is_in_service(control) || !set || index == set->count)
        kw_change_request_finish(self, NULL);
    else if (self->as_holder)
        run_as_holder(self);
    else if (is_to_continue(&set->records[index]))
        kw_change_command_run(base);
    else
        kw_change_request_finish(self, NULL); /* an earlier command has changed the record */
}

/* --- the end -------------------------------------------------------------------------------------------- */

/* The step failed, for example because another gateway has set a place, or a command has changed the goal.
 * Reads the record before the next attempt. */
static void
end_as_holder(request *self, const kw_error *error)
{
    kw_coordinator *coordinator = self->coordinator;
    const kw_change_set *set = coordinator->control->changes;
    const kw_change_record *record =
        kw_changes_find(set->records, set->count, self->command.table, self->path);
    if (record && record->under_way)
        kw_change_work_of(coordinator, record)->problem = *error;
    kw_follower_wake(coordinator->control->follower);
}

/* The log shows a failure, unless it is UNAVAILABLE. The state of the change shows the failure of a holder.
 */
static void
ended(request *self, const kw_error *error)
{
    kw_coordinator *coordinator = self->coordinator;
    coordinator->continuing = false;
    if (self->as_holder && !error)
        return; /* the next step can follow at once */
    bool soon = self->as_holder && error->code == KW_UNAVAILABLE;
    coordinator->continue_ns = kw_clock_mono_ns() + (soon ? AGAIN_SOON_NS : AGAIN_NS);
    if (self->as_holder)
        end_as_holder(self, error);
    if (error && error->code != KW_UNAVAILABLE)
        kw_log(KW_LOG_ERROR, "change", "a change could not be completed; the gateway will retry",
               KW_LOG_FACT("table", self->command.table), KW_LOG_FACT("reason", error->text));
}

/* --- starting ------------------------------------------------------------------------------------------- */

/* Begins the command of the gateway itself. */
static void
begin(kw_coordinator *coordinator, const kw_change_record *record, bool as_holder)
{
    static const kw_control_request_kind kind = {.group = KW_REQUESTS_OTHER,
                                                 .is_job = true,
                                                 .run = run,
                                                 .stop = kw_change_request_stop,
                                                 .clear = kw_change_request_clear};
    request *self = kw_change_request_new(&kind, coordinator->control, NULL, NULL);
    self->ended = ended;
    self->as_holder = as_holder;
    self->path = kw_control_request_text(&self->request, record->path);
    self->command = (kw_change_command){.action = KW_CHANGE_COMPLETE,
                                        .table = kw_control_request_text(&self->request, record->table),
                                        .author = kw_control_request_text(&self->request, record->author)};
    coordinator->continuing = true;
    kw_control_request_begin(&self->request);
}

void
kw_change_start_step(kw_coordinator *coordinator, const kw_change_record *record)
{
    if (!coordinator->continuing)
        begin(coordinator, record, true);
}

/* How long until the change continues by itself, in milliseconds; UINT64_MAX: it waits for a command. */
static uint64_t
due_in_ms(const kw_coordinator *coordinator, const kw_change_record *record)
{
    int64_t now_ms = kw_clock_wall_ms(), until_ms = kw_change_cursors_until_ms(coordinator, record);
    if (!is_to_continue(record))
        return UINT64_MAX;
    return until_ms > now_ms ? (uint64_t)MIN(until_ms - now_ms, LOOK_AGAIN_MS) : 0;
}

/* Starts to continue one change whose time has come. Returns in how many milliseconds it must be called
 * again. */
uint64_t
kw_change_start_automatic(kw_coordinator *coordinator)
{
    const kw_change_set *set = coordinator->control->changes;
    uint64_t now_ns = kw_clock_mono_ns(), again_ms = UINT64_MAX;
    if (coordinator->continuing || !set || !kw_control_is_in_service(coordinator->control) ||
        kw_coordinator_earlier_in_use(coordinator)) /* waits here: in the queue, it would delay other jobs */
        return UINT64_MAX;
    for (size_t i = 0; i < set->count; i++) {
        uint64_t in_ms = due_in_ms(coordinator, &set->records[i]);
        if (in_ms == 0 && now_ns >= coordinator->continue_ns) {
            begin(coordinator, &set->records[i], false);
            return UINT64_MAX;
        }
        again_ms = MIN(again_ms, in_ms == 0 ? (coordinator->continue_ns - now_ns) / 1000000 + 1 : in_ms);
    }
    return again_ms;
}
