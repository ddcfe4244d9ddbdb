/* The planner's functions of a calendar: the pieces, and the runs of pieces, of the time between two ends.
 *
 *   walk: from step to step of the zone, from unit to unit within it, in the order of time
 *
 *   time   ...01:59|02:00 .. 02:59|02:00 .. 02:59|03:00...   the clock is set back once
 *   runs   [------- timed --------][------ timed ---------]  each scans 02:00 .. 02:59 and keeps its own rows
 */
#include "rule/components/calendar.h"
#include "rule/derived.h"

#include <stdlib.h>

/* A stretch of time whose pieces are in the order of time. */
typedef struct stretch {
    int64_t from; /* ticks */
    int64_t to;
    int64_t local_from;
    int64_t local_to;
    int64_t instance; /* first local tick of the unit (walk.unit) that contains the stretch */
    bool twice;       /* other times share some of its local times */
} stretch;

typedef struct walk {
    const kw_calendar *self;
    kw_calendar_unit unit;
    stretch *items; /* in the arena, doubled as needed */
    size_t count;
    size_t capacity;
    kw_arena *arena;
} walk;

/* True if a clock that is set back at the beginning or end of this step makes some of the local times from
 * local_from to local_to occur twice. */
static bool
occurs_twice(const kw_calendar *self, size_t step, int64_t local_from, int64_t local_to)
{
    const kw_zone *zone = self->zone;
    for (size_t at = step; zone->falls && at <= step + 1 && at < zone->count; at++) {
        if (at == 0 || zone->steps[at].offset >= zone->steps[at - 1].offset)
            continue;
        int64_t tick = zone->steps[at].from * self->ticks_per_second;
        if (local_from < tick + kw_calendar_offset(self, at - 1) &&
            local_to >= tick + kw_calendar_offset(self, at))
            return true;
    }
    return false;
}

/* Extends a stretch to whole cells. */
static void
widen(const kw_calendar *self, int64_t *local_from, int64_t *local_to)
{
    int64_t ignored;
    kw_calendar_bounds(self, self->cell_unit, *local_from, local_from, &ignored);
    kw_calendar_bounds(self, self->cell_unit, *local_to, &ignored, local_to);
}

static void
add_stretch(walk *it, stretch next)
{
    stretch *last = it->count ? &it->items[it->count - 1] : NULL;
    int64_t before = 0, here = next.local_from, ignored;
    if (last) {
        kw_calendar_bounds(it->self, it->self->cell_unit, last->local_to, &before, &ignored);
        kw_calendar_bounds(it->self, it->self->cell_unit, next.local_from, &here, &ignored);
    }
    bool follows = last && last->instance == next.instance && here >= before;
    if (follows) {
        last->to = next.to;
        last->local_to = next.local_to;
        last->twice = last->twice || next.twice;
        return;
    }
    if (it->count == it->capacity) {
        size_t capacity = it->capacity ? 2 * it->capacity : 16;
        stretch *items = kw_arena_alloc(it->arena, capacity * sizeof *items);
        if (it->count > 0)
            memcpy(items, it->items, it->count * sizeof *items);
        it->items = items;
        it->capacity = capacity;
    }
    it->items[it->count++] = next;
}

static void
walk_ticks(walk *it, int64_t from, int64_t to)
{
    const kw_calendar *self = it->self;
    const kw_zone *zone = self->zone;
    size_t step = kw_calendar_step(self, from);
    for (int64_t tick = from; tick <= to;) {
        int64_t step_end =
            step + 1 < zone->count ? zone->steps[step + 1].from * self->ticks_per_second - 1 : to;
        int64_t end = MIN(step_end, to), offset = kw_calendar_offset(self, step);
        while (tick <= end) {
            stretch next = {.from = tick, .local_from = tick + offset};
            int64_t unit_end;
            kw_calendar_bounds(self, it->unit, next.local_from, &next.instance, &unit_end);
            next.to = unit_end == INT64_MAX ? end : MIN(unit_end - offset, end);
            next.local_to = next.to + offset;
            int64_t local_from = next.local_from, local_to = next.local_to;
            if (zone->falls) {
                widen(self, &local_from, &local_to);
                next.twice = occurs_twice(self, step, local_from, local_to);
            }
            add_stretch(it, next);
            tick = next.to + 1;
        }
        step++;
    }
}

