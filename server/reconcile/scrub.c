/* See scrub.h. One slice:
 *
 *   open the cursor --> the last row key of the stage, once --> fetch rows of the stage's side
 *                                                                  |
 *          for every other side, in chunks that fit into memory:   v
 *          look the records up --> rows that differ --> judge (scrub_judge.c) --> answer with a cursor
 */
#include "reconcile/scrub.h"

#include "base/guard.h"
#include "path/judge.h"
#include "path/reader.h"
#include "reconcile/first_key.h"
#include "reconcile/hint_slice.h"
#include "verb/row_keys.h"

/* Most bytes of the rows scanned together. Rows that are looked up can be larger. */
#define SLICE_BYTES_MAX (2 << 20)
/* Scrub assumes that a write is not acknowledged any more when this time has passed after the default
 * deadline of a call. */
#define GRACE_MS 30000

typedef struct scrub {
    kw_call *call;
    const kw_scrub_request *request;
    const kw_table *table;
    kw_scrub_sides sides;
    kw_scrub_job job;
    kw_scrub_done done;
    void *user;
    kw_scrub_position position;
    kw_range_scan *run;
    kw_rows *scanned;
    size_t *scanned_at; /* index of each record among the scanned rows */
    kw_record *records;
    size_t records_count;
    size_t removed; /* scanned rows of removed records */
    size_t side;    /* the side in which records are looked up */
    kw_scrub_pair *pairs;
    kw_bytes *keys; /* of the pairs, on that side */
    kw_get *gets;
    const kw_get **list;
    size_t from; /* pairs before this index are done */
    size_t looked_up;
    uint32_t max_records;        /* of a fetch */
    kw_hint_slice_request hints; /* in a stage of hints */
    kw_scrub_pair **suspects;
    size_t suspects_count;
} scrub;

static void
finish(scrub *self, const kw_error *error)
{
    kw_range_scan_close(g_steal_pointer(&self->run));
    kw_rows_free(g_steal_pointer(&self->scanned));
    self->job.result.differences = self->job.differences;
    self->done(self->user, error ? NULL : &self->job.result, error);
}

/* True if a row that is too large to be compared can be copied instead. */
static bool
copies_large(const scrub *self)
{
    return self->sides.exact && self->request->repair;
}

/* Reports a row larger than the limit for all rows read together. */
static void
finish_large(scrub *self, const kw_placement *side)
{
    kw_error error;
    kw_error_set(
        &error, KW_LIMIT,
        "table %s, path %s: a row has more than %zu bytes, the most that can be compared (limits.frame)",
        self->table->name, side->path->name, self->job.max_bytes);
    finish(self, &error);
}

/* In a stage of hints, the rows of the primary side, or the hints. */
static const kw_placement *
scanned_side(const scrub *self)
{
    return self->hints.hints ? kw_hint_slice_scanned(&self->hints) : self->sides.all[self->position.stage];
}

/* --- the end of a slice -------------------------------------------------------------------------- */

static void
answer_position(scrub *self)
{
    kw_scrub_result *result = &self->job.result;
    result->progress = kw_scrub_progress(&self->sides, &self->position);
    if (self->position.stage < kw_scrub_stages(&self->sides))
        result->cursor = kw_scrub_cursor(self->call, &self->sides, &self->position);
    finish(self, NULL);
}

static void
answer(scrub *self)
{
    kw_scrub_result *result = &self->job.result;
    bool end = self->scanned->end;
    result->rows = self->scanned->count - self->removed - result->large;
    if (self->scanned->count)
        self->position.after =
            kw_arena_copy(self->call->arena, self->scanned->rows[self->scanned->count - 1].key);
    if (end)
        self->position = (kw_scrub_position){.stage = self->position.stage + 1};
    answer_position(self);
}

/* --- looking up ---------------------------------------------------------------------------------- */

static void next_side(scrub *self);

/* The other side of a comparison: the one being scanned in its own stage, otherwise the one looked up. */
static const kw_placement *
other_side(const scrub *self)
{
    return self->sides.all[self->position.stage ? self->position.stage : self->side];
}

static void look_up(scrub *self);

static void
judged(void *user, const kw_error *error)
{
    scrub *self = user;
    if (error) {
        finish(self, error);
        return;
    }
    self->from += self->looked_up;
    look_up(self);
}

