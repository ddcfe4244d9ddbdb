/* Runs one slice at a time; the changes take turns. All rows of a change are copied first, and then compared.
 * If several paths are added together, the rows are copied to each of them, and then each of them is
 * compared. */
#include "base/log.h"
#include "base/units.h"
#include "coordinator/slice.h"

#include <math.h>

#define COPY_ROWS 500
#define COMPARE_ROWS 500
/* The rows of a slice in a store with several writers, while no callers use the gateway and the work has no
 * limit, or while callers wait for the work (kw_change_slice_hurries). Such a slice reads rows while it
 * writes others. */
#define COPY_ROWS_QUIET 5000
/* A row that differs is read again after this time, in case it was being written. */
#define SETTLE_MS 100
/* A slice with records that were written while they were compared is compared again after a pause. */
#define COMPARE_TRIES 20
#define PAUSE_UNSETTLED_NS (UINT64_C(200) * 1000 * 1000)
#define PAUSE_AFTER_FAILURE_NS (UINT64_C(1000) * 1000 * 1000)
#define NS_PER_S 1e9
#define PPM 1e6

/* --- after a slice ------------------------------------------------------------------------------------ */

void
kw_change_slice_end(kw_coordinator *self)
{
    g_assert(self->working);
    kw_control_end_call(&self->call);
    g_clear_pointer(&self->copy.seen, kw_copy_seen_unref);
    self->working = false;
    g_clear_pointer(&self->table, g_free);
    g_clear_pointer(&self->path, g_free);
    kw_coordinator_wake(self, 0);
}

bool
kw_change_slice_record(const kw_coordinator *self, const kw_change_set *set, kw_change_record *ret_record)
{
    const kw_change_record *record = kw_changes_find(set->records, set->count, self->table, self->path);
    if (!record || !record->under_way || record->started_ms != self->started_ms || record->step != self->step)
        return false;
    *ret_record = *record;
    if (record->part != self->part)
        return false;
    if (self->act == KW_CHANGE_ACT_COMPARE)
        return record->copied && !record->compared &&
               kw_bytes_equal(record->compare_cursor, self->compare.cursor);
    if (self->act == KW_CHANGE_ACT_COPY && record->copied)
        return false;
    /* After a command to copy or compare the rows again, the pass begins again. */
    if (self->act == KW_CHANGE_ACT_PASS && !(record->copied && record->compared))
        return false;
    return record->pass == self->pass && kw_bytes_equal(record->copied_to, self->copy.after);
}

bool
kw_change_slice_hurries(const kw_change_record *record)
{
    bool follows = record->settled_ms > 0 || record->swept_ms > 0;
    return record->writers == KW_CHANGE_SEVERAL_WRITERS &&
           (kw_change_atomics_are_held(record) || (follows && !kw_change_waits_for_switch(record)));
}

kw_histogram
kw_change_latency_of_callers(const kw_coordinator *self)
{
    kw_histogram latency = {0};
    kw_service_latency_of_rows(self->control->service, &latency);
    return latency;
}

/* When the next slice can start, so that callers are not slowed down too much. */
static uint64_t
next_by_pace(kw_coordinator *self)
{
    kw_histogram latency = kw_change_latency_of_callers(self);
    uint64_t now_ns = kw_clock_mono_ns();
    return kw_change_pace_next(&self->pace, &latency, now_ns - self->slice_began_ns, now_ns);
}

/* After a slice of a change with its own share, which has no rests. */
static void
note_for_pace(kw_coordinator *self)
{
    kw_histogram latency = kw_change_latency_of_callers(self);
    kw_change_pace_note(&self->pace, &latency, kw_clock_mono_ns());
}

void
kw_change_slice_note_rows(kw_coordinator *self, const kw_change_record *record, uint64_t rows,
                          double progress)
{
    kw_change_work *work = kw_change_work_of(self, record);
    uint64_t slice = rows;
    if (isnan(work->progress_before)) {
        work->progress_before = progress;
        work->began_ns = kw_clock_mono_ns(); /* the rate does not count the first slice */
        rows = 0;
    }
    work->rows += rows;
    work->progress = progress;
    work->problem = KW_ERROR_NONE;
    work->not_before_ns = 0;
    work->slice_rows = slice;
    work->slice_ended_ns = kw_clock_mono_ns();
    work->slice_ns = work->slice_ended_ns - self->slice_began_ns;
    kw_change_estimate_note(&work->estimate, progress,
                            self->act == KW_CHANGE_ACT_COMPARE ? kw_change_weight_of_comparison(record) : 1,
                            work->slice_ended_ns);
    if (record->share_percent == 0)
        self->pace_until_ns = kw_change_slice_hurries(record) ? 0 : next_by_pace(self);
    else
        note_for_pace(self);
}

