/* The planner's functions of bits: the runs of numbers for the time between two ends.
 *
 * Without a minute, a time range is one run. With a minute there are two ways, both in the order of time:
 *
 *   few minutes    one run each, one after the other:  [minute, its seconds]
 *   more           one run per minute of the hour, merged by what follows it:  [minute, the whole time]
 *
 * Merging skips whole bytes: bits of the time that share the minute's last byte must be equal in all runs, so
 * the time is cut where they change.
 *
 * An unknown field ends the prefix: everything after it is open.
 */
#include "rule/components/bits.h"
#include "rule/derived.h"

#define PARTITIONS 60

/* Most stretches into which the time is cut to merge partitions. */
#define CUTS_MAX 8

/* The known beginning of the parts. */
typedef struct prefix {
    uint64_t number; /* bits of known parts */
    size_t stop;     /* the first unknown part; parts_count: none */
    uint64_t least;  /* range of the stop's value */
    uint64_t most;
} prefix;

/* True if the part is a constant, or its field (for a time or a minute: the clock's field) is known. */
static bool
is_given(const kw_bits *self, const kw_bits_part *part, const bool *known)
{
    switch (part->kind) {
    case KW_BITS_CONSTANT:
        return true;
    case KW_BITS_TIME:
    case KW_BITS_MINUTE:
        return self->base.clock >= 0 && known[self->base.clock];
    case KW_BITS_FIELD:
        return known[part->field];
    case KW_BITS_OTHER:
        return false;
    }
    g_assert_not_reached();
}

/* True if all parts before the time, except the minute, are known. */
static bool
reaches_time(const kw_bits *self, const bool *known)
{
    for (int at = 0; at < self->time; at++)
        if (at != self->minute && !is_given(self, &self->parts[at], known))
            return false;
    return true;
}

/* The span in ticks since 1970; false if it is empty. */
static bool
ticks_of(const kw_bits *self, const kw_value_span *span, int64_t *ret_from, int64_t *ret_to)
{
    int64_t least = INT64_MIN, most = INT64_MAX;
    if (span->field == self->base.clock && !kw_value_span_numbers(span, &least, &most))
        return false;
    *ret_from = MAX(kw_floor_div(least, self->per_tick), self->first);
    *ret_to = MIN(kw_floor_div(most, self->per_tick), self->last);
    return *ret_from <= *ret_to;
}

/* Number of bits of the time that share a byte with the minute, or 0. ret_skip: bytes up to and including the
 * minute's last one. */
static uint32_t
shared_bits(const kw_bits *self, uint32_t *ret_skip)
{
    const kw_bits_part *minute = &self->parts[self->minute], *time = &self->parts[self->time];
    *ret_skip = (self->total - minute->shift + 7) / 8;
    uint32_t following = self->total - 8 * *ret_skip; /* bits after those bytes */
    uint32_t time_end = time->shift + time->bits;
    return following >= time_end ? 0 : time_end - MAX(following, time->shift);
}

/* Number of stretches into which the time must be cut to merge partitions; 0: too many. */
static uint64_t
cuts_needed(const kw_bits *self, int64_t from, int64_t to)
{
    uint32_t skip, shared = shared_bits(self, &skip), kept = self->parts[self->time].bits - shared;
    uint64_t cuts = ((uint64_t)(to - self->epoch) >> kept) - ((uint64_t)(from - self->epoch) >> kept) + 1;
    return cuts <= CUTS_MAX ? cuts : 0;
}

static uint64_t
count_minutes(const kw_bits *self, int64_t from, int64_t to)
{
    return (uint64_t)(kw_bits_minutes_since_1970(self, to) - kw_bits_minutes_since_1970(self, from)) + 1;
}

static bool
by_partition(const kw_bits *self, int64_t from, int64_t to)
{
    uint64_t cuts = cuts_needed(self, from, to);
    return cuts > 0 && PARTITIONS * cuts < count_minutes(self, from, to);
}

static uint64_t
count_runs(const kw_bits *self, int64_t from, int64_t to)
{
    return by_partition(self, from, to) ? PARTITIONS * cuts_needed(self, from, to)
                                        : count_minutes(self, from, to);
}

uint64_t
kw_bits_count(const kw_component *component, const bool *known, const kw_value_span *span, bool pieces)
{
    const kw_bits *self = (const kw_bits *)component;
    int64_t from, to;
    if (pieces || self->time < 0)
        return UINT64_MAX;
    if (known[component->clock])
        return is_given(self, &self->parts[0], known) ? 1 : UINT64_MAX;
    if (!reaches_time(self, known))
        return UINT64_MAX;
    if (!ticks_of(self, span, &from, &to))
        return 0;
    if (self->minute < 0)
        return 1;
    return count_runs(self, from, to);
}

