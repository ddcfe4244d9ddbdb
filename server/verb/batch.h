/* Writes of many records, each record under every path of its table: collected, sent at once, and summed up
 * to one outcome per record. Lives in the call's arena; one use.
 *
 *   OK       every path said OK
 *   FAILED   no path may have applied it
 *   UNKNOWN  else; the text says which path did not
 *
 * Where a bucket is chosen at each put, a removal goes to every bucket, or to the one that the association
 * knows (verb/place.h), and then takes the record out of the association.
 */
#pragma once

#include "verb/verb.h"

typedef struct kw_batch kw_batch;

/* NULL: the call is refused, every record with the same error (limits, a bad timestamp); done was called. */
kw_batch *kw_batch_begin(kw_call *call, const kw_table *table, const kw_item *items, size_t count,
                         const kw_write_options *options, kw_put_done done, void *user);

/* The gateway made these fields of record `index` (slots of the table's fields). */
void kw_batch_made(kw_batch *batch, size_t index, kw_value *made);

/* Record `index` is refused. */
void kw_batch_refuse(kw_batch *batch, size_t index, const kw_error *error);

/* Adds record `index` under every path, with these cells (PUT) or columns (DELETE); all of one kind. Records
 * come in order and are complete in their identity. The record is refused when a key cannot be made. */
void kw_batch_add(kw_batch *batch, size_t index, const kw_write *form);

/* Sends what was added. after(user) is called when the outcomes are there, then must call kw_batch_answer. */
void kw_batch_send(kw_batch *batch, void (*after)(kw_batch *batch));
void kw_batch_answer(kw_batch *batch);
