/* putMany with retries. */
#include "cli/batch.h"

#include <string.h>

#define BATCH_BYTES (512 << 10)
#define TRIES_MAX 6
#define FIRST_WAIT_MS 100

struct kw_batch {
    kw_client *client;
    const char *table;
    kw_call_options options;
    guint size;
    gsize bytes;
    GPtrArray *items; /* of kw_source_item * */
    guint64 written;
    kw_batch_rejected rejected;
    void *user;
};

static void
item_free(gpointer pointer)
{
    kw_source_item_clear(pointer);
    g_free(pointer);
}

kw_batch *
kw_batch_new(kw_client *client, const char *table, const kw_call_options *options, guint size,
             kw_batch_rejected rejected, void *user)
{
    kw_batch *batch = g_new0(kw_batch, 1);

    batch->client = client;
    batch->table = table;
    batch->options = *options;
    batch->size = size;
    batch->items = g_ptr_array_new_with_free_func(item_free);
    batch->rejected = rejected;
    batch->user = user;
    return batch;
}

static bool
may_work_later(const GError *error)
{
    return !kw_client_error_maybe_applied(error) &&
           (error->code == KW_CLIENT_BUSY || error->code == KW_CLIENT_UNAVAILABLE);
}

/* Sends the records of the batch with one putMany. Removes those that were written or rejected. Those that
 * can succeed later remain; *ret_wait_ms is raised to the longest wait that the gateway requested for them.
 * False: the whole call failed, and all records remain. */
static bool
send_once(kw_batch *batch, bool last_try, gint32 *ret_wait_ms, GError **error)
{
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    g_autoptr(GPtrArray) written = NULL;
    g_autoptr(GPtrArray) left = g_ptr_array_new_with_free_func(item_free);

    for (guint i = 0; i < batch->items->len; i++)
        g_ptr_array_add(records, ((kw_source_item *)batch->items->pdata[i])->record);
    if (!kw_client_put_many(batch->client, batch->table, records, &batch->options, &written, error))
        return false;
    for (guint i = 0; i < written->len; i++) {
        const kw_written *one = written->pdata[i];

        if (one->failure == NULL) {
            batch->written++;
        } else if (!last_try && may_work_later(one->failure)) {
            *ret_wait_ms = MAX(*ret_wait_ms, kw_client_error_retry_after_ms(one->failure));
            g_ptr_array_add(left, g_steal_pointer(&batch->items->pdata[i]));
        } else {
            batch->rejected(batch->items->pdata[i], one->failure, batch->user);
        }
    }
    for (guint i = batch->items->len; i > 0; i--)
        if (batch->items->pdata[i - 1] == NULL)
            g_ptr_array_steal_index(batch->items, i - 1);
    g_ptr_array_unref(batch->items);
    batch->items = g_steal_pointer(&left);
    return true;
}

bool
kw_batch_flush(kw_batch *batch, GError **error)
{
    batch->bytes = 0;
    for (int tries = 1; batch->items->len > 0; tries++) {
        g_autoptr(GError) failure = NULL;
        gint32 wait_ms = FIRST_WAIT_MS << (tries - 1);
        bool last_try = tries == TRIES_MAX;

        if (!send_once(batch, last_try, &wait_ms, &failure)) {
            if (last_try || !may_work_later(failure)) {
                g_propagate_error(error, g_steal_pointer(&failure));
                return false;
            }
            wait_ms = MAX(wait_ms, kw_client_error_retry_after_ms(failure));
        }
        if (batch->items->len > 0)
            g_usleep((gulong)wait_ms * 1000);
    }
    return true;
}

bool
kw_batch_add(kw_batch *batch, kw_source_item *item, GError **error)
{
    batch->bytes += strlen(item->json);
    g_ptr_array_add(batch->items, g_memdup2(item, sizeof *item));
    *item = (kw_source_item){0};
    return (batch->items->len < batch->size && batch->bytes < BATCH_BYTES) || kw_batch_flush(batch, error);
}

guint64
kw_batch_written(const kw_batch *batch)
{
    return batch->written;
}

void
kw_batch_lines(const kw_batch *batch, guint64 *ret_first, guint64 *ret_last)
{
    guint count = batch->items->len;

    *ret_first = count == 0 ? 0 : ((const kw_source_item *)batch->items->pdata[0])->line;
    *ret_last = count == 0 ? 0 : ((const kw_source_item *)batch->items->pdata[count - 1])->line;
}

void
kw_batch_free(kw_batch *batch)
{
    if (batch == NULL)
        return;
    g_ptr_array_unref(batch->items);
    g_free(batch);
}
