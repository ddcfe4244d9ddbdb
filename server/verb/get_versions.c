/* getVersions: reads the stored versions of a record.
 *
 *   one get per row, at most `most` versions of each column -> the newest timestamps of the row, at most
 *     `most` -> the cells of each timestamp, decoded as a record -> the newest versions of all rows
 *
 * The newest `most` timestamps of a row are complete: each of their cells is among the newest `most` versions
 * of its column.
 */
#include "path/cells.h"
#include "path/reader.h"
#include "path/rows.h"
#include "verb/verb.h"

#include <glib.h>

typedef struct get_versions {
    kw_call *call;
    const kw_table *table;
    const kw_record *key;
    size_t most;
    kw_reader *reader;
    kw_get *gets; /* one per row that can hold the record */
    const kw_placement **placements;
    const kw_get **list;
    size_t count;
    kw_record_version *found;
    size_t found_count;
    kw_get_versions_done done;
    void *user;
} get_versions;

/* The newest timestamps of one row, in descending order, and the cells of each. */
typedef struct timestamps {
    int64_t *items;
    size_t count;
    size_t most;
    kw_cell **cells;
    uint32_t *cells_counts;
} timestamps;

static void
finish(get_versions *self, const kw_error *error)
{
    self->done(self->user, error ? NULL : self->found, error ? 0 : self->found_count, error);
}

/* --- timestamps ----------------------------------------------------------------------------------- */

