/* Commands of the operator.
 *
 *   caller's loop -> main loop: a job -> checks -> (wait until calls under earlier policies have ended)
 *     -> step: records and policy with the next place of the change -> prepare -> serve -> the reply
 *   pause, resume, throttle, compare: only the record changes
 *
 * That is so with one writer. With several, all commands only change the record (goals.c).
 */
#include "base/log.h"
#include "coordinator/request.h"
#include "policy/follower.h"
#include "store/check.h"

#include <stdatomic.h>

#define REQUESTS_MAX 16
#define RETRY_MS 1000
#define SHOW_WAIT_NS (UINT64_C(5) * 1000 * 1000 * 1000)
#define SHOW_AGAIN_MS 50

typedef kw_change_request request;

static const kw_error ending = {.code = KW_UNAVAILABLE, .text = "the gateway is shutting down"};

/* --- the reply ----------------------------------------------------------------------------------- */

typedef struct reply {
    kw_task task;
    kw_arena *arena;
    kw_change_status *changes;
    size_t count;
    kw_error error;
    kw_change_done done;
    void *user;
} reply;

static void
deliver(kw_task *task)
{
    reply *self = (reply *)(void *)((char *)task - offsetof(reply, task));
    self->done(self->user, self->changes, self->count, self->error.code == KW_OK ? NULL : &self->error);
    kw_arena_free(self->arena);
}

static void
list_changes(kw_coordinator *coordinator, const char *table, reply *to)
{
    const kw_change_set *set = coordinator->control->changes;
    if (!set)
        return;
    to->changes = KW_ARENA_ARRAY(to->arena, kw_change_status, set->count);
    for (size_t i = 0; i < set->count; i++)
        if (set->records[i].under_way && (!table || g_str_equal(set->records[i].table, table)))
            kw_change_status_of(coordinator, &set->records[i], to->arena, &to->changes[to->count++]);
}

static void
answer(request *self, const kw_error *error)
{
    if (!self->loop)
        return;
    kw_arena *arena = kw_arena_new();
    reply *posted = KW_ARENA_NEW(arena, reply);
    *posted = (reply){.task.run = deliver, .arena = arena, .done = self->done, .user = self->user};
    posted->error = error ? *error : KW_ERROR_NONE;
    if (!error)
        list_changes(self->coordinator, self->command.table, posted);
    kw_loop_post(g_steal_pointer(&self->loop), &posted->task);
}

static void
request_free(request *self)
{
    kw_coordinator *coordinator = self->coordinator;
    request **at = &coordinator->requests;
    while (*at != self)
        at = &(*at)->next_open;
    *at = self->next_open;
    atomic_fetch_sub(&coordinator->requests_count, 1);
    kw_policy_unref(self->policy);
    kw_change_set_unref(self->before);
    kw_change_set_unref(self->after);
    kw_arena_free(self->arena);
}

/* Answers the caller and ends the job of the command. */
void
kw_change_request_finish(kw_change_request *self, const kw_error *error)
{
    kw_coordinator *coordinator = self->coordinator;
    if (coordinator->running == self)
        coordinator->running = NULL;
    if (self->continues)
        kw_change_own_end(self, error);
    answer(self, error);
    request_free(self);
    kw_coordinator_wake(coordinator, 0);
    kw_jobs_next(&coordinator->control->jobs);
}

void
kw_change_request_refuse(kw_change_request *self, kw_code code, const char *text)
{
    kw_error error;
    kw_error_set(&error, code, "table %s: %s", self->command.table, text);
    kw_change_request_finish(self, &error);
}

static void
on_written(void *user, const kw_error *error)
{
    kw_change_request_finish(user, error);
}

