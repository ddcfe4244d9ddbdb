#include "path/rows.h"

#include <glib.h>

typedef struct finding {
    kw_call *call;
    const kw_table *table;
    kw_rows_use use;
    const kw_placement **placements; /* in the order of writing */
    size_t placements_count;
    size_t rows_each; /* the most rows of one record */
    bool gets_both;   /* gets read both placements of the primary path */
    const kw_record *const *records;
    kw_record_rows *found; /* parallel to records */
    size_t count;
    size_t *looked_up; /* indexes of the records looked up in the association */
    size_t looked_up_count;
    const kw_association_entry *entries; /* parallel to looked_up */
    kw_rows_found done;
    void *user;
} finding;

/* --- roles ----------------------------------------------------------------------------------------- */

/* 0: the operation does not use the placement. GET: the placement that scans read comes first. */
static unsigned
step_of(const kw_placement *placement, const kw_table *table, kw_rows_use use)
{
    if (placement->content != KW_CONTENT_RECORDS)
        return 0;
    switch (use) {
    case KW_ROWS_GET:
        return !placement->role.get || placement->path != &table->paths[0] ? 0 : placement->role.scan ? 1 : 2;
    case KW_ROWS_PUT:
        return placement->role.put;
    case KW_ROWS_REMOVE:
        return placement->role.remove;
    }
    g_assert_not_reached();
}

/* Lists the placements of an operation; those of one step are in the order of the table's paths. */
static size_t
select_placements(const kw_table *table, kw_rows_use use, const kw_placement **ret_placements)
{
    size_t count = 0;
    for (unsigned step = 1; step <= UINT8_MAX && count < table->placements_count; step++) {
        bool later = false;
        for (size_t i = 0; i < table->placements_count; i++) {
            unsigned own = step_of(&table->placements[i], table, use);
            later = later || own > step;
            if (own == step)
                ret_placements[count++] = &table->placements[i];
        }
        if (!later)
            break;
    }
    g_assert(count > 0);
    return count;
}

static bool
chooses_bucket(const kw_placement *placement)
{
    return kw_layout_choice(placement->layout).kind != KW_CHOICE_NONE;
}

/* The number of rows that the operation uses in this placement for one record: one, or one in each bucket if
 * the bucket is unknown. */
static uint32_t
rows_in(const kw_table *table, const kw_placement *placement, kw_rows_use use)
{
    bool anywhere = use != KW_ROWS_PUT && !table->locators && chooses_bucket(placement);
    return anywhere ? kw_layout_choice(placement->layout).buckets : 1;
}

size_t
kw_rows_per_record(const kw_table *table, kw_rows_use use)
{
    size_t rows = 0, placements = 0;
    for (size_t i = 0; i < table->placements_count; i++)
        if (step_of(&table->placements[i], table, use)) {
            rows += rows_in(table, &table->placements[i], use);
            placements++;
        }
    /* Two placements: their rows are joined to one. A key rule that chooses buckets cannot be changed. */
    return use == KW_ROWS_GET && placements > 1 ? 1 : rows;
}

/* --- rows ------------------------------------------------------------------------------------------ */

static void
fail(const finding *self, const kw_error *error, kw_record_rows *found)
{
    kw_error *copy = KW_ARENA_NEW(self->call->arena, kw_error);
    *copy = *error;
    found->error = copy;
}

static kw_placed_row
placed(const finding *self, const kw_placement *placement, kw_bytes key)
{
    return (kw_placed_row){
        .placement = placement, .key = key, .step = (uint8_t)step_of(placement, self->table, self->use)};
}

static bool
add_row(const finding *self, const kw_placement *placement, const kw_record *record, uint32_t bucket,
        kw_buffer *scratch, kw_placed_row *ret_row, kw_error *ret_error)
{
    scratch->size = 0;
    if (!kw_layout_encode_chosen(placement->layout, record, bucket, scratch, ret_error))
        return false;
    *ret_row = placed(self, placement, kw_arena_copy(self->call->arena, kw_buffer_bytes(scratch)));
    return true;
}

/* True if the record has a row key in a placement of the path, other than this one, that the operation uses.
 */
static bool
has_key_in(const finding *self, const kw_path *path, const kw_placement *placement, const kw_record *record,
           kw_buffer *scratch)
{
    bool found = false;
    kw_error ignored;
    for (size_t i = 0; !found && i < path->placements_count; i++) {
        const kw_placement *other = &path->placements[i];
        scratch->size = 0;
        found = other != placement && step_of(other, self->table, self->use) &&
                kw_layout_encode(other->layout, record, scratch, &ignored);
    }
    return found;
}

/* For a placement whose key rule cannot encode the record, so that it has no row of the record. True if the
 * record can have a row elsewhere: in the path's other placement; or in the primary path, if the record was
 * written before this path was added. (No path is added to a table that chooses buckets.) Then the record can
 * be read and removed, although a put would fail. */
static bool
is_only_elsewhere(const finding *self, const kw_placement *placement, const kw_record *record,
                  kw_buffer *scratch)
{
    const kw_path *path = placement->path, *primary = self->table->paths;
    bool added = path != primary && !self->table->chosen;
    return self->use != KW_ROWS_PUT && (has_key_in(self, path, placement, record, scratch) ||
                                        (added && has_key_in(self, primary, placement, record, scratch)));
}

