/* See association.h. For each record:
 *
 *   get --all present, or not to create--> done
 *    ^ \--some missing--> write_if absent ----applied--> done
 *    |  \--some expiring--> write_if unchanged --applied--> done
 *    |                       |
 *    '--- not applied, or outcome unknown
 */
#include "path/association_internal.h"

#include "path/cells.h"

#include <glib.h>
#include <xxhash.h>

/* Most attempts for one record. Each one after the first follows a write of another gateway, or a write with
 * unknown outcome. */
#define TRIES_MAX 5

typedef kw_association_lookups lookups;

struct kw_association_lookups {
    kw_call *call;
    const kw_table *table;
    bool create;
    int64_t stamp;    /* if in the future; otherwise KW_TIMESTAMP_NONE */
    int64_t old_from; /* keys stored only here are renewed if written before this */
    kw_association_found done;
    void *user;
    kw_association_entry *found;
    kw_association_lookup *each;
    const kw_get **list;
    kw_association_lookup **asked; /* parallel to list */
    size_t asked_count;
    kw_association_lookup **waiting; /* have cells to write */
    size_t waiting_count;
    size_t begun;
    size_t open;
};

uint32_t
kw_placement_choose_bucket(const kw_placement *placement)
{
    static _Thread_local uint32_t turns[64]; /* tables with the same hash share a counter */
    static _Thread_local bool begun;
    kw_choice choice = kw_layout_choice(placement->layout);
    if (choice.kind != KW_CHOICE_ROUND_ROBIN)
        return choice.kind ? (uint32_t)(kw_random_u64() % choice.buckets) : 0;
    for (size_t i = 0; !begun && i < G_N_ELEMENTS(turns); i++)
        turns[i] = (uint32_t)kw_random_u64(); /* each loop starts its rotation at a random bucket */
    begun = true;
    return turns[g_str_hash(kw_layout_store_table(placement->layout)) % G_N_ELEMENTS(turns)]++ %
           choice.buckets;
}

static bool
is_chosen(const kw_placement *placement)
{
    return kw_layout_choice(placement->layout).kind != KW_CHOICE_NONE;
}

kw_bytes
kw_association_qualifier(const kw_placement *placement, kw_arena *arena)
{
    return kw_bytes_of_text(
        kw_arena_printf(arena, "%s/%u", placement->path->name, kw_layout_number(placement->layout)));
}

/* --- reading --------------------------------------------------------------------------------------- */

/* True if a row key that the association holds belongs to this record. */
static bool
check_key(kw_association_lookup *self, const kw_placement *placement, kw_bytes key, kw_error *ret_error)
{
    const kw_table *table = self->all->table;
    kw_record held = kw_record_new(table, self->all->call->arena);
    bool same = kw_layout_decode(placement->layout, key, self->all->call->arena, &held, NULL);
    for (size_t i = 0; same && i < table->fields_count; i++)
        same = !kw_layout_holds_field(placement->layout, i) ||
               kw_value_compare(held.values[i], self->record->values[i]) == 0;
    return same || kw_error_set(
                       ret_error, KW_CORRUPT,
                       "table %s: the association %s holds a row key of path %s that does not belong to this "
                       "record",
                       table->name, table->association->name, placement->path->name);
}

/* Copies the row keys from the association's row; false after an error. */
static bool
take_row(kw_association_lookup *self, const kw_row *row, kw_error *ret_error)
{
    const kw_table *table = self->all->table;
    kw_arena *arena = self->all->call->arena;
    for (size_t i = 0; i < table->placements_count; i++) {
        if (!is_chosen(&table->placements[i]))
            continue;
        kw_bytes qualifier = kw_association_qualifier(&table->placements[i], arena);
        for (uint32_t cell = 0; cell < row->cells_count; cell++) {
            if (!kw_bytes_equal(row->cells[cell].family, table->default_family) ||
                !kw_bytes_equal(row->cells[cell].qualifier, qualifier))
                continue;
            if (!check_key(self, &table->placements[i], row->cells[cell].value, ret_error))
                return false;
            self->keys[i] = kw_arena_copy(arena, row->cells[cell].value);
            self->held[i] = true;
            self->written_ms[i] = row->cells[cell].timestamp;
            break;
        }
    }
    return true;
}

