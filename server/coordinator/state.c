/* The state of the coordinator that its files share. Calls no other file that uses it, except key_range.c. */
#include "base/container.h"
#include "base/units.h"
#include "coordinator/coordinator_internal.h"
#include "policy/follower.h"
#include "schema/progress.h"

/* --- calls and work in progress ------------------------------------------------------------------------ */

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

bool
kw_change_is_holder(const kw_coordinator *self, const kw_change_record *record)
{
    const char *instance = kw_catalog_instance(self->control->catalog);
    return instance[0] && g_str_equal(record->holder, instance);
}

bool
kw_change_can_work(const kw_coordinator *self, const kw_change_record *record)
{
    const kw_control *control = self->control;
    const kw_table *table = kw_policy_find_table(control->policy, kw_bytes_of_text(record->table));
    return kw_control_has_lease(control) && !(table && kw_table_why_not_served(table)) &&
           kw_change_set_has_step(control->served_changes, record);
}

/* --- the end ----------------------------------------------------------------------------------------- */

static void
call_idle(kw_task *task)
{
    kw_coordinator *self = KW_CONTAINER(task, kw_coordinator, idle);
    self->idle_done(self->idle_user);
}

/* Reports from a task: the last slice can end in a callback of the store handle, and idle_done closes the
 * store handle. */
static void
report_idle(kw_coordinator *self)
{
    bool working = self->working || kw_hint_sweep_is_busy(self->sweep);
    if (!self->idle_done || working || self->taking_over || self->reading || self->idle.run)
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
    uint64_t at_ns = kw_clock_mono_ns() + in_ms * KW_NS_PER_MS;
    if (self->stopped) {
        report_idle(self);
        return;
    }
    if (self->wake_ns > 0 && self->wake_ns <= at_ns)
        return;
    self->wake_ns = at_ns;
    kw_timer_start_ms(self->timer, in_ms);
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

/* --- the work of a change ----------------------------------------------------------------------------- */

static void
clear_work(kw_change_work *work)
{
    kw_change_planner_clear(&work->planner);
    kw_change_key_range_forget(work);
    g_clear_pointer(&work->seen, kw_copy_seen_unref);
    g_clear_pointer(&work->seen_to, g_bytes_unref);
    g_clear_pointer(&work->holder, g_free);
}

void
kw_change_work_free(void *pointer)
{
    kw_change_work *work = pointer;
    clear_work(work);
    g_free(work->table);
    g_free(work->path);
    g_free(work);
}

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
        clear_work(work);
        *work = (kw_change_work){.table = work->table,
                                 .path = work->path,
                                 .started_ms = record->started_ms,
                                 .problem = KW_ERROR_NONE};
    }
    return work;
}
