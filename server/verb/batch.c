/* See batch.h. */
#include "verb/batch.h"

#include "verb/place.h"
#include "verb/stamp.h"

#include <glib.h>

/* The writes of one record: one per path, or one per bucket of a path that can hold it in any bucket. */
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
    int64_t timestamp; /* the caller's; otherwise KW_TIMESTAMP_NONE */
    kw_put_done done;
    void *user;
    void (*after)(kw_batch *batch);
    kw_written_record *results;
    kw_buffer scratch;
    addition *additions; /* records not rejected when they were added */
    size_t additions_count;
    kw_write *writes;
    const kw_path **paths; /* parallel to writes */
    const kw_write **list;
    size_t writes_count;
    kw_written *written;
    const kw_place *places; /* parallel to additions; NULL: the table has no association */
};

static kw_written_record *
new_results(kw_call *call, size_t count)
{
    kw_written_record *results =
        kw_arena_alloc(call->arena, count * sizeof *results); /* count was checked against a limit */
    for (size_t i = 0; i < count; i++) {
        results[i].outcome = KW_OUTCOME_OK;
        results[i].made = (kw_record){0};
        kw_error_clear(&results[i].error);
    }
    return results;
}

static void
refuse_all(kw_call *call, size_t count, const kw_error *error, kw_put_done done, void *user)
{
    kw_written_record *results = new_results(call, count);
    for (size_t i = 0; i < count; i++)
        results[i] = (kw_written_record){.outcome = KW_OUTCOME_FAILED, .error = *error};
    done(user, results, count);
}

kw_batch *
kw_batch_begin(kw_call *call, const kw_table *table, const kw_item *items, size_t count,
               const kw_write_options *options, kw_put_done done, void *user)
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
                        .done = done,
                        .user = user};
    batch->results = new_results(call, count);
    batch->additions = KW_ARENA_ARRAY(call->arena, addition, count);
    return batch;
}

void
kw_batch_made(kw_batch *batch, size_t index, kw_value *made)
{
    batch->results[index].made = (kw_record){made};
}

void
kw_batch_refuse(kw_batch *batch, size_t index, const kw_error *error)
{
    batch->results[index].outcome = KW_OUTCOME_FAILED;
    batch->results[index].error = *error;
}

void
kw_batch_add(kw_batch *batch, size_t index, const kw_write *form)
{
    batch->additions[batch->additions_count++] = (addition){.index = index, .form = *form};
}

/* --- writes ---------------------------------------------------------------------------------------- */

/* True if every bucket of this path must be written, because the record can be in any of them. */
static bool
is_anywhere(const kw_batch *batch, const kw_path *path, kw_write_kind kind)
{
    return kind == KW_WRITE_DELETE && !batch->table->association && kw_layout_choice(path->layout).kind;
}

static bool
take_room(kw_batch *batch, kw_error *ret_error)
{
    size_t each = 0, most = (size_t)kw_policy_model(batch->call->policy)->limits.batch_records;
    size_t count = batch->additions_count;
    for (size_t i = 0; count && i < batch->table->paths_count; i++) {
        const kw_path *path = &batch->table->paths[i];
        bool anywhere = is_anywhere(batch, path, batch->additions[0].form.kind);
        each += anywhere ? kw_layout_choice(path->layout).buckets : 1;
    }
    if (count > 1 && each > batch->table->paths_count && count * each > most)
        return kw_error_set(
            ret_error, KW_LIMIT,
            "table %s: %zu records in %zu rows each are %zu writes; at most %zu are allowed in "
            "one call (limits.batch_records)",
            batch->table->name, count, each, count * each, most);
    batch->writes = KW_ARENA_ARRAY(batch->call->arena, kw_write, count * each);
    batch->paths = KW_ARENA_ARRAY(batch->call->arena, const kw_path *, count *each);
    return true;
}

static void
add_write(kw_batch *batch, const kw_write *form, const kw_path *path, kw_bytes row)
{
    kw_write *write = &batch->writes[batch->writes_count];
    *write = *form;
    write->table = path->store_table;
    write->row = row;
    write->timestamp = batch->timestamp;
    write->ordering = &batch->table->ordering;
    write->durability = batch->options.durability;
    write->deadline = batch->call->deadline;
    batch->paths[batch->writes_count++] = path;
}

/* Adds one write for the bucket chosen now (or the only one), or one write for each bucket. */
static bool
add_computed(kw_batch *batch, const addition *added, const kw_path *path, kw_error *ret_error)
{
    bool anywhere = is_anywhere(batch, path, added->form.kind);
    uint32_t end = anywhere ? kw_layout_choice(path->layout).buckets : 1;
    for (uint32_t bucket = 0; bucket < end; bucket++) {
        batch->scratch.size = 0;
        if (!kw_layout_encode_chosen(path->layout, &batch->items[added->index].record,
                                     anywhere ? bucket : kw_place_choose(path), &batch->scratch, ret_error))
            return false;
        add_write(batch, &added->form, path,
                  kw_arena_copy(batch->call->arena, kw_buffer_bytes(&batch->scratch)));
    }
    return true;
}

