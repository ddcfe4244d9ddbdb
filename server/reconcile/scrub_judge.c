/* See scrub.h. Pairs of rows that differed when first read:
 *
 *   wait --> read both rows again --alike--> nothing to report
 *    ^              |
 *    '-- 3 times ---+--> changed since, or written recently: unsettled
 *                   '--> counted and listed --repair--> write --> read both again --alike--> repaired
 *                                                         ^              |
 *                                                         '-- raised ----' once
 *
 * The two rows of a record are not read in one step and, in a store with several writers, not written in one
 * step. A difference caused by a write in flight disappears soon, so the first waits are short. If several
 * gateways put the rows at once, the second row is read after another such wait.
 *
 * A repair with the rows' own timestamps stays hidden if the other row was deleted later than the primary one
 * was written. It is then written again with the horizon as its timestamp: the cells of the primary row are
 * older than the horizon, and no acknowledged write up to the horizon overwrites them.
 */
#include "reconcile/scrub.h"

typedef enum step { STEP_SETTLE, STEP_VERIFY } step;

/* Waits before rows are read again; the last wait is the request's settle_ms. */
static const int64_t waits_ms[] = {20, 200};
#define CLOCK_WAIT_MS 100
#define SETTLE_ATTEMPTS (G_N_ELEMENTS(waits_ms) + 1)

typedef struct judging {
    kw_scrub_job *job;
    const kw_placement *other;
    kw_scrub_pair **pairs; /* pairs not settled yet */
    size_t count;
    step step;
    size_t attempts; /* of STEP_SETTLE */
    bool raised;     /* true if the repair was written a second time */
    int64_t now_ms;  /* the time, by the store's clock, just before the rows were read */
    int64_t horizon_ms;
    kw_get *gets;
    const kw_get **list;
    kw_rows *primary;
    kw_rows *others;
    GPtrArray *writes;
    kw_row_copy *copies;
    size_t copies_count;
    kw_written *written;
    kw_scrub_judged done;
    void *user;
} judging;

static void wait_or_judge(judging *self);
static void repair(judging *self);

static void
finish(judging *self, const kw_error *error)
{
    kw_rows_free(self->primary);
    kw_rows_free(self->others);
    g_ptr_array_unref(self->writes);
    self->done(self->user, error);
}

size_t
kw_scrub_list(kw_scrub_job *job, const kw_scrub_difference *difference)
{
    if (job->result.differences_count == job->request->max_differences)
        return SIZE_MAX;
    job->differences[job->result.differences_count] = *difference;
    return job->result.differences_count++;
}

void
kw_scrub_note_foreign(kw_scrub_job *job, const kw_placement *side, kw_bytes row, const kw_error *error)
{
    kw_arena *arena = job->call->arena;
    kw_scrub_difference difference = {.kind = KW_SCRUB_FOREIGN,
                                      .path = side->path,
                                      .row_key = kw_arena_copy(arena, row),
                                      .text = kw_arena_text(arena, kw_bytes_of_text(error->text))};
    job->result.foreign++;
    kw_scrub_list(job, &difference);
}

/* --- counting ------------------------------------------------------------------------------------ */

static void
count_kind(kw_scrub_result *result, kw_scrub_kind kind)
{
    result->missing += kind == KW_SCRUB_MISSING;
    result->different += kind == KW_SCRUB_DIFFERENT;
    result->extra += kind == KW_SCRUB_EXTRA;
}

/* A view of two rows can have cells of one row only, although both rows exist. */
static bool
both_exist(const kw_scrub_job *job, const kw_row *primary, const kw_row *other)
{
    return kw_scrub_job_visible(job, primary).cells_count > 0 &&
           kw_scrub_job_visible(job, other).cells_count > 0;
}

