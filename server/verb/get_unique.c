/* See get_unique.h.
 *
 *   keys --> claims, path by path --> identities --> kw_verb_get --> the record has the fields of the key?
 *
 * A claim can be stale, and then the record has other values.
 */
#include "verb/get_unique.h"

#include "path/claims.h"

#include <glib.h>

/* A key with the fields of a unique path. */
typedef struct lookup {
    size_t index;    /* of the key */
    kw_hint claim;   /* placement NULL: the key has an identity */
    bool has_record; /* the claim names one */
} lookup;

typedef struct get_unique {
    kw_call *call;
    const kw_table *table;
    size_t count;
    const kw_pick *picks;
    size_t picks_count;
    kw_get_records_done done;
    void *user;
    lookup *lookups; /* of all keys */
    kw_item *items;  /* the keys by identity; parallel to lookups */
    kw_found_record *found;
    size_t path; /* whose claims are being read */
    kw_get *gets;
    const kw_get **list;
    lookup **asked; /* parallel to list */
    size_t asked_count;
    size_t *owners; /* indexes of the keys that kw_verb_get gets */
} get_unique;

/* --- keys ------------------------------------------------------------------------------------------ */

static bool
has_fields_of(const kw_path *path, const kw_record *key)
{
    size_t given = 0;
    for (size_t i = 0; i < path->table->fields_count; i++)
        given += key->values[i].kind != KW_VALUE_NONE;
    return path->unique && given == path->placements->tuple_count &&
           kw_placement_has_record(path->placements, key);
}

static const kw_path *
find_path(const kw_table *table, const kw_item *key)
{
    for (size_t i = 1; key->error.code == KW_OK && i < table->queried_paths_count; i++)
        if (has_fields_of(&table->paths[i], &key->record))
            return &table->paths[i];
    return NULL;
}

bool
kw_unique_keys_any(const kw_table *table, const kw_item *keys, size_t count)
{
    bool any = false;
    for (size_t i = 0; table->unique_fields && !any && i < count; i++)
        any = find_path(table, &keys[i]) != NULL;
    return any;
}

static bool
encode(get_unique *self, const kw_path *path, const kw_record *key, kw_hint *ret_claim, kw_error *ret_error)
{
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    bool good = true;
    for (size_t i = 0; good && i < path->placements->tuple_count; i++)
        good = kw_table_check_value(self->table, path->placements->tuple[i],
                                    key->values[path->placements->tuple[i]], ret_error);
    kw_record stored = kw_hints_stored(self->table, key, self->call->arena);
    return good &&
           kw_hint_encode(kw_path_scanned(path), &stored, &scratch, self->call->arena, ret_claim, ret_error);
}

static void
add_key(get_unique *self, size_t index, const kw_item *key)
{
    lookup *at = &self->lookups[index];
    const kw_path *path = find_path(self->table, key);
    *at = (lookup){.index = index, .has_record = !path};
    self->items[index] = *key;
    self->found[index] = (kw_found_record){.error = KW_ERROR_NONE};
    if (!path)
        return;
    self->items[index].record = kw_record_new(self->table, self->call->arena);
    if (!encode(self, path, &key->record, &at->claim, &self->found[index].error))
        at->claim.placement = NULL;
}

/* --- records --------------------------------------------------------------------------------------- */

static bool
is_unique_field(const kw_table *table, size_t field)
{
    uint8_t bit = table->tuple_bits[field];
    return bit != KW_IN_NO_TUPLE && (table->unique_fields >> bit & 1);
}

static bool
is_picked(const get_unique *self, size_t field)
{
    bool picked = self->picks_count == 0;
    for (size_t i = 0; !picked && i < self->picks_count; i++)
        picked = self->picks[i].field == field;
    return picked;
}

/* Removes the fields that were only read to compare them. */
static void
drop_unpicked(const get_unique *self, kw_record *record)
{
    for (size_t i = 0; i < self->table->fields_count; i++)
        if (is_unique_field(self->table, i) && !is_picked(self, i))
            record->values[i] = (kw_value){.kind = KW_VALUE_NONE};
}

static void
take_record(get_unique *self, const lookup *at, const kw_found_record *from)
{
    kw_found_record *to = &self->found[at->index];
    const kw_placement *placement = at->claim.placement;
    *to = *from;
    if (!to->record.values)
        return;
    if (!placement || kw_claim_is_of(placement, at->claim.key, &to->record))
        drop_unpicked(self, &to->record);
    else
        to->record = (kw_record){0};
}

static void
records_found(void *user, const kw_found_record *found, size_t count)
{
    get_unique *self = user;
    for (size_t i = 0; i < count; i++)
        take_record(self, &self->lookups[self->owners[i]], &found[i]);
    self->done(self->user, self->found, self->count);
}

