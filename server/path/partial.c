#include "path/partial.h"

#include "path/atomic.h"
#include "path/cells.h"
#include "path/claims.h"
#include "store/check.h"
#include "store/control.h"

#include <glib.h>

typedef struct partial {
    const kw_call *call;
    const kw_table *table;
    const kw_record *record;
    kw_bytes row;             /* key of the record's row in the primary path */
    const kw_check *check;    /* NULL: none */
    kw_durability durability; /* of hints */
    kw_hint_put put;
    kw_hint_fields given;
    kw_write_order order; /* for kw_hint_mutation_of */
    kw_derivation derivation;
} partial;

/* --- what is read ---------------------------------------------------------------------------------- */

static bool
is_touched(const partial *self, size_t field)
{
    uint8_t bit = self->table->tuple_bits[field];
    return bit != KW_IN_NO_TUPLE && (self->put.touched >> bit & 1);
}

static bool
has_column(const kw_column *columns, size_t count, const kw_column *column)
{
    for (size_t i = 0; i < count; i++)
        if (kw_bytes_equal(columns[i].family, column->family) &&
            kw_bytes_equal(columns[i].qualifier, column->qualifier))
            return true;
    return false;
}

G_STATIC_ASSERT(KW_TUPLE_FIELDS_MAX + 1 <= KW_STORE_DERIVED_COLUMNS_MAX);

static void
list_columns(partial *self, kw_arena *arena)
{
    const kw_table *table = self->table;
    size_t count = 0, most = (size_t)__builtin_popcountll(self->put.touched) + (self->check != NULL) + 1;
    kw_column *columns = KW_ARENA_ARRAY(arena, kw_column, most);
    for (size_t i = 0; i < table->fields_count; i++)
        if (is_touched(self, i))
            columns[count++] = kw_pick_column(table, (kw_pick){.field = i}, arena);
    if (self->check) {
        kw_column compared = {.family = self->check->family, .qualifier = self->check->qualifier};
        if (!has_column(columns, count, &compared))
            columns[count++] = compared;
    }
    if (count == 0) /* a derivation reads at least one */
        columns[count++] = (kw_column){.family = table->marker_family, .qualifier = table->marker_qualifier};
    self->derivation.columns = columns;
    self->derivation.columns_count = count;
}

/* --- what is written ------------------------------------------------------------------------------- */

typedef struct merging {
    const partial *put;
    const kw_seen *all_seen;
    kw_arena *arena;
    kw_record merged;             /* the record as the put leaves it: the touched fields and the identity */
    kw_hint_fields seen, changed; /* see kw_hint_is_needed */
    kw_cell *cells;
    kw_column *absent;
    kw_derived *derived;
} merging;

static bool
keep_seen(merging *self, size_t field, const kw_cell *cell, kw_error *ret_error)
{
    const kw_table *table = self->put->table;
    if (!kw_field_decode_cell(table, &table->fields[field], cell->value, self->arena,
                              &self->merged.values[field], ret_error))
        return kw_error_prefix(ret_error, "the put needs this field, and does not give it");
    kw_cell kept = *cell;
    kept.timestamp = 0;
    self->cells[self->derived->cells_count++] = kept;
    return true;
}

static void
note_change(merging *self, size_t field, const kw_cell *cell)
{
    const kw_table *table = self->put->table;
    kw_bytes given =
        kw_field_encode_cell(&table->fields[field], self->put->record->values[field], self->arena);
    if (cell && !kw_bytes_equal(cell->value, given))
        self->changed |= (kw_hint_fields)1 << table->tuple_bits[field];
}

static bool
merge_field(merging *self, size_t field, kw_error *ret_error)
{
    const partial *put = self->put;
    unsigned bit = put->table->tuple_bits[field];
    kw_column column = kw_pick_column(put->table, (kw_pick){.field = field}, self->arena);
    const kw_cell *cell = kw_row_find_cell(self->all_seen->row, column.family, column.qualifier);
    if (cell)
        self->seen |= (kw_hint_fields)1 << bit;
    switch (kw_hint_mutation_of(put->put, bit, put->given, self->seen, put->order)) {
    case KW_HINT_WRITE_GIVEN:
        note_change(self, field, cell);
        return true;
    case KW_HINT_WRITE_SEEN:
        return keep_seen(self, field, cell, ret_error);
    case KW_HINT_WRITE_GONE:
        self->absent[self->derived->absent_count++] = column;
        return true;
    case KW_HINT_LEAVE:
        return true;
    }
    g_assert_not_reached();
}