/* When the next slice can start. Computed when it is needed, so that another limit or share applies at once.
 */
static uint64_t
not_before_ns(kw_coordinator *self, const kw_change_record *record)
{
    const kw_change_work *work = kw_change_work_of(self, record);
    uint64_t pace_ns = record->share_percent == 0
                           ? self->pace_until_ns
                           : work->slice_ended_ns + kw_change_pace_pause_of_share(
                                                        &self->pace, record->share_percent, work->slice_ns);
    uint64_t limit_ns = kw_change_limit_until_ns(record, work);
    return MAX(MAX(work->not_before_ns, limit_ns), kw_change_slice_hurries(record) ? 0 : pace_ns);
}

void
kw_change_slice_set_rates(kw_coordinator *self, bool end, kw_change_record *record)
{
    double progress, rows_per_second;
    int64_t left_ms;
    kw_change_rates_of(self, record, &progress, &rows_per_second, &left_ms);
    kw_change_forget_rates(record);
    if (end || record->writers == KW_CHANGE_ONE_WRITER)
        return;
    record->work_ppm = (uint64_t)(CLAMP(progress, 0, 1) * PPM);
    record->work_rows_per_second = (uint64_t)lround(rows_per_second);
    record->work_left_ms = (uint64_t)MAX(left_ms, 0);
}

void
kw_change_slice_fail(kw_coordinator *self, const char *doing, const kw_error *error)
{
    g_autoptr(kw_change_set) set = kw_change_set_ref(self->control->changes);
    kw_change_record record;
    if (kw_change_slice_record(self, set, &record)) {
        kw_change_work *work = kw_change_work_of(self, &record);
        if (work->problem.code == KW_OK)
            kw_log(KW_LOG_ERROR, "change", doing, KW_LOG_FACT("table", self->table),
                   KW_LOG_FACT("path", self->path), KW_LOG_FACT("reason", error->text));
        work->problem = *error;
        work->not_before_ns = kw_clock_mono_ns() + PAUSE_AFTER_FAILURE_NS;
    }
    kw_change_slice_end(self);
}

void
kw_change_slice_end_phase(kw_coordinator *self, const kw_change_record *record, const char *text)
{
    kw_change_work *work = kw_change_work_of(self, record);
    kw_log(KW_LOG_INFO, "change", text, KW_LOG_FACT("table", record->table),
           KW_LOG_FACT("path", record->path), KW_LOG_FACT("copied", record->rows_copied),
           KW_LOG_FACT("undecodable", record->undecodable), KW_LOG_FACT("compared", record->rows_compared),
           KW_LOG_FACT("missing", record->missing), KW_LOG_FACT("different", record->different),
           KW_LOG_FACT("extra", record->extra), KW_LOG_FACT("repaired", record->repaired));
    work->began_ns = 0;
    work->rows = 0;
    work->progress = 0;
    kw_change_estimate_end_task(&work->estimate);
    work->planner.doubt_ns = kw_store_last_doubt_ns(self->control->store);
    self->saved_ns = 0; /* so that it is saved soon */
}

/* How many rows a slice copies per second on ordinary disks; a change that is under way measures it. */
#define GUESSED_ROWS_PER_SECOND 10000

kw_copy_guess
kw_coordinator_guess(const kw_coordinator *self)
{
    bool shared = kw_store_is_shared(self->control->store);
    uint64_t slice_ns = (uint64_t)(COPY_ROWS * NS_PER_S / GUESSED_ROWS_PER_SECOND);
    return (kw_copy_guess){.reads = shared ? 3 : 2,
                           .wait_ms = shared ? kw_control_model(self->control)->store.hbase.late_ms : 0,
                           .rows_per_second = GUESSED_ROWS_PER_SECOND,
                           .rows_per_second_beside_callers =
                               MAX(kw_change_pace_guess(&self->pace, COPY_ROWS, slice_ns), 1)};
}

/* --- the copy ------------------------------------------------------------------------------------------- */

static void
note_copied(kw_coordinator *self, const kw_copy_result *result, kw_change_record *record)
{
    double progress = kw_change_progress_of_parts(self, record, result->progress);
    record->rows_copied += result->rows;
    record->undecodable += result->undecodable;
    record->copied_to = result->end ? KW_BYTES_NONE : result->after;
    record->copied = result->end && kw_change_end_part(self, record);
    if (result->example && !record->example[0])
        record->example = result->example;
    kw_change_slice_note_rows(self, record, result->rows + result->removed + result->undecodable, progress);
    kw_change_slice_set_rates(self, record->copied, record);
    kw_change_key_range_keep(kw_change_work_of(self, record), result);
    kw_coordinator_update(self, record);
    if (record->copied)
        kw_change_slice_end_phase(self, record, "all rows are copied");
}

