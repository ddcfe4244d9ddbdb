/* Values that the gateway generates at write time and returns: sequence numbers, snowflakes, UUIDs, object
 * ids, the time. A field's `generate` setting selects the kind (kw_model_generate).
 *
 *   kw_sequences   one per process: the table of counters and leases, the worker numbers of snowflakes
 *   kw_generator   one per loop: its own blocks of numbers and random bytes
 *
 *   put -> kw_generator_fill -> number from the block --------------------------> done, before it returns
 *                            -> no number left: wait -> counters (backend.h) --> done, later
 *
 * Loops share only the counters and a worker number, from which each allocates blocks of numbers. The next
 * block is fetched before the last one is used up, so that writers rarely wait. Numbers that are not used
 * before the process ends are lost: a number is never assigned twice.
 */
#pragma once

#include "schema/policy.h"
#include "store/store.h"

typedef struct kw_sequences kw_sequences;
typedef struct kw_generator kw_generator;

/* Most numbers of one kw_generator_allocate. */
#define KW_ALLOCATE_MAX INT64_C(1000000000)

/* --- the process; all on the loop given ------------------------------------------------------------ */

/* Keeps a reference to the model. NULL: the settings are those of the first policy that is put into service.
 * Leases run on the loop and use the store handle; both must outlive the object. */
kw_sequences *kw_sequences_new(kw_model *model, kw_loop *loop, kw_store_handle *handle);

/* Prepares what a policy's fields need: the table, with sufficient TTLs, and worker numbers. done can be
 * called before this returns. One call at a time. */
void kw_sequences_prepare(kw_sequences *self, const kw_policy *policy, kw_deadline deadline,
                          void (*done)(void *user, const kw_error *error), void *user);

/* Call it when a prepared policy is put into service, before its calls begin. */
void kw_sequences_begin_use(kw_sequences *self);

/* Releases worker numbers; call it before the store handle is closed. closed can be called before this
 * returns. */
void kw_sequences_close(kw_sequences *self, void (*closed)(void *user), void *user);

/* Call it after the generators were freed. NULL is ignored. */
void kw_sequences_free(kw_sequences *self);

/* --- one loop -------------------------------------------------------------------------------------- */

kw_generator *kw_generator_new(kw_sequences *sequences, kw_loop *loop, kw_store_handle *handle);

/* Fails waiting values with UNAVAILABLE, as well as later ones that would have to wait, and every later
 * kw_generator_allocate. closed is called on the loop. Then close the store handle, and then free the
 * generator. */
void kw_generator_close(kw_generator *self, void (*closed)(void *user), void *user);
void kw_generator_free(kw_generator *self);

/* One record to complete. */
typedef struct kw_filling {
    kw_value *values;    /* of the record; generated values are stored here */
    kw_value *generated; /* result: like `values`, with only the generated values, in the arena; NULL: none */
    kw_error error; /* result, unless already set: then the record is skipped. INVALID for a value that the
                     * caller must not set, LIMIT at the end of a range, ... */
} kw_filling;

/* Generates the missing values of fields with `generate`. A record that fails does not fail the others. done
 * is called once, possibly before this returns; all arguments must live until then. */
void kw_generator_fill(kw_generator *self, kw_arena *arena, const kw_table *table, kw_filling *fillings,
                       size_t count, kw_deadline deadline, void (*done)(void *user), void *user);

/* Allocates `count` consecutive numbers of a field, or fewer if a range ends or wraps, or a tick of a
 * snowflake is used up. values: one element per field, for example the timestamp of a sequence per minute. */
typedef void (*kw_allocated)(void *user, int64_t first, int64_t count, const kw_error *error);
void kw_generator_allocate(kw_generator *self, const kw_table *table, size_t field, const kw_value *values,
                           int64_t count, kw_deadline deadline, kw_allocated done, void *user);
