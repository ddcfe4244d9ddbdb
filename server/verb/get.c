/* get: builds keys, reads them with one multi-get under the primary path, decodes records. If columns were
 * chosen, a row without any of them can still exist: a second request reads its first cell. If a bucket is
 * chosen at each put, the record's row is the one that the association holds, or without an association the
 * newest row of all buckets. */
#include "verb/cells.h"
#include "verb/place.h"
#include "verb/pushdown.h"
#include "verb/reader.h"
#include "verb/verb.h"

#include <glib.h>

typedef struct get {
    kw_call *call;
    const kw_table *table;
    kw_get_records_done done;
    void *user;
    kw_found_record *found;
    size_t count;
    const kw_item *keys;
    uint32_t buckets; /* number of rows that can hold one record */
    bool through_association;
    size_t places; /* number of rows to read */
    kw_reader *reader;
    kw_get form;
    kw_get *gets;
    const kw_get **list;
    size_t *owners;
    size_t asked;
    bool again; /* true in the second request */
} get;

static void
fail_asked(get *self, const kw_error *error)
{
    for (size_t i = 0; i < self->asked; i++)
        self->found[self->owners[i]].error = *error;
}

static void arrived(void *user, kw_rows *rows, const kw_error *error);

static void
ask(get *self)
{
    kw_store_handle *handle = self->call->handle;
    if (self->asked == 1)
        kw_store_handle_get(handle, self->list[0], arrived, self);
    else
        kw_store_handle_get_many(handle, self->list, self->asked, arrived, self);
}

/* Reports that the store omitted the row to keep the call within its memory limit. */
static void
refuse_omitted(const get *self, kw_omission omitted, kw_found_record *found)
{
    const char *name = self->table->name;
    size_t most = self->form.max_bytes;
    if (omitted == KW_OMITTED_TOO_LARGE)
        kw_error_set(&found->error, KW_LIMIT,
                     "table %s: the record has more than %zu bytes, the limit of a reply (limits.frame); "
                     "choose columns",
                     name, most);
    else
        kw_error_set(
            &found->error, KW_LIMIT,
            "table %s: the record does not fit into the reply with the preceding ones; the limit is %zu "
            "bytes (limits.frame); ask for it in another call, or choose columns",
            name, most);
    kw_metrics_add(KW_METRIC_replies_too_large, 1);
}

static void
read_row(get *self, const kw_row *row, kw_found_record *found)
{
    const kw_record *record;
    if (row->omitted != KW_OMITTED_NOT)
        refuse_omitted(self, row->omitted, found);
    else if (kw_reader_decode(self->reader, row, &record, &found->error))
        found->record = kw_reader_borrow(self->reader);
}

/* Returns the newest timestamp of the row, or -1 if it does not exist. An omitted row counts as the newest.
 */
static int64_t
age_of(const kw_row *row)
{
    int64_t newest = row->omitted == KW_OMITTED_NOT ? -1 : INT64_MAX;
    for (uint32_t i = 0; i < row->cells_count; i++)
        newest = MAX(newest, row->cells[i].timestamp);
    return newest;
}

/* Keeps gets that found no cells, for a second request. The rows of one record are adjacent. */
static size_t
read_rows(get *self, const kw_rows *rows)
{
    size_t empty = 0;
    for (size_t from = 0, to; from < self->asked; from = to) {
        size_t best = from;
        for (to = from + 1; to < self->asked && self->owners[to] == self->owners[from]; to++)
            best = age_of(&rows->rows[to]) > age_of(&rows->rows[best]) ? to : best;
        if (rows->rows[best].cells_count || rows->rows[best].omitted != KW_OMITTED_NOT) {
            read_row(self, &rows->rows[best], &self->found[self->owners[from]]);
            continue;
        }
        for (size_t i = from; i < to; i++) {
            self->owners[empty] = self->owners[i];
            self->list[empty++] = self->list[i];
        }
    }
    return empty;
}

static void
ask_whether_there(get *self, size_t empty)
{
    const kw_get *form = &self->form;
    kw_bytes filter = kw_pushdown_first_or(form->columns, form->columns_count, self->call->arena);
    self->again = true;
    self->asked = empty;
    for (size_t i = 0; i < empty; i++) {
        kw_get *next = &self->gets[self->list[i] - self->gets];
        next->columns_count = 0;
        if (self->buckets == 1) /* otherwise the newest cell decides which row to return */
            next->filter = filter;
        next->narrows = next->filter_is_safe = next->filter.size > 0;
    }
    ask(self);
}

static void
arrived(void *user, kw_rows *rows, const kw_error *error)
{
    get *self = user;
    size_t empty = 0;
    if (error)
        fail_asked(self, error);
    else
        empty = read_rows(self, rows);
    if (rows)
        kw_arena_adopt(self->call->arena, rows->arena); /* the records are slices of the rows */
    if (empty && !self->again && self->gets[0].columns_count)
        ask_whether_there(self, empty);
    else
        self->done(self->user, self->found, self->count);
}

