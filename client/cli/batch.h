/* Writes imported records in batches, and reports those that were not written, or perhaps not.
 *
 * Records that certainly failed and can succeed later (BUSY, UNAVAILABLE) are retried a few times. Records
 * that may have been written are never sent twice: a generated key field would create a second record.
 */
#pragma once

#include "cli/source.h"

typedef struct kw_batch kw_batch;

/* Called for a record that was not written, or whose outcome is unknown (`why` is then marked as maybe
 * applied). Borrows item and why. */
typedef void (*kw_batch_rejected)(const kw_source_item *item, const GError *why, void *user);

/* Borrows client and table. */
kw_batch *kw_batch_new(kw_client *client, const char *table, const kw_call_options *options, guint size,
                       kw_batch_rejected rejected, void *user);

/* Takes the content of the item. False: the import cannot continue; the error gives the reason, and the
 * records in the batch were not written (or may have been, if the error says so). */
bool kw_batch_add(kw_batch *batch, kw_source_item *item, GError **error);
bool kw_batch_flush(kw_batch *batch, GError **error);

guint64 kw_batch_written(const kw_batch *batch);
/* Lines of the first and the last record in the batch; 0 if it is empty. */
void kw_batch_lines(const kw_batch *batch, guint64 *ret_first, guint64 *ret_last);

/* NULL is ignored. */
void kw_batch_free(kw_batch *batch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_batch, kw_batch_free)
