/* The guard: a key rule that rows were written under cannot change by accident, and rows of two rules do not
 * meet in one store table, where those of one could be read as wrong rows of the other. The catalog table in
 * the store holds a row "table/path/layout" for every layout that was ever served, and a row "store/NAME" for
 * every store table, both with the layout's fingerprint:
 *
 *   make the catalog when missing -> read all rows -> any with another fingerprint: REFUSED; the same: fine;
 *                                                     none: put it if it is (still) absent, else read again
 *
 * Gateways that start together race for the same row, and the store decides: the loser reads what the winner
 * wrote and compares.
 */
#include "verb/verb.h"

#include <glib.h>

#define FAMILY KW_BYTES_LITERAL("d")
#define FINGERPRINT KW_BYTES_LITERAL("fingerprint")
#define DESCRIPTION KW_BYTES_LITERAL("description")
#define READS_MAX 3 /* a row that was there and is gone again: somebody removes them */

/* What a row of the catalog speaks of. */
typedef struct entry {
    const kw_path *path;
    bool of_store_table;
    const char *layout; /* "table/path/layout" */
} entry;

typedef struct guard {
    kw_call *call;
    kw_guard_done done;
    void *user;
    kw_bytes catalog;
    entry *entries;
    size_t count;
    kw_get *gets;
    const kw_get **list;
    size_t reads;
    size_t next; /* the first that is not known to be the same */
    kw_cell cells[2];
    kw_write write;
    kw_check check;
    kw_table_spec spec;
    kw_family_spec family;
} guard;

static void
finish(guard *self, const kw_error *error)
{
    kw_error told;
    if (error) {
        told = *error;
        kw_error_prefix(&told, "layout catalog %.*s", (int)self->catalog.size,
                        (const char *)self->catalog.data);
    }
    self->done(self->user, error ? &told : NULL);
}

static const char *
table_name(const kw_path *path)
{
    return kw_layout_table(path->layout)->name;
}

static void
refuse(guard *self, const entry *at, kw_bytes stored)
{
    kw_error error;
    const kw_layout *layout = at->path->layout;
    const char *held =
        at->of_store_table
            ? kw_arena_printf(self->call->arena, "store table %s holds rows", kw_layout_store_table(layout))
            : kw_arena_printf(self->call->arena, "rows were written under layout %u",
                              kw_layout_number(layout));
    kw_error_set(
        &error, KW_REFUSED,
        "table %s, path %s: %s with the key rule %.*s, and this policy's is %.16s; put the rule back, or "
        "give the new one a new layout number and a store table of its own",
        table_name(at->path), at->path->name, held, (int)MIN(stored.size, 16), (const char *)stored.data,
        kw_layout_fingerprint(layout));
    self->done(self->user, &error);
}

static kw_bytes
stored_fingerprint(const kw_row *row)
{
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (kw_bytes_equal(row->cells[i].family, FAMILY) &&
            kw_bytes_equal(row->cells[i].qualifier, FINGERPRINT))
            return row->cells[i].value;
    return KW_BYTES_NONE;
}

/* --- reading and registering ----------------------------------------------------------------------- */

static void read_rows(guard *self);

static void
registered(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    guard *self = user;
    if (error && outcome == KW_OUTCOME_FAILED) {
        finish(self, error);
        return;
    }
    if (applied && !error)
        self->next++;
    read_rows(self); /* of those that are left; shows also what became of an uncertain write */
}

static void
put_row(guard *self)
{
    const entry *at = &self->entries[self->next];
    const kw_layout *layout = at->path->layout;
    const char *description = at->of_store_table ? at->layout : kw_layout_description(layout);
    self->cells[0] =
        (kw_cell){.family = FAMILY, .qualifier = DESCRIPTION, .value = kw_bytes_of_text(description)};
    self->cells[1] = (kw_cell){
        .family = FAMILY, .qualifier = FINGERPRINT, .value = kw_bytes_of_text(kw_layout_fingerprint(layout))};
    self->write = (kw_write){.kind = KW_WRITE_PUT,
                             .table = self->catalog,
                             .row = self->gets[self->next].row,
                             .cells = self->cells,
                             .cells_count = G_N_ELEMENTS(self->cells),
                             .timestamp = KW_TIMESTAMP_NONE,
                             .deadline = self->call->deadline};
    self->check = (kw_check){.family = FAMILY, .qualifier = FINGERPRINT, .compare = KW_COMPARE_EQUAL};
    kw_door_write_if(self->call->door, &self->write, &self->check, registered, self);
}

/* The first that tells of another rule, NULL when none does. ret_present: so many stand before the first
 * that is missing. */
