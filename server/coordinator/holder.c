/* The holder of a change, in a store that several gateways write.
 *
 *   holder:  read the registrations -> decide (planner.c) -> a step, right after the read, or a slice
 *   others:  read the registrations -> the holder has disappeared -> become the holder in the record, if the
 *            record still names the holder that has disappeared
 *
 * For a moment, two gateways can consider themselves the holder. Each step is one conditional put, so only
 * one of them sets a place. Repeating a slice of work is harmless. The new holder begins its first slice
 * only when `store.late` has passed since it became the holder.
 */
#include "base/container.h"
#include "base/log.h"
#include "base/units.h"
#include "coordinator/coordinator_internal.h"
#include "policy/follower.h"

/* How often the holder reads registrations: while it waits for reports; the same, soon after it has set a
 * place, because atomic operations can be held; while it works; while it waits for the operator. */
#define READ_REPORTS_MS 100
#define READ_REPORTS_SOON_MS 20
#define SOON_MS 3000
#define READ_WORKING_MS 1000
#define READ_WAITING_MS 5000
/* How often other gateways read registrations. */
#define READ_OTHERS_MS 3000
/* If the last read is older, the holder does not know whether the other gateways live, and does no work. */
#define STALE_MS 5000
#define AGAIN_MS 100
#define LEAVE_MS 2000 /* time limit for giving up all changes */

/* --- the holder's name in the catalog ------------------------------------------------------------------ */

static bool
edit_holder(void *user, int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    (void)current;
    kw_coordinator *self = user;
    const char *holder = self->stopped ? "" : kw_catalog_instance(self->control->catalog);
    if (!g_str_equal(record->holder, self->replaced_holder))
        return kw_error_set(ret_error, KW_BUSY, "another gateway has become the holder");
    record->holder = kw_arena_text(arena, kw_bytes_of_text(holder));
    return true;
}

static void leave_next(kw_coordinator *self);

static void
end_takeover(kw_coordinator *self)
{
    g_clear_pointer(&self->takeover_table, g_free);
    g_clear_pointer(&self->takeover_path, g_free);
    g_clear_pointer(&self->replaced_holder, g_free);
    self->taking_over = false;
    if (self->stopped)
        leave_next(self);
    kw_coordinator_wake(self, 0);
    kw_jobs_next(&self->control->jobs);
}

static void
on_taken_over(void *user, const kw_current *current, const kw_error *error)
{
    kw_coordinator *self = user;
    if (!error) {
        kw_log(KW_LOG_INFO, "change", self->stopped ? "gave up a change" : "took over a change",
               KW_LOG_FACT("table", self->takeover_table), KW_LOG_FACT("path", self->takeover_path));
        kw_coordinator_take_current(self, current);
    }
    end_takeover(self);
}

static void
run_takeover(kw_job *job)
{
    kw_coordinator *self = KW_CONTAINER(job, kw_coordinator, takeover);
    const kw_control *control = self->control;
    kw_deadline deadline = self->stopped ? self->leave_until : kw_control_call_deadline(control);
    if (!self->stopped && !kw_catalog_instance(control->catalog)[0])
        end_takeover(self);
    else
        kw_catalog_edit_change(control->catalog, self->takeover_table, self->takeover_path, edit_holder, self,
                               deadline, on_taken_over, self);
}

static void
start_takeover(kw_coordinator *self, const kw_change_record *record)
{
    if (self->taking_over)
        return;
    self->taking_over = true;
    self->takeover_table = g_strdup(record->table);
    self->takeover_path = g_strdup(record->path);
    self->replaced_holder = g_strdup(record->holder);
    self->takeover.run = run_takeover;
    kw_jobs_add(&self->control->jobs, &self->takeover);
}

/* Gives up one change after another: the end of each put starts the next one. Other gateways take over
 * changes that were not given up before the deadline, after the registration has disappeared. */