/* Stage 0 finds every difference of records that the primary side has; later stages find records that it
 * lacks. */
static void
compare(scrub *self, size_t at, const kw_row *found)
{
    kw_scrub_pair *pair = &self->pairs[at];
    const kw_row *scanned = &self->scanned->rows[self->scanned_at[at]];
    bool of_primary = self->position.stage == 0;
    const kw_row *primary = of_primary ? scanned : found, *other = of_primary ? found : scanned;
    if (of_primary || self->sides.apart ? kw_scrub_view_is_alike(&self->job, primary, other)
                                        : primary->cells_count > 0)
        return;
    pair->state = kw_scrub_view_state(&self->job, primary, other);
    pair->difference = SIZE_MAX;
    self->suspects[self->suspects_count++] = pair;
}

static void
pair_copied(void *user, kw_bytes row, const kw_error *error)
{
    scrub *self = user;
    (void)row;
    self->looked_up = 1;
    judged(self, error);
}

/* The next record's row on the side that is looked up is too large. In later stages this is a primary row,
 * which need not be read: it exists, and stage 0 has seen it. */
static void
pass_large(scrub *self)
{
    if (!copies_large(self))
        finish_large(self, self->sides.all[self->side]);
    else if (self->position.stage == 0)
        kw_scrub_copy_pair(&self->job, &self->pairs[self->from], pair_copied, self);
    else
        pair_copied(self, KW_BYTES_NONE, NULL);
}

static void
looked_up(void *user, kw_rows *rows, const kw_error *error)
{
    scrub *self = user;
    size_t count = 0;
    if (error) {
        finish(self, error);
        return;
    }
    self->suspects_count = 0;
    for (; count < rows->count && rows->rows[count].omitted == KW_OMITTED_NOT; count++)
        compare(self, self->from + count, &rows->rows[count]);
    bool stuck = count == 0;
    kw_rows_free(rows);
    self->looked_up = count;
    if (stuck)
        pass_large(self);
    else if (self->suspects_count)
        kw_scrub_judge(&self->job, other_side(self), self->suspects, self->suspects_count, judged, self);
    else
        judged(self, NULL);
}

static void
look_up(scrub *self)
{
    size_t count = self->records_count - self->from;
    if (count == 0) {
        next_side(self);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        self->gets[i] = kw_scrub_get(&self->job, self->sides.all[self->side], self->keys[self->from + i]);
        self->list[i] = &self->gets[i];
    }
    kw_store_handle_get_many(self->call->handle, self->list, count, looked_up, self);
}

static bool
make_pairs(scrub *self, kw_error *ret_error)
{
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    bool good = true;
    for (size_t i = 0; good && i < self->records_count; i++) {
        kw_bytes scanned = self->scanned->rows[self->scanned_at[i]].key;
        scratch.size = 0;
        good = kw_layout_encode(self->sides.all[self->side]->layout, &self->records[i], &scratch, ret_error);
        self->keys[i] = kw_arena_copy(self->call->arena, kw_buffer_bytes(&scratch));
        self->pairs[i] = (kw_scrub_pair){.key = self->records[i],
                                         .primary_key = self->position.stage ? self->keys[i] : scanned,
                                         .other_key = self->position.stage ? scanned : self->keys[i]};
    }
    return good;
}

/* Stage 0 looks the records up on all other sides, later stages only on the primary one. */
static void
next_side(scrub *self)
{
    kw_error error;
    self->side++;
    self->from = 0;
    bool over = self->position.stage ? self->side > 0 : self->side == self->sides.count;
    if (over)
        answer(self);
    else if (kw_guard_check(self->call->arena, &error) && make_pairs(self, &error))
        look_up(self);
    else
        finish(self, &error);
}

/* --- hints --------------------------------------------------------------------------------------- */

static const char *
text_of_missing(const kw_path *path)
{
    return path->unique
               ? "the path leads to no record or to another one; put these fields of the record again"
               : "the record has no hint";
}

static void
list_missing_hints(scrub *self, const kw_hint_slice_result *hints)
{
    for (size_t i = 0; i < hints->missing_count; i++) {
        const kw_missing_hint *missing = &hints->missing[i];
        self->job.result.repaired += missing->repaired;
        kw_scrub_list(&self->job, &(kw_scrub_difference){.kind = KW_SCRUB_MISSING,
                                                         .path = self->hints.hints->path,
                                                         .row_key = missing->key,
                                                         .key = missing->record,
                                                         .text = text_of_missing(self->hints.hints->path),
                                                         .repaired = missing->repaired});
    }
}