/* First and last tick of a stretch: `further` stretches after the one that contains `tick`, or before it if
 * `further` is negative. */
static void
stretch_at(const kw_bits *self, int64_t tick, int64_t further, int64_t *ret_first, int64_t *ret_last)
{
    uint32_t skip, kept = self->parts[self->time].bits - shared_bits(self, &skip);
    int64_t stretch = (int64_t)((uint64_t)(tick - self->epoch) >> kept) + further;
    int64_t most = (int64_t)((uint64_t)(self->last - self->epoch) >> kept);
    *ret_first = stretch <= 0 ? self->first : self->epoch + (stretch << kept);
    *ret_last = stretch >= most ? self->last : self->epoch + ((stretch + 1) << kept) - 1;
}

bool
kw_bits_reach(const kw_component *component, const kw_value_span *span, bool pieces, uint64_t most,
              bool falling, int64_t *ret_value)
{
    const kw_bits *self = (const kw_bits *)component;
    int64_t from, to, first, last, length = 60 * self->ticks_per_second;
    if (pieces || self->minute < 0 || !ticks_of(self, span, &from, &to) || count_runs(self, from, to) <= most)
        return false;
    int64_t minutes = (int64_t)MIN(most, KW_BUCKETS_MAX), cuts = (int64_t)MIN(most / PARTITIONS, CUTS_MAX);
    int64_t tick = falling ? (kw_bits_minutes_since_1970(self, to) - minutes + 1) * length
                           : (kw_bits_minutes_since_1970(self, from) + minutes) * length - 1;
    if (cuts > 0) {
        stretch_at(self, falling ? to : from, falling ? 1 - cuts : cuts - 1, &first, &last);
        tick = falling ? MIN(tick, first) : MAX(tick, last);
    }
    *ret_value = falling ? tick * self->per_tick : tick * self->per_tick + (self->per_tick - 1);
    return falling ? tick > from : tick < to;
}

/* --- making runs ------------------------------------------------------------------------------------- */

typedef struct run_list {
    const kw_bits *self;
    uint64_t known; /* bits of the parts before the time, without the minute's */
    kw_piece_run *items;
    size_t count;
    kw_arena *arena;
} run_list;

/* The run of [from, to] (ticks since 1970) in one minute of the hour. */
static void
add_run(run_list *list, int64_t from, int64_t to, uint64_t minute, uint32_t skip)
{
    const kw_bits *self = list->self;
    const kw_bits_part *time = &self->parts[self->time];
    uint64_t low = list->known, high = list->known;
    if (self->minute >= 0) {
        low |= minute << self->parts[self->minute].shift;
        high |= minute << self->parts[self->minute].shift;
    }
    low |= (uint64_t)(from - self->epoch) << time->shift;
    high |= (uint64_t)(to - self->epoch) << time->shift | kw_bits_mask(time->shift);
    list->items[list->count++] = (kw_piece_run){
        .low = kw_bits_piece(self, low, list->arena),
        .high = kw_bits_piece(self, high, list->arena),
        .skip = skip,
        .narrowed = true,
        .least = from * self->per_tick,
        .most = to * self->per_tick + (self->per_tick - 1),
    };
}

static void
add_minutes(run_list *list, int64_t from, int64_t to)
{
    const kw_bits *self = list->self;
    int64_t length = 60 * self->ticks_per_second;
    for (int64_t minute = kw_bits_minutes_since_1970(self, from);
         minute <= kw_bits_minutes_since_1970(self, to); minute++)
        add_run(list, MAX(from, minute * length), MIN(to, minute * length + length - 1),
                kw_bits_minute_of_hour(minute), 0);
}

static void
add_partitions(run_list *list, int64_t from, int64_t to)
{
    const kw_bits *self = list->self;
    uint32_t skip, shared = shared_bits(self, &skip), kept = self->parts[self->time].bits - shared;
    while (from <= to) {
        int64_t end = self->epoch + (int64_t)((((uint64_t)(from - self->epoch) >> kept) + 1) << kept) - 1;
        end = MIN(end, to);
        for (uint64_t minute = 0; minute < PARTITIONS; minute++)
            add_run(list, from, end, minute, skip);
        from = end + 1;
    }
}

