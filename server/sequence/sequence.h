/* Values that the gateway makes at write time and returns: sequence numbers, snowflakes, UUIDs, object ids,
 * the time. A field says with `generate` how (kw_model_generate).
 *
 *   kw_sequences   of the whole process: the table of counters and leases, the worker numbers of snowflakes
 *   kw_maker       of one loop: blocks of numbers and random bytes of its own
 *
 *      put -> kw_maker_fill -> number from the block -------------------------> done, inside of the call
 *                           -> no number left: wait -> counters (counter.h) --> done, later
 *
 * Loops share nothing but the counters and, a block at a time, a worker number. A block is taken ahead when
 * little is left of the last, so that writers rarely wait. What was taken and not used is lost when the
 * process ends: a number is never given twice.
 */
#pragma once

#include "schema/policy.h"
#include "store/store.h"

typedef struct kw_sequences kw_sequences;
typedef struct kw_maker kw_maker;

/* Most numbers of one kw_maker_allocate. */
#define KW_ALLOCATE_MAX INT64_C(1000000000)

/* --- the process; all on the loop given ------------------------------------------------------------ */

/* Keeps a reference on the model. Leases run on the loop, through the door; both must outlive it. */
kw_sequences *kw_sequences_new(kw_model *model, kw_loop *loop, kw_door *door);

/* Sees to it that what a policy's fields need is there: the table, with TTLs long enough, and worker numbers.
 * May call done from inside. One at a time. */
void kw_sequences_prepare(kw_sequences *self, const kw_policy *policy, kw_deadline deadline,
                          void (*done)(void *user, const kw_error *error), void *user);

/* Gives worker numbers back; before the door closes. closed may be called from inside. */
void kw_sequences_close(kw_sequences *self, void (*closed)(void *user), void *user);

/* After the makers were freed. NULL is fine. */
void kw_sequences_free(kw_sequences *self);

/* --- one loop -------------------------------------------------------------------------------------- */

kw_maker *kw_maker_new(kw_sequences *sequences, kw_loop *loop, kw_door *door);

/* Who waits is told UNAVAILABLE, and so is who comes later. closed is called on the loop; close the door
 * after it, free the maker after that. */
void kw_maker_close(kw_maker *self, void (*closed)(void *user), void *user);
void kw_maker_free(kw_maker *self);

/* One record to complete. */
typedef struct kw_filling {
    kw_value *values; /* of the record; made values are put here */
    kw_value *made; /* answer: slots of the same fields with what was made, in the arena; NULL: nothing was */
    kw_error error; /* answer, unless it had one before: then the record is passed over. INVALID for a given
                       value that the field refuses, LIMIT at the end of a range, ... */
} kw_filling;

/* Makes the missing values of fields with generate. One record that fails does not fail its neighbours. done
 * is called once, from inside or later; everything given must live until then. */
void kw_maker_fill(kw_maker *self, kw_arena *arena, const kw_table *table, kw_filling *fillings, size_t count,
                   kw_deadline deadline, void (*done)(void *user), void *user);

/* `count` numbers of a field one after the other, or fewer where a range ends or wraps, or a tick of a
 * snowflake is used up. values: one slot per field; a sequence per minute (say) reads its timestamp there. */
typedef void (*kw_allocated)(void *user, int64_t first, int64_t count, const kw_error *error);
void kw_maker_allocate(kw_maker *self, const kw_table *table, size_t field, const kw_value *values,
                       int64_t count, kw_deadline deadline, kw_allocated done, void *user);