/* The picks, and the fields of all unique paths. */
static const kw_pick *
all_picks(const get_unique *self, size_t *ret_count)
{
    const kw_table *table = self->table;
    kw_pick *picks = KW_ARENA_ARRAY(self->call->arena, kw_pick, self->picks_count + table->fields_count);
    memcpy(picks, self->picks, self->picks_count * sizeof *picks);
    *ret_count = self->picks_count;
    for (size_t i = 0; i < table->fields_count; i++)
        if (is_unique_field(table, i) && !is_picked(self, i))
            picks[(*ret_count)++] = (kw_pick){.field = i};
    return picks;
}

static void
get_records(get_unique *self)
{
    size_t count = 0, picks_count = 0;
    kw_item *items = KW_ARENA_ARRAY(self->call->arena, kw_item, self->count);
    const kw_pick *picks = self->picks_count ? all_picks(self, &picks_count) : NULL;
    self->owners = KW_ARENA_ARRAY(self->call->arena, size_t, self->count);
    for (size_t i = 0; i < self->count; i++) {
        if (!self->lookups[i].has_record)
            continue;
        self->owners[count] = i;
        items[count++] = self->items[i];
    }
    if (count)
        kw_verb_get(self->call, self->table, items, count, picks, picks_count, records_found, self);
    else
        self->done(self->user, self->found, self->count);
}

/* --- claims ---------------------------------------------------------------------------------------- */

static void read_claims(get_unique *self);

static void
take_claim(get_unique *self, lookup *at, const kw_row *claim)
{
    kw_found_record *found = &self->found[at->index];
    if (claim->cells_count == 0)
        return;
    at->has_record = kw_claim_decode_owner(self->table, claim, self->call->arena,
                                           &self->items[at->index].record, &found->error);
    if (!at->has_record)
        kw_error_prefix(&found->error, "table %s, path %s", self->table->name,
                        at->claim.placement->path->name);
}

typedef struct arrival {
    get_unique *self;
    const kw_rows *rows;
    const kw_error *error;
} arrival;

static void
take_claims(void *user)
{
    const arrival *reply = user;
    get_unique *self = reply->self;
    for (size_t i = 0; i < self->asked_count; i++)
        if (reply->error)
            self->found[self->asked[i]->index].error = *reply->error;
        else
            take_claim(self, self->asked[i], &reply->rows->rows[i]);
    self->path++;
    read_claims(self);
}

static void
arrived(void *user, kw_rows *rows, const kw_error *error)
{
    get_unique *self = user;
    if (rows)
        kw_arena_adopt(self->call->arena, rows->arena); /* the owners are slices of the rows */
    kw_call_guard(self->call, take_claims, &(arrival){self, rows, error});
}

static void
ask(get_unique *self, lookup *at)
{
    const kw_call *call = self->call;
    kw_get *get = &self->gets[self->asked_count];
    *get = (kw_get){.table = at->claim.placement->store_table,
                    .row = at->claim.key,
                    .max_versions = 1,
                    .era = call->era,
                    .account = call->account,
                    .call = call->number,
                    .deadline = call->deadline};
    self->list[self->asked_count] = get;
    self->asked[self->asked_count++] = at;
}

/* Reads the claims of the next path that has some; then the records. */
static void
read_claims(get_unique *self)
{
    const kw_table *table = self->table;
    for (self->asked_count = 0; self->path < table->queried_paths_count; self->path++) {
        for (size_t i = 0; i < self->count; i++)
            if (self->lookups[i].claim.placement &&
                self->lookups[i].claim.placement->path == &table->paths[self->path])
                ask(self, &self->lookups[i]);
        if (self->asked_count) {
            kw_store_handle_get_many(self->call->handle, self->list, self->asked_count, arrived, self);
            return;
        }
    }
    get_records(self);
}

void
kw_get_unique(kw_call *call, const kw_table *table, const kw_item *keys, size_t count, const kw_pick *picks,
              size_t picks_count, kw_get_records_done done, void *user)
{
    kw_arena *arena = call->arena;
    get_unique *self = KW_ARENA_NEW(arena, get_unique);
    *self = (get_unique){.call = call,
                         .table = table,
                         .count = count,
                         .picks = picks,
                         .picks_count = picks_count,
                         .done = done,
                         .user = user};
    self->lookups = KW_ARENA_ARRAY(arena, lookup, count);
    self->items = KW_ARENA_ARRAY(arena, kw_item, count);
    self->found = KW_ARENA_ARRAY(arena, kw_found_record, count);
    self->gets = KW_ARENA_ARRAY(arena, kw_get, count);
    self->list = KW_ARENA_ARRAY(arena, const kw_get *, count);
    self->asked = KW_ARENA_ARRAY(arena, lookup *, count);
    for (size_t i = 0; i < count; i++)
        add_key(self, i, &keys[i]);
    read_claims(self);
}
