/* Writes many records, each in every placement of its table that the operation writes (rows.h): collects the
 * writes, sends them together and combines the results into one outcome per record. Lives in the call's
 * arena; used once.
 *
 *   OK       every row reported OK, and so did the association
 *   FAILED   certainly applied to no row
 *   UNKNOWN  everything else; the text names the path that failed
 *
 * Partial puts, and puts with fields of unique paths (partial.h), are executed after the other puts of the
 * call. So are later puts of their records: the puts of one record take effect in the order of
 * kw_batch_add.
 *
 * After a record was removed, its cells with default keys are removed from the association.
 */
#pragma once

#include "path/call.h"

/* results[i] belongs to items[i]. */
typedef void (*kw_written_done)(void *user, const kw_written_record *results, size_t count);

typedef struct kw_batch kw_batch;

/* NULL if the call is rejected (limits, invalid timestamp): every record has the same error and done was
 * called. */
kw_batch *kw_batch_begin(kw_call *call, const kw_table *table, const kw_item *items, size_t count,
                         const kw_write_options *options, kw_written_done done, void *user);

/* Sets the generated fields of record `index` (an array with an element for each field of the table). */
void kw_batch_set_generated(kw_batch *batch, size_t index, kw_value *values);

/* Rejects record `index`. */
void kw_batch_refuse(kw_batch *batch, size_t index, const kw_error *error);

/* Adds record `index` with these cells (PUT) or columns (DELETE). All records of a batch
 * are of the same kind. Call it in the order of the records; identity fields must be complete. A record whose
 * key cannot be encoded is rejected. */
void kw_batch_add(kw_batch *batch, size_t index, const kw_write *form);

/* Sends all writes. Calls after(batch) when the outcomes are known; that function must call kw_batch_answer.
 */
void kw_batch_send(kw_batch *batch, void (*after)(kw_batch *batch));
void kw_batch_answer(kw_batch *batch);
