/* See hint_slice.h. One slice:
 *
 *   scan --> FILL:  write the hints --------------------------------------------------> answer
 *        '-> CHECK: get the hints --> absent: get the rows again --> unchanged: write --> answer
 *        '-> STALE: get the rows ---> other values: delete ---------------------------> answer
 */
#include "reconcile/hint_slice.h"

#include "base/guard.h"
#include "base/metrics.h"
#include "path/cells.h"
#include "path/claims.h"
#include "path/reader.h"
#include "verb/row_keys.h"

#define SLICE_BYTES ((size_t)2 * 1024 * 1024)

/* While the store's time is unknown, it is checked again after this time, and at most for so long. */
#define CHECK_AGAIN_MS 10
#define UNKNOWN_MOST_MS 5000
#define RETRY_AFTER_MS 250

/* A row that was scanned, or its record. */
typedef struct item {
    kw_record record;  /* identity and tuple; of a hint: identity */
    kw_bytes row;      /* row key in the primary path */
    kw_bytes hint;     /* key of the hint */
    int64_t newest_ms; /* of the row's tuple */
    int64_t hint_ms;   /* STALE: timestamp of the hint */
} item;

typedef struct slice {
    kw_call *call;
    const kw_hint_slice_request *request;
    const kw_table *table;
    const kw_placement *primary;
    kw_reader *reader;
    kw_arena *scratch; /* cleared with each row */
    kw_range_scan *scan;
    item *items;
    size_t count;
    kw_get *gets;
    const kw_get **list;
    kw_write *writes;
    const kw_write **write_list;
    size_t writes_count;
    kw_written *written;
    kw_deadline give_up_at; /* while the store's time is unknown */
    int64_t earliest_ms;    /* of the store's clock, before rows are read */
    kw_missing_hint *missing;
    kw_hint_slice_result result;
    kw_hint_slice_done done;
    void *user;
} slice;

const kw_placement *
kw_hint_slice_scanned(const kw_hint_slice_request *request)
{
    return request->mode == KW_HINTS_STALE ? request->hints
                                           : kw_path_scanned(request->hints->path->table->paths);
}

/* --- the end ------------------------------------------------------------------------------------- */

static void
finish(slice *self, const kw_error *error)
{
    kw_range_scan_close(g_steal_pointer(&self->scan));
    kw_arena_free(self->scratch);
    self->result.missing = self->missing;
    if (!error) {
        self->done(self->user, &self->result, NULL);
        return;
    }
    kw_error named = *error;
    kw_error_prefix(&named, "table %s, path %s", self->table->name, self->request->hints->path->name);
    self->done(self->user, NULL, &named);
}

static void
note_undecodable(slice *self, kw_bytes key, const kw_error *error)
{
    if (self->result.undecodable++ > 0)
        return;
    self->result.example = kw_arena_copy(self->call->arena, key);
    self->result.why = kw_arena_text(self->call->arena, kw_bytes_of_text(error->text));
}

/* --- records ------------------------------------------------------------------------------------- */

/* Sets the hint that the record of a row has now; empty: none. False: the row cannot be decoded. */
static bool
find_hint(slice *self, const kw_row *row, kw_buffer *scratch, const kw_record **ret_record,
          kw_bytes *ret_hint, kw_error *ret_error)
{
    const kw_placement *hints = self->request->hints;
    *ret_hint = KW_BYTES_NONE;
    if (row->cells_count == 0)
        return true;
    if (!kw_reader_decode(self->reader, self->primary, row, ret_record, ret_error))
        return false;
    scratch->size = 0;
    if (!kw_placement_has_record(hints, *ret_record))
        return true;
    if (!kw_layout_encode(hints->layout, *ret_record, scratch, ret_error))
        return false;
    *ret_hint = kw_buffer_bytes(scratch);
    return true;
}

static kw_get
get_of(const slice *self, bool of_hint, kw_bytes key)
{
    kw_get get = {.table = of_hint ? self->request->hints->store_table : self->primary->store_table,
                  .row = key,
                  .max_versions = 1,
                  .era = self->call->era,
                  .account = self->call->account,
                  .call = self->call->number,
                  .keep_blocks_out_of_cache = true,
                  .deadline = self->call->deadline};
    if (!of_hint) {
        get.columns = kw_reader_columns(self->reader, &get.columns_count);
        get.ordering = &self->table->ordering;
    }
    return get;
}

