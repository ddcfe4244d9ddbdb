/* Commands of the operator.
 *
 *   caller's loop -> main loop: a job -> checks -> (wait until calls under earlier policies have ended)
 *     -> step: records and policy with the next place of the change -> prepare -> serve -> the reply
 *   pause, resume, throttle, compare: only the record changes
 *
 * That is so with one writer. With several, all commands only change the record (goals.c).
 */
#include "base/container.h"
#include "base/log.h"
#include "coordinator/request.h"
#include "policy/follower.h"
#include "store/check.h"

#define SHOW_WAIT_NS (UINT64_C(5) * 1000 * 1000 * 1000)
#define SHOW_AGAIN_MS 50

typedef kw_change_request request;

static void
on_written(void *user, const kw_error *error)
{
    kw_change_request_finish(user, error);
}

/* For commands that change only the record, so that no call behaves differently. */
static void
write_record(request *self)
{
    kw_coordinator_update(self->coordinator, &self->record);
    kw_coordinator_write(self->coordinator, on_written, self);
}

/* --- commands that make a step ----------------------------------------------------------------------- */

static void
run_switch(request *self)
{
    if (!kw_change_reads_old(&self->record)) {
        kw_change_request_refuse(self, KW_REFUSED, "queries read the new rows already");
        return;
    }
    const char *why =
        kw_change_why_not_switch(&self->record, self->command.leave_undecodable, self->request.arena);
    if (why)
        kw_change_request_refuse(self, KW_REFUSED, why);
    else
        kw_change_step_wait(self);
}

static void
run_reverse(request *self)
{
    if (self->record.adds)
        kw_change_request_refuse(
            self, KW_REFUSED,
            "no query reads the path that is being added; to end it, run keyway change cancel");
    else if (self->record.place == KW_OLD(BOTH))
        kw_change_request_refuse(self, KW_REFUSED, "queries read the old rows already");
    else if (self->record.place == KW_NEW(CLOSING))
        kw_change_request_refuse(
            self, KW_REFUSED,
            "its change is being completed and cannot go back; run keyway change complete again");
    else
        kw_change_step_wait(self);
}

static void
run_complete(request *self)
{
    int64_t until_ms = kw_change_cursors_until_ms(self->coordinator, &self->record);
    if (self->record.adds) {
        run_switch(self);
    } else if (self->record.place == KW_OLD(BOTH)) {
        kw_change_request_refuse(self, KW_REFUSED,
                                 "queries read the old rows; switch first: keyway change switch");
    } else if (kw_clock_wall_ms() < until_ms && !self->command.expire_cursors) {
        self->record.completing = true; /* automatic.c completes it */
        write_record(self);
    } else {
        kw_change_step_wait(self);
    }
}

/* A change that the same policy version began, and whose queries read the new rows; NULL: there is none. It
 * would be cancelled, too. */
static const kw_change_record *
find_switched(const request *self)
{
    const kw_change_set *set = self->before;
    for (size_t i = 0; i < set->count; i++)
        if (set->records[i].under_way && set->records[i].new_version == self->record.new_version &&
            !kw_change_reads_old(&set->records[i]))
            return &set->records[i];
    return NULL;
}

static void
run_cancel(request *self)
{
    int64_t current = kw_policy_version(self->coordinator->control->policy);
    if (!kw_change_reads_old(&self->record)) {
        kw_change_request_refuse(self, KW_REFUSED,
                                 "queries read the new rows; go back first: keyway change reverse");
        return;
    }
    if (current != self->record.new_version) {
        kw_change_request_refuse(self, KW_REFUSED,
                                 kw_change_why_not_cancel(&self->record, current, self->request.arena));
        return;
    }
    const kw_change_record *switched = find_switched(self);
    if (switched) {
        kw_change_request_refuse(
            self, KW_REFUSED,
            kw_arena_printf(
                self->request.arena,
                "policy version %" G_GINT64_FORMAT " also changes table %s, whose queries read the new "
                "rows. Go back there first (keyway change reverse %s), or apply a policy that has the "
                "old key rule of this table only",
                current, switched->table, switched->table));
        return;
    }
    kw_change_step_wait(self);
}

/* --- commands that only change the record -------------------------------------------------------------- */

static void
run_record(request *self)
{
    kw_change_record *record = &self->record;
    record->paused = self->command.action == KW_CHANGE_PAUSE ||
                     (record->paused && self->command.action != KW_CHANGE_RESUME);
    if (self->command.action == KW_CHANGE_THROTTLE)
        kw_change_throttle(&self->command, record);
    kw_change_work *work = kw_change_work_of(self->coordinator, record);
    work->not_before_ns = 0;
    if (self->command.action == KW_CHANGE_COMPARE) {
        work->began_ns = 0;
        work->progress = 0;
        kw_change_compare_again(record, kw_change_reads_old(&self->record));
    }
    write_record(self);
}

/* --- the job ----------------------------------------------------------------------------------------- */

