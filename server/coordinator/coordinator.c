#include "coordinator/coordinator.h"

#include "base/units.h"
#include "coordinator/publication.h"
#include "coordinator/request.h"
#include "schema/progress.h"

#include <unistd.h>

#define DRAIN_POLL_MS 10
#define PUBLISH_NS (UINT64_C(500) * 1000 * 1000)

/* --- earlier policies -------------------------------------------------------------------------------- */

static void
drop_unused(kw_coordinator *self)
{
    for (guint i = self->older->len; i > 0; i--)
        if (!kw_policy_is_shared(self->older->pdata[i - 1]))
            g_ptr_array_remove_index_fast(self->older, i - 1);
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

/* --- for other threads ------------------------------------------------------------------------------- */

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

/* --- the timer --------------------------------------------------------------------------------------- */

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
swept(void *user)
{
    kw_coordinator_wake(user, 0);
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
    kw_coordinator_save_if_due(self);
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
    work_ms = kw_hint_sweep_tick(self->sweep, swept, self);
    again_ms = MIN(again_ms, work_ms);
    if (self->published != self->control->changes_revision)
        again_ms = MIN(again_ms, PUBLISH_NS / KW_NS_PER_MS);
    if (self->changed)
        again_ms = MIN(again_ms, KW_COORDINATOR_SAVE_MS);
    if (again_ms != UINT64_MAX)
        kw_coordinator_wake(self, again_ms);
}

/* --- opening and closing ------------------------------------------------------------------------------ */

kw_coordinator *
kw_coordinator_new(kw_control *control)
{
    kw_coordinator *self = g_new0(kw_coordinator, 1);
    self->control = control;
    self->cores = (uint32_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
    kw_change_pace_init(&self->pace, self->cores);
    self->timer = kw_timer_new(control->loop, on_timer, self);
    self->older = g_ptr_array_new_with_free_func((GDestroyNotify)kw_policy_unref);
    self->works = g_ptr_array_new_with_free_func(kw_change_work_free);
    self->sweep = kw_hint_sweep_new(control);
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
    kw_hint_sweep_free(self->sweep);
    g_free(self);
}