/* A record with cells that only the other row has is listed as different, and counted as extra. */
static void
report(judging *self, kw_scrub_pair *pair, const kw_row *primary, const kw_row *other)
{
    kw_scrub_job *job = self->job;
    kw_scrub_view view = kw_scrub_view_of(job, primary, other);
    kw_scrub_difference difference = {
        .kind = kw_scrub_kind_of(&view.primary, &view.other), .path = self->other->path, .key = pair->key};
    bool extra = difference.kind == KW_SCRUB_EXTRA;
    if (both_exist(job, primary, other))
        difference.kind = KW_SCRUB_DIFFERENT;
    count_kind(&job->result, extra ? KW_SCRUB_EXTRA : difference.kind);
    pair->difference = SIZE_MAX;
    if (job->result.differences_count == job->request->max_differences)
        return;
    difference.row_key =
        kw_arena_copy(job->call->arena, pair->other_key); /* the rows are freed before the result */
    difference.text = kw_scrub_text(difference.kind, job->sides->table, job->sides->exact, &view.primary,
                                    &view.other, job->call->arena);
    pair->difference = kw_scrub_list(job, &difference);
}

static void
note_repaired(judging *self, const kw_scrub_pair *pair)
{
    self->job->result.repaired++;
    if (pair->difference != SIZE_MAX)
        self->job->differences[pair->difference].repaired = true;
}

/* True if the pairs differ only in cells that only the other row has, and that are not repaired. */
static bool
are_extra(const judging *self)
{
    return self->job->sides->apart && !self->job->of_primary;
}

/* After the last read: keeps the pairs that certainly differ. */
static void
judge(judging *self)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->count; i++) {
        kw_scrub_pair *pair = self->pairs[i];
        const kw_row *primary = &self->primary->rows[pair->at], *other = &self->others->rows[pair->at];
        bool young =
            !self->job->sides->exact && kw_scrub_is_young(primary, other, self->horizon_ms, self->now_ms);
        if (!pair->stable || young) {
            self->job->result.unsettled += !are_extra(self);
            continue;
        }
        report(self, pair, primary, other);
        self->pairs[kept++] = pair;
    }
    self->count = kept;
    if (kept && self->job->request->repair && !are_extra(self))
        repair(self);
    else
        finish(self, NULL);
}

/* --- repair -------------------------------------------------------------------------------------- */

/* False if the row was omitted because it has grown. */
static bool
is_whole(const kw_row *row)
{
    return row->omitted == KW_OMITTED_NOT;
}

/* Adds advice to the text of each listed difference of a change that repeated repairs did not remove. */
static void
note_stuck(judging *self)
{
    for (size_t i = 0; self->job->sides->exact && i < self->count; i++) {
        if (self->pairs[i]->difference == SIZE_MAX)
            continue;
        kw_scrub_difference *listed = &self->job->differences[self->pairs[i]->difference];
        listed->text = kw_arena_printf(
            self->job->call->arena,
            "%s; it still differs after the repair. If this repeats, a deletion hides cells in one of the "
            "two store tables, and they cannot be repaired with their timestamps: cancel the change and "
            "begin it again",
            listed->text);
    }
}

/* Checks which pairs are alike after the repair, and repairs the others once more. This time, rows are
 * written with raised timestamps, or, if they are of a change, only copied: nothing is deleted. A write can
 * have come between the two reads, and the cell that it put in both rows must not be deleted as one that only
 * the other row has. */
static void
verify(judging *self)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->count; i++) {
        kw_scrub_pair *pair = self->pairs[i];
        const kw_row *primary = &self->primary->rows[i], *other = &self->others->rows[i];
        if (!is_whole(primary) || !is_whole(other))
            continue;
        pair->at = i;
        if (kw_scrub_view_is_alike(self->job, primary, other))
            note_repaired(self, pair);
        else if (primary->cells_count || self->job->sides->exact)
            self->pairs[kept++] = pair;
    }
    self->count = kept;
    if (kept == 0 || self->raised) {
        note_stuck(self);
        finish(self, NULL);
        return;
    }
    self->raised = true;
    repair(self);
}

static void read_both(judging *self);

