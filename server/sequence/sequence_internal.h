/* Private to this module. sequence.c has the settings and workers of all loops, generator.c generates the
 * values of one loop, slot.c has the numbers of one counter, slot_cache.c finds slots, and period_prefetch.c
 * fetches the first blocks of periods. */
#pragma once

#include "sequence/attempts.h"
#include "sequence/backend.h"
#include "sequence/block.h"
#include "sequence/id_source.h"
#include "sequence/period.h"
#include "sequence/sequence.h"
#include "sequence/snowflake.h"
#include "sequence/worker.h"

#include <glib.h>

/* The worker of snowflakes of this form; NULL if none was prepared. */
kw_worker *kw_sequences_worker(kw_sequences *self, bool partitioned);
const kw_model_sequences *kw_sequences_settings(const kw_sequences *self);
/* "": Redis needs none. */
const char *kw_sequences_redis_password(const kw_sequences *self);
/* For tests; call it before the first kw_sequences_prepare. */
void kw_sequences_set_lease(kw_sequences *self, int64_t lease_ms);

/* The table of sequences, with these families (KW_RETENTIONS). Borrows the settings and the families. */
kw_table_spec kw_sequence_table_spec(const kw_model_sequences *settings, kw_family_spec *families,
                                     kw_deadline deadline);

/* --- waiting ---------------------------------------------------------------------------------------- */

/* One call of kw_generator_fill. */
typedef struct kw_fill_call {
    kw_generator *generator;
    kw_arena *arena;
    const kw_table *table;
    kw_filling *fillings;
    size_t count;
    size_t waits; /* pending values, plus one while the records are being processed */
    kw_deadline deadline;
    void (*done)(void *user);
    void *user;
} kw_fill_call;

/* A record's field that waits for a number of a slot. In the call's arena. */
typedef struct kw_pending_value {
    struct kw_pending_value *next;
    kw_fill_call *call;
    kw_filling *filling;
    size_t field;
} kw_pending_value;

void kw_fill_call_set(kw_fill_call *call, kw_filling *filling, size_t field, kw_value value);

/* Completes a pending value with a number or an error. Can complete its call. */
void kw_pending_value_served(kw_pending_value *pending, int64_t number);
void kw_pending_value_failed(kw_pending_value *pending, const kw_error *error);

/* --- slots ------------------------------------------------------------------------------------------ */

/* The period to which the numbers of a slot belong. */
typedef struct kw_slot_period {
    kw_period per;
    const kw_zone *zone; /* NULL: UTC */
    kw_period_at at;     /* the period, and the time of its latest record; unused if per is EVER */
    bool follows;        /* numbers of the preceding period were requested, so the records advance in time */
    bool used;           /* numbers of this period were requested */
    bool next_requested; /* the first block of the next period was requested */
} kw_slot_period;

/* The numbers of one counter that a loop holds. */
typedef struct kw_slot {
    kw_bytes name; /* of the counter */
    kw_generator *generator;
    char *label; /* for messages: "table t, field f", with the period */
    kw_number_range range;
    kw_retention keeping;
    kw_block block;
    kw_block ahead;    /* fetched while the current block lasts */
    uint64_t block_ns; /* when the current block arrived */
    uint64_t ahead_ns; /* when the block ahead arrived */
    uint64_t step;     /* size of the next fetch, unless pending values need more */
    kw_pending_value *first;
    kw_pending_value **last;
    size_t waiting;
    bool fetching;
    bool used_up;               /* the counter has passed the range's end */
    bool swept;                 /* in the list that the generator sweeps: must not be freed */
    struct kw_slot *next, **at; /* in the cache */
    uint64_t last_used_ns;
    size_t series; /* bytes of the name that all periods share */
    kw_slot_period period;
} kw_slot;

/* Takes ownership of name and label. */
kw_slot *kw_slot_new(kw_generator *generator, kw_bytes name, char *label, const kw_number_range *range,
                     const kw_slot_period *period);
void kw_slot_free(kw_slot *slot);

/* Returns the next number if the slot holds one. KW_SLOT_WAIT: a fetch is needed. KW_SLOT_END: the range is
 * used up, and ret_error is LIMIT. */
typedef enum kw_slot_has { KW_SLOT_NUMBER, KW_SLOT_WAIT, KW_SLOT_END } kw_slot_has;
kw_slot_has kw_slot_next(kw_slot *slot, int64_t *ret_number, kw_error *ret_error);

/* Queues the pending value and fetches a block. */
void kw_slot_wait(kw_slot *slot, kw_pending_value *pending);

/* Fails the pending values whose deadline has passed. If `why` is not NULL, fails all of them with this
 * error. Returns the earliest deadline of the remaining ones. */
kw_deadline kw_slot_sweep(kw_slot *slot, const kw_error *why);

/* Fetches a block if the slot holds no numbers. */
void kw_slot_prepare(kw_slot *slot);

/* Like kw_generator_allocate. */
void kw_slot_allocate(kw_slot *slot, int64_t numbers, kw_deadline deadline, kw_allocated done, void *user);

/* True if there are no pending values, no fetch in flight, and no sweep using the slot. */
static inline bool
kw_slot_idle(const kw_slot *slot)
{
    return !slot->first && !slot->fetching && !slot->swept;
}

/* --- the cache: slots by the names of their counters -------------------------------------------------- */

/* While there are many slots, idle ones of periods are dropped some time after their last use. */
typedef struct kw_slot_cache kw_slot_cache;

kw_slot_cache *kw_slot_cache_new(kw_generator *generator, const kw_model_sequences *settings);
void kw_slot_cache_free(kw_slot_cache *self);

/* The slot of the next period, created if missing; NULL if there is none. Can drop idle slots, except those
 * in use by a sweep. */
kw_slot *kw_slot_cache_after(kw_slot_cache *self, const kw_slot *slot);

/* Finds the slot for a field of a record whose values a sequence generates, and creates it if it is missing.
 * values: all values of the record. NULL with INVALID if the record's time is missing or too far away. The
 * slot is valid until the next call of this function, or while values wait on it. */
kw_slot *kw_slot_cache_find(kw_slot_cache *self, const kw_table *table, const kw_field *field,
                            const kw_value *values, kw_error *ret_error);

/* The list of slots; new ones are added at the front. Not a GLib array: ThreadSanitizer cannot follow how its
 * memory moves between threads. */
kw_slot *kw_slot_cache_first(const kw_slot_cache *self);

/* --- the start of periods: their first block is fetched before they begin ----------------------------- */

typedef struct kw_period_prefetch kw_period_prefetch;

/* The cache is borrowed, and freed after it. */
kw_period_prefetch *kw_period_prefetch_new(kw_loop *loop, kw_slot_cache *cache);
void kw_period_prefetch_free(kw_period_prefetch *self);

/* Call it when a number of this slot is requested. */
void kw_period_prefetch_used(kw_period_prefetch *self, kw_slot *slot);

/* --- the generator, for slots ----------------------------------------------------------------------- */

/* Adds to a counter, and retries failures for some time. done is always called after this returns. */
void kw_generator_count(kw_generator *self, const kw_addition *addition, kw_counted done, void *user);

/* True once kw_generator_close was called: nothing new may be started. */
bool kw_generator_closes(const kw_generator *self);

/* Makes the generator check the deadlines of pending values at that time. */
void kw_generator_watch(kw_generator *self, kw_deadline deadline);