static void
on_copied(void *user, const kw_copy_result *result, const kw_error *error)
{
    kw_coordinator *self = user;
    g_autoptr(kw_change_set) set = kw_change_set_ref(self->control->changes);
    kw_change_record record;
    if (error) {
        kw_change_slice_fail(self, "rows could not be copied; the copy will be retried", error);
        return;
    }
    if (kw_change_slice_record(self, set, &record))
        note_copied(self, result, &record);
    kw_change_slice_end(self);
}

static void
add_differences(const kw_scrub_result *result, kw_change_record *record)
{
    record->missing += result->missing;
    record->different += result->different;
    record->extra += result->extra;
    record->repaired += result->repaired;
}

/* True if the slice must be compared again, because some of its records were written while they were
 * compared. A record that is still being written at the last attempt counts as different. */
static bool
must_repeat(kw_coordinator *self, const kw_scrub_result *result, kw_change_record *record)
{
    kw_change_work *work = kw_change_work_of(self, record);
    if (result->unsettled > 0 && ++work->tries < COMPARE_TRIES) {
        work->not_before_ns = kw_clock_mono_ns() + PAUSE_UNSETTLED_NS;
        bool several = record->writers == KW_CHANGE_SEVERAL_WRITERS; /* extra cells are left to the pass */
        if (result->repaired == result->missing + result->different + (several ? 0 : result->extra))
            add_differences(result, record); /* the repeated slice does not find them again */
        return true;
    }
    work->tries = 0;
    record->different += result->unsettled;
    return false;
}

/* The comparison counts the old and the new row of each copied row. This is better than an estimate from
 * keys, unless many rows were written since the copy. */
static double
progress_of_comparison(const kw_coordinator *self, const kw_change_record *record,
                       const kw_scrub_result *result)
{
    if (record->rows_copied == 0 || record->hints)
        return kw_change_progress_of_parts(self, record, result->progress);
    return MIN((double)record->rows_compared / (2 * (double)record->rows_copied), 1);
}

static void
note_compared(kw_coordinator *self, const kw_scrub_result *result, kw_change_record *record)
{
    if (result->large)
        kw_log(KW_LOG_WARN, "change", "rows larger than limits.frame were copied again instead of compared",
               KW_LOG_FACT("table", record->table), KW_LOG_FACT("path", record->path),
               KW_LOG_FACT("rows", result->large));
    add_differences(result, record);
    record->rows_compared += result->rows;
    double progress = progress_of_comparison(self, record, result);
    record->compare_cursor = result->cursor;
    record->compared = result->cursor.size == 0 && kw_change_end_part(self, record);
    kw_change_slice_note_rows(self, record, result->rows + result->large, progress);
    kw_change_slice_set_rates(self, record->compared, record);
    kw_coordinator_update(self, record);
    if (record->compared)
        kw_change_slice_end_phase(self, record, "all rows are compared");
}

static void
on_compared(void *user, const kw_scrub_result *result, const kw_error *error)
{
    kw_coordinator *self = user;
    g_autoptr(kw_change_set) set = kw_change_set_ref(self->control->changes);
    kw_change_record record;
    if (error) {
        kw_change_slice_fail(self, "rows could not be compared; the comparison will be retried", error);
        return;
    }
    if (kw_change_slice_record(self, set, &record)) {
        if (must_repeat(self, result, &record))
            kw_coordinator_update(self, &record);
        else
            note_compared(self, result, &record);
    }
    kw_change_slice_end(self);
}

/* --- the next slice ----------------------------------------------------------------------------------- */

/* The slice that the change needs now; WAIT: none. */
static kw_change_act
act_of(kw_coordinator *self, const kw_change_record *record)
{
    if (!record->under_way)
        return KW_CHANGE_ACT_WAIT;
    if (record->writers == KW_CHANGE_SEVERAL_WRITERS) {
        const kw_change_work *work = kw_change_work_of(self, record);
        bool sets = work->next.act == KW_CHANGE_ACT_STEP || work->next.act == KW_CHANGE_ACT_END;
        bool can = work->is_holder && !sets && !self->continuing && kw_change_can_work(self, record);
        return can ? work->next.act : KW_CHANGE_ACT_WAIT;
    }
    if (record->paused || (record->copied && record->compared))
        return KW_CHANGE_ACT_WAIT;
    return record->copied ? KW_CHANGE_ACT_COMPARE : KW_CHANGE_ACT_COPY;
}

