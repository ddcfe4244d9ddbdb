/* See association.h. For each record:
 *
 *   get --no cell to write, or `create` not set--> done
 *    ^ \--cells missing--> write_if absent -------applied--> done
 *    |  \--cells expiring--> write_if unchanged --applied--> done
 *    |                        |
 *    '--- not applied, or outcome unknown
 */
#include "path/association_internal.h"

#include "path/cells.h"

#include <glib.h>
#include <xxhash.h>

/* Maximum number of writes for one record. A write is repeated after another gateway has changed the row, or
 * if its outcome is unknown. */
#define TRIES_MAX 5

typedef kw_association_group lookup_group;

struct kw_association_group {
    kw_call *call;
    const kw_table *table;
    bool create;
    int64_t stamp;           /* for renewals: the caller's timestamp if it is in the future; otherwise
                                KW_TIMESTAMP_NONE */
    int64_t renew_before_ms; /* cells with older timestamps are renewed if their key is not the default key */
    kw_association_found done;
    void *user;
    kw_association_entry *entries;  /* by record */
    kw_association_lookup *lookups; /* by record */
    const kw_get **gets;
    kw_association_lookup **get_lookups; /* parallel to gets */
    size_t gets_count;
    kw_association_lookup **writes; /* lookups that have cells to write */
    size_t writes_count;
    size_t writes_begun;
    size_t writes_in_flight;
};

uint32_t
kw_placement_choose_bucket(const kw_placement *placement)
{
    static _Thread_local uint32_t next_buckets[64]; /* by hash of the store table */
    static _Thread_local bool begun;
    kw_choice choice = kw_layout_choice(placement->layout);
    if (choice.kind != KW_CHOICE_ROUND_ROBIN)
        return choice.kind ? (uint32_t)(kw_random_u64() % choice.buckets) : 0;
    for (size_t i = 0; !begun && i < G_N_ELEMENTS(next_buckets); i++)
        next_buckets[i] = (uint32_t)kw_random_u64(); /* each loop starts its rotation at a random bucket */
    begun = true;
    return next_buckets[g_str_hash(kw_layout_store_table(placement->layout)) % G_N_ELEMENTS(next_buckets)]++ %
           choice.buckets;
}

static bool
chooses_bucket(const kw_placement *placement)
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

/* Returns true if the row key, which the association holds, belongs to this record. */
static bool
check_key(kw_association_lookup *self, const kw_placement *placement, kw_bytes key, kw_error *ret_error)
{
    const kw_table *table = self->group->table;
    kw_record decoded = kw_record_new(table, self->group->call->arena);
    bool same = kw_layout_decode(placement->layout, key, self->group->call->arena, &decoded, NULL);
    for (size_t i = 0; same && i < table->fields_count; i++)
        same = !kw_layout_holds_field(placement->layout, i) ||
               kw_value_compare(decoded.values[i], self->record->values[i]) == 0;
    return same || kw_error_set(
                       ret_error, KW_CORRUPT,
                       "table %s: the association %s holds a row key of path %s that does not belong to this "
                       "record",
                       table->name, table->locators->path->name, placement->path->name);
}

