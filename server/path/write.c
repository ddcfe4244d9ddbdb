/* On a table with hint paths, a put also writes the record's hints: with one writer in the same commit, else
 * before the rows. Partial puts are executed one by one, after the other puts of the call; so are puts of a
 * record that come after a partial put of it. */
#include "path/write.h"

#include "base/guard.h"
#include "base/key_set.h"
#include "path/cells.h"
#include "path/partial.h"
#include "path/rows.h"
#include "path/stamp.h"

#include <glib.h>

/* A record that kw_batch_add added. It has one write per row: `count` writes, from index `first` on. */
typedef struct addition {
    size_t index; /* index of the record */
    kw_write form;
    size_t first;
    size_t count;
} addition;

struct kw_batch {
    kw_call *call;
    const kw_table *table;
    const kw_item *items;
    size_t count;
    kw_write_options options;
    int64_t timestamp; /* the caller's timestamp or KW_TIMESTAMP_NONE */
    kw_written_done done;
    void *user;
    void (*after)(kw_batch *batch);
    kw_written_record *results;
    addition *additions; /* the records to write, in the order of kw_batch_add */
    size_t additions_count;
    kw_partial_put *partials; /* the puts that are derived; they are not among the additions */
    size_t *partial_indexes;  /* of their records */
    size_t partials_count;
    kw_written *partial_results;
    kw_write *writes;
    const kw_placement **placements; /* parallel to writes */
    const kw_write **list;
    size_t writes_count;
    kw_written *written;
    const kw_record_rows *rows; /* parallel to additions */
    kw_deadline deadline;       /* of the writes */
};

static kw_written_record *
new_results(kw_call *call, size_t count)
{
    kw_written_record *results =
        kw_arena_alloc(call->arena, count * sizeof *results); /* count was checked against a limit */
    for (size_t i = 0; i < count; i++) {
        results[i].outcome = KW_OUTCOME_OK;
        results[i].generated = (kw_record){0};
        kw_error_clear(&results[i].error);
    }
    return results;
}

static void
refuse_all(kw_call *call, size_t count, const kw_error *error, kw_written_done done, void *user)
{
    kw_written_record *results = new_results(call, count);
    for (size_t i = 0; i < count; i++)
        results[i] = (kw_written_record){.outcome = KW_OUTCOME_FAILED, .error = *error};
    done(user, results, count);
}

kw_batch *
kw_batch_begin(kw_call *call, const kw_table *table, const kw_item *items, size_t count,
               const kw_write_options *options, kw_written_done done, void *user)
{
    kw_error error;
    int64_t stamp = 0;
    int64_t most = kw_policy_model(call->policy)->limits.batch_records;
    bool allowed = count <= (uint64_t)most;
    if (!allowed)
        kw_error_set(&error, KW_LIMIT, "table %s: %zu records in one call; at most %lld are allowed",
                     table->name, count, (long long)most);
    if (!allowed || !kw_stamp_of(options, &stamp, &error)) {
        refuse_all(call, count, &error, done, user);
        return NULL;
    }
    kw_batch *batch = KW_ARENA_NEW(call->arena, kw_batch);
    *batch = (kw_batch){.call = call,
                        .table = table,
                        .items = items,
                        .count = count,
                        .options = *options,
                        .timestamp = stamp,
                        .deadline = call->deadline,
                        .done = done,
                        .user = user};
    batch->results = new_results(call, count);
    batch->additions = KW_ARENA_ARRAY(call->arena, addition, count);
    if (table->tuples_count) {
        batch->partials = KW_ARENA_ARRAY(call->arena, kw_partial_put, count);
        batch->partial_indexes = KW_ARENA_ARRAY(call->arena, size_t, count);
    }
    return batch;
}

void
kw_batch_set_generated(kw_batch *batch, size_t index, kw_value *values)
{
    g_assert(index < batch->count);
    batch->results[index].generated = (kw_record){values};
}

void
kw_batch_refuse(kw_batch *batch, size_t index, const kw_error *error)
{
    g_assert(index < batch->count && error->code != KW_OK);
    batch->results[index].outcome = KW_OUTCOME_FAILED;
    batch->results[index].error = *error;
}