/* For a known time: finds how far the parts are known. */
static bool
walk_known(const kw_bits *self, const kw_value *values, const kw_value_span *span, int64_t tick,
           prefix *ret_prefix, kw_error *ret_error)
{
    prefix found = {.stop = self->parts_count};
    for (size_t index = 0; index < self->parts_count; index++) {
        const kw_bits_part *part = &self->parts[index];
        uint64_t bits = part->constant;
        int64_t least, most;
        if (part->kind == KW_BITS_TIME) {
            bits = (uint64_t)(tick - self->epoch);
        } else if (part->kind == KW_BITS_MINUTE) {
            bits = kw_bits_minute_of_hour(kw_bits_minutes_since_1970(self, tick));
        } else if (part->kind == KW_BITS_OTHER ||
                   (part->kind == KW_BITS_FIELD && values[part->field].kind == KW_VALUE_NONE)) {
            found.stop = index;
            found.most = kw_bits_mask(part->bits);
            if (part->kind == KW_BITS_FIELD && span->field == part->field) {
                bool any = kw_value_span_numbers(span, &least, &most) && most >= 0 &&
                           (least < 0 || (uint64_t)least <= found.most);
                found.least = any ? (uint64_t)MAX(least, 0) : 1;
                found.most = any ? MIN((uint64_t)most, found.most) : 0;
            }
            break;
        } else if (part->kind == KW_BITS_FIELD &&
                   !kw_bits_read_field(self, part, values[part->field], &bits, ret_error)) {
            return false;
        }
        found.number |= bits << part->shift;
    }
    *ret_prefix = found;
    return true;
}

static bool
runs_of_moment(const kw_bits *self, const kw_value *values, const kw_value_span *span, kw_arena *arena,
               kw_piece_runs *ret_runs, kw_error *ret_error)
{
    int64_t tick;
    prefix found;
    if (!kw_bits_read_time(self, values[self->base.clock], &tick, ret_error) ||
        !walk_known(self, values, span, tick, &found, ret_error))
        return false;
    if (found.least > found.most)
        return true;
    uint64_t low = found.number, high = found.number;
    if (found.stop < self->parts_count) {
        uint32_t shift = self->parts[found.stop].shift;
        low |= found.least << shift;
        high |= found.most << shift | kw_bits_mask(shift);
    }
    kw_piece_run *run = KW_ARENA_NEW(arena, kw_piece_run);
    *run = (kw_piece_run){.low = kw_bits_piece(self, low, arena), .high = kw_bits_piece(self, high, arena)};
    ret_runs->items = run;
    ret_runs->count = 1;
    return true;
}

/* True if an end of the span is within a tick. */
static bool
cuts_a_tick(const kw_bits *self, const kw_value_span *span, int64_t from, int64_t to)
{
    if (span->field != self->base.clock)
        return false;
    return (span->from.kind == KW_VALUE_NUMBER &&
            (span->from.number > from * self->per_tick || !span->from_inclusive)) ||
           (span->to.kind == KW_VALUE_NUMBER &&
            (span->to.number < to * self->per_tick + (self->per_tick - 1) || !span->to_inclusive));
}

bool
kw_bits_runs(const kw_component *component, const kw_value *values, const kw_value_span *span,
             kw_arena *arena, kw_piece_runs *ret_runs, kw_error *ret_error)
{
    const kw_bits *self = (const kw_bits *)component;
    *ret_runs = (kw_piece_runs){.count = 0};
    if (values[component->clock].kind != KW_VALUE_NONE)
        return runs_of_moment(self, values, span, arena, ret_runs, ret_error);
    int64_t from, to;
    if (!ticks_of(self, span, &from, &to))
        return true;
    run_list list = {.self = self, .arena = arena};
    for (int at = 0; at < self->time; at++) {
        const kw_bits_part *part = &self->parts[at];
        uint64_t bits = part->constant;
        if (part->kind == KW_BITS_FIELD &&
            !kw_bits_read_field(self, part, values[part->field], &bits, ret_error))
            return false;
        list.known |= bits << part->shift;
    }
    bool partitions = self->minute >= 0 && by_partition(self, from, to);
    list.items = KW_ARENA_ARRAY(arena, kw_piece_run, self->minute < 0 ? 1 : count_runs(self, from, to));
    if (self->minute < 0)
        add_run(&list, from, to, 0, 0);
    else if (partitions)
        add_partitions(&list, from, to);
    else
        add_minutes(&list, from, to);
    ret_runs->items = list.items;
    ret_runs->count = list.count;
    /* If the number was generated elsewhere, a record can lack the timestamp field that repeats its time. */
    ret_runs->loose = self->number >= 0 || cuts_a_tick(self, span, from, to);
    return true;
}
