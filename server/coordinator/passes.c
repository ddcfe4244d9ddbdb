/* Slices of passes and sweeps (planner.h says when they run). The first pass scans all rows. Later
 * passes scan only rows with a cell whose timestamp is `settled_ms` or later. On the rung both, a pass leaves
 * out cells with timestamps from `set_at_ms` on. Sweeps do the same with `swept_ms`, one placement after the
 * other (parts.c).
 *
 *   pass:  rows of one placement (PASS_FIRST) --> rows of the other one (PASS_SECOND)
 *              --> rows of the first one again, if some are left (reconcile/copy_seen.h)
 *
 * The first placement is the one that scans read. A row that the first scan finds is in the other placement
 * before the second scan begins, unless its write was given up. Otherwise, most passes that run while callers
 * put records would leave rows for a third scan.
 *
 * What a pass has scanned so far (kw_copy_seen) is not in the catalog. If it is lost, because another gateway
 * has become the holder, the pass begins again. It also begins again if the record does not say where the
 * last slice has ended: the catalog can have earlier progress, for example when another change has made a
 * step.
 */
#include "coordinator/slice.h"

/* All rows of a placement were scanned. */
static void
end_rows_of_pass(kw_change_work *work, kw_change_record *record)
{
    g_assert(work->seen);
    if (work->seen_use == KW_COPY_SEEN_ADD) {
        record->pass = KW_CHANGE_PASS_SECOND;
        work->seen_use = KW_COPY_SEEN_COMPARE;
    } else if (work->seen_use == KW_COPY_SEEN_COMPARE && kw_copy_seen_left(work->seen) > 0) {
        work->seen_use = KW_COPY_SEEN_LEFT;
    } else {
        record->pass = KW_CHANGE_PASS_ENDED;
        g_clear_pointer(&work->seen, kw_copy_seen_unref);
    }
}

/* A sweep continues with its next part; record->pass stays the same until the last one has ended. */
static void
end_rows(kw_coordinator *self, kw_change_record *record)
{
    if (self->act == KW_CHANGE_ACT_PASS)
        end_rows_of_pass(kw_change_work_of(self, record), record);
    else if (kw_change_end_part(self, record))
        record->pass = KW_CHANGE_PASS_ENDED;
}

static double
progress_of(const kw_coordinator *self, const kw_change_record *record, double progress)
{
    if (self->act != KW_CHANGE_ACT_PASS)
        return kw_change_progress_of_parts(self, record, progress);
    return (progress + (record->pass == KW_CHANGE_PASS_SECOND)) / 2;
}

static void
end_round(kw_coordinator *self, kw_change_record *record)
{
    kw_change_work *work = kw_change_work_of(self, record);
    int64_t took_ms = kw_clock_wall_ms() - record->place_at_ms;
    kw_change_end_round(record, self->act, took_ms, work->round_ms);
    work->round_ms = took_ms;
}

/* A scan that selects few rows can exceed the deadline of a call. Then slices scan all rows up to the end of
 * the placement: each ends after max_rows of them, so it makes progress. If only the next slice did so, the
 * one after it would exceed the deadline again. Servers report a scan that is too slow in several ways, so
 * two failures of any kind in a row count as well. */
static void
note_slow_scan(kw_coordinator *self, const kw_error *error)
{
    g_autoptr(kw_change_set) set = kw_change_set_ref(self->control->changes);
    kw_change_record record;
    bool selects = self->copy.since_ms > 0 || self->act == KW_CHANGE_ACT_SWEEP;
    if (!selects || !kw_change_slice_record(self, set, &record))
        return;
    kw_change_work *work = kw_change_work_of(self, &record);
    if (error->code != KW_TIMEOUT && error->code != KW_LIMIT && work->problem.code == KW_OK)
        return;
    work->slow_step = record.step;
    work->slow_pass = record.pass;
    work->slow_part = record.part;
}

/* True if a scan that selects rows was too slow in this step, pass and part. Later ones select rows again. */
static bool
scans_all(kw_coordinator *self, const kw_change_record *record)
{
    const kw_change_work *work = kw_change_work_of(self, record);
    return work->slow_step == record->step && work->slow_pass == record->pass &&
           work->slow_part == record->part;
}

static void
note_scanned(kw_change_work *work, const kw_change_record *record)
{
    work->seen_pass = record->pass;
    g_clear_pointer(&work->seen_to, g_bytes_unref);
    work->seen_to = g_bytes_new(record->copied_to.data, record->copied_to.size);
}

static bool
is_at_begin(const kw_change_record *record)
{
    return record->pass == KW_CHANGE_PASS_FIRST && record->copied_to.size == 0;
}

/* True if `seen` has all rows that the record says were scanned. It can have more, because to remember or
 * compare rows again is harmless. With LEFT, the positions must be equal, because an earlier one could be
 * that of another scan. A record at its beginning is that of a new pass, unless the last slice also ended
 * there: the position changes only when rows of the first region have been visited. */
static bool
continues_scan(const kw_change_work *work, const kw_change_record *record)
{
    if (!work->seen || work->seen_step != record->step || work->seen_pass != record->pass)
        return false;
    gsize size;
    const void *data = g_bytes_get_data(work->seen_to, &size);
    int order = kw_bytes_compare(record->copied_to, kw_bytes_of(data, size));
    if (is_at_begin(record))
        return order == 0 && work->seen_goal == record->goal;
    return order == 0 || (order < 0 && work->seen_use != KW_COPY_SEEN_LEFT);
}

