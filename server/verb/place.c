/* See place.h. Per record:
 *
 *   ask --all there--> done
 *    ^ \--some missing--> (create) write_if absent --applied--> done
 *    |                        |
 *    +--- another was first, or nobody knows
 */
#include "verb/place.h"

#include "verb/cells.h"

#include <glib.h>

/* Conditional writes in flight of one call. */
#define WRITES_MAX 32

/* Questions about one record before it is given up: each but the first follows a write of another gateway, or
 * one whose fate is not known. */
#define TRIES_MAX 5

typedef struct places places;

typedef struct seeker {
    places *all;
    const kw_record *record;
    kw_place *place;
    kw_bytes *keys; /* per path; empty: computed, or not known yet */
    kw_bytes *mine; /* what was chosen here: once */
    kw_bytes row;   /* in the association */
    unsigned tries;
    kw_get get;
    kw_write write;
    kw_check check;
} seeker;

struct places {
    kw_call *call;
    const kw_table *table;
    bool create;
    kw_places_done done;
    void *user;
    kw_place *found;
    seeker *seekers;
    const kw_get **list;
    seeker **asked; /* beside the list */
    size_t asked_count;
    seeker **waiting; /* to write */
    size_t waiting_count;
    size_t begun;
    size_t open;
};

uint32_t
kw_place_choose(const kw_path *path)
{
    static _Thread_local uint32_t turns[64]; /* of tables that happen to share one, each takes some */
    static _Thread_local bool begun;
    kw_choice choice = kw_layout_choice(path->layout);
    if (choice.kind != KW_CHOICE_IN_TURN)
        return choice.kind ? (uint32_t)(kw_random_u64() % choice.buckets) : 0;
    for (size_t i = 0; !begun && i < G_N_ELEMENTS(turns); i++)
        turns[i] = (uint32_t)kw_random_u64(); /* loops do not walk in step */
    begun = true;
    return turns[g_str_hash(kw_layout_store_table(path->layout)) % G_N_ELEMENTS(turns)]++ % choice.buckets;
}

static bool
is_chosen(const kw_path *path)
{
    return kw_layout_choice(path->layout).kind != KW_CHOICE_NONE;
}

/* A new layout has rows of its own, so it has a column of its own. */
static kw_bytes
qualifier_of(const kw_path *path, kw_arena *arena)
{
    return kw_bytes_of_text(kw_arena_printf(arena, "%s/%u", path->name, kw_layout_number(path->layout)));
}

/* --- reading --------------------------------------------------------------------------------------- */

/* A row key that the association holds must be this record's. */
static bool
check_key(seeker *self, const kw_path *path, kw_bytes key, kw_error *ret_error)
{
    const kw_table *table = self->all->table;
    kw_record held = kw_record_new(table, self->all->call->arena);
    bool same = kw_layout_decode(path->layout, key, self->all->call->arena, &held, NULL);
    for (size_t i = 0; same && i < table->fields_count; i++)
        same = !kw_layout_holds_field(path->layout, i) ||
               kw_value_compare(held.values[i], self->record->values[i]) == 0;
    return same || kw_error_set(ret_error, KW_CORRUPT,
                                "table %s: the association %s tells a row key of path %s that is not of this "
                                "record",
                                table->name, table->association->name, path->name);
}

/* Takes what the association's row says; false after an error. */
static bool
take_row(seeker *self, const kw_row *row, kw_error *ret_error)
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
            break;
        }
    }
    return true;
}

static bool
knows_all(const seeker *self)
{
    const kw_table *table = self->all->table;
    for (size_t i = 0; i < table->paths_count; i++)
        if (is_chosen(&table->paths[i]) && self->keys[i].size == 0)
            return false;
    return true;
}

/* --- writing --------------------------------------------------------------------------------------- */

static void write_next(places *all);

static void
end(seeker *self, const kw_error *error)
{
    if (error) {
        self->place->error = *error;
        self->place->error.maybe_applied = false; /* the record was not touched */
    } else {
        self->place->keys = self->keys;
    }
    places *all = self->all;
    all->open--;
    write_next(all);
}

static bool
choose_key(seeker *self, size_t path, kw_error *ret_error)
{
    kw_buffer key = KW_BUFFER_EMPTY;
    const kw_path *of = &self->all->table->paths[path];
    if (self->mine[path].size)
        return true;
    bool made = kw_layout_encode_chosen(of->layout, self->record, kw_place_choose(of), &key, ret_error);
    self->mine[path] = kw_arena_copy(self->all->call->arena, kw_buffer_bytes(&key));
    kw_buffer_clear(&key);
    return made;
}

/* Cells for every path whose key is not known, on the condition that the first of them is absent. The
 * store stamps it: nothing else is ever written there. */