static bool
is_derived(const kw_batch *batch, size_t index, const kw_write *form)
{
    return form->kind == KW_WRITE_PUT && kw_hints_is_derived(batch->table, &batch->items[index].record);
}

void
kw_batch_add(kw_batch *batch, size_t index, const kw_write *form)
{
    g_assert(index < batch->count && batch->additions_count + batch->partials_count < batch->count);
    if (is_derived(batch, index, form)) {
        batch->partial_indexes[batch->partials_count] = index;
        batch->partials[batch->partials_count++] =
            (kw_partial_put){.record = &batch->items[index].record, .form = *form};
        return;
    }
    batch->additions[batch->additions_count++] = (addition){.index = index, .form = *form};
}

/* --- writes ---------------------------------------------------------------------------------------- */

/* A batch contains either only puts or only deletes. */
static kw_rows_use
use_of(const kw_batch *batch)
{
    return batch->additions[0].form.kind == KW_WRITE_PUT ? KW_ROWS_PUT : KW_ROWS_REMOVE;
}

static bool
writes_hints(const kw_batch *batch)
{
    return batch->table->tuples_count && use_of(batch) == KW_ROWS_PUT;
}

/* Allocates the writes of the call. False if it would have more writes than one call is allowed. */
static bool
allocate_writes(kw_batch *batch, kw_error *ret_error)
{
    size_t each = kw_rows_per_record(batch->table, use_of(batch));
    size_t count = batch->additions_count, placements = batch->table->placements_count;
    size_t most = (size_t)kw_policy_model(batch->call->policy)->limits.batch_records;
    if (count > 1 && each > placements && count * each > most)
        return kw_error_set(
            ret_error, KW_LIMIT,
            "table %s: %zu records in %zu rows each are %zu writes; at most %zu are allowed in "
            "one call (limits.batch_records)",
            batch->table->name, count, each, count * each, most);
    size_t all = count * (each + (writes_hints(batch) ? placements : 0));
    batch->writes = KW_ARENA_ARRAY(batch->call->arena, kw_write, all);
    batch->placements = KW_ARENA_ARRAY(batch->call->arena, const kw_placement *, all);
    return true;
}

static void
add_write(kw_batch *batch, const kw_write *form, const kw_placed_row *row)
{
    kw_write *write = &batch->writes[batch->writes_count];
    *write = *form;
    write->table = row->placement->store_table;
    write->row = row->key;
    write->step = row->step;
    write->timestamp = batch->timestamp;
    write->ordering = &batch->table->ordering;
    write->durability = batch->options.durability;
    write->deadline = batch->deadline;
    write->fenced = true;
    write->era = batch->call->era;
    batch->placements[batch->writes_count++] = row->placement;
}

/* Adds the hints of a record, for a store with one writer. */
static bool
add_hints(kw_batch *batch, const addition *added, kw_error *ret_error)
{
    kw_hint *hints;
    size_t count;
    const kw_record *record = &batch->items[added->index].record;
    if (!kw_hints_of(batch->table, record, batch->call->arena, &hints, &count, ret_error))
        return false;
    for (size_t i = 0; i < count; i++) {
        kw_write *write = &batch->writes[batch->writes_count];
        *write = kw_hint_write(batch->call, batch->table, &hints[i], batch->options.durability,
                               batch->call->arena);
        batch->placements[batch->writes_count++] = hints[i].placement;
    }
    return true;
}

static void
make_writes(kw_batch *batch, addition *added, const kw_record_rows *rows)
{
    kw_error error;
    const kw_error *wrong = rows->error;
    added->first = batch->writes_count;
    if (!wrong && writes_hints(batch) && !kw_store_is_shared(batch->call->store) &&
        !add_hints(batch, added, &error))
        wrong = &error;
    if (wrong)
        kw_batch_refuse(batch, added->index, wrong);
    for (size_t i = 0; !wrong && i < rows->count; i++)
        add_write(batch, &added->form, &rows->rows[i]);
    added->count = batch->writes_count - added->first;
    for (size_t i = 0; added->count > 1 && i < added->count; i++)
        batch->writes[added->first + i].record = (uint32_t)(added->index + 1);
}