static void
get_all(slice *self, bool of_hints, kw_get_done done)
{
    self->gets = KW_ARENA_ARRAY(self->call->arena, kw_get, self->count);
    self->list = KW_ARENA_ARRAY(self->call->arena, const kw_get *, self->count);
    for (size_t i = 0; i < self->count; i++) {
        self->gets[i] = get_of(self, of_hints, of_hints ? self->items[i].hint : self->items[i].row);
        self->list[i] = &self->gets[i];
    }
    kw_store_handle_get_many(self->call->handle, self->list, self->count, done, self);
}

/* --- writes -------------------------------------------------------------------------------------- */

/* At most one for each item. */
static void
begin_writes(slice *self)
{
    self->writes = KW_ARENA_ARRAY(self->call->arena, kw_write, self->count);
    self->writes_count = 0;
}

static void
send_writes(slice *self, void (*done)(void *user))
{
    kw_arena *arena = self->call->arena;
    if (self->writes_count == 0) {
        finish(self, NULL);
        return;
    }
    self->write_list = KW_ARENA_ARRAY(arena, const kw_write *, self->writes_count);
    self->written = KW_ARENA_ARRAY(arena, kw_written, self->writes_count);
    for (size_t i = 0; i < self->writes_count; i++)
        self->write_list[i] = &self->writes[i];
    kw_store_handle_write_many(self->call->handle, self->write_list, self->writes_count, self->written, done,
                               self);
}

static void
hints_written(void *user)
{
    slice *self = user;
    for (size_t i = 0; i < self->writes_count; i++)
        if (self->written[i].outcome != KW_OUTCOME_OK) {
            finish(self, &self->written[i].error);
            return;
        }
    for (size_t i = 0; i < self->result.missing_count; i++)
        self->missing[i].repaired = true;
    finish(self, NULL);
}

/* Writes the hints of all items. */
static void
write_hints(slice *self)
{
    begin_writes(self);
    for (size_t i = 0; i < self->count; i++) {
        kw_hint hint = {self->request->hints, self->items[i].hint};
        self->writes[self->writes_count++] =
            kw_hint_write(self->call, self->table, &hint, KW_DURABILITY_DEFAULT, self->call->arena);
    }
    send_writes(self, hints_written);
}

/* --- missing hints ------------------------------------------------------------------------------- */

/* Keeps the items whose rows are unchanged: the hint was absent although the row had its tuple. */
static void
keep_missing(slice *self, const kw_rows *rows)
{
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const kw_record *record;
        kw_bytes hint;
        kw_error ignored;
        item *at = &self->items[i];
        if (find_hint(self, &rows->rows[i], &scratch, &record, &hint, &ignored) &&
            kw_bytes_equal(hint, at->hint) &&
            kw_hints_newest_ms(self->request->hints, &rows->rows[i]) == at->newest_ms)
            self->items[kept++] = *at;
    }
    self->count = kept;
    self->missing = KW_ARENA_ARRAY(self->call->arena, kw_missing_hint, kept);
    self->result.missing_count = kept;
    for (size_t i = 0; i < kept; i++)
        self->missing[i] = (kw_missing_hint){.key = self->items[i].hint, .record = self->items[i].record};
}

static void
read_again(void *user, kw_rows *rows, const kw_error *error)
{
    slice *self = user;
    kw_error shortage;
    if (error || !kw_guard_check(self->call->arena, &shortage)) {
        kw_rows_free(rows);
        finish(self, error ? error : &shortage);
        return;
    }
    keep_missing(self, rows);
    kw_rows_free(rows);
    if (self->request->repair && !self->request->hints->path->unique)
        write_hints(self);
    else
        finish(self, NULL);
}

/* True if the row is the hint of the item; a claim must name its record. */
static bool
is_hint_of(const slice *self, const kw_row *row, const item *of)
{
    return row->cells_count > 0 &&
           (!self->request->hints->path->unique || kw_bytes_equal(kw_claim_owner(self->table, row), of->row));
}