static bool
make_write(seeker *self, kw_error *ret_error)
{
    kw_call *call = self->all->call;
    const kw_table *table = self->all->table;
    kw_cell *cells = KW_ARENA_ARRAY(call->arena, kw_cell, table->paths_count);
    size_t count = 0;
    for (size_t i = 0; i < table->paths_count; i++) {
        if (!is_chosen(&table->paths[i]) || self->keys[i].size)
            continue;
        if (!choose_key(self, i, ret_error))
            return false;
        cells[count++] = (kw_cell){.family = table->default_family,
                                   .qualifier = qualifier_of(&table->paths[i], call->arena),
                                   .value = self->mine[i]};
    }
    self->write = (kw_write){.kind = KW_WRITE_PUT,
                             .table = table->association->store_table,
                             .row = self->row,
                             .cells = cells,
                             .cells_count = count,
                             .timestamp = KW_TIMESTAMP_NONE,
                             .deadline = call->deadline};
    self->check =
        (kw_check){.family = cells[0].family, .qualifier = cells[0].qualifier, .compare = KW_COMPARE_EQUAL};
    return true;
}

static void written(void *user, kw_outcome outcome, bool applied, const kw_error *error);

static void
send_write(seeker *self)
{
    kw_door_write_if(self->all->call->door, &self->write, &self->check, written, self);
}

static void
read_again(void *user, kw_rows *rows, const kw_error *error)
{
    seeker *self = user;
    kw_error wrong = error ? *error : KW_ERROR_NONE;
    if (!error)
        take_row(self, &rows->rows[0], &wrong);
    kw_rows_free(rows);
    if (wrong.code == KW_OK && knows_all(self))
        end(self, NULL);
    else if (wrong.code == KW_OK && make_write(self, &wrong))
        send_write(self);
    else
        end(self, &wrong);
}

static void
written(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    seeker *self = user;
    kw_error gave_up;
    if (outcome == KW_OUTCOME_OK && applied) {
        for (size_t i = 0; i < self->all->table->paths_count; i++)
            if (self->keys[i].size == 0)
                self->keys[i] = self->mine[i];
        end(self, NULL);
    } else if (outcome == KW_OUTCOME_FAILED) {
        end(self, error);
    } else if (++self->tries < TRIES_MAX) {
        kw_door_get(self->all->call->door, &self->get, read_again, self);
    } else {
        kw_error_set(&gave_up, KW_UNAVAILABLE, "table %s: the association %s cannot be agreed on",
                     self->all->table->name, self->all->table->association->name);
        end(self, error ? error : &gave_up);
    }
}

/* Starts what may be in flight; answers when all is done. */
static void
write_next(places *all)
{
    for (; all->begun < all->waiting_count && all->open < WRITES_MAX; all->open++)
        send_write(all->waiting[all->begun++]);
    if (all->open == 0)
        all->done(all->user, all->found);
}

/* --- the first question, about all ----------------------------------------------------------------- */

static void
arrived(void *user, kw_rows *rows, const kw_error *error)
{
    places *all = user;
    for (size_t i = 0; i < all->asked_count; i++) {
        seeker *self = all->asked[i];
        kw_error *wrong = &self->place->error;
        if (error) {
            *wrong = *error;
            wrong->maybe_applied = false; /* no record was touched */
            continue;
        }
        if (!take_row(self, &rows->rows[i], wrong))
            continue;
        if (knows_all(self))
            self->place->keys = self->keys;
        else if (all->create && make_write(self, wrong))
            all->waiting[all->waiting_count++] = self;
    }
    kw_rows_free(rows);
    write_next(all);
}

static void
begin_seeker(places *all, size_t at, const kw_record *record, kw_buffer *scratch)
{
    kw_arena *arena = all->call->arena;
    seeker *self = &all->seekers[at];
    *self = (seeker){.all = all, .record = record, .place = &all->found[at]};
    self->keys = KW_ARENA_ARRAY(arena, kw_bytes, all->table->paths_count);
    self->mine = KW_ARENA_ARRAY(arena, kw_bytes, all->table->paths_count);
    if (!kw_row_key(all->table->association, record, scratch, arena, &self->row, &self->place->error))
        return;
    self->get = (kw_get){.table = all->table->association->store_table,
                         .row = self->row,
                         .max_versions = 1,
                         .deadline = all->call->deadline};
    all->list[all->asked_count] = &self->get;
    all->asked[all->asked_count++] = self;
}

void
kw_places_find(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
               bool create, kw_places_done done, void *user)
{
    g_assert(table->association);
    places *all = KW_ARENA_NEW(call->arena, places);
    *all = (places){.call = call, .table = table, .create = create, .done = done, .user = user};
    all->found = KW_ARENA_ARRAY(call->arena, kw_place, count);
    all->seekers = KW_ARENA_ARRAY(call->arena, seeker, count);
    all->list = KW_ARENA_ARRAY(call->arena, const kw_get *, count);
    all->asked = KW_ARENA_ARRAY(call->arena, seeker *, count);
    all->waiting = KW_ARENA_ARRAY(call->arena, seeker *, count);
    kw_buffer scratch = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < count; i++)
        begin_seeker(all, i, records[i], &scratch);
    kw_buffer_clear(&scratch);
    if (all->asked_count == 0)
        done(user, all->found);
    else if (all->asked_count == 1)
        kw_door_get(call->door, all->list[0], arrived, all);
    else
        kw_door_get_many(call->door, all->list, all->asked_count, arrived, all);
}
