/* See place.h. For each record:
 *
 *   get --all present, or not to create--> done
 *    ^ \--some missing--> write_if absent ----applied--> done
 *    |  \--some expiring--> write_if unchanged --applied--> done
 *    |                       |
 *    '--- not applied, or outcome unknown
 */
#include "verb/place.h"

#include "verb/cells.h"

#include <glib.h>
#include <xxhash.h>

/* Most conditional writes of one call in flight. */
#define WRITES_MAX 32

/* Most attempts for one record. Each one after the first follows a write of another gateway, or a write with
 * unknown outcome. */
#define TRIES_MAX 5

typedef struct places places;

struct kw_row_lookup {
    places *all;
    const kw_record *record;
    kw_place *place;
    kw_bytes *keys; /* per path; empty: no choice, or not known yet */
    kw_bytes *own;  /* default keys; empty: not computed yet */
    bool *told;     /* true if the association holds this path's key */
    int64_t *since; /* timestamps of the association's cells */
    kw_bytes row;   /* row key in the association */
    unsigned tries;
    kw_get get;
    kw_write write;
    kw_check check;
};

struct places {
    kw_call *call;
    const kw_table *table;
    bool create;
    int64_t stamp;    /* if in the future; otherwise KW_TIMESTAMP_NONE */
    int64_t old_from; /* keys stored only here are renewed if written before this */
    kw_places_done done;
    void *user;
    kw_place *found;
    kw_row_lookup *seekers;
    const kw_get **list;
    kw_row_lookup **asked; /* parallel to list */
    size_t asked_count;
    kw_row_lookup **waiting; /* have cells to write */
    size_t waiting_count;
    size_t begun;
    size_t open;
};

uint32_t
kw_place_choose(const kw_path *path)
{
    static _Thread_local uint32_t turns[64]; /* tables with the same hash share a counter */
    static _Thread_local bool begun;
    kw_choice choice = kw_layout_choice(path->layout);
    if (choice.kind != KW_CHOICE_IN_TURN)
        return choice.kind ? (uint32_t)(kw_random_u64() % choice.buckets) : 0;
    for (size_t i = 0; !begun && i < G_N_ELEMENTS(turns); i++)
        turns[i] = (uint32_t)kw_random_u64(); /* each loop starts its rotation at a random bucket */
    begun = true;
    return turns[g_str_hash(kw_layout_store_table(path->layout)) % G_N_ELEMENTS(turns)]++ % choice.buckets;
}

static bool
is_chosen(const kw_path *path)
{
    return kw_layout_choice(path->layout).kind != KW_CHOICE_NONE;
}

/* The column of a path. A new layout has other row keys, so it has its own column. */
static kw_bytes
qualifier_of(const kw_path *path, kw_arena *arena)
{
    return kw_bytes_of_text(kw_arena_printf(arena, "%s/%u", path->name, kw_layout_number(path->layout)));
}

/* --- reading --------------------------------------------------------------------------------------- */

/* True if a row key that the association holds belongs to this record. */
static bool
check_key(kw_row_lookup *self, const kw_path *path, kw_bytes key, kw_error *ret_error)
{
    const kw_table *table = self->all->table;
    kw_record held = kw_record_new(table, self->all->call->arena);
    bool same = kw_layout_decode(path->layout, key, self->all->call->arena, &held, NULL);
    for (size_t i = 0; same && i < table->fields_count; i++)
        same = !kw_layout_holds_field(path->layout, i) ||
               kw_value_compare(held.values[i], self->record->values[i]) == 0;
    return same || kw_error_set(
                       ret_error, KW_CORRUPT,
                       "table %s: the association %s holds a row key of path %s that does not belong to this "
                       "record",
                       table->name, table->association->name, path->name);
}

/* Copies the row keys from the association's row; false after an error. */
static bool
take_row(kw_row_lookup *self, const kw_row *row, kw_error *ret_error)
{
    const kw_table *table = self->all->table;
    kw_arena *arena = self->all->call->arena;
    for (size_t i = 0; i < table->paths_count; i++) {
        if (!is_chosen(&table->paths[i]))
            continue;
        kw_bytes qualifier = qualifier_of(&table->paths[i], arena);
        for (uint32_t cell = 0; cell < row->cells_count; cell++) {
            if (!kw_bytes_equal(row->cells[cell].family, table->default_family) ||
                !kw_bytes_equal(row->cells[cell].qualifier, qualifier))
                continue;
            if (!check_key(self, &table->paths[i], row->cells[cell].value, ret_error))
                return false;
            self->keys[i] = kw_arena_copy(arena, row->cells[cell].value);
            self->told[i] = true;
            self->since[i] = row->cells[cell].timestamp;
            break;
        }
    }
    return true;
}

