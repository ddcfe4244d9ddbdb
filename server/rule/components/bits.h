/* Private to the component bits: its compiled form, shared by encoding and planning. */
#pragma once

#include "rule/civil.h"
#include "rule/component.h"

typedef enum kw_bits_kind {
    KW_BITS_CONSTANT,
    KW_BITS_TIME,   /* ticks since the epoch */
    KW_BITS_MINUTE, /* of the hour, UTC */
    KW_BITS_FIELD,  /* an int field */
    KW_BITS_OTHER   /* any bits of a whole number */
} kw_bits_kind;

typedef struct kw_bits_part {
    kw_bits_kind kind;
    const char *name;
    uint32_t bits;
    uint32_t shift; /* number of lower bits */
    uint64_t constant;
    int field;
} kw_bits_part;

#define KW_BITS_PARTS_MAX 16

typedef struct kw_bits {
    kw_component base;
    kw_bits_part parts[KW_BITS_PARTS_MAX]; /* most significant first */
    size_t parts_count;
    uint32_t total;   /* bits */
    int number;       /* int field whose value is the whole number; -1: the number is combined from fields */
    int time;         /* index of the TIME part; -1: none */
    int minute;       /* index of the MINUTE part; -1: none */
    int64_t per_tick; /* units of the timestamp field in one tick; 0: no timestamp field */
    int64_t ticks_per_second;
    int64_t epoch; /* in ticks since 1970 */
    int64_t first; /* the first and the last time that the bits can store, in ticks since 1970 */
    int64_t last;
} kw_bits;

extern const kw_component_schema kw_bits_schema;
const kw_component *kw_bits_compile(const kw_site *site);

static inline uint64_t
kw_bits_mask(uint32_t bits)
{
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static inline int64_t
kw_bits_minutes_since_1970(const kw_bits *self, int64_t tick)
{
    return kw_floor_div(tick, 60 * self->ticks_per_second);
}

/* Minute of the hour, 0..59. */
static inline uint64_t
kw_bits_minute_of_hour(int64_t minute)
{
    return (uint64_t)(minute - kw_floor_div(minute, 60) * 60);
}

/* INVALID if the bits cannot store it. */
bool kw_bits_read_time(const kw_bits *self, kw_value value, int64_t *ret_tick, kw_error *ret_error);
bool kw_bits_read_field(const kw_bits *self, const kw_bits_part *part, kw_value value, uint64_t *ret_bits,
                        kw_error *ret_error);

kw_bytes kw_bits_piece(const kw_bits *self, uint64_t number, kw_arena *arena);

/* --- for the planner -------------------------------------------------------------------------------- */

uint64_t kw_bits_count(const kw_component *component, const bool *known, const kw_value_span *span,
                       bool pieces);
bool kw_bits_reach(const kw_component *component, const kw_value_span *span, bool pieces, uint64_t most,
                   bool falling, int64_t *ret_value);
bool kw_bits_runs(const kw_component *component, const kw_value *values, const kw_value_span *span,
                  kw_arena *arena, kw_piece_runs *ret_runs, kw_error *ret_error);
