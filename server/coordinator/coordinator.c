#include "coordinator/coordinator.h"

#include "base/log.h"
#include "change/merge.h"
#include "coordinator/publication.h"
#include "coordinator/request.h"
#include "policy/follower.h"

#include <unistd.h>

#define DRAIN_POLL_MS 10
#define PUBLISH_NS (UINT64_C(500) * 1000 * 1000)
#define SAVE_NS (UINT64_C(2000) * 1000 * 1000)

/* --- earlier policies -------------------------------------------------------------------------------- */

static void
drop_unused(kw_coordinator *self)
{
    for (guint i = self->older->len; i > 0; i--)
        if (!kw_policy_is_shared(self->older->pdata[i - 1]))
            g_ptr_array_remove_index_fast(self->older, i - 1);
}

bool
kw_coordinator_earlier_in_use(const kw_coordinator *self)
{
    return self->older->len > 0;
}

bool
kw_coordinator_is_drained(const kw_coordinator *self)
{
    return !kw_coordinator_earlier_in_use(self) && !self->working;
}

void
kw_coordinator_note_served(kw_coordinator *self, kw_policy *old)
{
    if (!self || self->stopped)
        return;
    kw_change_reports_restart(self);
    bool served = kw_control_is_in_service(self->control); /* before that, no call used a policy */
    if (served && old != self->control->policy)
        g_ptr_array_add(self->older, kw_policy_ref(old));
    kw_coordinator_wake(self, 0);
}

/* --- the records ------------------------------------------------------------------------------------- */

bool
kw_coordinator_take_current(kw_coordinator *self, const kw_current *current)
{
    kw_control *control = self->control;
    g_autoptr(kw_change_set) set =
        kw_change_set_new(current->changes, current->changes_count, control->changes);
    const kw_change_set *known = control->changes;
    if (!known || kw_change_set_differs(known, set)) {
        kw_follower_wake(control->follower);
        return false;
    }
    kw_control_note_stored(control, set);
    kw_coordinator_wake(self, 0); /* a limit can have changed, for which the next slice waits */
    return true;
}

void
kw_coordinator_note_stored(kw_coordinator *self, kw_change_set *stored)
{
    kw_control *control = self->control;
    const kw_change_set *known = control->changes;
    if (self->stopped || !known || kw_change_set_differs(known, stored))
        return;
    kw_control_note_stored(control, stored);
    kw_coordinator_wake(self, 0);
}

void
kw_coordinator_update(kw_coordinator *self, const kw_change_record *record)
{
    g_autoptr(kw_change_set) fresh = kw_change_set_replace(self->control->changes, record);
    kw_control_set_changes(self->control, fresh);
    self->changed = true;
}

void
kw_coordinator_write(kw_coordinator *self, void (*done)(void *user, const kw_error *error), void *user)
{
    const kw_control *control = self->control;
    kw_catalog_write_progress(control->catalog, control->changes->records, control->changes->count,
                              kw_control_call_deadline(control), done, user);
}

/* --- the progress of a holder -------------------------------------------------------------------------- */

static const kw_change_record *
find_same(const kw_change_set *set, const kw_change_record *record)
{
    return set ? kw_changes_find(set->records, set->count, record->table, record->path) : NULL;
}

/* A change of which this gateway is the holder, with progress that is not in the catalog yet; NULL: there is
 * none.
 */
static const kw_change_record *
find_unsaved(const kw_coordinator *self)
{
    const kw_change_set *set = self->control->changes;
    for (size_t i = 0; set && i < set->count; i++) {
        const kw_change_record *each = &set->records[i];
        const kw_change_record *stored = find_same(self->control->stored_changes, each);
        if (each->under_way && kw_change_is_holder(self, each) && stored &&
            !kw_change_record_differs(stored, each) && !kw_change_same_progress(stored, each))
            return each;
    }
    return NULL;
}

/* Copies the texts that belong to control->changes, because it can be replaced while the put is under way. */
static void
copy_texts(kw_change_record *record, kw_arena *arena)
{
    record->example = kw_arena_text(arena, kw_bytes_of_text(record->example));
    record->copied_to = kw_arena_copy(arena, record->copied_to);
    record->compare_cursor = kw_arena_copy(arena, record->compare_cursor);
}

bool
kw_coordinator_add_progress(const kw_coordinator *self, kw_change_record *record, kw_arena *arena)
{
    const kw_control *control = self->control;
    const kw_change_record *mine = find_same(control->changes, record);
    if (!mine || !kw_change_is_holder(self, record))
        return false;
    *record = kw_change_merge(find_same(control->stored_changes, record), mine, record);
    copy_texts(record, arena);
    return kw_change_same_progress(record, mine);
}