static void
hints_read(void *user, kw_rows *rows, const kw_error *error)
{
    slice *self = user;
    size_t absent = 0;
    if (error) {
        finish(self, error);
        return;
    }
    for (size_t i = 0; i < rows->count; i++)
        if (!is_hint_of(self, &rows->rows[i], &self->items[i]))
            self->items[absent++] = self->items[i];
    kw_rows_free(rows);
    self->count = absent;
    if (absent)
        get_all(self, false, read_again);
    else
        finish(self, NULL);
}

/* --- stale hints --------------------------------------------------------------------------------- */

static void
judge_hint(slice *self, const item *at, const kw_row *row, kw_buffer *scratch)
{
    const kw_record *record;
    kw_bytes hint;
    kw_error error;
    if (!find_hint(self, row, scratch, &record, &hint, &error)) {
        note_undecodable(self, row->key, &error);
        return;
    }
    if (kw_bytes_equal(hint, at->hint))
        return;
    self->result.stale++;
    kw_hint_facts facts = {.hint_ms = at->hint_ms,
                           .earliest_ms = self->earliest_ms,
                           .newest_ms = kw_hints_newest_ms(self->request->hints, row)};
    if (self->request->repair && kw_stale_hint_can_be_deleted(self->call, self->table, &facts))
        self->writes[self->writes_count++] =
            kw_stale_hint_delete(self->call, self->request->hints, at->hint, at->hint_ms, self->call->arena);
}

/* A delete that has failed is not reported: the hint is still stale. */
static void
hints_deleted(void *user)
{
    slice *self = user;
    int64_t deleted = 0;
    for (size_t i = 0; i < self->writes_count; i++)
        deleted += self->written[i].outcome == KW_OUTCOME_OK;
    kw_metrics_add(KW_METRIC_hints_cleaned, deleted);
    finish(self, NULL);
}

static void
rows_read(void *user, kw_rows *rows, const kw_error *error)
{
    slice *self = user;
    if (error) {
        finish(self, error);
        return;
    }
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    begin_writes(self);
    for (size_t i = 0; i < rows->count; i++)
        judge_hint(self, &self->items[i], &rows->rows[i], &scratch);
    kw_rows_free(rows);
    send_writes(self, hints_deleted);
}

/* --- scanning ------------------------------------------------------------------------------------ */

static bool
add_hint(slice *self, const kw_row *row, kw_buffer *scratch, item *ret_item, kw_error *ret_error)
{
    kw_arena *arena = self->call->arena;
    kw_record record = kw_record_new(self->table, arena);
    const kw_placement *hints = self->request->hints;
    kw_bytes key = kw_arena_copy(arena, row->key);
    *ret_item = (item){.hint = key, .hint_ms = row->cells_count ? row->cells[0].timestamp : 0};
    return kw_layout_decode(hints->layout, key, arena, &record, ret_error) &&
           (!hints->path->unique || kw_claim_decode_owner(self->table, row, arena, &record, ret_error)) &&
           kw_row_key(self->primary, &record, scratch, arena, &ret_item->row, ret_error);
}

static bool
add_row(slice *self, const kw_row *row, kw_buffer *scratch, item *ret_item, kw_error *ret_error)
{
    kw_arena *arena = self->call->arena;
    const kw_record *record;
    kw_bytes hint;
    if (!find_hint(self, row, scratch, &record, &hint, ret_error))
        return false;
    *ret_item = (item){.hint = kw_arena_copy(arena, hint)};
    if (hint.size == 0)
        return true;
    ret_item->record = kw_reader_keep(self->reader, arena);
    ret_item->row = kw_arena_copy(arena, row->key);
    ret_item->newest_ms = kw_hints_newest_ms(self->request->hints, row);
    return true;
}

static void
add_all(slice *self, const kw_rows *rows)
{
    bool stale = self->request->mode == KW_HINTS_STALE;
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    self->items = KW_ARENA_ARRAY(self->call->arena, item, rows->count);
    self->result.rows = rows->count;
    self->result.end = rows->end;
    if (rows->count) {
        self->result.first = kw_arena_copy(self->call->arena, rows->rows[0].key);
        self->result.after = kw_arena_copy(self->call->arena, rows->rows[rows->count - 1].key);
    }
    for (size_t i = 0; i < rows->count; i++) {
        kw_error error;
        item *at = &self->items[self->count];
        const kw_row *row = &rows->rows[i];
        if (!(stale ? add_hint(self, row, &scratch, at, &error) : add_row(self, row, &scratch, at, &error)))
            note_undecodable(self, row->key, &error);
        else if (at->hint.size)
            self->count++;
    }
}