static void
leave_next(kw_coordinator *self)
{
    const kw_change_set *set = self->control->changes;
    while (set && !self->taking_over && !kw_deadline_passed(self->leave_until) &&
           self->leave_index < set->count) {
        const kw_change_record *record = &set->records[self->leave_index++];
        if (record->under_way && kw_change_is_holder(self, record))
            start_takeover(self, record);
    }
}

void
kw_change_holder_leave(kw_coordinator *self)
{
    g_assert(self->stopped);
    self->leave_until = kw_deadline_in_ms(LEAVE_MS);
    self->leave_index = 0;
    leave_next(self);
}

/* --- registrations ------------------------------------------------------------------------------------- */

static const kw_change_follower *
find_holder(const kw_change_record *record, const kw_change_follower *followers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (g_str_equal(followers[i].instance, record->holder))
            return &followers[i];
    return NULL;
}

/* While the holder waits for a command, it tries nothing again. So the failure of an earlier attempt does not
 * count any more: its step was made nevertheless, or the goal has changed. */
static void
decide(const kw_change_record *record, kw_change_work *work, const kw_change_times *times)
{
    work->next = kw_change_planner_next(&work->planner, record, times);
    if (work->next.act == KW_CHANGE_ACT_WAIT && work->next.wait == KW_CHANGE_WAIT_COMMAND)
        work->problem = KW_ERROR_NONE;
}

/* Callers of any other gateway that has the table. */
static bool
others_have_callers(const kw_change_follower *followers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!followers[i].itself && !followers[i].dead && followers[i].has_callers)
            return true;
    return false;
}

static void
note_as_holder(kw_coordinator *self, const kw_change_record *record, kw_change_work *work,
               const kw_change_follower *followers, size_t count)
{
    kw_change_planner_note(&work->planner, record, followers, count, kw_clock_boot_ns());
    work->others_have_callers = others_have_callers(followers, count);
    kw_change_times times = kw_change_times_now(self, record);
    decide(record, work, &times);
    bool sets = work->next.act == KW_CHANGE_ACT_STEP || work->next.act == KW_CHANGE_ACT_END;
    if (sets && kw_change_can_work(self, record))
        kw_change_start_step(self, record);
}

static void
note_as_other(kw_coordinator *self, const kw_change_record *record, kw_change_work *work,
              const kw_change_follower *followers, size_t count)
{
    const kw_change_follower *holder = find_holder(record, followers, count);
    g_free(work->holder);
    work->holder = holder ? g_strdup(holder->id) : NULL;
    if ((!holder || holder->dead) && kw_change_can_work(self, record))
        start_takeover(self, record);
}

static void
on_followers(void *user, const kw_change_follower *followers, size_t count, const kw_error *error)
{
    kw_coordinator *self = user;
    const kw_change_set *set = self->control->changes;
    const kw_change_record *record =
        kw_changes_find(set->records, set->count, self->read_table, self->read_path);
    self->reading = false;
    g_clear_pointer(&self->read_table, g_free);
    g_clear_pointer(&self->read_path, g_free);
    if (self->stopped) {
        kw_coordinator_wake(self, 0);
        return;
    }
    kw_change_work *work = record && record->under_way ? kw_change_work_of(self, record) : NULL;
    if (work && !error) {
        work->read_ns = kw_clock_boot_ns();
        if (work->is_holder && kw_change_is_holder(self, record))
            note_as_holder(self, record, work, followers, count);
        else if (!work->is_holder)
            note_as_other(self, record, work, followers, count);
    }
    kw_coordinator_wake(self, error ? AGAIN_MS : 0);
}

static void
start_read(kw_coordinator *self, const kw_change_record *record)
{
    const kw_control *control = self->control;
    g_assert(!self->reading && !self->read_table);
    self->reading = true;
    self->read_table = g_strdup(record->table);
    self->read_path = g_strdup(record->path);
    kw_catalog_read_followers(control->catalog, record, kw_control_call_deadline(control), on_followers,
                              self);
}

/* --- the tick ------------------------------------------------------------------------------------------ */