static bool
edit_progress(void *user, int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    (void)current;
    kw_coordinator *self = user;
    if (!find_same(self->control->changes, record) || !kw_change_is_holder(self, record))
        return kw_error_set(ret_error, KW_BUSY, "another gateway has become the holder of the change");
    self->saved_mine = kw_coordinator_add_progress(self, record, arena);
    return true;
}

/* If this gateway's progress was written, remembers the records that the catalog has now. The work can have
 * made more progress in the meantime. */
void
kw_coordinator_take_edited(kw_coordinator *self, const kw_current *current, bool saved)
{
    if (saved) {
        g_autoptr(kw_change_set) set =
            kw_change_set_new(current->changes, current->changes_count, self->control->changes);
        kw_control_set_stored(self->control, set);
    }
    kw_coordinator_take_current(self, current);
}

static void on_saved(void *user, const kw_error *error);

static void
on_progress_saved(void *user, const kw_current *current, const kw_error *error)
{
    kw_coordinator *self = user;
    if (!error)
        kw_coordinator_take_edited(self, current, self->saved_mine);
    self->changed = self->changed || find_unsaved(self); /* of another change */
    on_saved(self, error);
}

/* Saves the progress of one change; the next save writes that of the next one. */
static void
save_as_holder(kw_coordinator *self)
{
    const kw_change_record *record = find_unsaved(self);
    if (record)
        kw_catalog_edit_change(self->control->catalog, record->table, record->path, edit_progress, self,
                               kw_control_call_deadline(self->control), on_progress_saved, self);
    else
        on_saved(self, NULL);
}

static void
on_saved(void *user, const kw_error *error)
{
    kw_coordinator *self = user;
    self->saving = false;
    if (error) {
        self->changed = true;
        kw_log(KW_LOG_WARN, "change", "the progress of changes was not saved; the gateway will retry",
               KW_LOG_FACT("reason", error->text));
    }
    kw_jobs_next(&self->control->jobs);
}

static void
run_save(kw_job *job)
{
    kw_coordinator *self = (kw_coordinator *)(void *)((char *)job - offsetof(kw_coordinator, save));
    if (self->stopped || !self->control->changes) {
        on_saved(self, NULL);
        return;
    }
    self->changed = false;
    if (kw_store_is_shared(self->control->store))
        save_as_holder(self);
    else
        kw_coordinator_write(self, on_saved, self);
}

static void
save_if_due(kw_coordinator *self)
{
    uint64_t now_ns = kw_clock_mono_ns();
    if (!self->changed || self->saving || now_ns - self->saved_ns < SAVE_NS)
        return;
    self->saved_ns = now_ns;
    self->saving = true;
    self->save.run = run_save;
    kw_jobs_add(&self->control->jobs, &self->save);
}

static void
publish_if_due(kw_coordinator *self)
{
    uint64_t now_ns = kw_clock_mono_ns();
    if (self->published == self->control->changes_revision || now_ns - self->published_ns < PUBLISH_NS)
        return;
    self->published_ns = now_ns;
    self->published = self->control->changes_revision;
    kw_change_publish(self->control);
}

/* Publishes how much of an added path is filled, for the error of queries that need the path. */
static void
show_filling(kw_coordinator *self)
{
    const kw_change_set *set = self->control->changes;
    for (size_t i = 0; set && i < set->count; i++) {
        const kw_change_record *record = &set->records[i];
        bool fills = record->under_way && record->adds && !record->drops;
        for (size_t path = 0; fills && path < kw_change_paths_count(record); path++)
            kw_policy_set_path_filled(self->control->policy, record->table, kw_change_path_name(record, path),
                                      kw_change_filled_of(self, record, path));
    }
}

/* --- the end ----------------------------------------------------------------------------------------- */

static void
call_idle(kw_task *task)
{
    kw_coordinator *self = (kw_coordinator *)(void *)((char *)task - offsetof(kw_coordinator, idle));
    self->idle_done(self->idle_user);
}

/* Reports from a task: the last slice can end in a callback of the store handle, and idle_done closes the
 * store handle. */
static void
report_idle(kw_coordinator *self)
{
    if (!self->idle_done || self->working || self->taking_over || self->reading || self->idle.run)
        return;
    self->idle.run = call_idle;
    kw_loop_post(self->control->loop, &self->idle);
}

void
kw_coordinator_when_idle(kw_coordinator *self, void (*done)(void *user), void *user)
{
    g_assert(self->stopped && !self->idle_done);
    self->idle_done = done;
    self->idle_user = user;
    report_idle(self);
}

/* --- the timer --------------------------------------------------------------------------------------- */

