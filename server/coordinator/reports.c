/* Reports, for changes in a store that several gateways write (change/record.h).
 *
 *   another policy is served --> no call uses an earlier one --> no write that such a call gave up can still
 *     be applied (store.late) --> the gateway knows the store's clock, if it soon sets timestamps
 *     --> the registration says: this gateway serves the place
 *
 * A report waits only for writes that were given up before the last call under an earlier policy ended.
 * Writes that later calls give up belong to the place that is reported, and delay the next report.
 */
#include "base/units.h"
#include "coordinator/coordinator_internal.h"

#define TIME_POLL_MS 20

void
kw_change_reports_restart(kw_coordinator *self)
{
    self->drained = false;
}

static void
report(kw_coordinator *self, const kw_change_set *served)
{
    g_autofree kw_change_report *reports = g_new(kw_change_report, served->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < served->count; i++) {
        const kw_change_record *each = &served->records[i];
        if (each->under_way && each->writers == KW_CHANGE_SEVERAL_WRITERS)
            reports[count++] = (kw_change_report){each->table, each->path, each->started_ms, each->step};
    }
    kw_catalog_report_changes(self->control->catalog, reports, count);
}

static bool
is_cancelled(const kw_control *control, const kw_change_record *served)
{
    const kw_change_set *set = control->changes;
    const kw_change_record *record = kw_changes_find(set->records, set->count, served->table, served->path);
    return record && kw_change_is_cancelled(record);
}

/* Until the gateway knows the store's clock, calls that set timestamps would fail. Learning it takes a
 * moment, and must not last as long as atomic operations are held. So it is waited for before, on unstamped.
 */
static bool
needs_time_first(const kw_control *control)
{
    const kw_change_set *served = control->served_changes;
    kw_error ignored;
    for (size_t i = 0; i < served->count; i++) {
        const kw_change_record *each = &served->records[i];
        if (each->under_way && each->place <= KW_OLD(HELD) && !is_cancelled(control, each))
            return !kw_store_ready(control->store, &ignored);
    }
    return false;
}

uint64_t
kw_change_reports_tick(kw_coordinator *self)
{
    const kw_control *control = self->control;
    if (!kw_store_is_shared(control->store) || !control->served_changes ||
        !kw_control_is_in_service(control) || kw_coordinator_earlier_in_use(self))
        return UINT64_MAX;
    if (!self->drained) {
        self->drained = true;
        self->doubt_ns = kw_store_last_doubt_ns(control->store);
    }
    uint64_t late_ns = (uint64_t)kw_control_model(control)->store.hbase.late_ms * KW_NS_PER_MS;
    uint64_t now_ns = kw_clock_boot_ns(), from_ns = self->doubt_ns > 0 ? self->doubt_ns + late_ns : 0;
    if (now_ns < from_ns)
        return (from_ns - now_ns) / KW_NS_PER_MS + 1;
    if (needs_time_first(control))
        return TIME_POLL_MS;
    report(self, control->served_changes);
    return UINT64_MAX;
}

/* The work of a change can begin at any time, so every change counts. */
uint64_t
kw_change_callers_tick(kw_coordinator *self)
{
    const kw_control *control = self->control;
    if (!kw_store_is_shared(control->store) || !kw_control_is_in_service(control))
        return UINT64_MAX;
    if (!kw_change_set_has_several_writers(control->served_changes)) {
        self->callers = (kw_change_callers){0};
        kw_catalog_report_callers(control->catalog, false);
        return UINT64_MAX;
    }
    kw_histogram latency = kw_change_latency_of_callers(self);
    kw_change_callers_look(&self->callers, kw_histogram_count(&latency), kw_clock_mono_ns());
    kw_catalog_report_callers(control->catalog, self->callers.present);
    return KW_CHANGE_CALLERS_LOOK_MS;
}