/* --- outcomes -------------------------------------------------------------------------------------- */

/* Sets the outcome of a record of which at least one write did not succeed. `failed` is the write to
 * report. */
static void
sum_up_failure(const kw_batch *batch, const addition *added, size_t failed, kw_written_record *result)
{
    const kw_table *table = batch->table;
    bool maybe = false;
    g_autoptr(GString) applied = g_string_new(NULL);
    const kw_path *named = NULL;
    for (size_t i = added->first; i < added->first + added->count; i++) {
        maybe |= batch->written[i].outcome != KW_OUTCOME_FAILED;
        const kw_path *path = batch->placements[i]->path;
        if (batch->written[i].outcome != KW_OUTCOME_OK || path == named)
            continue;
        named = path;
        g_string_append_printf(applied, "%s%s", applied->len ? ", " : "", path->name);
    }
    result->outcome = maybe ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED;
    result->error = batch->written[failed].error;
    result->error.maybe_applied = maybe;
    if (table->queried_paths_count == 1)
        return;
    kw_error_prefix(&result->error, "table %s, path %s", table->name, batch->placements[failed]->path->name);
    if (applied->len)
        kw_error_prefix(&result->error, "applied under path %s, but possibly not under all paths",
                        applied->str);
}

static void
sum_up(const kw_batch *batch, const addition *added, kw_written_record *result)
{
    size_t end = added->first + added->count, failed = end;
    for (size_t i = added->first; i < end; i++) {
        kw_outcome outcome = batch->written[i].outcome;
        if (outcome != KW_OUTCOME_OK && (failed == end || outcome > batch->written[failed].outcome))
            failed = i;
    }
    if (failed < end)
        sum_up_failure(batch, added, failed, result);
}

/* --- partial puts ---------------------------------------------------------------------------------- */

static void
partials_written(void *user)
{
    kw_batch *batch = user;
    for (size_t i = 0; i < batch->partials_count; i++) {
        kw_written_record *result = &batch->results[batch->partial_indexes[i]];
        result->outcome = batch->partial_results[i].outcome;
        result->error = batch->partial_results[i].error;
    }
    batch->after(batch);
}

static void
write_partials(void *user)
{
    kw_batch *batch = user;
    batch->partial_results = KW_ARENA_ARRAY(batch->call->arena, kw_written, batch->partials_count);
    kw_partial_puts_write(batch->call, batch->table, batch->partials, batch->partials_count,
                          batch->options.durability, batch->partial_results, partials_written, batch);
}

static void
refuse_partials(kw_batch *batch, const kw_error *error)
{
    for (size_t i = 0; i < batch->partials_count; i++)
        kw_batch_refuse(batch, batch->partial_indexes[i], error);
    batch->after(batch);
}

/* The additions are done. If there is no memory for the partial puts, only these are refused, because the
 * additions may have been written. */
static void
go_on(kw_batch *batch)
{
    kw_error error;
    if (batch->partials_count == 0)
        batch->after(batch);
    else if (!kw_guard_run(batch->call->arena, write_partials, batch, &error))
        refuse_partials(batch, &error);
}

/* --- the end of the additions ---------------------------------------------------------------------- */

/* The records are removed. If an association row could not be removed, the outcome is UNKNOWN: that row
 * refers to rows that no longer exist. */
static void
forgotten(void *user, const kw_error *errors)
{
    kw_batch *batch = user;
    for (size_t i = 0; i < batch->additions_count; i++) {
        kw_written_record *result = &batch->results[batch->additions[i].index];
        if (errors[i].code == KW_OK)
            continue;
        result->outcome = KW_OUTCOME_UNKNOWN;
        result->error = errors[i];
        result->error.maybe_applied = true;
        kw_error_prefix(&result->error,
                        "table %s: the record is removed, but its row in the association %s may remain; "
                        "remove it again",
                        batch->table->name, batch->table->locators->path->name);
    }
    go_on(batch);
}