/* Copies the row keys from the association's row. False after an error. */
static bool
copy_keys(kw_association_lookup *self, const kw_row *row, kw_error *ret_error)
{
    const kw_table *table = self->group->table;
    kw_arena *arena = self->group->call->arena;
    for (size_t i = 0; i < table->placements_count; i++) {
        if (!chooses_bucket(&table->placements[i]))
            continue;
        kw_bytes qualifier = kw_association_qualifier(&table->placements[i], arena);
        for (uint32_t cell = 0; cell < row->cells_count; cell++) {
            if (!kw_bytes_equal(row->cells[cell].family, table->default_family) ||
                !kw_bytes_equal(row->cells[cell].qualifier, qualifier))
                continue;
            if (!check_key(self, &table->placements[i], row->cells[cell].value, ret_error))
                return false;
            self->keys[i] = kw_arena_copy(arena, row->cells[cell].value);
            self->has_cell[i] = true;
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
    g_auto(kw_buffer) key = KW_BUFFER_EMPTY;
    uint32_t bucket;
    if (self->defaults[number].size)
        return true;
    bool computed = kw_placement_default_key(&self->group->table->placements[number], self->record, &key,
                                             &bucket, ret_error);
    if (computed)
        self->defaults[number] = kw_arena_copy(self->group->call->arena, kw_buffer_bytes(&key));
    return computed;
}

/* True if the cell was written so long ago that it must be renewed to outlive the record. Half of the margin
 * is kept in reserve. Cells with the default key are not renewed. */
static bool
must_renew(kw_association_lookup *self, size_t number)
{
    return self->has_cell[number] && self->written_ms[number] < self->group->renew_before_ms &&
           kw_association_default_key(self, number, NULL) &&
           !kw_bytes_equal(self->keys[number], self->defaults[number]);
}

/* True if nothing has to be written to the association. */
static bool
needs_no_write(kw_association_lookup *self)
{
    const kw_table *table = self->group->table;
    for (size_t i = 0; i < table->placements_count; i++)
        if (chooses_bucket(&table->placements[i]) && (self->keys[i].size == 0 || must_renew(self, i)))
            return false;
    return true;
}

/* Sets the key of each placement for which the association has none to the default key. */
static bool
use_default_keys(kw_association_lookup *self, kw_error *ret_error)
{
    for (size_t i = 0; i < self->group->table->placements_count; i++) {
        if (!chooses_bucket(&self->group->table->placements[i]) || self->keys[i].size)
            continue;
        if (!kw_association_default_key(self, i, ret_error))
            return false;
        self->keys[i] = self->defaults[i];
    }
    return true;
}

/* --- writing --------------------------------------------------------------------------------------- */

static void write_next(lookup_group *group);

static void
finish_lookup(kw_association_lookup *self, const kw_error *error)
{
    if (error) {
        self->entry->error = *error;
        self->entry->error.maybe_applied = false; /* the record itself was not changed */
    } else {
        self->entry->keys = self->keys;
    }
    lookup_group *group = self->group;
    group->writes_in_flight--;
    write_next(group);
}

/* Builds one write of all cells that are missing or must be renewed. Its condition is that the first missing
 * cell is still absent, or if none is missing, that the first renewed cell is unchanged. The store assigns
 * the timestamp, because the values of these cells never change. But if a cell is renewed for a record with a
 * future timestamp, the write uses the timestamp of the record. */
static bool
make_write(kw_association_lookup *self, kw_error *ret_error)
{
    lookup_group *group = self->group;
    const kw_table *table = group->table;
    kw_cell *cells = KW_ARENA_ARRAY(group->call->arena, kw_cell, table->placements_count);
    kw_check check = {.has_value = true, .compare = KW_COMPARE_EQUAL};
    bool renews = false;
    size_t count = 0;
    for (size_t i = 0; i < table->placements_count; i++) {
        bool known = self->keys[i].size > 0;
        if (!chooses_bucket(&table->placements[i]) || (known && !must_renew(self, i)))
            continue;
        if (!kw_association_default_key(self, i, ret_error))
            return false;
        kw_cell cell = {.family = table->default_family,
                        .qualifier = kw_association_qualifier(&table->placements[i], group->call->arena),
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
                             .era = group->call->era,
                             .table = table->locators->store_table,
                             .row = self->row,
                             .cells = cells,
                             .cells_count = count,
                             .timestamp = renews ? group->stamp : KW_TIMESTAMP_NONE,
                             .deadline = group->call->deadline};
    return true;
}

static void on_written(void *user, kw_outcome outcome, bool applied, const kw_error *error);

static void
send_write(kw_association_lookup *self)
{
    kw_store_handle_write_if(self->group->call->handle, &self->write, &self->check, on_written, self);
}

static void
on_read_again(void *user, kw_rows *rows, const kw_error *error)
{
    kw_association_lookup *self = user;
    kw_error wrong = error ? *error : KW_ERROR_NONE;
    if (!error)
        copy_keys(self, &rows->rows[0], &wrong);
    kw_rows_free(rows);
    if (wrong.code == KW_OK && needs_no_write(self))
        finish_lookup(self, NULL);
    else if (wrong.code == KW_OK && make_write(self, &wrong))
        send_write(self);
    else
        finish_lookup(self, &wrong);
}

static void
on_written(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    kw_association_lookup *self = user;
    kw_error contended;
    if (outcome == KW_OUTCOME_OK && applied) {
        use_default_keys(self, NULL);
        finish_lookup(self, NULL);
    } else if (outcome == KW_OUTCOME_FAILED) {
        finish_lookup(self, error);
    } else if (++self->tries < TRIES_MAX) {
        kw_store_handle_get(self->group->call->handle, &self->get, on_read_again, self);
    } else {
        kw_error_set(&contended, KW_UNAVAILABLE,
                     "table %s: writes of other gateways kept changing the record's row in the association "
                     "%s; try again",
                     self->group->table->name, self->group->table->locators->path->name);
        finish_lookup(self, error ? error : &contended);
    }
}

/* Starts writes until KW_ASSOCIATION_WRITES_MAX are in flight. Calls `done` when all writes are done. */
static void
write_next(lookup_group *group)
{
    for (; group->writes_begun < group->writes_count && group->writes_in_flight < KW_ASSOCIATION_WRITES_MAX;
         group->writes_in_flight++)
        send_write(group->writes[group->writes_begun++]);
    if (group->writes_in_flight == 0)
        group->done(group->user, group->entries);
}

/* --- the first read, for all records -------------------------------------------------------------- */

static void
on_rows_read(void *user, kw_rows *rows, const kw_error *error)
{
    lookup_group *group = user;
    for (size_t i = 0; i < group->gets_count; i++) {
        kw_association_lookup *self = group->get_lookups[i];
        kw_error *wrong = &self->entry->error;
        if (error) {
            *wrong = *error;
            wrong->maybe_applied = false; /* no record was changed */
            continue;
        }
        if (!copy_keys(self, &rows->rows[i], wrong))
            continue;
        if (group->create && !needs_no_write(self)) {
            if (make_write(self, wrong))
                group->writes[group->writes_count++] = self;
        } else if (use_default_keys(self, wrong)) {
            self->entry->keys = self->keys;
        }
    }
    kw_rows_free(rows);
    write_next(group);
}

static void
begin_lookup(lookup_group *group, size_t at, const kw_record *record, kw_buffer *scratch)
{
    kw_arena *arena = group->call->arena;
    kw_association_lookup *self = &group->lookups[at];
    *self = (kw_association_lookup){.group = group, .record = record, .entry = &group->entries[at]};
    self->entry->lookup = self;
    self->keys = KW_ARENA_ARRAY(arena, kw_bytes, group->table->placements_count);
    self->defaults = KW_ARENA_ARRAY(arena, kw_bytes, group->table->placements_count);
    self->has_cell = KW_ARENA_ARRAY(arena, bool, group->table->placements_count);
    self->written_ms = KW_ARENA_ARRAY(arena, int64_t, group->table->placements_count);
    if (!kw_row_key(group->table->locators, record, scratch, arena, &self->row, &self->entry->error))
        return;
    self->get = (kw_get){.table = group->table->locators->store_table,
                         .row = self->row,
                         .max_versions = 1,
                         .deadline = group->call->deadline};
    group->gets[group->gets_count] = &self->get;
    group->get_lookups[group->gets_count++] = self;
}

/* Sets stamp and renew_before_ms from the current time or the caller's timestamp. */
static void
set_renewal(lookup_group *group, int64_t stamp)
{
    int64_t now = kw_clock_wall_ms();
    bool given = stamp != KW_TIMESTAMP_NONE;
    if (given && stamp > now)
        group->stamp = stamp;
    group->renew_before_ms = (given ? stamp : now) - INT64_C(500) * KW_ASSOCIATION_MARGIN_S;
}

void
kw_association_find(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
                    bool create, int64_t stamp, kw_association_found done, void *user)
{
    g_assert(table->locators);
    lookup_group *group = KW_ARENA_NEW(call->arena, lookup_group);
    *group = (lookup_group){.call = call,
                            .table = table,
                            .create = create,
                            .stamp = KW_TIMESTAMP_NONE,
                            .renew_before_ms = INT64_MIN,
                            .done = done,
                            .user = user};
    if (create && table->lifetime_s)
        set_renewal(group, stamp);
    group->entries = KW_ARENA_ARRAY(call->arena, kw_association_entry, count);
    group->lookups = KW_ARENA_ARRAY(call->arena, kw_association_lookup, count);
    group->gets = KW_ARENA_ARRAY(call->arena, const kw_get *, count);
    group->get_lookups = KW_ARENA_ARRAY(call->arena, kw_association_lookup *, count);
    group->writes = KW_ARENA_ARRAY(call->arena, kw_association_lookup *, count);
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < count; i++)
        begin_lookup(group, i, records[i], &scratch);
    if (group->gets_count == 0)
        done(user, group->entries);
    else if (group->gets_count == 1)
        kw_store_handle_get(call->handle, group->gets[0], on_rows_read, group);
    else
        kw_store_handle_get_many(call->handle, group->gets, group->gets_count, on_rows_read, group);
}