static bool
merge(merging *self, kw_error *ret_error)
{
    const kw_table *table = self->put->table;
    bool good = true;
    for (size_t i = 0; good && i < table->fields_count; i++)
        if (is_touched(self->put, i))
            good = merge_field(self, i, ret_error);
    return good;
}

/* A claim is written again each time. */
static bool
needs_hint(const merging *self, const kw_placement *placement)
{
    return placement->content == KW_CONTENT_HINTS && placement->role.put &&
           kw_hint_is_needed(kw_hints_tuple(placement), self->seen, self->put->given, self->changed,
                             placement->path->unique || kw_hints_can_expire(placement));
}

/* The hints that the record needs after the put. In the arena. */
static bool
list_hints(merging *self, kw_hint **ret_hints, size_t *ret_count, kw_error *ret_error)
{
    const kw_table *table = self->put->table;
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    kw_hint *hints = KW_ARENA_ARRAY(self->arena, kw_hint, table->placements_count);
    size_t count = 0;
    bool good = true;
    for (size_t i = 0; good && i < table->placements_count; i++) {
        if (!needs_hint(self, &table->placements[i]))
            continue;
        good = kw_hint_encode(&table->placements[i], &self->merged, &scratch, self->arena, &hints[count++],
                              ret_error);
    }
    *ret_hints = hints;
    *ret_count = count;
    return good;
}

static bool
check_claims(merging *self, const kw_hint *hints, size_t count, kw_error *ret_error)
{
    kw_hint *items = KW_ARENA_ARRAY(self->arena, kw_hint, count);
    kw_claims claims = {.table = self->put->table, .items = items, .owner = self->put->row};
    for (size_t i = 0; i < count; i++)
        if (hints[i].placement->path->unique)
            items[claims.count++] = hints[i];
    return claims.count == 0 ||
           kw_claims_check(&claims, self->all_seen, self->arena, self->derived, ret_error);
}

static bool
add_hints(merging *self, kw_error *ret_error)
{
    const partial *put = self->put;
    kw_hint *hints;
    size_t count;
    if (!list_hints(self, &hints, &count, ret_error) || !check_claims(self, hints, count, ret_error))
        return false;
    kw_write *writes = KW_ARENA_ARRAY(self->arena, kw_write, count);
    for (size_t i = 0; i < count; i++) {
        bool claim = hints[i].placement->path->unique;
        writes[i] =
            claim ? kw_claim_write(put->call, put->table, &hints[i], put->row, put->durability, self->arena)
                  : kw_hint_write(put->call, put->table, &hints[i], put->durability, self->arena);
    }
    self->derived->preceding = writes;
    self->derived->preceding_count = count;
    return true;
}

/* See kw_derive. In an embedded store, it runs on the committer's thread, so it only reads what the call
 * owns.
 */
static bool
derive(void *user, const kw_seen *seen, kw_arena *arena, kw_derived *ret_derived, kw_error *ret_error)
{
    const partial *self = user;
    const kw_check *check = self->check;
    size_t columns = self->derivation.columns_count;
    *ret_derived = (kw_derived){
        .is_met =
            !check || kw_check_is_met(check, kw_row_find_cell(seen->row, check->family, check->qualifier))};
    if (!ret_derived->is_met)
        return true;
    merging all = {.put = self,
                   .all_seen = seen,
                   .arena = arena,
                   .merged = kw_hints_stored(self->table, self->record, arena),
                   .cells = KW_ARENA_ARRAY(arena, kw_cell, columns),
                   .absent = KW_ARENA_ARRAY(arena, kw_column, columns),
                   .derived = ret_derived};
    ret_derived->cells = all.cells;
    ret_derived->absent = all.absent;
    return merge(&all, ret_error) && add_hints(&all, ret_error);
}