void
kw_coordinator_wake(kw_coordinator *self, uint64_t in_ms)
{
    uint64_t at_ns = kw_clock_mono_ns() + in_ms * 1000000;
    if (self->stopped) {
        report_idle(self);
        return;
    }
    if (self->wake_ns > 0 && self->wake_ns <= at_ns)
        return;
    self->wake_ns = at_ns;
    kw_timer_start_ms(self->timer, in_ms);
}

static uint64_t
tick_commands(kw_coordinator *self)
{
    kw_change_show_again(self);
    if (!self->running)
        return kw_change_start_automatic(self);
    kw_change_step_tick(self->running);
    return UINT64_MAX;
}

static void
on_timer(void *user)
{
    kw_coordinator *self = user;
    uint64_t again_ms, callers_ms, commands_ms, work_ms = UINT64_MAX;
    self->wake_ns = 0;
    if (self->stopped)
        return;
    drop_unused(self);
    again_ms = kw_change_reports_tick(self);
    callers_ms = kw_change_callers_tick(self);
    again_ms = MIN(again_ms, callers_ms);
    save_if_due(self);
    publish_if_due(self);
    show_filling(self);
    commands_ms = tick_commands(self);
    again_ms = MIN(again_ms, self->older->len > 0 ? DRAIN_POLL_MS : commands_ms);
    if (kw_store_is_shared(self->control->store)) {
        uint64_t holder_ms = kw_change_holder_tick(self);
        again_ms = MIN(again_ms, holder_ms);
    }
    if (self->older->len == 0 && !self->working && !self->running)
        work_ms = kw_change_work_start(self);
    again_ms = MIN(again_ms, work_ms);
    if (self->published != self->control->changes_revision)
        again_ms = MIN(again_ms, PUBLISH_NS / 1000000);
    if (self->changed)
        again_ms = MIN(again_ms, SAVE_NS / 1000000);
    if (again_ms != UINT64_MAX)
        kw_coordinator_wake(self, again_ms);
}

/* --- the work of a change ----------------------------------------------------------------------------- */

static kw_change_work *
find_work(kw_coordinator *self, const kw_change_record *record)
{
    for (guint i = 0; i < self->works->len; i++) {
        kw_change_work *work = self->works->pdata[i];
        if (g_str_equal(work->table, record->table) && g_str_equal(work->path, record->path))
            return work;
    }
    kw_change_work *work = g_new0(kw_change_work, 1);
    work->table = g_strdup(record->table);
    work->path = g_strdup(record->path);
    g_ptr_array_add(self->works, work);
    return work;
}

kw_change_work *
kw_change_work_of(kw_coordinator *self, const kw_change_record *record)
{
    kw_change_work *work = find_work(self, record);
    if (work->started_ms != record->started_ms) { /* of an earlier change of the path */
        kw_change_planner_clear(&work->planner);
        kw_change_key_range_forget(work);
        g_clear_pointer(&work->seen, kw_copy_seen_unref);
        g_clear_pointer(&work->seen_to, g_bytes_unref);
        g_free(work->holder);
        *work = (kw_change_work){.table = work->table,
                                 .path = work->path,
                                 .started_ms = record->started_ms,
                                 .problem = KW_ERROR_NONE};
    }
    return work;
}

/* --- opening and closing ------------------------------------------------------------------------------ */

static void
work_free(void *pointer)
{
    kw_change_work *work = pointer;
    kw_change_planner_clear(&work->planner);
    kw_change_key_range_forget(work);
    g_clear_pointer(&work->seen, kw_copy_seen_unref);
    g_clear_pointer(&work->seen_to, g_bytes_unref);
    g_free(work->table);
    g_free(work->path);
    g_free(work->holder);
    g_free(work);
}

kw_coordinator *
kw_coordinator_new(kw_control *control)
{
    kw_coordinator *self = g_new0(kw_coordinator, 1);
    self->control = control;
    self->cores = (uint32_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
    kw_change_pace_init(&self->pace, self->cores);
    self->timer = kw_timer_new(control->loop, on_timer, self);
    self->older = g_ptr_array_new_with_free_func((GDestroyNotify)kw_policy_unref);
    self->works = g_ptr_array_new_with_free_func(work_free);
    return self;
}

void
kw_coordinator_stop(kw_coordinator *self)
{
    self->stopped = true;
    kw_timer_stop(self->timer);
    kw_change_holder_leave(self);
}

void
kw_coordinator_close(kw_coordinator *self)
{
    kw_timer_free(g_steal_pointer(&self->timer));
}

void
kw_coordinator_free(kw_coordinator *self)
{
    g_assert(!self->working);
    g_ptr_array_unref(self->older);
    g_ptr_array_unref(self->works);
    g_free(self);
}