static void
note_beginning(kw_coordinator *self, const kw_change_record *record)
{
    kw_change_work *work = kw_change_work_of(self, record);
    if (work->began_ns > 0)
        return;
    kw_change_estimate_end_task(&work->estimate);
    work->began_ns = kw_clock_mono_ns();
    work->rows = 0;
    work->progress_before = NAN; /* unknown until the first slice has ended */
}

/* A long slice ends early if callers begin to use the gateway. */
static bool
is_quiet(void *user)
{
    const kw_coordinator *self = user;
    kw_histogram latency = kw_change_latency_of_callers(self);
    return !kw_change_pace_sees_callers(&self->pace, &latency);
}

void
kw_change_slice_prepare(kw_coordinator *self, const kw_change_record *record, kw_copy_request request)
{
    kw_change_work *work = kw_change_work_of(self, record);
    bool quiet = record->writers == KW_CHANGE_SEVERAL_WRITERS &&
                 !kw_change_pace_has_any_callers(&self->pace) && record->rows_per_second == 0;
    bool hurries = kw_change_slice_hurries(record);
    request.after = kw_arena_copy(self->call.arena, record->copied_to);
    kw_change_key_range_to_request(work, &request, self->call.arena);
    request.max_rows = request.max_scans > 1 ? KW_COPY_ROWS_MAX
                       : quiet || hurries    ? COPY_ROWS_QUIET
                                             : COPY_ROWS;
    request.may_go_on = hurries || !quiet ? NULL : is_quiet;
    request.may_go_on_user = self;
    self->copy = request;
}

static void
start_copy(kw_coordinator *self, const kw_change_record *record, const kw_path *path)
{
    bool adds = kw_path_is_filling(path);
    const kw_copy_request request = {.from =
                                         adds ? kw_path_scanned(path->table->paths) : &path->placements[1],
                                     .to = &path->placements[0]};
    kw_change_slice_prepare(self, record, request);
    kw_copy(&self->call, &self->copy, on_copied, self);
}

static void
start_comparison(kw_coordinator *self, const kw_change_record *record, const kw_path *path)
{
    self->compare = (kw_scrub_request){.table = path->table,
                                       .cursor = kw_arena_copy(self->call.arena, record->compare_cursor),
                                       .max_records = COMPARE_ROWS,
                                       .settle_ms = SETTLE_MS,
                                       .repair = true,
                                       .changing = path};
    kw_scrub(&self->call, &self->compare, on_compared, self);
}

static void
start_act(kw_coordinator *self, const kw_change_record *record, const kw_path *path)
{
    switch (self->act) {
    case KW_CHANGE_ACT_COPY:
        start_copy(self, record, path);
        return;
    case KW_CHANGE_ACT_COMPARE:
        start_comparison(self, record, path);
        return;
    case KW_CHANGE_ACT_PASS:
        kw_change_start_pass(self, record, path);
        return;
    case KW_CHANGE_ACT_SWEEP:
        kw_change_start_sweep(self, record, path);
        return;
    case KW_CHANGE_ACT_WAIT:
    case KW_CHANGE_ACT_STEP:
    case KW_CHANGE_ACT_END:
        break;
    }
    g_assert_not_reached();
}

static void
start(kw_coordinator *self, const kw_change_record *record, const kw_path *path)
{
    g_assert(!self->working);
    self->working = true;
    self->table = g_strdup(record->table);
    self->path = g_strdup(record->path);
    self->started_ms = record->started_ms;
    self->call = kw_control_begin_call(self->control, "change");
    self->act = act_of(self, record);
    self->pass = record->pass;
    self->step = record->step;
    self->part = record->part;
    self->pace.others_have_callers = kw_change_work_of(self, record)->others_have_callers;
    self->slice_began_ns = kw_clock_mono_ns();
    note_beginning(self, record);
    start_act(self, record, path);
}

uint64_t
kw_change_work_start(kw_coordinator *self)
{
    const kw_change_set *set = self->control->changes;
    uint64_t now_ns = kw_clock_mono_ns(), again_ms = UINT64_MAX;
    if (!kw_control_is_in_service(self->control) || !set)
        return UINT64_MAX;
    for (size_t i = 0; i < set->count; i++) {
        const kw_change_record *record = &set->records[(self->record + i) % set->count];
        bool needed = act_of(self, record) != KW_CHANGE_ACT_WAIT;
        const kw_path *path = needed ? kw_change_find_path(self->control->policy, record) : NULL;
        if (!path)
            continue;
        uint64_t until_ns = not_before_ns(self, record);
        if (until_ns > now_ns) {
            again_ms = MIN(again_ms, (until_ns - now_ns) / KW_NS_PER_MS + 1);
            continue;
        }
        self->record = (self->record + i + 1) % set->count;
        start(self, record, path);
        return UINT64_MAX;
    }
    return again_ms;
}