static void
hints_compared(void *user, const kw_hint_slice_result *hints, const kw_error *error)
{
    scrub *self = user;
    kw_scrub_result *result = &self->job.result;
    if (error) {
        finish(self, error);
        return;
    }
    result->rows = hints->rows - hints->undecodable;
    result->missing = hints->missing_count;
    result->stale = hints->stale;
    result->foreign = hints->undecodable;
    list_missing_hints(self, hints);
    if (hints->undecodable)
        kw_scrub_list(&self->job, &(kw_scrub_difference){.kind = KW_SCRUB_FOREIGN,
                                                         .path = scanned_side(self)->path,
                                                         .row_key = hints->example,
                                                         .text = hints->why});
    self->position.after = hints->after;
    if (self->position.first.size == 0)
        self->position.first = hints->first;
    if (hints->end)
        self->position = (kw_scrub_position){.stage = self->position.stage + 1};
    answer_position(self);
}

static void
compare_hints(scrub *self)
{
    self->hints.after = self->position.after;
    self->hints.max_rows = self->max_records;
    self->hints.repair = self->request->repair;
    kw_hint_slice(self->call, &self->hints, hints_compared, self);
}

/* --- scanning ------------------------------------------------------------------------------------ */

/* In a change, the other key rule can be unable to encode a record, which then was not copied. */
static bool
fits_other_side(const scrub *self, const kw_record *record, kw_buffer *scratch, kw_error *ret_error)
{
    const kw_placement *other = self->sides.all[self->position.stage == 0];
    scratch->size = 0;
    return !self->sides.exact || kw_layout_encode(other->layout, record, scratch, ret_error);
}

/* Decodes the scanned rows. A row whose key does not follow the path's rule belongs to no record. */
static void
read_records(scrub *self)
{
    kw_arena *arena = self->call->arena;
    size_t count = self->scanned->count;
    kw_reader *reader = kw_reader_new_identity(self->call, self->table, scanned_side(self)->path);
    const kw_record *decoded;
    kw_error error;
    self->records = KW_ARENA_ARRAY(arena, kw_record, count);
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    self->scanned_at = KW_ARENA_ARRAY(arena, size_t, count);
    for (size_t i = 0; i < count; i++) {
        const kw_row *row = &self->scanned->rows[i];
        kw_row visible = kw_scrub_job_visible(&self->job, row);
        self->removed += visible.cells_count == 0;
        if (!kw_reader_decode(reader, scanned_side(self), &visible, &decoded, &error) ||
            !fits_other_side(self, decoded, &scratch, &error)) {
            if (visible.cells_count)
                kw_scrub_note_foreign(&self->job, scanned_side(self), row->key, &error);
            continue;
        }
        self->records[self->records_count] = kw_reader_keep(reader, arena);
        if (!self->sides.exact && !kw_row_key_has_no_negative_zero(self->table, decoded, &error))
            kw_scrub_note_foreign(&self->job, scanned_side(self), row->key, &error);
        self->scanned_at[self->records_count++] = i;
    }
}

static void
compare_all(scrub *self)
{
    kw_arena *arena = self->call->arena;
    self->job.of_primary = self->position.stage == 0;
    read_records(self);
    if (self->position.first.size == 0 && self->scanned->count)
        self->position.first = self->scanned->rows[0].key;
    self->pairs = KW_ARENA_ARRAY(arena, kw_scrub_pair, self->records_count);
    self->keys = KW_ARENA_ARRAY(arena, kw_bytes, self->records_count);
    self->gets = KW_ARENA_ARRAY(arena, kw_get, self->records_count);
    self->list = KW_ARENA_ARRAY(arena, const kw_get *, self->records_count);
    self->suspects = KW_ARENA_ARRAY(arena, kw_scrub_pair *, self->records_count);
    /* next_side continues with the primary side, or in stage 0 with the first other one. */
    self->side = self->position.stage ? SIZE_MAX : 0;
    next_side(self);
}

static void fetch(scrub *self);
static void scan(scrub *self);