/* The span in ticks; false if the calendar can store none of it. */
static bool
ticks_of(const kw_calendar *self, const kw_value_span *span, int64_t *ret_from, int64_t *ret_to)
{
    int64_t least = INT64_MIN, most = INT64_MAX;
    if (span->field == self->base.clock && !kw_value_span_numbers(span, &least, &most))
        return false;
    *ret_from = MAX(kw_calendar_tick(self, least), self->first);
    *ret_to = MIN(kw_calendar_tick(self, most), self->last);
    return *ret_from <= *ret_to;
}

/* Shortest length in ticks. */
static int64_t
unit_length(const kw_calendar *self, kw_calendar_unit unit)
{
    return kw_calendar_unit_seconds[unit] * (unit == KW_CALENDAR_MILLI ? 1 : self->ticks_per_second);
}

static int64_t
last_value(const kw_calendar *self, int64_t tick)
{
    return tick * self->per_tick + (self->per_tick - 1);
}

/* --- counting --------------------------------------------------------------------------------------- */

/* Upper bound of the units that [from, to] touches; units in which the clock is changed count twice. */
static uint64_t
count_units(const kw_calendar *self, kw_calendar_unit unit, int64_t from, int64_t to)
{
    size_t steps = kw_calendar_step(self, to) - kw_calendar_step(self, from);
    if (unit == KW_CALENDAR_EVER)
        return 1 + (self->overlaps ? steps : 0);
    return (uint64_t)((to - from) / unit_length(self, unit)) + 2 + steps;
}

uint64_t
kw_calendar_count(const kw_component *component, const bool *known, const kw_value_span *span, bool pieces)
{
    const kw_calendar *self = (const kw_calendar *)component;
    int64_t from, to;
    if (pieces && self->sequence >= 0)
        return UINT64_MAX;
    if (known[component->clock])
        return 1;
    if (!ticks_of(self, span, &from, &to))
        return 0;
    return count_units(self, pieces ? self->cell_unit : self->run_unit, from, to);
}

/* True if another stretch begins at a change of the clock: in another unit, or in an earlier cell. */
static bool
splits_at(const kw_calendar *self, kw_calendar_unit unit, size_t step)
{
    int64_t tick = self->zone->steps[step].from * self->ticks_per_second, ignored, before, here;
    int64_t last = tick - 1 + kw_calendar_offset(self, step - 1),
            first = tick + kw_calendar_offset(self, step);
    kw_calendar_bounds(self, unit, last, &before, &ignored);
    kw_calendar_bounds(self, unit, first, &here, &ignored);
    if (before != here)
        return true;
    kw_calendar_bounds(self, self->cell_unit, last, &before, &ignored);
    kw_calendar_bounds(self, self->cell_unit, first, &here, &ignored);
    return here < before;
}

/* The first tick of the stretch that contains a tick (walk_ticks). */
static int64_t
stretch_first(const kw_calendar *self, kw_calendar_unit unit, int64_t tick)
{
    for (size_t step = kw_calendar_step(self, tick);; step--) {
        int64_t offset = kw_calendar_offset(self, step), first, ignored;
        kw_calendar_bounds(self, unit, tick + offset, &first, &ignored);
        first = unit == KW_CALENDAR_EVER ? self->first : first - offset;
        if (step == 0)
            return first;
        int64_t begin = self->zone->steps[step].from * self->ticks_per_second;
        if (unit != KW_CALENDAR_EVER && first > begin)
            return first;
        if (splits_at(self, unit, step))
            return begin;
        tick = begin - 1;
    }
}

