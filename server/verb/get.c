/* get: finds the rows of each record, reads them with one multi-get, decodes records. If columns were chosen,
 * a row without any of them can still exist: a second request reads its first cell. If a record can be in
 * several rows (path/rows.h), the newest one counts. While get operations read both placements of the path,
 * the store merges the record's two rows, and can read them only without a filter. The second request would
 * then read whole rows, which can exceed limits.frame. So another request before it finds a column that one
 * of the rows has, as a hint.
 *
 *   columns --> no cell --> hints --> columns, with that of the hint --> no cell --> whole rows
 */
#include "path/cells.h"
#include "path/reader.h"
#include "path/rows.h"
#include "verb/get_unique.h"
#include "verb/pushdown.h"
#include "verb/verb.h"

#include <glib.h>

/* The requests. */
typedef enum get_stage {
    GET_COLUMNS,
    GET_HINTS, /* for records in two rows: one column that they have */
    GET_THERE, /* whether the record exists */
    GET_WHOLE  /* the same with whole rows, if the column of the hint was removed since */
} get_stage;

typedef struct get {
    kw_call *call;
    const kw_table *table;
    kw_get_records_done done;
    void *user;
    kw_found_record *found;
    size_t count;
    const kw_item *keys;
    size_t rows_each; /* rows that can hold one record */
    kw_reader *reader;
    kw_get form;
    kw_get *gets;
    const kw_placement **placements; /* parallel to gets */
    const kw_get **list;             /* of gets: those to send */
    size_t *owners;                  /* parallel to list: indexes of the records */
    size_t asked;
    size_t from, part; /* the part of the list that was sent; all of one store table */
    size_t empty; /* number of gets before this part that found no cells; they are at the start of the list */
    get_stage stage;
    kw_get *hints;            /* GET_HINTS */
    const kw_get **hint_list; /* of hints */
    size_t *hint_of;          /* parallel to hints: indexes of gets */
    kw_column *hinted;        /* parallel to gets: the column; without a family: none */
} get;

static void
fail_asked(get *self, const kw_error *error)
{
    for (size_t i = self->from; i < self->asked; i++)
        self->found[self->owners[i]].error = *error;
}

static void arrived(void *user, kw_rows *rows, const kw_error *error);

/* Sends the next gets. While a key rule changes, a record that only one of the rules can encode is in another
 * store table than the others. */
static void
ask_part(get *self)
{
    kw_store_handle *handle = self->call->handle;
    const kw_get **list = (self->stage == GET_HINTS ? self->hint_list : self->list) + self->from;
    self->part = 1;
    while (self->from + self->part < self->asked && kw_bytes_equal(list[self->part]->table, list[0]->table))
        self->part++;
    if (self->part == 1)
        kw_store_handle_get(handle, list[0], arrived, self);
    else
        kw_store_handle_get_many(handle, list, self->part, arrived, self);
}

static void
ask(get *self)
{
    self->from = self->empty = 0;
    ask_part(self);
}

/* Reports that the store omitted the row to keep the call within its memory limit. */
static void
refuse_omitted(const get *self, kw_omission omitted, kw_found_record *found)
{
    const char *name = self->table->name;
    size_t most = self->form.max_bytes;
    if (omitted == KW_OMITTED_TOO_LARGE)
        kw_error_set(
            &found->error, KW_LIMIT,
            "table %s: the record has more than %zu bytes, the limit of a reply (limits.frame), or so "
            "many cells that it needs more memory than one call can use (limits.memory); request "
            "fewer columns",
            name, most);
    else
        kw_error_set(&found->error, KW_LIMIT,
                     "table %s: the record does not fit into the reply together with the preceding ones, "
                     "which can have "
                     "%zu bytes (limits.frame) and half of the memory of a call (limits.memory); request it "
                     "in another "
                     "call, or request fewer columns",
                     name, most);
    kw_metrics_add(KW_METRIC_replies_too_large, 1);
}

