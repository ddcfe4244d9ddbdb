/* Private to the component calendar: its compiled form, and the arithmetic shared by encoding and planning.
 *
 *   value of the field --per_tick--> tick (UTC, seconds or milliseconds) --zone--> local tick --> parts
 *
 * A cell is the time that one combination of parts encodes: a unit of the finest part. In key order, cells
 * are in the order of time only within one `run_unit` (mm HH dd MM yyyy: one minute; MM dd: one year; yyyy MM
 * dd: without limit).
 */
#pragma once

#include "rule/civil.h"
#include "rule/component.h"
#include "rule/zone.h"

typedef enum kw_calendar_unit {
    KW_CALENDAR_EVER,
    KW_CALENDAR_YEAR,
    KW_CALENDAR_MONTH,
    KW_CALENDAR_DAY,
    KW_CALENDAR_HOUR,
    KW_CALENDAR_MINUTE,
    KW_CALENDAR_SECOND,
    KW_CALENDAR_MILLI
} kw_calendar_unit;

typedef struct kw_calendar_part {
    const char *name;
    uint32_t digits;
    uint32_t least;
    uint32_t most;
    kw_calendar_unit unit;   /* one step of the part */
    kw_calendar_unit within; /* ... after which the part restarts */
} kw_calendar_part;

#define KW_CALENDAR_PARTS_MAX 8

/* Digits, separators and the digits of a sequence. */
#define KW_CALENDAR_PIECE_MAX 64

typedef enum kw_calendar_form { KW_CALENDAR_TEXT, KW_CALENDAR_PACKED, KW_CALENDAR_DECIMAL } kw_calendar_form;

typedef struct kw_calendar {
    kw_component base;
    const kw_zone *zone;
    const kw_calendar_part *parts[KW_CALENDAR_PARTS_MAX]; /* in key order */
    size_t parts_count;
    kw_calendar_form form;
    kw_bytes separator; /* text */
    int sequence;       /* field; -1: none */
    uint32_t sequence_digits;
    uint64_t sequence_span;   /* 10 ^ digits; 1 without a sequence */
    int64_t per_tick;         /* units of the field */
    int64_t ticks_per_second; /* 1 or 1000 */
    int64_t first;            /* ticks that it can store */
    int64_t last;
    int64_t first_year;
    int64_t last_year;
    kw_calendar_unit cell_unit;
    kw_calendar_unit run_unit;
    bool complete; /* every part coarser than the finest is present */
    bool overlaps; /* clocks that are set back make cells occur twice */
} kw_calendar;

/* Shortest length of each unit in seconds; also the longest, except for months and years. EVER: 0; MILLI: 1,
 * rounded up. */
extern const int64_t kw_calendar_unit_seconds[];

uint64_t kw_calendar_power(uint32_t digits); /* of ten */

extern const kw_component_schema kw_calendar_schema;
const kw_component *kw_calendar_compile(const kw_site *site);

/* Offset from UTC in ticks. */
static inline int64_t
kw_calendar_offset(const kw_calendar *self, size_t step)
{
    return self->zone->steps[step].offset * self->ticks_per_second;
}

static inline size_t
kw_calendar_step(const kw_calendar *self, int64_t tick)
{
    return kw_zone_find(self->zone, kw_floor_div(tick, self->ticks_per_second));
}

/* First and last local tick of the unit that contains a local tick. EVER: 0 and INT64_MAX. */
void kw_calendar_bounds(const kw_calendar *self, kw_calendar_unit unit, int64_t local, int64_t *ret_first,
                        int64_t *ret_last);

/* The decimal digits of the parts as a number. */
uint64_t kw_calendar_code(const kw_calendar *self, int64_t local);

/* The piece of a code; at most KW_CALENDAR_PIECE_MAX bytes. Returns its size. */
size_t kw_calendar_write(const kw_calendar *self, uint64_t code, uint64_t sequence, uint8_t *to);

/* --- for the planner -------------------------------------------------------------------------------- */

uint64_t kw_calendar_count(const kw_component *component, const bool *known, const kw_value_span *span,
                           bool pieces);
bool kw_calendar_reach(const kw_component *component, const kw_value_span *span, bool pieces, uint64_t most,
                       bool falling, int64_t *ret_value);
bool kw_calendar_runs(const kw_component *component, const kw_value *values, const kw_value_span *span,
                      kw_arena *arena, kw_piece_runs *ret_runs, kw_error *ret_error);
size_t kw_calendar_enumerate(const kw_component *component, const kw_value_span *span, kw_arena *arena,
                             const kw_bucket **ret_buckets);

/* Number of different pieces, if they are few enough to list: those of one cycle of a circular calendar.
 * Otherwise 0. */
uint64_t kw_calendar_buckets(const kw_calendar *self);

/* The tick that contains a value of the field. */
static inline int64_t
kw_calendar_tick(const kw_calendar *self, int64_t value)
{
    return kw_floor_div(value, self->per_tick);
}

/* INVALID if the calendar cannot store it. */
bool kw_calendar_read_time(const kw_calendar *self, kw_value value, int64_t *ret_tick, kw_error *ret_error);
bool kw_calendar_read_sequence(const kw_calendar *self, kw_value value, uint64_t *ret_sequence,
                               kw_error *ret_error);