static void
begin_or_end_holding(kw_coordinator *self, const kw_change_record *record, kw_change_work *work)
{
    bool holds = kw_change_is_holder(self, record);
    if (holds == work->is_holder)
        return;
    kw_change_planner_clear(&work->planner);
    g_clear_pointer(&work->seen, kw_copy_seen_unref);
    work->is_holder = holds;
    work->next = (kw_change_next){.wait = KW_CHANGE_WAIT_REPORTS};
    work->read_ns = 0;
    if (holds)
        kw_change_planner_init(&work->planner, record, kw_clock_boot_ns());
}

static uint64_t
read_reports_ms(const kw_change_record *record)
{
    int64_t age_ms = kw_clock_wall_ms() - record->place_at_ms;
    bool soon = age_ms >= 0 && age_ms < SOON_MS && !kw_change_waits_for_switch(record);
    return soon ? READ_REPORTS_SOON_MS : READ_REPORTS_MS;
}

static uint64_t
read_interval_ms(const kw_change_record *record, const kw_change_work *work)
{
    if (!work->is_holder)
        return record->holder[0] ? READ_OTHERS_MS : 0;
    switch (work->next.act) {
    case KW_CHANGE_ACT_STEP:
    case KW_CHANGE_ACT_END:
        return 0;
    case KW_CHANGE_ACT_COPY:
    case KW_CHANGE_ACT_COMPARE:
    case KW_CHANGE_ACT_PASS:
    case KW_CHANGE_ACT_SWEEP:
        return READ_WORKING_MS;
    case KW_CHANGE_ACT_WAIT:
        break;
    }
    bool waits = work->next.wait == KW_CHANGE_WAIT_COMMAND || work->next.wait == KW_CHANGE_WAIT_CURSORS;
    return work->next.wait == KW_CHANGE_WAIT_REPORTS ? read_reports_ms(record)
           : waits                                   ? READ_WAITING_MS
                                                     : READ_WORKING_MS;
}

/* How long the holder still waits. */
static uint64_t
wait_ms(const kw_change_work *work, const kw_change_times *times)
{
    if (!work->is_holder || work->next.until_ns == 0)
        return UINT64_MAX;
    return work->next.until_ns > times->now_ns ? (work->next.until_ns - times->now_ns) / KW_NS_PER_MS + 1 : 0;
}

/* The holder decides a step only after it has read the registrations again. */
static uint64_t
tick_record(kw_coordinator *self, const kw_change_record *record)
{
    kw_change_work *work = kw_change_work_of(self, record);
    kw_change_times times = kw_change_times_now(self, record);
    begin_or_end_holding(self, record, work);
    if (!kw_change_can_work(self, record))
        return AGAIN_MS;
    if (work->is_holder)
        decide(record, work, &times);
    uint64_t interval_ms = read_interval_ms(record, work);
    uint64_t age_ms = work->read_ns ? (times.now_ns - work->read_ns) / KW_NS_PER_MS : UINT64_MAX;
    if (work->is_holder && age_ms > STALE_MS && work->next.act != KW_CHANGE_ACT_WAIT)
        work->next = (kw_change_next){.wait = KW_CHANGE_WAIT_REPORTS};
    if (age_ms < interval_ms)
        return MIN(interval_ms - age_ms, wait_ms(work, &times));
    if (!self->reading && !self->taking_over && !self->continuing && kw_clock_mono_ns() >= self->continue_ns)
        start_read(self, record);
    return AGAIN_MS;
}

uint64_t
kw_change_holder_tick(kw_coordinator *self)
{
    const kw_control *control = self->control;
    uint64_t again_ms = UINT64_MAX;
    if (!control->changes || !kw_control_is_in_service(control))
        return UINT64_MAX;
    for (size_t i = 0; i < control->changes->count; i++) {
        const kw_change_record *record = &control->changes->records[i];
        if (record->under_way && record->writers == KW_CHANGE_SEVERAL_WRITERS)
            again_ms = MIN(again_ms, tick_record(self, record));
    }
    return again_ms;
}