const kw_derivation *
kw_partial_derivation(kw_call *call, const kw_table *table, const kw_record *record, kw_bytes row,
                      const kw_check *check, kw_durability durability)
{
    partial *self = KW_ARENA_NEW(call->arena, partial);
    *self = (partial){.call = call,
                      .table = table,
                      .record = record,
                      .row = row,
                      .check = check,
                      .durability = kw_hint_durability(durability),
                      .put = kw_hints_put_of(table, record),
                      .given = kw_hints_given(table, record),
                      .order = kw_store_is_shared(call->store) ? table->ordering.regime.order
                                                               : KW_WRITE_ORDER_STORE};
    self->derivation = (kw_derivation){.derive = derive, .user = self};
    list_columns(self, call->arena);
    return &self->derivation;
}

/* --- many puts ------------------------------------------------------------------------------------- */

typedef struct putting putting;

typedef struct one_put {
    putting *all;
    kw_write write;
    const kw_derivation *derivation;
    kw_written *result;
} one_put;

struct putting {
    kw_call *call;
    const kw_table *table;
    const kw_partial_put *puts;
    size_t count;
    kw_durability durability;
    kw_written *results;
    one_put *ready; /* those whose rows were found */
    size_t ready_count, started, finished;
    void (*done)(void *user);
    void *user;
};

static void start_some(putting *self);

/* Allocates nothing: others are in progress, so the call cannot end here. */
static void
written(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    one_put *one = user;
    putting *self = one->all;
    g_assert(applied || error);
    *one->result = (kw_written){.outcome = outcome, .error = error ? *error : KW_ERROR_NONE};
    one->result->error.maybe_applied = outcome == KW_OUTCOME_UNKNOWN;
    self->finished++;
    start_some(self);
}

static void
start_some(putting *self)
{
    while (self->started < self->ready_count && self->started - self->finished < KW_PARTIAL_PUTS_MAX) {
        one_put *one = &self->ready[self->started++];
        kw_store_handle_write_derived(self->call->handle, &one->write, one->derivation, written, one);
    }
    if (self->finished == self->ready_count)
        self->done(self->user);
}

static void
prepare(putting *self, size_t index, const kw_record_rows *found)
{
    kw_call *call = self->call;
    const kw_partial_put *put = &self->puts[index];
    kw_atomic_rows rows = kw_atomic_rows_of(call, self->table, found);
    one_put *one = &self->ready[self->ready_count++];
    *one = (one_put){.all = self,
                     .write = put->form,
                     .derivation = kw_partial_derivation(call, self->table, put->record, rows.first.row, NULL,
                                                         self->durability),
                     .result = &self->results[index]};
    one->write.table = rows.first.table;
    one->write.row = rows.first.row;
    one->write.step = rows.first.step;
    one->write.others = rows.others;
    one->write.others_count = rows.others_count;
    one->write.timestamp = KW_TIMESTAMP_NONE;
    one->write.ordering = &self->table->ordering;
    one->write.durability = self->durability;
    one->write.deadline = call->deadline;
    one->write.fenced = true;
    one->write.era = call->era;
}

static void
rows_found(void *user, const kw_record_rows *found)
{
    putting *self = user;
    self->ready = KW_ARENA_ARRAY(self->call->arena, one_put, self->count);
    for (size_t i = 0; i < self->count; i++)
        if (found[i].error)
            self->results[i] = (kw_written){.outcome = KW_OUTCOME_FAILED, .error = *found[i].error};
        else
            prepare(self, i, &found[i]);
    start_some(self);
}

void
kw_partial_puts_write(kw_call *call, const kw_table *table, const kw_partial_put *puts, size_t count,
                      kw_durability durability, kw_written *results, void (*done)(void *user), void *user)
{
    g_assert(count > 0);
    putting *self = KW_ARENA_NEW(call->arena, putting);
    *self = (putting){.call = call,
                      .table = table,
                      .puts = puts,
                      .count = count,
                      .durability = durability,
                      .results = results,
                      .done = done,
                      .user = user};
    const kw_record **records = KW_ARENA_ARRAY(call->arena, const kw_record *, count);
    for (size_t i = 0; i < count; i++)
        records[i] = puts[i].record;
    kw_rows_find(call, table, records, count, KW_ROWS_PUT, KW_TIMESTAMP_NONE, rows_found, self);
}