/* --- default keys ---------------------------------------------------------------------------------- */

/* This computation must never change: it determines where stored rows are. */
bool
kw_place_own_key(const kw_path *path, const kw_record *record, kw_buffer *key, uint32_t *ret_bucket,
                 kw_error *ret_error)
{
    key->size = 0;
    if (!kw_layout_encode_chosen(path->layout, record, 0, key, ret_error))
        return false;
    *ret_bucket = (uint32_t)(XXH64(key->data, key->size, 0) % kw_layout_choice(path->layout).buckets);
    key->size = 0;
    return kw_layout_encode_chosen(path->layout, record, *ret_bucket, key, ret_error);
}

static bool
own_key(kw_row_lookup *self, size_t number, kw_error *ret_error)
{
    kw_buffer key = KW_BUFFER_EMPTY;
    uint32_t bucket;
    if (self->own[number].size)
        return true;
    bool made = kw_place_own_key(&self->all->table->paths[number], self->record, &key, &bucket, ret_error);
    if (made)
        self->own[number] = kw_arena_copy(self->all->call->arena, kw_buffer_bytes(&key));
    kw_buffer_clear(&key);
    return made;
}

/* True if the association's cell would expire before the record. Cells with the default key need no renewal.
 */
static bool
is_ending(kw_row_lookup *self, size_t number)
{
    return self->told[number] && self->since[number] < self->all->old_from && own_key(self, number, NULL) &&
           !kw_bytes_equal(self->keys[number], self->own[number]);
}

/* True if nothing has to be written to the association. */
static bool
is_settled(kw_row_lookup *self)
{
    const kw_table *table = self->all->table;
    for (size_t i = 0; i < table->paths_count; i++)
        if (is_chosen(&table->paths[i]) && (self->keys[i].size == 0 || is_ending(self, i)))
            return false;
    return true;
}

static bool
take_own_keys(kw_row_lookup *self, kw_error *ret_error)
{
    for (size_t i = 0; i < self->all->table->paths_count; i++) {
        if (!is_chosen(&self->all->table->paths[i]) || self->keys[i].size)
            continue;
        if (!own_key(self, i, ret_error))
            return false;
        self->keys[i] = self->own[i];
    }
    return true;
}

/* --- writing --------------------------------------------------------------------------------------- */

static void write_next(places *all);

static void
end(kw_row_lookup *self, const kw_error *error)
{
    if (error) {
        self->place->error = *error;
        self->place->error.maybe_applied = false; /* the record itself was not changed */
    } else {
        self->place->keys = self->keys;
    }
    places *all = self->all;
    all->open--;
    write_next(all);
}

/* Builds one write: cells for every path whose key is unknown, on the condition that the first of them is
 * absent, and for cells that would expire too soon, on the condition that they are unchanged. The store
 * assigns the timestamp, because these cells never change. Only a renewal for a record with a future
 * timestamp uses that timestamp. */
static bool
make_write(kw_row_lookup *self, kw_error *ret_error)
{
    places *all = self->all;
    const kw_table *table = all->table;
    kw_cell *cells = KW_ARENA_ARRAY(all->call->arena, kw_cell, table->paths_count);
    kw_check check = {.has_value = true, .compare = KW_COMPARE_EQUAL};
    bool renews = false;
    size_t count = 0;
    for (size_t i = 0; i < table->paths_count; i++) {
        bool known = self->keys[i].size > 0;
        if (!is_chosen(&table->paths[i]) || (known && !is_ending(self, i)))
            continue;
        if (!own_key(self, i, ret_error))
            return false;
        kw_cell cell = {.family = table->default_family,
                        .qualifier = qualifier_of(&table->paths[i], all->call->arena),
                        .value = known ? self->keys[i] : self->own[i]};
        if (count == 0 || (!known && check.has_value))
            check = (kw_check){.family = cell.family,
                               .qualifier = cell.qualifier,
                               .compare = KW_COMPARE_EQUAL,
                               .has_value = known,
                               .value = known ? cell.value : KW_BYTES_NONE};
        renews |= known;
        cells[count++] = cell;
    }
    self->check = check;
    self->write = (kw_write){.kind = KW_WRITE_PUT,
                             .table = table->association->store_table,
                             .row = self->row,
                             .cells = cells,
                             .cells_count = count,
                             .timestamp = renews ? all->stamp : KW_TIMESTAMP_NONE,
                             .deadline = all->call->deadline};
    return true;
}