/* Removes the association rows of the records that were removed as a whole. They are removed after the
 * records, so that an interrupted removal can be repeated. */
static void
forget_removed(kw_batch *batch)
{
    size_t count = batch->additions_count;
    const kw_association_entry **removed =
        KW_ARENA_ARRAY(batch->call->arena, const kw_association_entry *, count);
    for (size_t i = 0; i < count; i++) {
        const addition *added = &batch->additions[i];
        bool whole = added->form.kind == KW_WRITE_DELETE && added->form.columns_count == 0;
        if (whole && batch->results[added->index].outcome == KW_OUTCOME_OK)
            removed[i] = batch->rows[i].entry;
    }
    kw_association_forget(batch->call, batch->table, removed, count, forgotten, batch);
}

static void
all_written(void *user)
{
    kw_batch *batch = user;
    for (size_t i = 0; i < batch->additions_count; i++)
        sum_up(batch, &batch->additions[i], &batch->results[batch->additions[i].index]);
    if (batch->table->locators)
        forget_removed(batch);
    else
        go_on(batch);
}

static void
one_written(void *user, kw_outcome outcome, const kw_error *error)
{
    kw_batch *batch = user;
    batch->written[0].outcome = outcome;
    if (error)
        batch->written[0].error = *error;
    else
        kw_error_clear(&batch->written[0].error);
    all_written(batch);
}

static void
write_all(kw_batch *batch)
{
    kw_call *call = batch->call;
    if (batch->writes_count == 0) {
        all_written(batch);
        return;
    }
    if (batch->writes_count == 1) {
        batch->written = kw_arena_alloc(call->arena, sizeof *batch->written);
        kw_store_handle_write(call->handle, batch->writes, one_written, batch);
        return;
    }
    batch->written = KW_ARENA_ARRAY(call->arena, kw_written, batch->writes_count);
    batch->list = KW_ARENA_ARRAY(call->arena, const kw_write *, batch->writes_count);
    for (size_t i = 0; i < batch->writes_count; i++)
        batch->list[i] = &batch->writes[i];
    kw_store_handle_write_many(call->handle, batch->list, batch->writes_count, batch->written, all_written,
                               batch);
}

static void
make_all(kw_batch *batch)
{
    for (size_t i = 0; i < batch->additions_count; i++)
        make_writes(batch, &batch->additions[i], &batch->rows[i]);
    write_all(batch);
}

/* errors: of all additions. Drops the records whose hints are possibly not in the store. */
static void
hints_written(void *user, const kw_error *errors, kw_deadline row_deadline)
{
    kw_batch *batch = user;
    kw_record_rows *rows = KW_ARENA_ARRAY(batch->call->arena, kw_record_rows, batch->additions_count);
    memcpy(rows, batch->rows, batch->additions_count * sizeof *rows);
    for (size_t i = 0; i < batch->additions_count; i++)
        if (errors[i].code != KW_OK)
            rows[i] = (kw_record_rows){.error = &errors[i]};
    batch->rows = rows;
    batch->deadline = row_deadline;
    make_all(batch);
}

static const kw_record **
records_of(const kw_batch *batch)
{
    const kw_record **records = KW_ARENA_ARRAY(batch->call->arena, const kw_record *, batch->additions_count);
    for (size_t i = 0; i < batch->additions_count; i++)
        records[i] = &batch->items[batch->additions[i].index].record;
    return records;
}

static void
rows_found(void *user, const kw_record_rows *rows)
{
    kw_batch *batch = user;
    batch->rows = rows;
    if (writes_hints(batch) && kw_store_is_shared(batch->call->store))
        kw_hints_write(batch->call, batch->table, records_of(batch), batch->additions_count,
                       batch->options.durability, hints_written, batch);
    else
        make_all(batch);
}

static void
find_rows(kw_batch *batch)
{
    kw_rows_find(batch->call, batch->table, records_of(batch), batch->additions_count, use_of(batch),
                 batch->timestamp, rows_found, batch);
}