/* For commands that change only the record, so that no call behaves differently. */
void
kw_change_request_write_record(kw_change_request *self)
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
    const char *why = kw_change_why_not_switch(&self->record, self->command.leave_undecodable, self->arena);
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
        self->record.completing = true; /* kw_change_commands_tick completes it */
        kw_change_request_write_record(self);
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
                                 kw_change_why_not_cancel(&self->record, current, self->arena));
        return;
    }
    const kw_change_record *switched = find_switched(self);
    if (switched) {
        kw_change_request_refuse(
            self, KW_REFUSED,
            kw_arena_printf(
                self->arena,
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
    kw_change_request_write_record(self);
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
kw_change_request_run(kw_job *job)
{
    request *self = (request *)(void *)((char *)job - offsetof(request, job));
    kw_control *control = self->coordinator->control;
    const kw_change_set *set = control->changes;
    if (control->state != KW_CONTROL_SERVING) {
        kw_change_request_refuse(self, KW_UNAVAILABLE, "the gateway is starting or shutting down");
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
                                 kw_change_other_place(place, self->command.expected, self->arena));
    else
        execute(self);
}

/* --- the state ------------------------------------------------------------------------------------------ */

static void
end_show(request *self)
{
    answer(self, NULL);
    request_free(self);
}

static void
on_shown(void *user, const kw_current *current, const kw_error *error)
{
    request *self = user;
    kw_coordinator *coordinator = self->coordinator;
    bool read_first = coordinator->control->stored_revision == self->revision;
    if (error || !read_first || coordinator->stopped || kw_coordinator_take_current(coordinator, current) ||
        kw_clock_mono_ns() >= self->until_ns) {
        end_show(self);
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
    if (!self->loop || !control->catalog || !kw_store_is_shared(control->store) ||
        control->state != KW_CONTROL_SERVING) {
        end_show(self);
        return;
    }
    self->revision = control->stored_revision;
    kw_catalog_read_current_changes(control->catalog, kw_control_call_deadline(control), on_shown, self);
}

static void
show_again(kw_coordinator *coordinator)
{
    for (request *at = coordinator->requests, *next = NULL; at; at = next) {
        next = at->next_open;
        if (at->waits) {
            at->waits = false;
            show(at);
        }
    }
}

/* --- the coordinator ------------------------------------------------------------------------------------ */

uint64_t
kw_change_commands_tick(kw_coordinator *coordinator)
{
    show_again(coordinator);
    if (!coordinator->running)
        return kw_change_start_automatic(coordinator);
    kw_change_step_tick(coordinator->running);
    return UINT64_MAX;
}

/* --- from the caller's loop to the main loop ----------------------------------------------------------- */

static void
begin(kw_task *task)
{
    request *self = (request *)(void *)((char *)task - offsetof(request, task));
    kw_coordinator *coordinator = self->coordinator;
    self->next_open = coordinator->requests;
    coordinator->requests = self;
    if (coordinator->stopped)
        answer(self, &ending);
    if (self->command.action == KW_CHANGE_SHOW) {
        self->until_ns = kw_clock_mono_ns() + SHOW_WAIT_NS;
        show(self);
        return;
    }
    self->job.run = kw_change_request_run;
    kw_jobs_add(&coordinator->control->jobs, &self->job);
}

static const char *
copy_text(kw_arena *arena, const char *text)
{
    return text ? kw_arena_text(arena, kw_bytes_of_text(text)) : NULL;
}

void
kw_coordinator_run_command(void *user, const kw_change_command *command, kw_loop *loop, kw_change_done done,
                           void *done_user)
{
    static const kw_error busy = {
        .code = KW_BUSY, .retry_after_ms = RETRY_MS, .text = "too many calls about changes are waiting"};
    kw_control *control = user;
    kw_arena *arena = kw_arena_new();
    request *self = KW_ARENA_NEW(arena, request);
    *self = (request){.task.run = begin,
                      .coordinator = control->coordinator,
                      .arena = arena,
                      .command = *command,
                      .loop = loop,
                      .done = done,
                      .user = done_user};
    self->command.table = copy_text(arena, command->table);
    self->command.expected = copy_text(arena, command->expected);
    self->command.author = copy_text(arena, command->author ? command->author : "");
    if (atomic_fetch_add(&control->coordinator->requests_count, 1) < REQUESTS_MAX) {
        kw_loop_post(control->loop, &self->task);
        return;
    }
    atomic_fetch_sub(&control->coordinator->requests_count, 1);
    answer(self, &busy);
    kw_arena_free(arena);
}

void
kw_change_commands_end(kw_coordinator *coordinator)
{
    for (request *at = coordinator->requests; at; at = at->next_open)
        answer(at, &ending);
    show_again(coordinator);
    if (coordinator->running && !coordinator->running->stepping)
        kw_change_request_finish(coordinator->running, &ending);
}
