/* put: check each record, make its cells and keys, write it under every path, answer. */
#include "verb/batch.h"
#include "verb/cells.h"

static void
add(kw_batch *batch, kw_call *call, const kw_table *table, size_t index, const kw_item *item)
{
    kw_error error = item->error;
    if (error.code != KW_OK || !kw_record_check(table, &item->record, &error)) {
        kw_batch_refuse(batch, index, &error);
        return;
    }
    kw_write put = {.kind = KW_WRITE_PUT};
    put.cells = kw_record_cells(table, &item->record, call->arena, &put.cells_count);
    kw_batch_add(batch, index, &put);
}

void
kw_verb_put(kw_call *call, const kw_table *table, const kw_item *items, size_t count,
            kw_write_options options, kw_put_done done, void *user)
{
    kw_batch *batch = kw_batch_begin(call, table, items, count, &options, done, user);
    if (!batch)
        return;
    for (size_t i = 0; i < count; i++)
        add(batch, call, table, i, &items[i]);
    kw_batch_send(batch, kw_batch_answer);
}