/* False: this gateway was not the holder for a moment, and has begun or will begin the pass again. */
static bool
is_of_present_pass(kw_coordinator *self, const kw_change_record *record)
{
    return self->act != KW_CHANGE_ACT_PASS || self->copy.seen == kw_change_work_of(self, record)->seen;
}

static void
on_passed(void *user, const kw_copy_result *result, const kw_error *error)
{
    kw_coordinator *self = user;
    g_autoptr(kw_change_set) set = kw_change_set_ref(self->control->changes);
    kw_change_record record;
    if (error) {
        note_slow_scan(self, error);
        kw_change_slice_fail(self, "a slice of a pass or sweep failed and will be retried", error);
        return;
    }
    if (kw_change_slice_record(self, set, &record) && is_of_present_pass(self, &record)) {
        kw_change_work *work = kw_change_work_of(self, &record);
        kw_change_slice_note_rows(self, &record, result->rows + result->removed + result->undecodable,
                                  progress_of(self, &record, result->progress));
        kw_change_key_range_keep(work, result);
        record.copied_to = result->end ? KW_BYTES_NONE : result->after;
        if (result->end)
            end_rows(self, &record);
        if (record.pass == KW_CHANGE_PASS_ENDED)
            end_round(self, &record);
        kw_change_slice_set_rates(self, record.pass == KW_CHANGE_PASS_ENDED, &record);
        note_scanned(work, &record);
        kw_coordinator_update(self, &record);
        if (record.pass == KW_CHANGE_PASS_ENDED)
            kw_change_slice_end_phase(self, &record, "a pass or sweep has ended");
    }
    kw_change_slice_end(self);
}

/* Begins the pass, or begins it again if this gateway does not know what its slices so far have scanned. */
static void
begin_or_continue_pass(kw_coordinator *self, kw_change_work *work, kw_change_record *record)
{
    bool begins = is_at_begin(record);
    if (continues_scan(work, record))
        return;
    g_clear_pointer(&work->seen, kw_copy_seen_unref);
    work->seen = kw_copy_seen_new();
    kw_change_key_range_forget(work);
    work->seen_step = record->step;
    work->seen_goal = record->goal;
    work->seen_use = KW_COPY_SEEN_ADD;
    record->pass = self->pass = KW_CHANGE_PASS_FIRST;
    record->copied_to = KW_BYTES_NONE;
    note_scanned(work, record);
    if (!begins)
        kw_coordinator_update(self, record);
}

/* Twice the number of cores, which the store often shares. With more scans, calls of callers wait longer, and
 * passes are hardly shorter: on two cores, eight scans instead of four let 64 callers put 3,100 to 3,700
 * instead of 4,400 to 5,400 records/s during a switch of 120,000 rows, which took 3.2 s instead of 3.8. */
static uint32_t
scans_at_once(const kw_coordinator *self)
{
    return MIN(2 * self->cores, KW_COPY_SCANS_MAX);
}

void
kw_change_start_pass(kw_coordinator *self, const kw_change_record *known, const kw_path *path)
{
    g_autoptr(kw_change_set) set = kw_change_set_ref(self->control->changes); /* has the texts of `known` */
    (void)set;
    kw_change_work *work = kw_change_work_of(self, known);
    kw_change_record record = *known;
    begin_or_continue_pass(self, work, &record);
    bool limited = kw_change_pass_is_limited(&record);
    bool new_is_read = path->placements[0].role.scan;
    bool new = (work->seen_use == KW_COPY_SEEN_COMPARE) != new_is_read;
    const kw_placement *from = &path->placements[new ? 0 : 1], /* placements[0] is the new one */
        *to = &path->placements[new ? 1 : 0];
    const kw_copy_request request = {.mode = KW_COPY_PASS,
                                     .from = from,
                                     .to = to,
                                     .since_ms = kw_copy_can_select_by_time(from, to) ? record.settled_ms : 0,
                                     .before_ms = limited ? MAX(record.set_at_ms, 1) : 0,
                                     .scan_all = scans_all(self, &record),
                                     .max_scans = kw_change_slice_hurries(&record) ? scans_at_once(self) : 1,
                                     .seen = kw_copy_seen_ref(work->seen),
                                     .seen_use = work->seen_use};
    kw_change_slice_prepare(self, &record, request);
    kw_copy(&self->call, &self->copy, on_passed, self);
}

/* All writes at earlier places have ended. If writes at this place leave no control cells, the sweep
 * removes all of them. Otherwise it keeps those with timestamps from set_at_ms on, because calls with such
 * timestamps can still be running. */
void
kw_change_start_sweep(kw_coordinator *self, const kw_change_record *record, const kw_path *path)
{
    bool leaves = kw_change_rules_of(record).regime.order == KW_WRITE_ORDER_STAMP;
    const kw_copy_request request = {.mode = KW_COPY_SWEEP,
                                     .from = kw_change_find_swept(path->table, record->part),
                                     .since_ms = record->swept_ms,
                                     .scan_all = scans_all(self, record),
                                     .until_ms = leaves ? record->set_at_ms - 1 : KW_TIMESTAMP_NONE - 1};
    g_assert(request.from);
    kw_change_slice_prepare(self, record, request);
    kw_copy(&self->call, &self->copy, on_passed, self);
}
