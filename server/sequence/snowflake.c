#include "sequence/snowflake.h"

#include <glib.h>

#define STANDARD_TIME_BITS 41
#define PARTITIONED_TIME_BITS 32

kw_snowflake_form
kw_snowflake_form_of(bool partitioned)
{
    return partitioned ? (kw_snowflake_form){.tick_ms = 1000, .worker_bits = 9, .sequence_bits = 16}
                       : (kw_snowflake_form){.tick_ms = 1, .worker_bits = 10, .sequence_bits = 12};
}

bool
kw_snowflake_pack(const kw_model_generate *generate, int64_t tick, uint32_t worker, uint32_t sequence,
                  int64_t *ret_id, kw_error *ret_error)
{
    kw_snowflake_form form = kw_snowflake_form_of(generate->partitioned);
    g_assert(worker >> form.worker_bits == 0 && sequence >> form.sequence_bits == 0);
    int64_t time = generate->partitioned ? tick : tick - generate->epoch_ms;
    unsigned bits = generate->partitioned ? PARTITIONED_TIME_BITS : STANDARD_TIME_BITS;
    if (time < 0 || time >> bits != 0)
        return kw_error_set(
            ret_error, KW_LIMIT,
            "the gateway's clock is %s the time range of a snowflake (%u bits); correct the clock",
            time < 0 ? "before" : "beyond", bits);
    uint64_t id = generate->partitioned ? (uint64_t)(tick / 60 % 60) << PARTITIONED_TIME_BITS : 0;
    id = (id | (uint64_t)time) << form.worker_bits | worker;
    *ret_id = (int64_t)(id << form.sequence_bits | sequence);
    return true;
}

bool
kw_ticks_allocate(kw_ticks *self, kw_snowflake_form form, int64_t now_ms, int64_t most_ms, uint32_t want,
                  kw_tick_part *ret_part)
{
    uint32_t sequences = UINT32_C(1) << form.sequence_bits;
    kw_ticks at = *self;
    g_assert(want >= 1 && at.next <= sequences);
    if (now_ms / form.tick_ms > at.tick)
        at = (kw_ticks){now_ms / form.tick_ms, 0};
    else if (at.next == sequences)
        at = (kw_ticks){at.tick + 1, 0};
    if (at.tick > most_ms / form.tick_ms)
        return false;
    uint32_t count = MIN(want, sequences - at.next);
    *ret_part = (kw_tick_part){at.tick, at.next, count};
    at.next += count;
    *self = at;
    return true;
}