/* ... and the last one. */
static int64_t
stretch_last(const kw_calendar *self, kw_calendar_unit unit, int64_t tick)
{
    for (size_t step = kw_calendar_step(self, tick);; step++) {
        int64_t offset = kw_calendar_offset(self, step), last, ignored;
        kw_calendar_bounds(self, unit, tick + offset, &ignored, &last);
        last = unit == KW_CALENDAR_EVER ? self->last : last - offset;
        if (step + 1 == self->zone->count)
            return last;
        int64_t end = self->zone->steps[step + 1].from * self->ticks_per_second;
        if (unit != KW_CALENDAR_EVER && last < end - 1)
            return last;
        if (splits_at(self, unit, step + 1))
            return end - 1;
        tick = end;
    }
}

/* The last tick of the first `most` stretches; falling: the first tick of the last ones. */
static int64_t
reach_stretches(const kw_calendar *self, int64_t from, int64_t to, uint64_t most, bool falling)
{
    int64_t tick = falling ? to + 1 : from - 1;
    for (uint64_t count = 0; count < most && (falling ? tick > from : tick < to); count++)
        tick = falling ? stretch_first(self, KW_CALENDAR_EVER, tick - 1)
                       : stretch_last(self, KW_CALENDAR_EVER, tick + 1);
    return tick;
}

/* The same by units, assuming their shortest length. Windows begin and end with whole stretches, because the
 * rows of one stretch have an order of their own. */
static int64_t
reach_units(const kw_calendar *self, kw_calendar_unit unit, int64_t from, int64_t to, uint64_t most,
            bool falling)
{
    int64_t length = unit_length(self, unit);
    int64_t far = falling ? MAX(to - length * (int64_t)most, from) : MIN(from + length * (int64_t)most, to);
    size_t here = kw_calendar_step(self, falling ? to : from), there = kw_calendar_step(self, far);
    int64_t units = (int64_t)most - 2 - (int64_t)(falling ? here - there : there - here);
    if (units > 0) {
        int64_t tick = falling ? stretch_last(self, unit, to - length * units)
                               : stretch_first(self, unit, from + length * units);
        if (falling ? tick < to : tick > from)
            return falling ? tick + 1 : tick - 1;
    }
    return falling ? stretch_first(self, unit, to) : stretch_last(self, unit, from);
}

bool
kw_calendar_reach(const kw_component *component, const kw_value_span *span, bool pieces, uint64_t most,
                  bool falling, int64_t *ret_value)
{
    const kw_calendar *self = (const kw_calendar *)component;
    kw_calendar_unit unit = pieces ? self->cell_unit : self->run_unit;
    int64_t from, to;
    most = MIN(most, KW_BUCKETS_MAX);
    if (!ticks_of(self, span, &from, &to) || count_units(self, unit, from, to) <= most)
        return false;
    int64_t tick = unit == KW_CALENDAR_EVER ? reach_stretches(self, from, to, most, falling)
                                            : reach_units(self, unit, from, to, most, falling);
    *ret_value = falling ? tick * self->per_tick : last_value(self, tick);
    return falling ? tick > from : tick < to;
}

uint64_t
kw_calendar_buckets(const kw_calendar *self)
{
    static const uint64_t per_unit[] = {0, 0, 12, 31, 24, 60, 60, 1000};
    if (self->complete || self->sequence >= 0)
        return 0;
    uint64_t buckets = 1;
    bool all = true;
    for (size_t index = 0; index < self->parts_count; index++) {
        const kw_calendar_part *part = self->parts[index];
        all = all && part->unit != KW_CALENDAR_YEAR;
        buckets *= part->digits == 3 && part->unit == KW_CALENDAR_DAY ? 366 : per_unit[part->unit];
    }
    return all && buckets <= KW_BUCKETS_MAX ? buckets : 0;
}

/* --- pieces one by one ------------------------------------------------------------------------------ */

