/* put: generates missing fields, checks each record, builds its cells and keys, writes it under every path,
 * answers. */
#include "path/cells.h"
#include "path/hints.h"
#include "path/write.h"
#include "verb/verb.h"

typedef struct put {
    kw_batch *batch;
    kw_call *call;
    const kw_table *table;
    const kw_item *items;
    size_t count;
    bool has_timestamp;
    kw_filling *fillings; /* NULL: the table has no generated fields */
} put;

static void
add(put *self, size_t index)
{
    const kw_item *item = &self->items[index];
    const kw_error *found = self->fillings ? &self->fillings[index].error : &item->error;
    kw_error error;
    bool good = found->code == KW_OK;
    if (!good || !kw_record_check(self->table, &item->record, &error) ||
        !kw_hints_check_put(self->call, self->table, &item->record, self->has_timestamp, &error)) {
        kw_batch_refuse(self->batch, index, good ? &error : found);
        return;
    }
    kw_write form = {.kind = KW_WRITE_PUT};
    kw_record_cells(self->table, &item->record, self->call->arena, &form);
    kw_batch_add(self->batch, index, &form);
}

static void
send_all(put *self)
{
    for (size_t i = 0; i < self->count; i++)
        add(self, i);
    kw_batch_send(self->batch, kw_batch_answer);
}

static void
send_generated(void *user)
{
    put *self = user;
    for (size_t i = 0; i < self->count; i++)
        if (self->fillings[i].generated)
            kw_batch_set_generated(self->batch, i, self->fillings[i].generated);
    send_all(self);
}

static void
generated(void *user)
{
    put *self = user;
    kw_call_guard(self->call, send_generated, self);
}

static void
generate(put *self)
{
    kw_call *call = self->call;
    self->fillings = KW_ARENA_ARRAY(call->arena, kw_filling, self->count);
    for (size_t i = 0; i < self->count; i++)
        self->fillings[i] =
            (kw_filling){.values = self->items[i].record.values, .error = self->items[i].error};
    kw_generator_fill(call->generator, call->arena, self->table, self->fillings, self->count, call->deadline,
                      generated, self);
}

void
kw_verb_put(kw_call *call, const kw_table *table, const kw_item *items, size_t count,
            kw_write_options options, kw_written_done done, void *user)
{
    kw_batch *batch = kw_batch_begin(call, table, items, count, &options, done, user);
    if (!batch)
        return;
    put *self = KW_ARENA_NEW(call->arena, put);
    *self = (put){.batch = batch,
                  .call = call,
                  .table = table,
                  .items = items,
                  .count = count,
                  .has_timestamp = options.has_timestamp};
    if (table->generated_count > 0)
        generate(self);
    else
        send_all(self);
}