static void fetch(slice *self);

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    slice *self = user;
    kw_error shortage;
    if (error) {
        finish(self, error);
        return;
    }
    if (rows->count == 0 && !rows->end) {
        kw_rows_free(rows);
        fetch(self);
        return;
    }
    add_all(self, rows);
    kw_rows_free(rows);
    if (!kw_guard_check(self->call->arena, &shortage))
        finish(self, &shortage);
    else if (self->count == 0)
        finish(self, NULL);
    else if (self->request->mode == KW_HINTS_FILL)
        write_hints(self);
    else if (self->request->mode == KW_HINTS_CHECK)
        get_all(self, true, hints_read);
    else
        get_all(self, false, rows_read);
}

static void
fetch(slice *self)
{
    kw_range_scan_fetch(self->scan, self->request->max_rows, SLICE_BYTES, false, self->call->deadline,
                        fetched, self);
}

static void
open_scan(slice *self)
{
    const kw_placement *scanned = kw_hint_slice_scanned(self->request);
    bool stale = self->request->mode == KW_HINTS_STALE;
    kw_range_scan_spec spec = {.table = scanned->store_table,
                               .start = kw_row_key_after(self->request->after, self->call->arena),
                               .max_versions = 1,
                               .keep_blocks_out_of_cache = true,
                               .account = self->call->account,
                               .call = self->call->number};
    if (!stale) {
        spec.columns = kw_reader_columns(self->reader, &spec.columns_count);
        spec.ordering = &self->table->ordering;
    }
    self->scan = kw_store_handle_open_range_scan(self->call->handle, &spec);
    fetch(self);
}

/* --- the store's time ---------------------------------------------------------------------------- */

static void look_at_time(slice *self);

static void
paused(void *user, const kw_error *error)
{
    if (error)
        finish(user, error);
    else
        look_at_time(user);
}

/* Without the time, no hint is known to be old enough to be deleted. */
static void
look_at_time(slice *self)
{
    kw_error error;
    self->earliest_ms = kw_hints_earliest_ms(self->call);
    if (self->earliest_ms != KW_HINT_NO_TIME || !self->request->repair ||
        self->request->mode != KW_HINTS_STALE) {
        open_scan(self);
    } else if (kw_deadline_passed(self->give_up_at)) {
        kw_error_set(&error, KW_UNAVAILABLE, "the store's clock is not known");
        error.retry_after_ms = RETRY_AFTER_MS;
        finish(self, &error);
    } else {
        kw_store_keep_time_known(self->call->store);
        kw_store_handle_pause(self->call->handle, CHECK_AGAIN_MS, paused, self);
    }
}

/* --- all ----------------------------------------------------------------------------------------- */

static kw_reader *
reader_of_tuple(const slice *self)
{
    const kw_placement *hints = self->request->hints;
    kw_pick *picks = KW_ARENA_ARRAY(self->call->arena, kw_pick, hints->tuple_count);
    for (size_t i = 0; i < hints->tuple_count; i++)
        picks[i].field = hints->tuple[i];
    return kw_reader_new(self->call, self->table, self->primary->path, picks, hints->tuple_count,
                         self->scratch);
}

void
kw_hint_slice(kw_call *call, const kw_hint_slice_request *request, kw_hint_slice_done done, void *user)
{
    const kw_path *path = request->hints->path;
    g_assert(path->content == KW_CONTENT_HINTS && request->max_rows > 0);
    slice *self = KW_ARENA_NEW(call->arena, slice);
    *self = (slice){.call = call,
                    .request = request,
                    .table = path->table,
                    .primary = kw_path_scanned(path->table->paths),
                    .give_up_at = kw_deadline_earlier(call->deadline, kw_deadline_in_ms(UNKNOWN_MOST_MS)),
                    .done = done,
                    .user = user};
    self->scratch = kw_arena_new_below(call->arena, KW_MEMORY_CALLS);
    self->reader = reader_of_tuple(self);
    look_at_time(self);
}