/* --- default keys ---------------------------------------------------------------------------------- */

/* This computation must never change: it determines where stored rows are. */
bool
kw_placement_default_key(const kw_placement *placement, const kw_record *record, kw_buffer *key,
                         uint32_t *ret_bucket, kw_error *ret_error)
{
    key->size = 0;
    if (!kw_layout_encode_chosen(placement->layout, record, 0, key, ret_error))
        return false;
    *ret_bucket = (uint32_t)(XXH64(key->data, key->size, 0) % kw_layout_choice(placement->layout).buckets);
    key->size = 0;
    return kw_layout_encode_chosen(placement->layout, record, *ret_bucket, key, ret_error);
}

bool
kw_association_default_key(kw_association_lookup *self, size_t number, kw_error *ret_error)
{
    kw_buffer key = KW_BUFFER_EMPTY;
    uint32_t bucket;
    if (self->defaults[number].size)
        return true;
    bool made = kw_placement_default_key(&self->all->table->placements[number], self->record, &key, &bucket,
                                         ret_error);
    if (made)
        self->defaults[number] = kw_arena_copy(self->all->call->arena, kw_buffer_bytes(&key));
    kw_buffer_clear(&key);
    return made;
}

/* True if the association's cell would expire before the record. Cells with the default key need no renewal.
 */
static bool
is_ending(kw_association_lookup *self, size_t number)
{
    return self->held[number] && self->written_ms[number] < self->all->old_from &&
           kw_association_default_key(self, number, NULL) &&
           !kw_bytes_equal(self->keys[number], self->defaults[number]);
}

/* True if nothing has to be written to the association. */
static bool
is_settled(kw_association_lookup *self)
{
    const kw_table *table = self->all->table;
    for (size_t i = 0; i < table->placements_count; i++)
        if (is_chosen(&table->placements[i]) && (self->keys[i].size == 0 || is_ending(self, i)))
            return false;
    return true;
}

static bool
take_default_keys(kw_association_lookup *self, kw_error *ret_error)
{
    for (size_t i = 0; i < self->all->table->placements_count; i++) {
        if (!is_chosen(&self->all->table->placements[i]) || self->keys[i].size)
            continue;
        if (!kw_association_default_key(self, i, ret_error))
            return false;
        self->keys[i] = self->defaults[i];
    }
    return true;
}

/* --- writing --------------------------------------------------------------------------------------- */

static void write_next(lookups *all);

static void
end(kw_association_lookup *self, const kw_error *error)
{
    if (error) {
        self->entry->error = *error;
        self->entry->error.maybe_applied = false; /* the record itself was not changed */
    } else {
        self->entry->keys = self->keys;
    }
    lookups *all = self->all;
    all->open--;
    write_next(all);
}

/* Builds one write: cells for every placement whose key is unknown, on the condition that the first of them
 * is absent, and for cells that would expire too soon, on the condition that they are unchanged. The store
 * assigns the timestamp, because these cells never change. Only a renewal for a record with a future
 * timestamp uses that timestamp. */