/* Finishes with an error if one of the writes or copies failed. */
static bool
check_written(judging *self, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (self->written[i].outcome == KW_OUTCOME_OK)
            continue;
        kw_error error = self->written[i].error;
        error.maybe_applied = false; /* the caller's records are unchanged; the slice can be repeated */
        kw_error_prefix(&error, "table %s, path %s: a row could not be repaired",
                        self->job->sides->table->name, self->other->path->name);
        finish(self, &error);
        return false;
    }
    return true;
}

static void
copied(void *user)
{
    judging *self = user;
    if (!check_written(self, self->copies_count))
        return;
    self->step = STEP_VERIFY;
    read_both(self);
}

/* Continues after the writes of a repair. For the placements of a change, the store then copies the rows that
 * differ, and the delete markers of rows without cells. */
static void
repaired(void *user)
{
    judging *self = user;
    kw_arena *arena = self->job->call->arena;
    if (!check_written(self, self->writes->len))
        return;
    self->copies_count = 0;
    self->copies = KW_ARENA_ARRAY(arena, kw_row_copy, self->count);
    self->written = KW_ARENA_ARRAY(arena, kw_written, self->count);
    for (size_t i = 0; self->job->sides->exact && i < self->count; i++)
        self->copies[self->copies_count++] =
            kw_scrub_copy_of(self->job, self->pairs[i]->primary_key, self->pairs[i]->other_key);
    if (self->copies_count)
        kw_store_handle_copy_rows(self->job->call->handle, self->copies, self->copies_count,
                                  self->job->call->deadline, self->written, copied, self);
    else
        copied(self);
}

static void
repair(judging *self)
{
    kw_call *call = self->job->call;
    g_ptr_array_set_size(self->writes, 0);
    for (size_t i = 0; i < self->count; i++) {
        const kw_scrub_pair *pair = self->pairs[i];
        kw_scrub_repair how = {.other = self->other,
                               .era = self->job->call->era,
                               .row = pair->other_key,
                               .horizon_ms = self->horizon_ms,
                               .raise = self->raised,
                               .deadline = call->deadline};
        const kw_row *primary = &self->primary->rows[pair->at], *other = &self->others->rows[pair->at];
        if (self->job->sides->exact && !self->job->sides->apart && !self->raised)
            kw_scrub_delete_extra(&how, primary, other, call->arena, self->writes);
        else if (!self->job->sides->exact)
            kw_scrub_repair_row(&how, primary, other, call->arena, self->writes);
    }
    if (self->writes->len == 0 && !self->job->sides->exact) {
        finish(self, NULL);
        return;
    }
    if (self->writes->len == 0) {
        repaired(self);
        return;
    }
    self->written = KW_ARENA_ARRAY(call->arena, kw_written, self->writes->len);
    kw_store_handle_write_many(call->handle, (const kw_write *const *)self->writes->pdata, self->writes->len,
                               self->written, repaired, self);
}

/* --- reading again ------------------------------------------------------------------------------- */

/* Drops the pairs that are alike, and marks the others that have not changed. */
static void
settle(judging *self)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->count; i++) {
        kw_scrub_pair *pair = self->pairs[i];
        const kw_row *primary = &self->primary->rows[i], *other = &self->others->rows[i];
        if (!is_whole(primary) || !is_whole(other)) {
            self->job->result.unsettled++;
            continue;
        }
        if (kw_scrub_view_is_alike(self->job, primary, other))
            continue;
        uint64_t state = kw_scrub_view_state(self->job, primary, other);
        pair->stable = state == pair->state;
        pair->state = state;
        pair->at = i;
        self->pairs[kept++] = pair;
    }
    self->count = kept;
    wait_or_judge(self);
}

static void
read_others(void *user, kw_rows *rows, const kw_error *error)
{
    judging *self = user;
    self->others = rows;
    if (error)
        finish(self, error);
    else if (self->step == STEP_SETTLE)
        settle(self);
    else
        verify(self);
}

kw_get
kw_scrub_get(const kw_scrub_job *job, const kw_placement *side, kw_bytes row)
{
    const kw_call *call = job->call;
    return (kw_get){.table = side->store_table,
                    .row = row,
                    .max_versions = job->sides->exact ? INT32_MAX : 1,
                    .max_bytes = job->max_bytes,
                    .account = call->account,
                    .call = call->number,
                    .deadline = call->deadline,
                    .keep_blocks_out_of_cache = true,
                    .ordering = kw_scrub_ordering(job)};
}