static void
refuse_counter(kw_batch *batch, size_t index)
{
    kw_error error;
    kw_error_set(
        &error, KW_REFUSED,
        "table %s: a put of a counter cannot follow a put of some fields in a path's key, of the same "
        "record, in one call; put it in a call of its own",
        batch->table->name);
    kw_batch_refuse(batch, index, &error);
}

/* Sorts the partial puts by their places in the call. */
static void
sort_partials(kw_batch *batch, const kw_partial_put *by_index)
{
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (!by_index[i].record)
            continue;
        batch->partial_indexes[count] = i;
        batch->partials[count++] = by_index[i];
    }
    batch->partials_count = count;
}

/* Numbers the row of a record. The keys get it if they do not have it; no bucket is chosen. UINT32_MAX if the
 * key rule cannot encode the record: its put is refused. */
static uint32_t
number_row(kw_batch *batch, size_t index, kw_buffer *scratch, kw_key_set *keys, bool *ret_new)
{
    kw_bytes key;
    kw_error error;
    return kw_row_key(&batch->table->placements[0], &batch->items[index].record, scratch, batch->call->arena,
                      &key, &error)
               ? kw_key_set_add(keys, key, ret_new)
               : UINT32_MAX;
}

/* By addition: true if a partial put of the same record comes before it in the call. In the arena. */
static const bool *
find_followers(kw_batch *batch)
{
    kw_arena *arena = batch->call->arena;
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    kw_key_set keys = kw_key_set_in(arena);
    size_t *first = KW_ARENA_ARRAY(arena, size_t, batch->partials_count); /* partial put of each row */
    bool *follows = KW_ARENA_ARRAY(arena, bool, batch->additions_count);
    bool is_new;
    for (size_t i = 0; i < batch->partials_count; i++) {
        size_t index = batch->partial_indexes[i];
        uint32_t row = number_row(batch, index, &scratch, &keys, &is_new);
        if (row != UINT32_MAX)
            first[row] = is_new ? index : MIN(first[row], index);
    }
    size_t known = keys.count;
    for (size_t i = 0; i < batch->additions_count; i++) {
        size_t index = batch->additions[i].index;
        uint32_t row = number_row(batch, index, &scratch, &keys, &is_new);
        follows[i] = row < known && first[row] < index;
    }
    return follows;
}

/* Puts that follow a partial put of their record are executed after it, in the same way. The last put of a
 * record wins. A counter cannot be put so if the store itself increments it. */
static void
follow_partials(kw_batch *batch)
{
    size_t kept = 0, count = batch->additions_count;
    kw_partial_put *by_index = KW_ARENA_ARRAY(batch->call->arena, kw_partial_put, batch->count);
    const bool *follows = find_followers(batch);
    for (size_t i = 0; i < batch->partials_count; i++)
        by_index[batch->partial_indexes[i]] = batch->partials[i];
    for (size_t i = 0; i < count; i++) {
        const addition *at = &batch->additions[i];
        if (!follows[i])
            batch->additions[kept++] = *at;
        else if (at->form.counters && kw_hints_counts_natively(batch->call, batch->table))
            refuse_counter(batch, at->index);
        else
            by_index[at->index] = (kw_partial_put){&batch->items[at->index].record, at->form};
    }
    batch->additions_count = kept;
    sort_partials(batch, by_index);
}

void
kw_batch_send(kw_batch *batch, void (*after)(kw_batch *batch))
{
    g_assert(!batch->after); /* a batch is used once */
    kw_error error;
    batch->after = after;
    if (batch->partials_count && batch->additions_count)
        follow_partials(batch);
    if (batch->additions_count == 0) {
        go_on(batch);
    } else if (allocate_writes(batch, &error)) {
        find_rows(batch);
    } else {
        for (size_t i = 0; i < batch->additions_count; i++)
            kw_batch_refuse(batch, batch->additions[i].index, &error);
        go_on(batch);
    }
}

void
kw_batch_answer(kw_batch *batch)
{
    batch->done(batch->user, batch->results, batch->count);
}