static void
large_copied(void *user, kw_bytes row, const kw_error *error)
{
    scrub *self = user;
    if (error) {
        finish(self, error);
        return;
    }
    if (row.size)
        self->position.after = row;
    if (self->position.first.size == 0)
        self->position.first = row;
    answer_position(self);
}

/* One of the rows to fetch is too large: fetches fewer, until it is the only one. */
static void
narrow(scrub *self)
{
    kw_range_scan_close(g_steal_pointer(&self->run));
    if (!copies_large(self)) {
        finish_large(self, scanned_side(self));
    } else if (self->max_records > 1) {
        self->max_records /= 2;
        scan(self);
    } else {
        kw_scrub_copy_large(&self->job, scanned_side(self),
                            kw_row_key_after(self->position.after, self->call->arena), large_copied, self);
    }
}

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    scrub *self = user;
    if (error && error->code == KW_LIMIT) {
        narrow(self);
        return;
    }
    if (error) {
        finish(self, error);
        return;
    }
    if (rows->count == 0 && !rows->end) {
        kw_rows_free(rows);
        fetch(self);
        return;
    }
    kw_range_scan_close(g_steal_pointer(&self->run));
    self->scanned = rows;
    compare_all(self);
}

static size_t
slice_bytes(const scrub *self)
{
    return (size_t)MIN(kw_limits_page_bytes(&kw_policy_model(self->call->policy)->limits), SLICE_BYTES_MAX);
}

static void
fetch(scrub *self)
{
    kw_range_scan_fetch(self->run, self->max_records, slice_bytes(self), false, self->call->deadline, fetched,
                        self);
}

static void
scan(scrub *self)
{
    if (self->hints.hints) {
        compare_hints(self);
        return;
    }
    kw_range_scan_spec spec = {.table = scanned_side(self)->store_table,
                               .start = kw_row_key_after(self->position.after, self->call->arena),
                               .max_versions = self->sides.exact ? INT32_MAX : 1,
                               .keep_blocks_out_of_cache = true,
                               .max_row_bytes = self->job.max_bytes,
                               .account = self->call->account,
                               .call = self->call->number,
                               .ordering = kw_scrub_ordering(&self->job)};
    self->run = kw_store_handle_open_range_scan(self->call->handle, &spec);
    fetch(self);
}

/* --- the beginning of a stage -------------------------------------------------------------------- */

static void
last_found(void *user, kw_bytes last, const kw_error *error)
{
    scrub *self = user;
    if (error) {
        finish(self, error);
        return;
    }
    self->position.last = last;
    scan(self);
}

/* Finds the last row key of the stage, for the progress only. */
static void
begin_stage(scrub *self)
{
    kw_last_key_find(self->call, scanned_side(self), kw_scrub_ordering(&self->job), last_found, self);
}

static void
begin(scrub *self)
{
    bool stale = false;
    self->position.stage = MAX(self->position.stage, kw_scrub_first_stage(&self->sides));
    self->hints.hints = kw_scrub_hint_stage(&self->sides, self->position.stage, &stale);
    self->hints.mode = stale ? KW_HINTS_STALE : KW_HINTS_CHECK;
    if (self->position.after.size == 0)
        begin_stage(self);
    else
        scan(self);
}

/* --- all ----------------------------------------------------------------------------------------- */

void
kw_scrub(kw_call *call, const kw_scrub_request *request, kw_scrub_done done, void *user)
{
    const kw_model *model = kw_policy_model(call->policy);
    scrub *self = KW_ARENA_NEW(call->arena, scrub);
    kw_error error;
    *self = (scrub){.call = call, .request = request, .table = request->table, .done = done, .user = user};
    self->max_records = request->max_records;
    self->sides = kw_scrub_sides_of(request, call->arena);
    self->sides.apart = self->sides.exact && kw_store_is_shared(call->store);
    self->job = (kw_scrub_job){.call = call,
                               .request = request,
                               .sides = &self->sides,
                               .max_bytes = (size_t)model->limits.frame_bytes,
                               .grace_ms = model->timeouts.call_ms + GRACE_MS};
    self->job.differences = KW_ARENA_ARRAY(call->arena, kw_scrub_difference, request->max_differences);
    if (!kw_scrub_check(request, &error) ||
        (request->cursor.size &&
         !kw_scrub_open_cursor(&self->sides, request->cursor, &self->position, &error)))
        finish(self, &error);
    else
        begin(self);
}