static void
get_all(judging *self, const kw_placement *side, kw_get_done done)
{
    for (size_t i = 0; i < self->count; i++) {
        const kw_scrub_pair *pair = self->pairs[i];
        self->gets[i] =
            kw_scrub_get(self->job, side, side == self->other ? pair->other_key : pair->primary_key);
    }
    kw_store_handle_get_many(self->job->call->handle, self->list, self->count, done, self);
}

static void
read_other_side(void *user, const kw_error *error)
{
    judging *self = user;
    if (error)
        finish(self, error);
    else
        get_all(self, self->other, read_others);
}

static int64_t
wait_of(const judging *self, size_t attempt)
{
    int64_t settle_ms = self->job->request->settle_ms;
    return attempt < G_N_ELEMENTS(waits_ms) ? MIN(settle_ms, waits_ms[attempt]) : settle_ms;
}

/* Several gateways put both rows of a record at once. So the other row is read later: then a put that was in
 * progress when the primary row was read has reached it. */
static void
read_primary(void *user, kw_rows *rows, const kw_error *error)
{
    judging *self = user;
    self->primary = rows;
    if (error)
        finish(self, error);
    else if (self->job->sides->apart)
        kw_store_handle_pause(self->job->call->handle, (uint64_t)wait_of(self, self->attempts - 1),
                              read_other_side, self);
    else
        get_all(self, self->other, read_others);
}

static void
read_both(judging *self)
{
    kw_rows_free(g_steal_pointer(&self->primary));
    kw_rows_free(g_steal_pointer(&self->others));
    get_all(self, self->job->sides->all[0], read_primary);
}

static void
refuse_for_clock(judging *self)
{
    kw_error error;
    kw_error_set(
        &error, KW_UNAVAILABLE,
        "table %s: the store's clock is not known at present, so it cannot be decided which writes are in "
        "flight; try again",
        self->job->sides->table->name);
    error.retry_after_ms = 1000;
    finish(self, &error);
}

/* Waits until the store's clock is known, which can take seconds on a busy store. */
static void
waited(void *user, const kw_error *error)
{
    judging *self = user;
    kw_call *call = self->job->call;
    int64_t offset_ms;
    if (error) {
        finish(self, error);
        return;
    }
    bool known = kw_store_clock_offset_ms(call->store, &offset_ms);
    if (!known && !kw_deadline_passed(call->deadline)) {
        kw_store_handle_pause(call->handle, CLOCK_WAIT_MS, waited, self);
        return;
    }
    if (!known) {
        refuse_for_clock(self);
        return;
    }
    self->now_ms = kw_clock_wall_ms() + offset_ms;
    self->horizon_ms = self->now_ms - self->job->grace_ms;
    read_both(self);
}

static void
wait_or_judge(judging *self)
{
    if (self->count == 0) {
        finish(self, NULL);
        return;
    }
    if (self->attempts == SETTLE_ATTEMPTS) {
        judge(self);
        return;
    }
    kw_store_handle_pause(self->job->call->handle, (uint64_t)wait_of(self, self->attempts++), waited, self);
}

void
kw_scrub_judge(kw_scrub_job *job, const kw_placement *other, kw_scrub_pair **pairs, size_t count,
               kw_scrub_judged done, void *user)
{
    kw_arena *arena = job->call->arena;
    judging *self = KW_ARENA_NEW(arena, judging);
    *self = (judging){.job = job,
                      .other = other,
                      .pairs = pairs,
                      .count = count,
                      .gets = KW_ARENA_ARRAY(arena, kw_get, count),
                      .list = KW_ARENA_ARRAY(arena, const kw_get *, count),
                      .writes = g_ptr_array_new(),
                      .done = done,
                      .user = user};
    for (size_t i = 0; i < count; i++)
        self->list[i] = &self->gets[i];
    wait_or_judge(self);
}