/* The index of the first timestamp in `all` that is not newer than this one. */
static size_t
place_of(const timestamps *all, int64_t timestamp)
{
    size_t from = 0, to = all->count;
    while (from < to) {
        size_t middle = (from + to) / 2;
        if (all->items[middle] > timestamp)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static void
add_timestamp(timestamps *all, int64_t timestamp)
{
    size_t at = place_of(all, timestamp);
    if (at == all->most || (at < all->count && all->items[at] == timestamp))
        return;
    size_t kept = MIN(all->count, all->most - 1);
    memmove(all->items + at + 1, all->items + at, (kept - at) * sizeof *all->items);
    all->items[at] = timestamp;
    all->count = kept + 1;
}

/* The version that the cell is part of; false: it is older than all of them. */
static bool
find_version(const timestamps *all, const kw_cell *cell, size_t *ret_at)
{
    *ret_at = place_of(all, cell->timestamp);
    return *ret_at < all->count && all->items[*ret_at] == cell->timestamp;
}

/* Keeps the order of the cells. */
static void
distribute_cells(timestamps *all, const kw_row *row, kw_arena *arena)
{
    size_t at;
    all->cells = KW_ARENA_ARRAY(arena, kw_cell *, all->count);
    all->cells_counts = KW_ARENA_ARRAY(arena, uint32_t, all->count);
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (find_version(all, &row->cells[i], &at))
            all->cells_counts[at]++;
    for (size_t i = 0; i < all->count; i++) {
        all->cells[i] = KW_ARENA_ARRAY(arena, kw_cell, all->cells_counts[i]);
        all->cells_counts[i] = 0;
    }
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (find_version(all, &row->cells[i], &at))
            all->cells[at][all->cells_counts[at]++] = row->cells[i];
}

/* --- versions ------------------------------------------------------------------------------------- */

static size_t
most_of_row(const get_versions *self, const kw_row *row)
{
    return MIN(self->most, row->cells_count);
}

static bool
decode_row(get_versions *self, const kw_placement *placement, const kw_row *row, kw_error *ret_error)
{
    kw_arena *arena = self->call->arena;
    timestamps all = {.most = most_of_row(self, row)};
    all.items = KW_ARENA_ARRAY(arena, int64_t, all.most);
    for (uint32_t i = 0; i < row->cells_count; i++)
        add_timestamp(&all, row->cells[i].timestamp);
    distribute_cells(&all, row, arena);
    for (size_t i = 0; i < all.count; i++) {
        const kw_record *record;
        kw_row version = {.key = row->key, .cells = all.cells[i], .cells_count = all.cells_counts[i]};
        if (!kw_reader_decode(self->reader, placement, &version, &record, ret_error))
            return false;
        self->found[self->found_count++] = (kw_record_version){all.items[i], kw_reader_borrow(self->reader)};
    }
    return true;
}

static int
newest_first(const void *left, const void *right)
{
    const kw_record_version *a = left, *b = right;
    return (a->timestamp < b->timestamp) - (a->timestamp > b->timestamp);
}

static bool
decode_rows(get_versions *self, const kw_rows *rows, kw_error *ret_error)
{
    size_t most = 0;
    for (size_t i = 0; i < self->count; i++)
        most += most_of_row(self, &rows->rows[i]);
    self->found = KW_ARENA_ARRAY(self->call->arena, kw_record_version, most);
    for (size_t i = 0; i < self->count; i++) {
        if (rows->rows[i].omitted != KW_OMITTED_NOT) {
            kw_metrics_add(KW_METRIC_replies_too_large, 1);
            return kw_error_set(ret_error, KW_LIMIT,
                                "table %s: the versions of the record have more than %zu bytes, the limit of "
                                "a reply (limits.frame); request fewer versions or columns",
                                self->table->name, self->gets[0].max_bytes);
        }
        if (!decode_row(self, self->placements[i], &rows->rows[i], ret_error))
            return false;
    }
    if (self->count > 1)
        qsort(self->found, self->found_count, sizeof *self->found, newest_first);
    self->found_count = MIN(self->found_count, self->most);
    return true;
}

/* --- reading -------------------------------------------------------------------------------------- */

typedef struct arrival {
    get_versions *self;
    const kw_rows *rows;
} arrival;

static void
read_reply(void *user)
{
    const arrival *reply = user;
    kw_error failed;
    bool good = decode_rows(reply->self, reply->rows, &failed);
    finish(reply->self, good ? NULL : &failed);
}

static void
arrived(void *user, kw_rows *rows, const kw_error *error)
{
    get_versions *self = user;
    if (error) {
        finish(self, error);
        return;
    }
    kw_arena_adopt(self->call->arena, rows->arena); /* the records are slices of the rows */
    kw_call_guard(self->call, read_reply, &(arrival){self, rows});
}

static kw_get
form_of(const get_versions *self)
{
    kw_call *call = self->call;
    kw_get form = {.max_versions = (int32_t)self->most,
                   .max_bytes = (size_t)kw_policy_model(call->policy)->limits.frame_bytes,
                   .account = call->account,
                   .call = call->number,
                   .era = call->era,
                   .deadline = call->deadline,
                   .ordering = &self->table->ordering};
    form.columns = kw_reader_columns(self->reader, &form.columns_count);
    return form;
}

static void
rows_found(void *user, const kw_record_rows *rows)
{
    get_versions *self = user;
    kw_arena *arena = self->call->arena;
    kw_get form = form_of(self);
    if (rows->error) {
        finish(self, rows->error);
        return;
    }
    self->count = rows->count;
    self->gets = KW_ARENA_ARRAY(arena, kw_get, rows->count);
    self->placements = KW_ARENA_ARRAY(arena, const kw_placement *, rows->count);
    self->list = KW_ARENA_ARRAY(arena, const kw_get *, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        self->gets[i] = form;
        self->gets[i].table = rows->rows[i].placement->store_table;
        self->gets[i].row = rows->rows[i].key;
        self->gets[i].other = rows->rows[i].other;
        self->placements[i] = rows->rows[i].placement;
        self->list[i] = &self->gets[i];
    }
    if (rows->count == 1)
        kw_store_handle_get(self->call->handle, self->list[0], arrived, self);
    else
        kw_store_handle_get_many(self->call->handle, self->list, self->count, arrived, self);
}

void
kw_verb_get_versions(kw_call *call, const kw_table *table, const kw_record *key, const kw_pick *picks,
                     size_t picks_count, size_t most, kw_get_versions_done done, void *user)
{
    get_versions *self = KW_ARENA_NEW(call->arena, get_versions);
    *self =
        (get_versions){.call = call, .table = table, .key = key, .most = most, .done = done, .user = user};
    kw_error error;
    g_assert(most >= 1 && most <= KW_VERSIONS_MAX);
    if (!kw_key_check(table, key, &error)) {
        finish(self, &error);
        return;
    }
    self->reader = kw_reader_new(call, table, &table->paths[0], picks, picks_count, NULL);
    kw_rows_find(call, table, &self->key, 1, KW_ROWS_GET, KW_TIMESTAMP_NONE, rows_found, self);
}
