/* Snowflakes: time, worker and sequence in one 63-bit integer. Pure.
 *
 *   standard      0 | 41 milliseconds since the epoch | 10 worker | 12 sequence
 *   partitioned   0 | 6 minute of the hour (UTC) | 32 Unix seconds | 9 worker | 16 sequence
 *
 * A tick is the form's unit of time, counted since 1970. Ticks never go back and a sequence begins anew with
 * each, so a worker that remembers its last tick makes no id twice.
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

/* LIMIT when the tick is before the epoch or beyond the form's bits; no table or field in the text. */
bool kw_snowflake_pack(const kw_model_generate *generate, int64_t tick, uint32_t worker, uint32_t sequence,
                       int64_t *ret_id, kw_error *ret_error);

/* Sequence numbers first..first + count - 1 of one tick. */
typedef struct kw_tick_part {
    int64_t tick;
    uint32_t first;
    uint32_t count;
} kw_tick_part;

/* Where one worker stands. */
typedef struct kw_ticks {
    int64_t tick;
    uint32_t next; /* sequence */
} kw_ticks;

/* The next numbers, at most `want`: of the present tick, or of the last one while the clock is behind it. A
 * tick that is used up makes way for the one after it, also when the clock is not there yet; `most` bounds
 * that. False: that bound is reached. */
bool kw_ticks_take(kw_ticks *self, kw_snowflake_form form, int64_t now_ms, int64_t most_ms, uint32_t want,
                   kw_tick_part *ret_part);