static void written(void *user, kw_outcome outcome, bool applied, const kw_error *error);

static void
send_write(kw_row_lookup *self)
{
    kw_store_handle_write_if(self->all->call->handle, &self->write, &self->check, written, self);
}

static void
read_again(void *user, kw_rows *rows, const kw_error *error)
{
    kw_row_lookup *self = user;
    kw_error wrong = error ? *error : KW_ERROR_NONE;
    if (!error)
        take_row(self, &rows->rows[0], &wrong);
    kw_rows_free(rows);
    if (wrong.code == KW_OK && is_settled(self))
        end(self, NULL);
    else if (wrong.code == KW_OK && make_write(self, &wrong))
        send_write(self);
    else
        end(self, &wrong);
}

static void
written(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    kw_row_lookup *self = user;
    kw_error gave_up;
    if (outcome == KW_OUTCOME_OK && applied) {
        take_own_keys(self, NULL);
        end(self, NULL);
    } else if (outcome == KW_OUTCOME_FAILED) {
        end(self, error);
    } else if (++self->tries < TRIES_MAX) {
        kw_store_handle_get(self->all->call->handle, &self->get, read_again, self);
    } else {
        kw_error_set(&gave_up, KW_UNAVAILABLE,
                     "table %s: writes of other gateways kept changing the record's row in the association "
                     "%s; try again",
                     self->all->table->name, self->all->table->association->name);
        end(self, error ? error : &gave_up);
    }
}

/* Starts writes up to the limit in flight; answers when all are done. */
static void
write_next(places *all)
{
    for (; all->begun < all->waiting_count && all->open < WRITES_MAX; all->open++)
        send_write(all->waiting[all->begun++]);
    if (all->open == 0)
        all->done(all->user, all->found);
}

/* --- the first read, for all records -------------------------------------------------------------- */

static void
arrived(void *user, kw_rows *rows, const kw_error *error)
{
    places *all = user;
    for (size_t i = 0; i < all->asked_count; i++) {
        kw_row_lookup *self = all->asked[i];
        kw_error *wrong = &self->place->error;
        if (error) {
            *wrong = *error;
            wrong->maybe_applied = false; /* no record was changed */
            continue;
        }
        if (!take_row(self, &rows->rows[i], wrong))
            continue;
        if (all->create && !is_settled(self)) {
            if (make_write(self, wrong))
                all->waiting[all->waiting_count++] = self;
        } else if (take_own_keys(self, wrong)) {
            self->place->keys = self->keys;
        }
    }
    kw_rows_free(rows);
    write_next(all);
}

static void
begin_seeker(places *all, size_t at, const kw_record *record, kw_buffer *scratch)
{
    kw_arena *arena = all->call->arena;
    kw_row_lookup *self = &all->seekers[at];
    *self = (kw_row_lookup){.all = all, .record = record, .place = &all->found[at]};
    self->place->seeker = self;
    self->keys = KW_ARENA_ARRAY(arena, kw_bytes, all->table->paths_count);
    self->own = KW_ARENA_ARRAY(arena, kw_bytes, all->table->paths_count);
    self->told = KW_ARENA_ARRAY(arena, bool, all->table->paths_count);
    self->since = KW_ARENA_ARRAY(arena, int64_t, all->table->paths_count);
    if (!kw_row_key(all->table->association, record, scratch, arena, &self->row, &self->place->error))
        return;
    self->get = (kw_get){.table = all->table->association->store_table,
                         .row = self->row,
                         .max_versions = 1,
                         .deadline = all->call->deadline};
    all->list[all->asked_count] = &self->get;
    all->asked[all->asked_count++] = self;
}

/* Computes from the present, or from the caller's timestamp, which cells need renewal. */
static void
take_time(places *all, int64_t stamp)
{
    int64_t now = kw_clock_wall_ms();
    bool given = stamp != KW_TIMESTAMP_NONE;
    if (given && stamp > now)
        all->stamp = stamp;
    all->old_from = (given ? stamp : now) - INT64_C(500) * KW_PLACE_MARGIN_S;
}

