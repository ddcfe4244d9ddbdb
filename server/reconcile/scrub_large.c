/* See scrub.h. A row that does not fit into memory is not read as a whole: its key comes from a scan of first
 * cells. The store then copies it once more (kw_row_copy). Afterwards the other row has every visible cell
 * and every removal of the primary one. It can have further cells: of writes in flight in a store with
 * several writers, or cells that something other than Keyway wrote. So the row counts as large instead of as
 * compared. */
#include "reconcile/scrub.h"

#include "path/reader.h"
#include "verb/pushdown.h"

typedef struct large {
    kw_scrub_job *job;
    const kw_placement *side; /* the one scanned */
    kw_reader *reader;
    kw_range_scan *scan;
    kw_bytes row; /* its key under `side` */
    kw_row_copy copy;
    kw_written written;
    kw_scrub_large_done done;
    void *user;
} large;

static void
finish(large *self, const kw_error *error)
{
    kw_range_scan_close(g_steal_pointer(&self->scan));
    self->done(self->user, self->row, error);
}

static void
copied(void *user)
{
    large *self = user;
    kw_error error = self->written.error;
    if (self->written.outcome == KW_OUTCOME_OK) {
        self->job->result.large++;
        finish(self, NULL);
        return;
    }
    error.maybe_applied = false; /* the caller's records are unchanged; the slice can be repeated */
    kw_error_prefix(&error, "table %s, path %s: a large row could not be copied",
                    self->job->sides->table->name, self->side->path->name);
    finish(self, &error);
}

static void
copy(large *self, kw_bytes primary_key, kw_bytes other_key)
{
    self->copy = kw_scrub_copy_of(self->job, primary_key, other_key);
    kw_store_handle_copy_rows(self->job->call->handle, &self->copy, 1, self->job->call->deadline,
                              &self->written, copied, self);
}

/* Encodes the record's key on the side that was not scanned, and copies the record. Counts the row as foreign
 * if the rule of that side cannot encode it. */
static void
copy_record(large *self, const kw_record *record)
{
    const kw_scrub_sides *sides = self->job->sides;
    bool primary = self->side == sides->all[0];
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    kw_error error;
    bool good = kw_layout_encode(sides->all[primary]->layout, record, &scratch, &error);
    kw_bytes key = kw_arena_copy(self->job->call->arena, kw_buffer_bytes(&scratch));
    if (good) {
        copy(self, primary ? self->row : key, primary ? key : self->row);
        return;
    }
    kw_scrub_note_foreign(self->job, self->side, self->row, &error);
    finish(self, NULL);
}

static void fetch(large *self);

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    large *self = user;
    const kw_record *record;
    kw_error foreign;
    if (error) {
        finish(self, error);
        return;
    }
    if (rows->count == 0) {
        bool end = rows->end;
        kw_rows_free(rows);
        if (end)
            finish(self, NULL); /* the row was removed meanwhile */
        else
            fetch(self);
        return;
    }
    self->row = kw_arena_copy(self->job->call->arena, rows->rows[0].key);
    if (kw_reader_decode(self->reader, self->side, &rows->rows[0], &record, &foreign)) {
        copy_record(self, record);
    } else {
        kw_scrub_note_foreign(self->job, self->side, self->row, &foreign);
        finish(self, NULL);
    }
    kw_rows_free(rows);
}

static void
fetch(large *self)
{
    kw_range_scan_fetch(self->scan, 1, 1, false, self->job->call->deadline, fetched, self);
}

/* Requests the columns of identity fields that the row key does not hold, and one other cell. Only the filter
 * of first cells needs no limit, because it does not read the rest of the row. */
static void
set_filter(const large *self, kw_range_scan_spec *spec)
{
    size_t count;
    const kw_column *columns = kw_reader_columns(self->reader, &count);
    spec->filter = count ? kw_pushdown_first_or(columns, count, self->job->call->arena) : KW_STORE_FIRST_CELL;
    spec->filters_cells_only = true;
    spec->max_row_bytes = count ? self->job->max_bytes : 0;
}

void
kw_scrub_copy_large(kw_scrub_job *job, const kw_placement *side, kw_bytes start, kw_scrub_large_done done,
                    void *user)
{
    kw_call *call = job->call;
    large *self = KW_ARENA_NEW(call->arena, large);
    *self = (large){.job = job, .side = side, .done = done, .user = user};
    self->reader = kw_reader_new_identity(call, job->sides->table, side->path);
    kw_range_scan_spec spec = {.table = side->store_table,
                               .start = start,
                               .max_versions = 1,
                               .keep_blocks_out_of_cache = true,
                               .account = call->account,
                               .call = call->number,
                               .ordering = &job->sides->table->ordering};
    set_filter(self, &spec);
    self->scan = kw_store_handle_open_range_scan(call->handle, &spec);
    fetch(self);
}

void
kw_scrub_copy_pair(kw_scrub_job *job, const kw_scrub_pair *pair, kw_scrub_large_done done, void *user)
{
    large *self = KW_ARENA_NEW(job->call->arena, large);
    *self =
        (large){.job = job, .side = job->sides->all[0], .row = pair->primary_key, .done = done, .user = user};
    copy(self, pair->primary_key, pair->other_key);
}