/* Names the key rule that the error is about. */
static void
name_rule(const kw_placement *placement, kw_error *error)
{
    if (placement->path->placements_count > 1)
        kw_error_prefix(error, "the key rule of path %s is being changed; layout %u", placement->path->name,
                        kw_layout_number(placement->layout));
}

/* Makes the second row of a get a part of the first one. */
static void
join_rows(const finding *self, kw_record_rows *found, kw_placed_row *rows)
{
    if (!self->gets_both || found->count < 2)
        return;
    kw_row_target *other = KW_ARENA_NEW(self->call->arena, kw_row_target);
    *other = (kw_row_target){.table = rows[1].placement->store_table, .row = rows[1].key};
    g_assert(found->count == 2 && rows[0].placement->path == rows[1].placement->path);
    rows[0].other = other;
    found->count = 1;
}

/* Computes the rows of one record. `keys`: those that the association holds, by number of the placement;
 * NULL: none. */
static void
add_rows(const finding *self, const kw_record *record, const kw_bytes *keys, kw_buffer *scratch,
         kw_record_rows *found)
{
    kw_placed_row *rows = KW_ARENA_ARRAY(self->call->arena, kw_placed_row, self->rows_each);
    size_t count = 0;
    kw_error error;
    for (size_t i = 0; i < self->placements_count; i++) {
        const kw_placement *placement = self->placements[i];
        if (keys && keys[placement->number].size) {
            rows[count++] = placed(self, placement, keys[placement->number]);
            continue;
        }
        uint32_t buckets = rows_in(self->table, placement, self->use);
        for (uint32_t bucket = 0; bucket < buckets; bucket++) {
            uint32_t chosen = buckets > 1 ? bucket : kw_placement_choose_bucket(placement);
            if (add_row(self, placement, record, chosen, scratch, &rows[count], &error)) {
                count++;
            } else if (!is_only_elsewhere(self, placement, record, scratch)) {
                name_rule(placement, &error);
                fail(self, &error, found);
                return;
            }
        }
    }
    found->rows = rows;
    found->count = count;
    join_rows(self, found, rows);
}

static void
compute_all(const finding *self)
{
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < self->count; i++)
        add_rows(self, self->records[i], NULL, &scratch, &self->found[i]);
    self->done(self->user, self->found);
}

/* --- with an association --------------------------------------------------------------------------- */

static void
add_looked_up(void *user)
{
    const finding *self = user;
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < self->looked_up_count; i++) {
        const kw_association_entry *entry = &self->entries[i];
        kw_record_rows *found = &self->found[self->looked_up[i]];
        found->entry = entry;
        if (entry->error.code != KW_OK)
            fail(self, &entry->error, found);
        else
            add_rows(self, self->records[self->looked_up[i]], entry->keys, &scratch, found);
    }
    self->done(self->user, self->found);
}

static void
looked_up(void *user, const kw_association_entry *entries)
{
    finding *self = user;
    self->entries = entries;
    kw_call_guard(self->call, add_looked_up, self);
}

/* True if each placement's rule can encode the record, or the record can have rows elsewhere. If not, no row
 * of it exists, whatever the association holds. */
static bool
fits_all(const finding *self, const kw_record *record, kw_buffer *scratch, kw_error *ret_error)
{
    bool fits = true;
    for (size_t i = 0; fits && i < self->placements_count; i++) {
        const kw_placement *placement = self->placements[i];
        scratch->size = 0;
        fits = kw_layout_encode(placement->layout, record, scratch, ret_error) ||
               is_only_elsewhere(self, placement, record, scratch);
        if (!fits)
            name_rule(placement, ret_error);
    }
    return fits;
}

static void
look_up_all(finding *self, int64_t stamp)
{
    const kw_record **records = KW_ARENA_ARRAY(self->call->arena, const kw_record *, self->count);
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    self->looked_up = KW_ARENA_ARRAY(self->call->arena, size_t, self->count);
    for (size_t i = 0; i < self->count; i++) {
        kw_error error;
        if (!fits_all(self, self->records[i], &scratch, &error)) {
            fail(self, &error, &self->found[i]);
            continue;
        }
        records[self->looked_up_count] = self->records[i];
        self->looked_up[self->looked_up_count++] = i;
    }
    kw_association_find(self->call, self->table, records, self->looked_up_count, self->use == KW_ROWS_PUT,
                        stamp, looked_up, self);
}

static bool
needs_association(const finding *self)
{
    bool chosen = false;
    for (size_t i = 0; i < self->placements_count; i++)
        chosen = chosen || chooses_bucket(self->placements[i]);
    return chosen && self->table->locators;
}

void
kw_rows_find(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
             kw_rows_use use, int64_t stamp, kw_rows_found done, void *user)
{
    finding *self = KW_ARENA_NEW(call->arena, finding);
    *self = (finding){.call = call,
                      .table = table,
                      .use = use,
                      .records = records,
                      .count = count,
                      .done = done,
                      .user = user};
    self->placements = KW_ARENA_ARRAY(call->arena, const kw_placement *, table->placements_count);
    self->placements_count = select_placements(table, use, self->placements);
    self->gets_both = use == KW_ROWS_GET && self->placements_count > 1;
    self->rows_each = kw_rows_per_record(table, use) + self->gets_both;
    self->found = KW_ARENA_ARRAY(call->arena, kw_record_rows, count);
    if (needs_association(self))
        look_up_all(self, stamp);
    else
        compute_all(self);
}