static void
make_writes(kw_batch *batch, addition *added, const kw_place *place)
{
    kw_error error = place ? place->error : KW_ERROR_NONE;
    added->first = batch->writes_count;
    for (size_t i = 0; error.code == KW_OK && i < batch->table->paths_count; i++) {
        const kw_path *path = &batch->table->paths[i];
        if (place && place->keys[i].size)
            add_write(batch, &added->form, path, place->keys[i]);
        else
            add_computed(batch, added, path, &error);
    }
    if (error.code != KW_OK) {
        batch->writes_count = added->first;
        kw_batch_refuse(batch, added->index, &error);
    }
    added->count = batch->writes_count - added->first;
    for (size_t i = 0; added->count > 1 && i < added->count; i++)
        batch->writes[added->first + i].record = (uint32_t)(added->index + 1);
}

/* --- outcomes -------------------------------------------------------------------------------------- */

/* Sets the outcome of a record if at least one of its writes did not succeed. */
static void
sum_up_failure(const kw_batch *batch, const addition *added, size_t failed, kw_written_record *result)
{
    const kw_table *table = batch->table;
    bool maybe = false;
    g_autoptr(GString) applied = g_string_new(NULL);
    const kw_path *told = NULL;
    for (size_t i = added->first; i < added->first + added->count; i++) {
        maybe |= batch->written[i].outcome != KW_OUTCOME_FAILED;
        if (batch->written[i].outcome != KW_OUTCOME_OK || batch->paths[i] == told)
            continue;
        told = batch->paths[i];
        g_string_append_printf(applied, "%s%s", applied->len ? ", " : "", told->name);
    }
    result->outcome = maybe ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED;
    result->error = batch->written[failed].error;
    result->error.maybe_applied = maybe;
    if (table->paths_count == 1)
        return;
    kw_error_prefix(&result->error, "table %s, path %s", table->name, batch->paths[failed]->name);
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
    if (result->error.code == KW_OK)
        result->outcome = KW_OUTCOME_OK;
    if (failed < end)
        sum_up_failure(batch, added, failed, result);
}

/* The records are removed; association rows that could not be removed point to rows that no longer exist. */
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
                        batch->table->name, batch->table->association->name);
    }
    batch->after(batch);
}

/* Removes records first and their association rows afterwards, so that an interrupted removal can be
 * repeated. */
static void
forget_places(kw_batch *batch)
{
    size_t count = batch->additions_count;
    bool *gone = KW_ARENA_ARRAY(batch->call->arena, bool, count);
    for (size_t i = 0; i < count; i++) {
        const addition *added = &batch->additions[i];
        gone[i] = added->form.kind == KW_WRITE_DELETE && added->form.columns_count == 0 &&
                  batch->results[added->index].outcome == KW_OUTCOME_OK;
    }
    kw_places_forget(batch->call, batch->table, batch->places, gone, count, forgotten, batch);
}

static void
all_written(void *user)
{
    kw_batch *batch = user;
    for (size_t i = 0; i < batch->additions_count; i++)
        sum_up(batch, &batch->additions[i], &batch->results[batch->additions[i].index]);
    if (batch->places)
        forget_places(batch);
    else
        batch->after(batch);
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
    kw_buffer_clear(&batch->scratch);
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
placed(void *user, const kw_place *places)
{
    kw_batch *batch = user;
    batch->places = places;
    for (size_t i = 0; i < batch->additions_count; i++)
        make_writes(batch, &batch->additions[i], &places[i]);
    write_all(batch);
}

/* True if the record can be encoded under every path. If not, no path contains it, whatever the association
 * holds. */
static bool
fits_all_paths(kw_batch *batch, size_t index, kw_error *ret_error)
{
    bool good = true;
    for (size_t i = 0; good && i < batch->table->paths_count; i++) {
        batch->scratch.size = 0;
        good = kw_layout_encode(batch->table->paths[i].layout, &batch->items[index].record, &batch->scratch,
                                ret_error);
    }
    return good;
}

static void
refuse_misfits(kw_batch *batch)
{
    size_t kept = 0;
    for (size_t i = 0; i < batch->additions_count; i++) {
        kw_error error;
        if (fits_all_paths(batch, batch->additions[i].index, &error))
            batch->additions[kept++] = batch->additions[i];
        else
            kw_batch_refuse(batch, batch->additions[i].index, &error);
    }
    batch->additions_count = kept;
}

static void
find_places(kw_batch *batch)
{
    refuse_misfits(batch);
    size_t count = batch->additions_count;
    const kw_record **records = KW_ARENA_ARRAY(batch->call->arena, const kw_record *, count);
    for (size_t i = 0; i < count; i++)
        records[i] = &batch->items[batch->additions[i].index].record;
    bool create = count && batch->additions[0].form.kind == KW_WRITE_PUT;
    kw_places_find(batch->call, batch->table, records, count, create, batch->timestamp, placed, batch);
}

void
kw_batch_send(kw_batch *batch, void (*after)(kw_batch *batch))
{
    kw_error error;
    batch->after = after;
    if (!take_room(batch, &error)) {
        for (size_t i = 0; i < batch->additions_count; i++)
            kw_batch_refuse(batch, batch->additions[i].index, &error);
        after(batch);
        return;
    }
    if (batch->table->association) {
        find_places(batch);
        return;
    }
    for (size_t i = 0; i < batch->additions_count; i++)
        make_writes(batch, &batch->additions[i], NULL);
    write_all(batch);
}

void
kw_batch_answer(kw_batch *batch)
{
    batch->done(batch->user, batch->results, batch->count);
}