static bool
check_count(const get *self, kw_error *ret_error)
{
    int64_t most = kw_policy_model(self->call->policy)->limits.batch_records;
    if (self->count > (uint64_t)most)
        return kw_error_set(ret_error, KW_LIMIT, "table %s: %zu keys in one call; at most %lld are allowed",
                            self->table->name, self->count, (long long)most);
    if (self->count > 1 && self->buckets > 1 && self->count * self->buckets > (uint64_t)most)
        return kw_error_set(ret_error, KW_LIMIT,
                            "table %s: %zu keys in %u buckets each are %zu rows; at most %lld are allowed in "
                            "one call (limits.batch_records)",
                            self->table->name, self->count, self->buckets, self->count * self->buckets,
                            (long long)most);
    return true;
}

static void
add_get(get *self, size_t index, kw_bytes row)
{
    kw_get *next = &self->gets[self->asked];
    *next = self->form;
    next->row = row;
    self->list[self->asked] = next;
    self->owners[self->asked++] = index;
}

static void
add_key(get *self, size_t index, kw_buffer *scratch)
{
    const kw_layout *layout = self->table->paths[0].layout;
    for (uint32_t bucket = 0; bucket < self->buckets; bucket++) {
        scratch->size = 0;
        if (!kw_layout_encode_chosen(layout, &self->keys[index].record, bucket, scratch,
                                     &self->found[index].error))
            return;
        add_get(self, index, kw_arena_copy(self->call->arena, kw_buffer_bytes(scratch)));
    }
}

static void
finish(get *self)
{
    if (self->asked)
        ask(self);
    else
        self->done(self->user, self->found, self->count);
}

/* owners[i]: record index of lookup i. */
static void
placed(void *user, const kw_place *places)
{
    get *self = user;
    size_t *of = self->owners;
    size_t count = self->places;
    self->owners = KW_ARENA_ARRAY(self->call->arena, size_t, count);
    for (size_t i = 0; i < count; i++) {
        self->found[of[i]].error = places[i].error;
        if (places[i].keys)
            add_get(self, of[i], places[i].keys[0]);
    }
    finish(self);
}

static void
find_places(get *self)
{
    const kw_record **records = KW_ARENA_ARRAY(self->call->arena, const kw_record *, self->count);
    kw_buffer scratch = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < self->count; i++) {
        scratch.size = 0;
        if (self->found[i].error.code != KW_OK ||
            !kw_layout_encode(self->table->paths[0].layout, &self->keys[i].record, &scratch,
                              &self->found[i].error))
            continue;
        records[self->places] = &self->keys[i].record;
        self->owners[self->places++] = i;
    }
    kw_buffer_clear(&scratch);
    kw_places_find(self->call, self->table, records, self->places, false, KW_TIMESTAMP_NONE, placed, self);
}

static void
start(get *self)
{
    size_t most = self->count * self->buckets;
    self->gets = KW_ARENA_ARRAY(self->call->arena, kw_get, most);
    self->list = KW_ARENA_ARRAY(self->call->arena, const kw_get *, most);
    self->owners = KW_ARENA_ARRAY(self->call->arena, size_t, most);
    for (size_t i = 0; i < self->count; i++) {
        if (self->keys[i].error.code != KW_OK)
            self->found[i].error = self->keys[i].error;
        else
            kw_key_check(self->table, &self->keys[i].record, &self->found[i].error);
    }
    if (self->through_association) {
        find_places(self);
        return;
    }
    kw_buffer scratch = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < self->count; i++) {
        if (self->found[i].error.code == KW_OK)
            add_key(self, i, &scratch);
    }
    kw_buffer_clear(&scratch);
    finish(self);
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
    kw_choice choice = kw_layout_choice(table->paths[0].layout);
    *self = (get){.call = call, .table = table, .done = done, .user = user, .count = count, .keys = keys};
    self->through_association = choice.kind && table->association;
    self->buckets = self->through_association ? 1 : choice.buckets;
    self->found = new_found(call, count);
    self->reader = kw_reader_new(call, table, &table->paths[0], picks, picks_count, NULL);
    self->form = (kw_get){.table = table->paths[0].store_table,
                          .max_versions = 1,
                          .max_bytes = (size_t)kw_policy_model(call->policy)->limits.frame_bytes,
                          .account = call->account,
                          .call = call->number,
                          .deadline = call->deadline,
                          .ordering = &table->ordering};
    self->form.columns = kw_reader_columns(self->reader, &self->form.columns_count);
    kw_error error;
    if (check_count(self, &error)) {
        start(self);
        return;
    }
    for (size_t i = 0; i < count; i++)
        self->found[i].error = error;
    done(user, self->found, count);
}