void
kw_places_find(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
               bool create, int64_t stamp, kw_places_done done, void *user)
{
    g_assert(table->association);
    places *all = KW_ARENA_NEW(call->arena, places);
    *all = (places){.call = call,
                    .table = table,
                    .create = create,
                    .stamp = KW_TIMESTAMP_NONE,
                    .old_from = INT64_MIN,
                    .done = done,
                    .user = user};
    if (create && table->lifetime_s)
        take_time(all, stamp);
    all->found = KW_ARENA_ARRAY(call->arena, kw_place, count);
    all->seekers = KW_ARENA_ARRAY(call->arena, kw_row_lookup, count);
    all->list = KW_ARENA_ARRAY(call->arena, const kw_get *, count);
    all->asked = KW_ARENA_ARRAY(call->arena, kw_row_lookup *, count);
    all->waiting = KW_ARENA_ARRAY(call->arena, kw_row_lookup *, count);
    kw_buffer scratch = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < count; i++)
        begin_seeker(all, i, records[i], &scratch);
    kw_buffer_clear(&scratch);
    if (all->asked_count == 0)
        done(user, all->found);
    else if (all->asked_count == 1)
        kw_store_handle_get(call->handle, all->list[0], arrived, all);
    else
        kw_store_handle_get_many(call->handle, all->list, all->asked_count, arrived, all);
}

/* --- removing association rows --------------------------------------------------------------------- */

typedef struct forgetting forgetting;

typedef struct forget_one {
    forgetting *all;
    size_t index;
    kw_write write;
    kw_check check;
} forget_one;

struct forgetting {
    kw_call *call;
    const kw_table *table;
    forget_one *rows;
    size_t count;
    size_t begun;
    size_t open;
    kw_error *errors;
    kw_places_forgotten done;
    void *user;
};

static void forget_next(forgetting *all);

/* Not applied: the row is gone or holds another key. */
static void
forgotten(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    forget_one *self = user;
    forgetting *all = self->all;
    (void)applied;
    if (outcome != KW_OUTCOME_OK)
        all->errors[self->index] = *error;
    all->open--;
    forget_next(all);
}

static void
forget_next(forgetting *all)
{
    for (; all->begun < all->count && all->open < WRITES_MAX; all->open++) {
        forget_one *self = &all->rows[all->begun++];
        kw_store_handle_write_if(all->call->handle, &self->write, &self->check, forgotten, self);
    }
    if (all->open == 0)
        all->done(all->user, all->errors);
}

/* Builds a delete of the columns that hold default keys, on the condition that the first of them is
 * unchanged: the cells of a row were written together. False: there are none, or an error. */
static bool
make_forget(forgetting *all, kw_row_lookup *seeker, forget_one *ret_one, kw_error *ret_error)
{
    const kw_table *table = all->table;
    kw_arena *arena = all->call->arena;
    kw_column *columns = KW_ARENA_ARRAY(arena, kw_column, table->paths_count);
    size_t count = 0;
    for (size_t i = 0; i < table->paths_count; i++) {
        if (!seeker->told[i])
            continue;
        if (!own_key(seeker, i, ret_error))
            return false;
        if (!kw_bytes_equal(seeker->keys[i], seeker->own[i]))
            continue;
        columns[count] =
            (kw_column){.family = table->default_family, .qualifier = qualifier_of(&table->paths[i], arena)};
        if (count++ == 0)
            ret_one->check = (kw_check){.family = columns[0].family,
                                        .qualifier = columns[0].qualifier,
                                        .compare = KW_COMPARE_EQUAL,
                                        .has_value = true,
                                        .value = seeker->own[i]};
    }
    ret_one->write = (kw_write){.kind = KW_WRITE_DELETE,
                                .table = table->association->store_table,
                                .row = seeker->row,
                                .columns = columns,
                                .columns_count = count,
                                .timestamp = KW_TIMESTAMP_NONE,
                                .deadline = all->call->deadline};
    return count > 0;
}

void
kw_places_forget(kw_call *call, const kw_table *table, const kw_place *found, const bool *gone, size_t count,
                 kw_places_forgotten done, void *user)
{
    forgetting *all = KW_ARENA_NEW(call->arena, forgetting);
    *all = (forgetting){.call = call, .table = table, .done = done, .user = user};
    all->rows = KW_ARENA_ARRAY(call->arena, forget_one, count);
    all->errors = KW_ARENA_ARRAY(call->arena, kw_error, count);
    for (size_t i = 0; i < count; i++) {
        forget_one *one = &all->rows[all->count];
        *one = (forget_one){.all = all, .index = i};
        if (gone[i] && found[i].seeker && make_forget(all, found[i].seeker, one, &all->errors[i]))
            all->count++;
    }
    forget_next(all);
}
