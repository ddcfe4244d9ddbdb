/* Snowflakes: time, worker and sequence in one 63-bit integer. Pure.
 *
 *   standard      0 | 41 milliseconds since the epoch | 10 worker | 12 sequence
 *   partitioned   0 | 6 minute of the hour (UTC) | 32 Unix seconds | 9 worker | 16 sequence
 *
 * A tick is the form's unit of time, counted since 1970. Ticks never decrease and the sequence restarts with
 * each tick, so a worker that remembers its last tick issues no id twice.
 */
#pragma once

#include "base/error.h"
#include "config/model.h"

typedef struct kw_snowflake_form {
    int64_t tick_ms;
    unsigned worker_bits;
    unsigned sequence_bits;
} kw_snowflake_form;

kw_snowflake_form kw_snowflake_form_of(bool partitioned);

/* LIMIT if the tick is before the epoch or exceeds the form's bits; the text names no table or field. */
bool kw_snowflake_pack(const kw_model_generate *generate, int64_t tick, uint32_t worker, uint32_t sequence,
                       int64_t *ret_id, kw_error *ret_error);

/* Sequence numbers first..first + count - 1 of one tick. */
typedef struct kw_tick_part {
    int64_t tick;
    uint32_t first;
    uint32_t count;
} kw_tick_part;

/* The last tick of a worker, and the next sequence number in it. */
typedef struct kw_ticks {
    int64_t tick;
    uint32_t next; /* sequence */
} kw_ticks;

/* Allocates at most `want` numbers: of the current tick, or of the last one while the clock is before it.
 * When a tick is used up, continues with the next one, even if the clock has not reached it. False if
 * the tick would be after most_ms. */
bool kw_ticks_allocate(kw_ticks *self, kw_snowflake_form form, int64_t now_ms, int64_t most_ms, uint32_t want,
                       kw_tick_part *ret_part);