static void
read_row(get *self, size_t at, const kw_row *row)
{
    const kw_record *record;
    kw_found_record *found = &self->found[self->owners[at]];
    const kw_placement *placement = self->placements[self->list[at] - self->gets];
    if (row->omitted != KW_OMITTED_NOT)
        refuse_omitted(self, row->omitted, found);
    else if (kw_reader_decode(self->reader, placement, row, &record, &found->error))
        found->record = kw_reader_borrow(self->reader);
}

/* Returns the newest timestamp of the row, or -1 if it does not exist. An omitted row counts as the newest.
 */
static int64_t
newest_timestamp_of(const kw_row *row)
{
    int64_t newest = row->omitted == KW_OMITTED_NOT ? -1 : INT64_MAX;
    for (uint32_t i = 0; i < row->cells_count; i++)
        newest = MAX(newest, row->cells[i].timestamp);
    return newest;
}

/* Keeps gets that found no cells, for a second request. The rows of one record are adjacent. */
static void
read_rows(get *self, const kw_rows *rows)
{
    size_t end = self->from + self->part;
    for (size_t from = self->from, to; from < end; from = to) {
        size_t best = from;
        for (to = from + 1; to < end && self->owners[to] == self->owners[from]; to++)
            if (newest_timestamp_of(&rows->rows[to - self->from]) >
                newest_timestamp_of(&rows->rows[best - self->from]))
                best = to;
        const kw_row *row = &rows->rows[best - self->from];
        if (row->cells_count || row->omitted != KW_OMITTED_NOT) {
            read_row(self, best, row);
            continue;
        }
        for (size_t i = from; i < to; i++) {
            self->owners[self->empty] = self->owners[i];
            self->list[self->empty++] = self->list[i];
        }
    }
}

/* --- is a record without these columns there? ----------------------------------------------------- */

static void
ask_whether_there(get *self)
{
    const kw_get *form = &self->form;
    kw_bytes filter = kw_pushdown_first_or(form->columns, form->columns_count, self->call->arena);
    self->stage = GET_THERE;
    self->asked = self->empty;
    for (size_t i = 0; i < self->asked; i++) {
        size_t at = (size_t)(self->list[i] - self->gets);
        kw_get *next = &self->gets[at];
        if (next->other && self->hinted[at].family.size) {
            kw_column *columns = KW_ARENA_ARRAY(self->call->arena, kw_column, form->columns_count + 1);
            memcpy(columns, form->columns, form->columns_count * sizeof *columns);
            columns[form->columns_count] = self->hinted[at];
            next->columns = columns;
            next->columns_count = form->columns_count + 1;
            continue;
        }
        next->columns_count = 0;
        if (self->rows_each == 1 && !next->other) /* otherwise the newest cell decides which row to return */
            next->filter = filter;
        next->filters_cells_only = next->filter_is_safe = next->filter.size > 0;
    }
    ask(self);
}

static void
add_hint(get *self, size_t at, bool other)
{
    const kw_get *of = &self->gets[at];
    kw_get *hint = &self->hints[self->asked];
    *hint = *of;
    hint->table = other ? of->other->table : of->table;
    hint->row = other ? of->other->row : of->row;
    hint->other = NULL;
    hint->columns_count = 0;
    hint->filter = KW_STORE_FIRST_CELL;
    hint->filters_cells_only = hint->filter_is_safe = true;
    self->hint_list[self->asked] = hint;
    self->hint_of[self->asked++] = at;
}

/* The first cell of each of the two rows. It need not be the newest, nor still be there: it is only a hint.
 */
static void
ask_for_hints(get *self)
{
    kw_arena *arena = self->call->arena;
    self->stage = GET_HINTS;
    self->from = self->asked = 0;
    self->hints = KW_ARENA_ARRAY(arena, kw_get, 2 * self->empty);
    self->hint_list = KW_ARENA_ARRAY(arena, const kw_get *, 2 * self->empty);
    self->hint_of = KW_ARENA_ARRAY(arena, size_t, 2 * self->empty);
    for (int other = 0; other < 2; other++)
        for (size_t i = 0; i < self->empty; i++)
            if (self->list[i]->other)
                add_hint(self, (size_t)(self->list[i] - self->gets), other);
    ask_part(self);
}

