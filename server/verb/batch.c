/* See batch.h. */
#include "verb/batch.h"

#include "verb/cells.h"
#include "verb/stamp.h"

#include <glib.h>

struct kw_batch {
    kw_call *call;
    const kw_table *table;
    const kw_item *items;
    size_t count;
    kw_write_options options;
    int64_t stamp;
    kw_put_done done;
    void *user;
    void (*after)(kw_batch *batch);
    kw_written_record *results;
    kw_buffer scratch;
    kw_write *writes; /* paths_count for each record that was not refused */
    const kw_write **list;
    size_t *owners; /* by write / paths_count */
    size_t writes_count;
    kw_written *written;
};

static void
refuse_all(kw_call *call, size_t count, const kw_error *error, kw_put_done done, void *user)
{
    kw_written_record *results = KW_ARENA_ARRAY(call->arena, kw_written_record, count);
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
    if (!allowed || !kw_stamp_admit(call, options, &stamp, &error)) {
        refuse_all(call, count, &error, done, user);
        return NULL;
    }
    kw_batch *batch = KW_ARENA_NEW(call->arena, kw_batch);
    *batch = (kw_batch){.call = call,
                        .table = table,
                        .items = items,
                        .count = count,
                        .options = *options,
                        .stamp = stamp,
                        .done = done,
                        .user = user};
    batch->results = KW_ARENA_ARRAY(call->arena, kw_written_record, count);
    batch->writes = KW_ARENA_ARRAY(call->arena, kw_write, count * table->paths_count);
    batch->owners = KW_ARENA_ARRAY(call->arena, size_t, count);
    return batch;
}

int64_t
kw_batch_stamp(const kw_batch *batch)
{
    return batch->stamp;
}

kw_call *
kw_batch_call(const kw_batch *batch)
{
    return batch->call;
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
    const kw_table *table = batch->table;
    kw_error error;
    for (size_t i = 0; i < table->paths_count; i++) {
        kw_write *write = &batch->writes[batch->writes_count + i];
        *write = *form;
        write->table = table->paths[i].store_table;
        write->timestamp = batch->stamp;
        write->durability = batch->options.durability;
        write->deadline = batch->call->deadline;
        if (!kw_row_key(&table->paths[i], &batch->items[index].record, &batch->scratch, batch->call->arena,
                        &write->row, &error)) {
            kw_batch_refuse(batch, index, &error);
            return;
        }
    }
    batch->owners[batch->writes_count / table->paths_count] = index;
    batch->writes_count += table->paths_count;
}

/* --- outcomes -------------------------------------------------------------------------------------- */

/* One record's writes did not all end well. */
static void
sum_up_failure(const kw_batch *batch, const kw_written *written, size_t failed, kw_written_record *result)
{
    const kw_table *table = batch->table;
    bool maybe = false;
    g_autoptr(GString) applied = g_string_new(NULL);
    for (size_t i = 0; i < table->paths_count; i++) {
        maybe |= written[i].outcome != KW_OUTCOME_FAILED;
        if (written[i].outcome == KW_OUTCOME_OK)
            g_string_append_printf(applied, "%s%s", applied->len ? ", " : "", table->paths[i].name);
    }
    result->outcome = maybe ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED;
    result->error = written[failed].error;
    result->error.maybe_applied = maybe;
    if (table->paths_count == 1)
        return;
    kw_error_prefix(&result->error, "table %s, path %s", table->name, table->paths[failed].name);
    if (applied->len)
        kw_error_prefix(&result->error, "done under path %s but not certainly under all", applied->str);
}

static void
sum_up(const kw_batch *batch, const kw_written *written, kw_written_record *result)
{
    size_t paths = batch->table->paths_count;
    size_t failed = paths;
    for (size_t i = 0; i < paths; i++) {
        bool worse = written[i].outcome != KW_OUTCOME_OK &&
                     (failed == paths || written[i].outcome > written[failed].outcome);
        if (worse)
            failed = i;
    }
    result->outcome = KW_OUTCOME_OK;
    if (failed < paths)
        sum_up_failure(batch, written, failed, result);
}

static void
all_written(void *user)
{
    kw_batch *batch = user;
    size_t paths = batch->table->paths_count;
    for (size_t i = 0; i < batch->writes_count; i += paths)
        sum_up(batch, batch->written + i, &batch->results[batch->owners[i / paths]]);
    batch->after(batch);
}

static void
one_written(void *user, kw_outcome outcome, const kw_error *error)
{
    kw_batch *batch = user;
    batch->written[0] = (kw_written){.outcome = outcome, .error = error ? *error : KW_ERROR_NONE};
    all_written(batch);
}

void
kw_batch_send(kw_batch *batch, void (*after)(kw_batch *batch))
{
    kw_call *call = batch->call;
    kw_buffer_clear(&batch->scratch);
    batch->after = after;
    batch->written = KW_ARENA_ARRAY(call->arena, kw_written, batch->writes_count);
    if (batch->writes_count == 0) {
        after(batch);
        return;
    }
    if (batch->writes_count == 1) {
        kw_door_write(call->door, batch->writes, one_written, batch);
        return;
    }
    batch->list = KW_ARENA_ARRAY(call->arena, const kw_write *, batch->writes_count);
    for (size_t i = 0; i < batch->writes_count; i++)
        batch->list[i] = &batch->writes[i];
    kw_door_write_many(call->door, batch->list, batch->writes_count, batch->written, all_written, batch);
}

bool
kw_batch_any_applied(const kw_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->results[i].outcome != KW_OUTCOME_FAILED)
            return true;
    return false;
}

void
kw_batch_answer(kw_batch *batch)
{
    batch->done(batch->user, batch->results, batch->count);
}
