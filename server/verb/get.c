/* get: key, one multi-get under the primary path, records. When columns were chosen, a row that has none of
 * them may still exist: those are asked for again, whole. */
#include "verb/cells.h"
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
    kw_reader *reader;
    kw_get *gets;
    const kw_get **list;
    size_t *owners;
    size_t asked;
    bool again; /* this is the second question */
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
    kw_door *door = self->call->door;
    if (self->asked == 1)
        kw_door_get(door, self->list[0], arrived, self);
    else
        kw_door_get_many(door, self->list, self->asked, arrived, self);
}

static void
read_row(get *self, const kw_row *row, kw_found_record *found)
{
    const kw_record *record;
    if (kw_reader_decode(self->reader, row, &record, &found->error))
        found->record = kw_reader_keep(self->reader);
}

/* Keeps those for a second question that answered nothing. */
static size_t
read_rows(get *self, const kw_rows *rows)
{
    size_t empty = 0;
    for (size_t i = 0; i < self->asked; i++) {
        if (rows->rows[i].cells_count) {
            read_row(self, &rows->rows[i], &self->found[self->owners[i]]);
            continue;
        }
        self->owners[empty] = self->owners[i];
        self->list[empty++] = self->list[i];
    }
    return empty;
}

static void
ask_for_whole(get *self, size_t empty)
{
    self->again = true;
    self->asked = empty;
    for (size_t i = 0; i < empty; i++)
        self->gets[self->list[i] - self->gets].columns_count = 0;
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
    kw_rows_free(rows);
    if (empty && !self->again && self->gets[0].columns_count)
        ask_for_whole(self, empty);
    else
        self->done(self->user, self->found, self->count);
}

static bool
check_count(const get *self, kw_error *ret_error)
{
    int64_t most = kw_policy_model(self->call->policy)->limits.batch_records;
    return self->count <= (uint64_t)most ||
           kw_error_set(ret_error, KW_LIMIT, "table %s: %zu keys in one call; at most %lld are allowed",
                        self->table->name, self->count, (long long)most);
}

static void
make_gets(get *self, const kw_item *keys)
{
    const kw_path *path = &self->table->paths[0];
    kw_get form = {.table = path->store_table, .max_versions = 1, .deadline = self->call->deadline};
    form.columns = kw_reader_columns(self->reader, &form.columns_count);
    kw_buffer scratch = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < self->count; i++) {
        kw_error *error = &self->found[i].error;
        *error = keys[i].error;
        kw_get *next = &self->gets[self->asked];
        *next = form;
        if (error->code != KW_OK || !kw_key_check(self->table, &keys[i].record, error) ||
            !kw_row_key(path, &keys[i].record, &scratch, self->call->arena, &next->row, error))
            continue;
        self->list[self->asked] = next;
        self->owners[self->asked++] = i;
    }
    kw_buffer_clear(&scratch);
}

void
kw_verb_get(kw_call *call, const kw_table *table, const kw_item *keys, size_t count, const size_t *fields,
            size_t fields_count, kw_get_records_done done, void *user)
{
    get *self = KW_ARENA_NEW(call->arena, get);
    *self = (get){.call = call, .table = table, .done = done, .user = user, .count = count};
    self->found = KW_ARENA_ARRAY(call->arena, kw_found_record, count);
    self->gets = KW_ARENA_ARRAY(call->arena, kw_get, count);
    self->list = KW_ARENA_ARRAY(call->arena, const kw_get *, count);
    self->owners = KW_ARENA_ARRAY(call->arena, size_t, count);
    self->reader = kw_reader_new(call, table, &table->paths[0], fields, fields_count, NULL);
    kw_error error;
    if (check_count(self, &error))
        make_gets(self, keys);
    else
        for (size_t i = 0; i < count; i++)
            self->found[i].error = error;
    if (self->asked)
        ask(self);
    else
        done(user, self->found, count);
}