static bool
make_write(kw_association_lookup *self, kw_error *ret_error)
{
    lookups *all = self->all;
    const kw_table *table = all->table;
    kw_cell *cells = KW_ARENA_ARRAY(all->call->arena, kw_cell, table->placements_count);
    kw_check check = {.has_value = true, .compare = KW_COMPARE_EQUAL};
    bool renews = false;
    size_t count = 0;
    for (size_t i = 0; i < table->placements_count; i++) {
        bool known = self->keys[i].size > 0;
        if (!is_chosen(&table->placements[i]) || (known && !is_ending(self, i)))
            continue;
        if (!kw_association_default_key(self, i, ret_error))
            return false;
        kw_cell cell = {.family = table->default_family,
                        .qualifier = kw_association_qualifier(&table->placements[i], all->call->arena),
                        .value = known ? self->keys[i] : self->defaults[i]};
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
                             .fenced = true,
                             .era = all->call->era,
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
send_write(kw_association_lookup *self)
{
    kw_store_handle_write_if(self->all->call->handle, &self->write, &self->check, written, self);
}

static void
read_again(void *user, kw_rows *rows, const kw_error *error)
{
    kw_association_lookup *self = user;
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
    kw_association_lookup *self = user;
    kw_error gave_up;
    if (outcome == KW_OUTCOME_OK && applied) {
        take_default_keys(self, NULL);
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
write_next(lookups *all)
{
    for (; all->begun < all->waiting_count && all->open < KW_ASSOCIATION_WRITES_MAX; all->open++)
        send_write(all->waiting[all->begun++]);
    if (all->open == 0)
        all->done(all->user, all->found);
}

/* --- the first read, for all records -------------------------------------------------------------- */

static void
arrived(void *user, kw_rows *rows, const kw_error *error)
{
    lookups *all = user;
    for (size_t i = 0; i < all->asked_count; i++) {
        kw_association_lookup *self = all->asked[i];
        kw_error *wrong = &self->entry->error;
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
        } else if (take_default_keys(self, wrong)) {
            self->entry->keys = self->keys;
        }
    }
    kw_rows_free(rows);
    write_next(all);
}

static void
begin_lookup(lookups *all, size_t at, const kw_record *record, kw_buffer *scratch)
{
    kw_arena *arena = all->call->arena;
    kw_association_lookup *self = &all->each[at];
    *self = (kw_association_lookup){.all = all, .record = record, .entry = &all->found[at]};
    self->entry->lookup = self;
    self->keys = KW_ARENA_ARRAY(arena, kw_bytes, all->table->placements_count);
    self->defaults = KW_ARENA_ARRAY(arena, kw_bytes, all->table->placements_count);
    self->held = KW_ARENA_ARRAY(arena, bool, all->table->placements_count);
    self->written_ms = KW_ARENA_ARRAY(arena, int64_t, all->table->placements_count);
    if (!kw_row_key(all->table->association, record, scratch, arena, &self->row, &self->entry->error))
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
take_time(lookups *all, int64_t stamp)
{
    int64_t now = kw_clock_wall_ms();
    bool given = stamp != KW_TIMESTAMP_NONE;
    if (given && stamp > now)
        all->stamp = stamp;
    all->old_from = (given ? stamp : now) - INT64_C(500) * KW_ASSOCIATION_MARGIN_S;
}

void
kw_association_find(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
                    bool create, int64_t stamp, kw_association_found done, void *user)
{
    g_assert(table->association);
    lookups *all = KW_ARENA_NEW(call->arena, lookups);
    *all = (lookups){.call = call,
                     .table = table,
                     .create = create,
                     .stamp = KW_TIMESTAMP_NONE,
                     .old_from = INT64_MIN,
                     .done = done,
                     .user = user};
    if (create && table->lifetime_s)
        take_time(all, stamp);
    all->found = KW_ARENA_ARRAY(call->arena, kw_association_entry, count);
    all->each = KW_ARENA_ARRAY(call->arena, kw_association_lookup, count);
    all->list = KW_ARENA_ARRAY(call->arena, const kw_get *, count);
    all->asked = KW_ARENA_ARRAY(call->arena, kw_association_lookup *, count);
    all->waiting = KW_ARENA_ARRAY(call->arena, kw_association_lookup *, count);
    kw_buffer scratch = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < count; i++)
        begin_lookup(all, i, records[i], &scratch);
    kw_buffer_clear(&scratch);
    if (all->asked_count == 0)
        done(user, all->found);
    else if (all->asked_count == 1)
        kw_store_handle_get(call->handle, all->list[0], arrived, all);
    else
        kw_store_handle_get_many(call->handle, all->list, all->asked_count, arrived, all);
}
