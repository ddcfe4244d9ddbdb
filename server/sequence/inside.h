/* Inside of the room: what maker.c (which values, when) and slot.c (numbers of one counter) share. */
#pragma once

#include "sequence/attempts.h"
#include "sequence/block.h"
#include "sequence/counter.h"
#include "sequence/period.h"
#include "sequence/sequence.h"
#include "sequence/snowflake.h"
#include "sequence/unique.h"
#include "sequence/worker.h"

#include <glib.h>

/* The worker of snowflakes of this form; NULL when none was prepared. */
kw_worker *kw_sequences_worker(kw_sequences *self, bool partitioned);
const kw_model_sequences *kw_sequences_settings(const kw_sequences *self);

/* --- waiting ---------------------------------------------------------------------------------------- */

/* One kw_maker_fill. */
typedef struct kw_making {
    kw_maker *maker;
    kw_arena *arena;
    const kw_table *table;
    kw_filling *fillings;
    size_t count;
    size_t waits; /* wants that were not served yet, and one while the records are gone through */
    kw_deadline deadline;
    void (*done)(void *user);
    void *user;
} kw_making;

/* A record's field that waits for a number of a slot. In the call's arena. */
typedef struct kw_want {
    struct kw_want *next;
    kw_making *making;
    kw_filling *filling;
    size_t field;
} kw_want;

void kw_making_give(kw_making *making, kw_filling *filling, size_t field, kw_value value);

/* The want is gone: served, or failed with the error. May end its call. */
void kw_want_served(kw_want *want, int64_t number);
void kw_want_failed(kw_want *want, const kw_error *error);

/* --- slots ------------------------------------------------------------------------------------------ */

/* Which period the numbers of a slot are of. */
typedef struct kw_slot_period {
    kw_period per;
    GTimeZone *zone; /* NULL: UTC */
    kw_period_at at; /* unless per is EVER; its time is that of the record last asked for */
    bool follows;    /* numbers of the period before it were asked for, so time goes on in the records */
    bool used;       /* numbers of it were asked for */
    bool turned;     /* the first block of the next period was seen to */
} kw_slot_period;

/* The numbers that a loop has of one counter. */
typedef struct kw_slot {
    kw_bytes name; /* of the counter */
    kw_maker *maker;
    char *told; /* "table t, field f", with the period */
    kw_number_range range;
    kw_keeping keeping;
    kw_block block;
    kw_block ahead;    /* fetched while the block lasts */
    uint64_t block_ns; /* when it was counted, and the one ahead */
    uint64_t ahead_ns;
    uint64_t step; /* numbers that the next fetch takes, if no more are waited for */
    kw_want *first;
    kw_want **last;
    size_t waiting;
    bool fetching;
    bool used_up;               /* the counter is behind the range's end */
    bool swept;                 /* a sweep holds it */
    struct kw_slot *next, **at; /* on the shelf */
    uint64_t touched_ns;
    size_t series; /* bytes of the name that all periods share */
    kw_slot_period period;
} kw_slot;

/* name is taken over as it is; told is taken over. */
kw_slot *kw_slot_new(kw_maker *maker, kw_bytes name, char *told, const kw_number_range *range,
                     const kw_slot_period *period);
void kw_slot_free(kw_slot *slot);

/* The next number, if there is one in hand. LIMIT when there will be none any more (ret_error). */
typedef enum kw_slot_has { KW_SLOT_NUMBER, KW_SLOT_WAIT, KW_SLOT_END } kw_slot_has;
kw_slot_has kw_slot_take(kw_slot *slot, int64_t *ret_number, kw_error *ret_error);

/* Queues the want; a block is on its way then. */
void kw_slot_wait(kw_slot *slot, kw_want *want);

/* Fails what has waited too long (or all, with `why`); the earliest deadline left. */
kw_deadline kw_slot_sweep(kw_slot *slot, const kw_error *why);

/* A block is on its way, unless numbers are in hand. */
void kw_slot_prepare(kw_slot *slot);

/* As kw_maker_allocate. */
void kw_slot_allocate(kw_slot *slot, int64_t numbers, kw_deadline deadline, kw_allocated done, void *user);

/* Nobody waits, nothing is on its way, and nobody looks at it. */
static inline bool
kw_slot_idle(const kw_slot *slot)
{
    return !slot->first && !slot->fetching && !slot->swept;
}

/* --- the shelf: slots by the names of their counters -------------------------------------------------- */

/* Slots of periods are dropped some time after they were last asked for. */
typedef struct kw_shelf kw_shelf;

kw_shelf *kw_shelf_new(kw_maker *maker, const kw_model_sequences *settings);
void kw_shelf_free(kw_shelf *self);

/* The slot of the period after this one's, made when missing; NULL when there is none. Slots that rest may be
 * dropped, but for swept ones. */
kw_slot *kw_shelf_after(kw_shelf *self, const kw_slot *slot);

/* The slot that the number of a record comes from; values: of the record. NULL and INVALID: it has none,
 * because its time is missing or too far away. Good until the next time the shelf is asked, unless somebody
 * waits. */
kw_slot *kw_shelf_find(kw_shelf *self, const kw_table *table, const kw_field *field, const kw_value *values,
                       kw_error *ret_error);

/* The slots, each with the next one; new ones come in front. No GLib array: its memory wanders between
 * threads in a way that ThreadSanitizer cannot see. */
kw_slot *kw_shelf_first(const kw_shelf *self);

/* --- the turn of periods: the first block of the next one is taken before it begins ------------------- */

typedef struct kw_turn kw_turn;

/* The shelf is borrowed, and freed after it. */
kw_turn *kw_turn_new(kw_loop *loop, kw_shelf *shelf);
void kw_turn_free(kw_turn *self);

/* A number of this slot is asked for now. */
void kw_turn_used(kw_turn *self, kw_slot *slot);

/* --- the maker, for slots --------------------------------------------------------------------------- */

/* Adds to a counter, and tries again for a while what fails. done is never called from inside. */
void kw_maker_count(kw_maker *self, const kw_addition *addition, kw_counted done, void *user);

/* Nothing is started any more. */
bool kw_maker_closes(const kw_maker *self);

/* Looks after waiting wants at that time. */
void kw_maker_watch(kw_maker *self, kw_deadline deadline);