static void
read_hints(get *self, const kw_rows *rows)
{
    for (size_t i = 0; i < self->part; i++) {
        const kw_cell *cell = rows->rows[i].cells_count ? rows->rows[i].cells : NULL;
        kw_column *to = &self->hinted[self->hint_of[self->from + i]];
        if (cell && to->family.size == 0)
            *to = (kw_column){.family = cell->family, .qualifier = cell->qualifier};
    }
}

/* Reads whole rows, because the columns of hints were removed in between. */
static void
ask_whole(get *self)
{
    size_t count = 0;
    for (size_t i = 0; i < self->empty; i++) {
        kw_get *next = &self->gets[self->list[i] - self->gets];
        if (next->columns_count == 0)
            continue;
        next->columns_count = 0;
        self->owners[count] = self->owners[i];
        self->list[count++] = self->list[i];
    }
    self->stage = GET_WHOLE;
    self->asked = count;
    if (count)
        ask(self);
    else
        self->done(self->user, self->found, self->count);
}

static bool
any_in_two_rows(const get *self)
{
    for (size_t i = 0; i < self->empty; i++)
        if (self->list[i]->other)
            return true;
    return false;
}

static void
ask_again(get *self)
{
    if (self->stage == GET_COLUMNS && any_in_two_rows(self))
        ask_for_hints(self);
    else if (self->stage == GET_THERE)
        ask_whole(self);
    else
        ask_whether_there(self);
}

/* --- replies -------------------------------------------------------------------------------------- */

typedef struct arrival {
    get *self;
    const kw_rows *rows;
    const kw_error *error;
} arrival;

static void
read_reply(void *user)
{
    const arrival *reply = user;
    get *self = reply->self;
    const kw_error *error = reply->error;
    if (error && self->stage != GET_HINTS)
        fail_asked(self, error);
    else if (!error && self->stage == GET_HINTS)
        read_hints(self, reply->rows);
    else if (!error)
        read_rows(self, reply->rows);
    self->from = error ? self->asked : self->from + self->part;
    if (self->from < self->asked)
        ask_part(self);
    else if (self->empty && self->stage != GET_WHOLE && self->form.columns_count)
        ask_again(self);
    else
        self->done(self->user, self->found, self->count);
}

static void
arrived(void *user, kw_rows *rows, const kw_error *error)
{
    get *self = user;
    if (rows)
        kw_arena_adopt(self->call->arena, rows->arena); /* the records are slices of the rows */
    kw_call_guard(self->call, read_reply, &(arrival){self, rows, error});
}

static bool
check_count(const get *self, kw_error *ret_error)
{
    int64_t most = kw_policy_model(self->call->policy)->limits.batch_records;
    if (self->count > (uint64_t)most)
        return kw_error_set(ret_error, KW_LIMIT, "table %s: %zu keys in one call; at most %lld are allowed",
                            self->table->name, self->count, (long long)most);
    if (self->count > 1 && self->rows_each > 1 && self->count * self->rows_each > (uint64_t)most)
        return kw_error_set(
            ret_error, KW_LIMIT,
            "table %s: %zu keys in %zu buckets each are %zu rows; at most %lld are allowed in "
            "one call (limits.batch_records)",
            self->table->name, self->count, self->rows_each, self->count * self->rows_each, (long long)most);
    return true;
}

static void
add_get(get *self, size_t index, const kw_placed_row *row)
{
    kw_get *next = &self->gets[self->asked];
    *next = self->form;
    next->table = row->placement->store_table;
    next->row = row->key;
    next->other = row->other;
    self->placements[self->asked] = row->placement;
    self->list[self->asked] = next;
    self->owners[self->asked++] = index;
}