static void
execute(request *self)
{
    switch (self->command.action) {
    case KW_CHANGE_SWITCH:
        run_switch(self);
        return;
    case KW_CHANGE_REVERSE:
        run_reverse(self);
        return;
    case KW_CHANGE_COMPLETE:
        run_complete(self);
        return;
    case KW_CHANGE_CANCEL:
        run_cancel(self);
        return;
    case KW_CHANGE_PAUSE:
    case KW_CHANGE_RESUME:
    case KW_CHANGE_THROTTLE:
    case KW_CHANGE_COMPARE:
        run_record(self);
        return;
    case KW_CHANGE_SHOW:
        break;
    }
    g_assert_not_reached();
}

void
kw_change_command_run(kw_control_request *base)
{
    request *self = KW_CONTAINER(base, request, request);
    const kw_control *control = base->control;
    const kw_change_set *set = control->changes;
    if (!kw_control_is_in_service(control)) {
        kw_change_request_refuse(self, KW_UNAVAILABLE, "the gateway is starting");
        return;
    }
    if (kw_store_is_shared(control->store)) {
        kw_change_goal_run_command(self);
        return;
    }
    size_t index = set ? kw_change_set_find_under_way(set, self->command.table) : 0;
    if (!set || index == set->count) {
        kw_change_request_refuse(self, KW_REFUSED, "no change is under way");
        return;
    }
    self->before = kw_change_set_ref(control->changes); /* owns the texts of the record */
    self->record = set->records[index];
    const char *place = kw_change_place_name(self->record.place);
    if (self->command.expected && !g_str_equal(self->command.expected, place))
        kw_change_request_refuse(self, KW_REFUSED,
                                 kw_change_other_place(place, self->command.expected, self->request.arena));
    else
        execute(self);
}

/* --- the state ------------------------------------------------------------------------------------------ */

static void
on_shown(void *user, const kw_current *current, const kw_error *error)
{
    request *self = user;
    kw_coordinator *coordinator = self->coordinator;
    bool read_first = coordinator->control->stored_revision == self->revision;
    if (error || !read_first || coordinator->stopped || kw_coordinator_take_current(coordinator, current) ||
        kw_clock_mono_ns() >= self->until_ns) {
        kw_change_request_finish(self, NULL);
        return;
    }
    self->waits = true;
    kw_coordinator_wake(coordinator, SHOW_AGAIN_MS);
}

/* Reads the records first, because other gateways write them, too. If another gateway has begun or ended a
 * change, or set its next place, waits for a limited time until this gateway serves it. */
static void
show(request *self)
{
    kw_control *control = self->coordinator->control;
    if (!kw_store_is_shared(control->store) || !kw_control_is_in_service(control)) {
        kw_change_request_finish(self, NULL);
        return;
    }
    self->revision = control->stored_revision;
    kw_catalog_read_current_changes(control->catalog, kw_control_call_deadline(control), on_shown, self);
}

static void
run_show(kw_control_request *base)
{
    request *self = KW_CONTAINER(base, request, request);
    self->until_ns = kw_clock_mono_ns() + SHOW_WAIT_NS;
    show(self);
}

static void
stop_show(kw_control_request *base)
{
    request *self = KW_CONTAINER(base, request, request);
    if (self->waits)
        kw_change_request_finish(self, NULL);
}

static void
reply(kw_control_request *base, const kw_error *error)
{
    const request *self = KW_CONTAINER(base, request, request);
    self->done(base->user, error ? NULL : self->changes, error ? 0 : self->changes_count, error);
}

static const kw_control_request_kind show_kind = {
    .group = KW_REQUESTS_CHANGE, .run = run_show, .reply = reply, .stop = stop_show};
static const kw_control_request_kind command_kind = {.group = KW_REQUESTS_CHANGE,
                                                     .is_job = true,
                                                     .run = kw_change_command_run,
                                                     .reply = reply,
                                                     .stop = kw_change_request_stop,
                                                     .clear = kw_change_request_clear};

void
kw_change_show_again(kw_coordinator *coordinator)
{
    for (kw_control_request *at = coordinator->control->requests, *next = NULL; at; at = next) {
        request *self = KW_CONTAINER(at, request, request);
        next = at->next_open;
        if (at->kind == &show_kind && self->waits) {
            self->waits = false;
            show(self);
        }
    }
}

/* --- the request ---------------------------------------------------------------------------------------- */

void
kw_coordinator_run_command(void *user, const kw_change_command *command, kw_loop *loop, kw_change_done done,
                           void *done_user)
{
    bool shows = command->action == KW_CHANGE_SHOW;
    request *self = kw_change_request_new(shows ? &show_kind : &command_kind, user, loop, done_user);
    self->done = done;
    self->command = *command;
    self->command.table = kw_control_request_text(&self->request, command->table);
    self->command.expected = kw_control_request_text(&self->request, command->expected);
    self->command.author = kw_control_request_text(&self->request, command->author ? command->author : "");
    kw_control_request_send(&self->request);
}