static const entry *
compare_rows(const guard *self, const kw_rows *rows, size_t *ret_present, kw_bytes *ret_stored)
{
    size_t left = self->count - self->next;
    *ret_present = left;
    for (size_t i = 0; i < left; i++) {
        const entry *at = &self->entries[self->next + i];
        *ret_stored = stored_fingerprint(&rows->rows[i]);
        if (ret_stored->size == 0)
            *ret_present = MIN(*ret_present, i);
        else if (!kw_bytes_equal(*ret_stored, kw_bytes_of_text(kw_layout_fingerprint(at->path->layout))))
            return at;
    }
    return NULL;
}

static void
rows_read(void *user, kw_rows *rows, const kw_error *error)
{
    guard *self = user;
    size_t present;
    kw_bytes stored;
    if (error) {
        finish(self, error);
        return;
    }
    const entry *other = compare_rows(self, rows, &present, &stored);
    if (other)
        stored = kw_arena_copy(self->call->arena, stored);
    kw_rows_free(rows);
    if (other) {
        refuse(self, other, stored);
        return;
    }
    if (present > 0)
        self->reads = 0;
    self->next += present;
    if (self->next < self->count)
        put_row(self);
    else
        finish(self, NULL);
}

static void
read_rows(guard *self)
{
    kw_error error;
    if (self->next == self->count) {
        finish(self, NULL);
    } else if (self->reads++ > READS_MAX + self->count) {
        kw_error_set(&error, KW_UNAVAILABLE, "its rows change while they are read");
        finish(self, &error);
    } else {
        kw_door_get_many(self->call->door, self->list + self->next, self->count - self->next, rows_read,
                         self);
    }
}

/* --- the catalog itself ---------------------------------------------------------------------------- */

static void
catalog_made(void *user, bool created, const kw_error *error)
{
    guard *self = user;
    (void)created; /* by us or by another gateway: it is there */
    if (error)
        finish(self, error);
    else
        read_rows(self);
}

static void
catalog_described(void *user, kw_table_facts *facts, const kw_error *error)
{
    guard *self = user;
    bool exists = facts && facts->exists;
    kw_table_facts_free(facts);
    if (error) {
        finish(self, error);
        return;
    }
    if (exists) {
        read_rows(self);
        return;
    }
    self->family = (kw_family_spec){
        .name = "d", .block_cache = -1, .in_memory = -1, .keep_deleted_cells = -1, .replication_scope = -1};
    self->spec = (kw_table_spec){.name = self->catalog,
                                 .families = &self->family,
                                 .families_count = 1,
                                 .deadline = self->call->deadline};
    kw_door_create_table(self->call->door, &self->spec, catalog_made, self);
}

static void
add_entry(guard *self, const kw_path *path, bool of_store_table, const char *layout, const char *row)
{
    size_t at = self->count++;
    self->entries[at] = (entry){path, of_store_table, layout};
    self->gets[at] = (kw_get){.table = self->catalog,
                              .row = kw_bytes_of_text(row),
                              .max_versions = 1,
                              .deadline = self->call->deadline};
    self->list[at] = &self->gets[at];
}

static void
list_layouts(guard *self, const kw_policy *policy)
{
    kw_arena *arena = self->call->arena;
    size_t paths = 0;
    for (size_t i = 0; i < kw_policy_table_count(policy); i++)
        paths += kw_policy_table(policy, i)->stores_count;
    self->entries = KW_ARENA_ARRAY(arena, entry, 2 * paths);
    self->gets = KW_ARENA_ARRAY(arena, kw_get, 2 * paths);
    self->list = KW_ARENA_ARRAY(arena, const kw_get *, 2 * paths);
    for (size_t i = 0; i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i);
        for (size_t number = 0; number < table->stores_count; number++) {
            const kw_path *path = &table->paths[number];
            const char *layout =
                kw_arena_printf(arena, "%s/%s/%u", table->name, path->name, kw_layout_number(path->layout));
            const char *store = kw_arena_printf(arena, "store/%s", kw_layout_store_table(path->layout));
            add_entry(self, path, false, layout, layout);
            add_entry(self, path, true, layout, store);
        }
    }
}

void
kw_verb_guard(kw_call *call, const kw_policy *policy, kw_guard_done done, void *user)
{
    guard *self = KW_ARENA_NEW(call->arena, guard);
    *self = (guard){.call = call, .done = done, .user = user};
    self->catalog = kw_bytes_of_text(kw_policy_model(policy)->store.catalog);
    list_layouts(self, policy);
    if (self->count)
        kw_door_describe_table(call->door, self->catalog, call->deadline, catalog_described, self);
    else
        done(user, NULL);
}
