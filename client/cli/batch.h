/* Writes imported records in batches, and tells about those that were not written.
 *
 * What failed for sure and may work later (BUSY, UNAVAILABLE) is tried again a few times. What may
 * have been applied is never sent twice: a key with a made part would make two records of it.
 */
#pragma once

#include "cli/source.h"

typedef struct kw_batch kw_batch;

/* A record that was not written; `why` belongs to the caller of this. */
typedef void (*kw_batch_rejected)(const kw_source_item *item, const GError *why, void *user);

/* The client and table are borrowed. */
kw_batch *kw_batch_new(kw_client *client, const char *table, const kw_call_options *options, guint size,
                       kw_batch_rejected rejected, void *user);

/* Takes what is in the item. False: the import cannot go on; the error tells why, and what is in the
 * batch was not written (or may have been, where the error says so). */
bool kw_batch_add(kw_batch *batch, kw_source_item *item, GError **error);
bool kw_batch_flush(kw_batch *batch, GError **error);

guint64 kw_batch_written(const kw_batch *batch);
/* Lines of the first and the last record in the batch; 0 when it is empty. */
void kw_batch_lines(const kw_batch *batch, guint64 *ret_first, guint64 *ret_last);

/* NULL is fine. */
void kw_batch_free(kw_batch *batch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_batch, kw_batch_free)