static kw_bytes
piece_at(const kw_calendar *self, int64_t local, uint64_t sequence, kw_arena *arena)
{
    uint8_t bytes[KW_CALENDAR_PIECE_MAX];
    size_t size = kw_calendar_write(self, kw_calendar_code(self, local), sequence, bytes);
    uint8_t *kept = kw_arena_alloc(arena, size);
    memcpy(kept, bytes, size);
    return kw_bytes_of(kept, size);
}

static int
compare_buckets(const void *a, const void *b)
{
    return kw_bytes_compare(((const kw_bucket *)a)->bytes, ((const kw_bucket *)b)->bytes);
}

/* The code of the index-th combination of the parts; false if there is no such day. */
static bool
combine(const kw_calendar *self, uint64_t index, uint64_t *ret_code)
{
    uint64_t code = 0, power = 1;
    uint32_t month = 1, day = 1;
    for (size_t part = self->parts_count; part > 0; part--) {
        const kw_calendar_part *it = self->parts[part - 1];
        uint64_t values = it->most - it->least + 1, value = it->least + index % values;
        code += value * power;
        index /= values;
        for (uint32_t digit = 0; digit < it->digits; digit++)
            power *= 10;
        month = it->unit == KW_CALENDAR_MONTH ? (uint32_t)value : month;
        day = it->unit == KW_CALENDAR_DAY && it->digits == 2 ? (uint32_t)value : day;
    }
    *ret_code = code;
    return kw_civil_of(kw_days_of(2000, month, day)).month == month;
}

/* Lists every possible combination of the parts once. */
static size_t
enumerate_all(const kw_calendar *self, kw_arena *arena, const kw_bucket **ret_buckets)
{
    kw_bucket *buckets = KW_ARENA_ARRAY(arena, kw_bucket, self->base.buckets);
    size_t count = 0;
    for (uint64_t index = 0; index < self->base.buckets; index++) {
        uint64_t code;
        if (!combine(self, index, &code))
            continue;
        uint8_t *bytes = kw_arena_alloc(arena, KW_CALENDAR_PIECE_MAX);
        size_t size = kw_calendar_write(self, code, 0, bytes);
        buckets[count++] = (kw_bucket){.bytes = kw_bytes_of(bytes, size), .field = -1};
    }
    qsort(buckets, count, sizeof *buckets, compare_buckets);
    *ret_buckets = buckets;
    return count;
}

size_t
kw_calendar_enumerate(const kw_component *component, const kw_value_span *span, kw_arena *arena,
                      const kw_bucket **ret_buckets)
{
    const kw_calendar *self = (const kw_calendar *)component;
    int64_t from, to;
    bool in_query = span->field == component->clock;
    if (in_query && !ticks_of(self, span, &from, &to))
        return 0;
    if (!in_query)
        return enumerate_all(self, arena, ret_buckets);
    walk it = {.self = self, .unit = self->cell_unit, .arena = arena};
    walk_ticks(&it, from, to);
    kw_bucket *buckets = KW_ARENA_ARRAY(arena, kw_bucket, it.count);
    for (size_t index = 0; index < it.count; index++) {
        const stretch *one = &it.items[index];
        buckets[index] = (kw_bucket){.bytes = piece_at(self, one->local_from, 0, arena),
                                     .field = -1,
                                     .narrowed = true,
                                     .least = one->from * self->per_tick,
                                     .most = last_value(self, one->to),
                                     .timed = one->twice || !self->complete};
    }
    *ret_buckets = buckets;
    return it.count;
}

/* --- runs ------------------------------------------------------------------------------------------- */

typedef struct numbers {
    uint64_t least;
    uint64_t most;
} numbers;