/* Adds the gets of the placement that scans read, or those of the others. */
static void
add_gets(get *self, const kw_record_rows *rows, size_t count, const size_t *of, bool scanned)
{
    for (size_t i = 0; i < count; i++)
        for (size_t row = 0; row < rows[i].count; row++)
            if (rows[i].rows[row].placement->role.scan == scanned)
                add_get(self, of[i], &rows[i].rows[row]);
}

/* owners[i]: index of the record whose rows are rows[i]. */
static void
rows_found(void *user, const kw_record_rows *rows)
{
    get *self = user;
    const size_t *of = self->owners;
    size_t count = self->asked;
    self->owners = KW_ARENA_ARRAY(self->call->arena, size_t, count * self->rows_each);
    self->asked = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].error)
            self->found[of[i]].error = *rows[i].error;
    add_gets(self, rows, count, of, true);
    add_gets(self, rows, count, of, false);
    if (self->asked)
        ask(self);
    else
        self->done(self->user, self->found, self->count);
}

static bool
check_key(const get *self, size_t index)
{
    const kw_item *item = &self->keys[index];
    kw_error *error = &self->found[index].error;
    if (item->error.code == KW_OK)
        return kw_key_check(self->table, &item->record, error);
    *error = item->error;
    return false;
}

static void
start(get *self)
{
    kw_arena *arena = self->call->arena;
    size_t most = self->count * self->rows_each;
    self->gets = KW_ARENA_ARRAY(arena, kw_get, most);
    self->hinted = KW_ARENA_ARRAY(arena, kw_column, most);
    memset(self->hinted, 0, most * sizeof *self->hinted);
    self->placements = KW_ARENA_ARRAY(arena, const kw_placement *, most);
    self->list = KW_ARENA_ARRAY(arena, const kw_get *, most);
    self->owners = KW_ARENA_ARRAY(arena, size_t, self->count);
    const kw_record **records = KW_ARENA_ARRAY(arena, const kw_record *, self->count);
    for (size_t i = 0; i < self->count; i++) {
        if (!check_key(self, i))
            continue;
        records[self->asked] = &self->keys[i].record;
        self->owners[self->asked++] = i;
    }
    kw_rows_find(self->call, self->table, records, self->asked, KW_ROWS_GET, KW_TIMESTAMP_NONE, rows_found,
                 self);
}

static kw_found_record *
new_found(kw_call *call, size_t count)
{
    kw_found_record *found =
        kw_arena_alloc(call->arena, count * sizeof *found); /* count was checked against a limit */
    for (size_t i = 0; i < count; i++) {
        found[i].record = (kw_record){0};
        kw_error_clear(&found[i].error);
    }
    return found;
}

void
kw_verb_get(kw_call *call, const kw_table *table, const kw_item *keys, size_t count, const kw_pick *picks,
            size_t picks_count, kw_get_records_done done, void *user)
{
    get *self = KW_ARENA_NEW(call->arena, get);
    *self = (get){.call = call, .table = table, .done = done, .user = user, .count = count, .keys = keys};
    self->rows_each = kw_rows_per_record(table, KW_ROWS_GET);
    self->found = new_found(call, count);
    self->reader = kw_reader_new(call, table, &table->paths[0], picks, picks_count, NULL);
    self->form = (kw_get){.max_versions = 1,
                          .era = call->era,
                          .max_bytes = (size_t)kw_policy_model(call->policy)->limits.frame_bytes,
                          .account = call->account,
                          .call = call->number,
                          .deadline = call->deadline,
                          .ordering = &table->ordering};
    self->form.columns = kw_reader_columns(self->reader, &self->form.columns_count);
    kw_error error;
    if (check_count(self, &error)) {
        if (kw_unique_keys_any(table, keys, count))
            kw_get_unique(call, table, keys, count, picks, picks_count, done, user);
        else
            start(self);
        return;
    }
    for (size_t i = 0; i < count; i++)
        self->found[i].error = error;
    done(user, self->found, count);
}
