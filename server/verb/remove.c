/* remove: rows, or single columns of them, under every path. Acknowledged only when the store's clock has
 * passed the delete marker's stamp, so that a put that follows is not hidden by it. A record that loses the
 * last of its columns is gone: nothing is left that could show it. */
#include "verb/batch.h"
#include "verb/cells.h"

#include <glib.h>

typedef struct remove_wait {
    kw_batch *batch;
    kw_timer *timer;
} remove_wait;

static void
paused(void *user)
{
    remove_wait *wait = user;
    kw_timer_free(wait->timer);
    kw_batch_answer(wait->batch);
}

/* Waiting for the stamp to pass is only for stamps that were taken from a clock, not for the caller's own. */
static void
removed(kw_batch *batch)
{
    kw_call *call = kw_batch_call(batch);
    int64_t wait_ms =
        kw_batch_any_applied(batch) ? kw_stamper_wait_ms(call->stamper, kw_batch_stamp(batch)) : 0;
    if (wait_ms == 0) {
        kw_batch_answer(batch);
        return;
    }
    remove_wait *wait = KW_ARENA_NEW(call->arena, remove_wait);
    wait->batch = batch;
    wait->timer = kw_timer_new(call->loop, paused, wait);
    kw_timer_start_ms(wait->timer, (uint64_t)wait_ms);
}

static bool
check_field(const kw_table *table, size_t number, kw_error *ret_error)
{
    const kw_field *field = &table->fields[number];
    if (field->identity)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: field %s is part of the key and cannot be removed alone", table->name,
                            field->name);
    if (!field->stored)
        return kw_error_set(ret_error, KW_INVALID, "table %s: field %s has no column to remove", table->name,
                            field->name);
    return true;
}

static bool
make_columns(kw_call *call, const kw_table *table, const size_t *fields, size_t count, kw_write *write,
             kw_error *ret_error)
{
    kw_column *columns = KW_ARENA_ARRAY(call->arena, kw_column, count);
    for (size_t i = 0; i < count; i++) {
        if (!check_field(table, fields[i], ret_error))
            return false;
        columns[i] = kw_field_column(&table->fields[fields[i]]);
    }
    write->columns = columns;
    write->columns_count = count;
    return true;
}

void
kw_verb_remove(kw_call *call, const kw_table *table, const kw_item *keys, size_t count, const size_t *fields,
               size_t fields_count, kw_write_options options, kw_put_done done, void *user)
{
    kw_batch *batch = kw_batch_begin(call, table, keys, count, &options, done, user);
    if (!batch)
        return;
    kw_write delete = {.kind = KW_WRITE_DELETE};
    kw_error of_all = KW_ERROR_NONE;
    bool good = make_columns(call, table, fields, fields_count, &delete, &of_all);
    for (size_t i = 0; i < count; i++) {
        kw_error error = good ? keys[i].error : of_all;
        if (error.code == KW_OK && kw_key_check(table, &keys[i].record, &error))
            kw_batch_add(batch, i, &delete);
        else
            kw_batch_refuse(batch, i, &error);
    }
    kw_batch_send(batch, options.has_timestamp ? kw_batch_answer : removed);
}
