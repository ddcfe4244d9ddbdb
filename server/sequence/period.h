/* Periods after which a sequence restarts: finds the period of a timestamp in a time zone. Pure.
 *
 * Periods are counted in local time, so an hour that occurs twice (at the end of summer time) is one period,
 * as it is one piece of a calendar key.
 */
#pragma once

#include "base/bytes.h"
#include "config/model.h"
#include "rule/zone.h"

#define KW_PERIOD_TEXT_MAX 40

typedef struct kw_period_at {
    int64_t index;    /* increases by one from period to period */
    int64_t start_ms; /* local time as milliseconds since 1970 */
    int64_t end_ms;   /* exclusive */
    int64_t shift_ms; /* local time minus UTC */
    int64_t time_ms;  /* the timestamp itself, local */
} kw_period_at;

/* A timestamp in its field's unit; zone NULL: UTC. period must not be EVER. False outside of the years 1 to
 * 9999, and on the first and last day of that time. */
bool kw_period_find(kw_period period, const kw_zone *zone, kw_time_unit unit, int64_t timestamp,
                    kw_period_at *ret_at);

/* "second", "minute", ... */
const char *kw_period_name(kw_period period);

/* Prints the period with its own precision, for example "2026-11-21 12:34". */
void kw_period_print(kw_period period, const kw_period_at *at, char *to, size_t size);