/* The possible sequences; least > most: none. A run of several cells contains all of them. */
static bool
sequences_of(const kw_calendar *self, const kw_value *values, const kw_value_span *span,
             numbers *ret_sequences, kw_error *ret_error)
{
    *ret_sequences = (numbers){.least = 0, .most = self->sequence_span - 1};
    bool one_cell = self->run_unit == self->cell_unit || values[self->base.clock].kind != KW_VALUE_NONE;
    if (self->sequence < 0 || !one_cell)
        return true;
    if (values[self->sequence].kind != KW_VALUE_NONE) {
        if (!kw_calendar_read_sequence(self, values[self->sequence], &ret_sequences->least, ret_error))
            return false;
        ret_sequences->most = ret_sequences->least;
    } else if (span->field == self->sequence) {
        int64_t least, most;
        bool any =
            kw_value_span_numbers(span, &least, &most) && most >= 0 && least < (int64_t)self->sequence_span;
        ret_sequences->least = any ? (uint64_t)MAX(least, 0) : 1;
        ret_sequences->most = any ? MIN((uint64_t)most, self->sequence_span - 1) : 0;
    }
    return true;
}

static void
fill_runs(const kw_calendar *self, const walk *it, numbers sequences, kw_arena *arena,
          kw_piece_runs *ret_runs)
{
    kw_piece_run *runs = KW_ARENA_ARRAY(arena, kw_piece_run, it->count);
    for (size_t index = 0; index < it->count; index++) {
        const stretch *one = &it->items[index];
        bool timed = one->twice || !self->complete;
        runs[index] = (kw_piece_run){.low = piece_at(self, one->local_from, sequences.least, arena),
                                     .high = piece_at(self, one->local_to, sequences.most, arena),
                                     .sized = self->form == KW_CALENDAR_DECIMAL,
                                     .narrowed = true,
                                     .least = one->from * self->per_tick,
                                     .most = last_value(self, one->to),
                                     .timed = timed};
        ret_runs->loose = ret_runs->loose || timed;
    }
    ret_runs->items = runs;
    ret_runs->count = it->count;
}

/* True if an end of the span is within a cell. */
static bool
cuts_a_cell(const kw_calendar *self, const kw_value_span *span, int64_t from, int64_t to)
{
    if (span->field != self->base.clock)
        return false;
    int64_t first, last, local = from + kw_calendar_offset(self, kw_calendar_step(self, from));
    kw_calendar_bounds(self, self->cell_unit, local, &first, &last);
    if (span->from.kind == KW_VALUE_NUMBER &&
        (first != local || span->from.number > from * self->per_tick || !span->from_inclusive))
        return true;
    local = to + kw_calendar_offset(self, kw_calendar_step(self, to));
    kw_calendar_bounds(self, self->cell_unit, local, &first, &last);
    return span->to.kind == KW_VALUE_NUMBER &&
           (last != local || span->to.number < last_value(self, to) || !span->to_inclusive);
}

bool
kw_calendar_runs(const kw_component *component, const kw_value *values, const kw_value_span *span,
                 kw_arena *arena, kw_piece_runs *ret_runs, kw_error *ret_error)
{
    const kw_calendar *self = (const kw_calendar *)component;
    *ret_runs = (kw_piece_runs){.count = 0};
    numbers sequences;
    if (!sequences_of(self, values, span, &sequences, ret_error))
        return false;
    if (sequences.least > sequences.most)
        return true;
    walk it = {.self = self, .unit = self->run_unit, .arena = arena};
    kw_value time = values[component->clock];
    int64_t from, to;
    if (time.kind != KW_VALUE_NONE) {
        if (!kw_calendar_read_time(self, time, &from, ret_error))
            return false;
        walk_ticks(&it, from, from);
        fill_runs(self, &it, sequences, arena, ret_runs);
        ret_runs->items[0].narrowed = ret_runs->items[0].timed = false;
        ret_runs->loose = false; /* the planner checks bound fields itself */
        return true;
    }
    if (!ticks_of(self, span, &from, &to))
        return true;
    walk_ticks(&it, from, to);
    fill_runs(self, &it, sequences, arena, ret_runs);
    ret_runs->loose = ret_runs->loose || cuts_a_cell(self, span, from, to);
    return true;
}
