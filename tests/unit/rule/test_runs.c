/* The ranges of pieces that clocks (calendars and bits) select for a span of time, by brute force: every
 * record within the span is in exactly one of them, and no other record unless they are loose. The parts of a
 * long span together are the whole span, and none has too many ranges. */
#include "rule/component.h"

#include "rule/clock_changes.h"
#include "rule/policies.h"
#include "support/seeded.h"

#define BEGIN INT64_C(1270000000000) /* 2010-03-31, in milliseconds */
#define DAY_MS INT64_C(86400000)

typedef struct clock_case {
    const char *key;
    int64_t length_ms; /* spans and records are within this time */
} clock_case;

#define CALENDAR(settings)                                                                                   \
    "{calendar: {of: ts, " settings "}}, {field: {name: id, encoding: fixed, width: 4}}"
#define BITS(settings) "{bits: {of: ts, " settings "}}, {field: {name: id, encoding: fixed, width: 4}}"

static const clock_case clocks[] = {
    {CALENDAR("parts: [yyyy, MM, dd]"), 800 * DAY_MS},
    {CALENDAR("parts: [yyyy, MM, dd, HH, mm, ss, SSS]"), DAY_MS},
    {CALENDAR("parts: [dd, MM, yyyy]"), 800 * DAY_MS},
    {CALENDAR("parts: [mm, HH, dd, MM, yyyy]"), 2 * DAY_MS},
    {CALENDAR("parts: [yyyy, DDD, HH], zone: '-03:30'"), 800 * DAY_MS},
    {CALENDAR("parts: [yy, MM], as: packed"), 3000 * DAY_MS},
    {CALENDAR("parts: [MM, yyyy, dd], as: decimal"), 800 * DAY_MS},
    {CALENDAR("parts: [yyyy, MM, dd, HH], zone: Europe/Berlin"), 400 * DAY_MS},
    {CALENDAR("parts: [yyyy, MM, dd, HH, mm], zone: Europe/Berlin"), 400 * DAY_MS},
    {CALENDAR("parts: [HH, dd, MM, yyyy], zone: Australia/Lord_Howe"), 20 * DAY_MS},
    {CALENDAR("parts: [yyyy, MM, dd, HH, mm], zone: Pacific/Apia"), 800 * DAY_MS},
    {CALENDAR("parts: [yyyy, MM, dd], as: packed, sequence: n, digits: 3"), 800 * DAY_MS},
    {BITS("parts: [zero 1, seconds 39, n 8]"), 40 * DAY_MS},
    {BITS("parts: [zero 1, ms 47, n 16]"), DAY_MS},
    {BITS("parts: [zero 1, minute 6, seconds 32, n 9, m 16]"), 400 * DAY_MS},
    {BITS("parts: [zero 1, minute 6, seconds 32, n 9, m 16]"), DAY_MS / 24},
    {BITS("parts: [minute 7, ms 41], epoch: 1200000000000"), DAY_MS / 48},
    {BITS("parts: [constant 5 3, n 5, seconds 40]"), 40 * DAY_MS},
    {CALENDAR("parts: [MM, yyyy, dd], as: packed"), 800 * DAY_MS},
    {CALENDAR("parts: [MM, yyyy]"), 3000 * DAY_MS},
    {CALENDAR("parts: [yyyy], as: decimal"), 3000 * DAY_MS},
    {CALENDAR("parts: [yyyy, MM, dd, HH, mm], zone: Asia/Khandyga"), 800 * DAY_MS},
};

enum { TS, ID, N, M, FIELDS };

static kw_policy *
policy_of(const clock_case *it)
{
    g_autofree char *yaml =
        g_strdup_printf("    fields: {ts: {type: timestamp, column: 'd:ts'}, id: string, n: int, m: int}\n"
                        "    key: [%s]\n",
                        it->key);
    return test_policy_with_hazards(yaml);
}

/* Fields of a bits number that precede the time must be known. */
static void
set_known(const kw_component *clock, kw_value *values)
{
    for (size_t i = 0; i < FIELDS; i++)
        values[i] = (kw_value){.kind = KW_VALUE_NONE};
    for (size_t i = 0; i < clock->also_before; i++)
        values[clock->also[i]] = test_number(3);
}

static kw_value_span
span_of(int64_t from, int64_t to, bool from_inclusive, bool to_inclusive)
{
    return (kw_value_span){.field = TS,
                           .from = test_number(from),
                           .to = test_number(to),
                           .from_inclusive = from_inclusive,
                           .to_inclusive = to_inclusive};
}

static kw_piece_runs
runs_of(const kw_component *clock, const kw_value_span *span, kw_arena *arena)
{
    kw_value values[FIELDS];
    kw_piece_runs runs;
    kw_error error = KW_ERROR_NONE;
    set_known(clock, values);
    if (!clock->kind->runs(clock, values, span, arena, &runs, &error))
        g_error("%s", error.text);
    return runs;
}

static kw_bytes
piece_of(const kw_component *clock, int64_t ts, kw_arena *arena)
{
    kw_value values[FIELDS];
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_error error = KW_ERROR_NONE;
    set_known(clock, values);
    values[TS] = test_number(ts);
    values[ID] = test_text("a");
    if (values[N].kind == KW_VALUE_NONE)
        values[N] = test_number(g_test_rand_int_range(0, 200));
    values[M] = test_number(g_test_rand_int_range(0, 200));
    if (!clock->kind->encode(clock, values, KW_BYTES_NONE, &out, &error))
        g_error("%s", error.text);
    kw_bytes piece = kw_arena_copy(arena, kw_buffer_bytes(&out));
    kw_buffer_clear(&out);
    return piece;
}

/* True if the piece is among those of a range, for any time. */
static bool
is_scanned(const kw_piece_run *run, kw_bytes piece)
{
    if (run->sized && piece.size != run->low.size)
        return false;
    g_assert_cmpuint(run->low.size, <=, piece.size);
    kw_bytes start = kw_bytes_of(piece.data, run->low.size);
    return kw_bytes_compare(start, run->low) >= 0 && kw_bytes_compare(start, run->high) <= 0;
}

/* How many of the ranges select the record. Ranges with pieces of records outside of the span are loose. */
static unsigned
count_selecting(const kw_piece_runs *runs, kw_bytes piece, int64_t ts, bool within)
{
    unsigned found = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const kw_piece_run *run = &runs->items[i];
        g_assert_cmpuint(run->low.size, ==, run->high.size);
        if (!is_scanned(run, piece))
            continue;
        g_assert_true(within || runs->loose);
        bool inside = ts >= run->least && ts <= run->most;
        found += inside || !run->timed;
        if (within && run->narrowed && !run->timed)
            g_assert_true(inside);
    }
    return found;
}

/* Random moments, half of them close to an end of the span. */
static int64_t
moment(const clock_case *it, int64_t from, int64_t to)
{
    if (g_test_rand_bit())
        return BEGIN + (int64_t)g_test_rand_double_range(0, (double)it->length_ms);
    static const int64_t near_ms[] = {0, 1, 999, 1000, 1001, 59999, 60000, 3600000, 86399999, 86400000};
    int64_t away = near_ms[g_test_rand_int_range(0, G_N_ELEMENTS(near_ms))];
    return (g_test_rand_bit() ? from : to) + (g_test_rand_bit() ? away : -away);
}

/* Ends of spans are often whole seconds, minutes or days. */
static int64_t
end_of_span(const clock_case *it)
{
    static const int64_t units_ms[] = {1, 1, 1000, 60000, 3600000, 86400000};
    int64_t unit = units_ms[g_test_rand_int_range(0, G_N_ELEMENTS(units_ms))];
    int64_t at = BEGIN + (int64_t)g_test_rand_double_range(0, (double)it->length_ms);
    return at / unit * unit - (g_test_rand_int_range(0, 4) == 0);
}

static void
check_span(const clock_case *it, const kw_component *clock, const kw_value_span *span)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_piece_runs runs = runs_of(clock, span, arena);
    bool known[FIELDS] = {false};
    int64_t from = span->from.number, to = span->to.number;
    g_assert_cmpuint(runs.count, <=, clock->kind->count(clock, known, span, false));
    for (int i = 0; i < 40; i++) {
        int64_t ts = moment(it, from, to);
        bool within = kw_value_span_holds(span, test_number(ts));
        unsigned found = count_selecting(&runs, piece_of(clock, ts, arena), ts, within);
        if (within ? found != 1 : found > 0 && !runs.loose)
            g_error("%s: %" G_GINT64_FORMAT " is in %u ranges of the span from %" G_GINT64_FORMAT
                    " to %" G_GINT64_FORMAT,
                    it->key, ts, found, from, to);
    }
}

static void
test_spans(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(clocks); i++) {
        g_autoptr(kw_policy) policy = policy_of(&clocks[i]);
        const kw_component *clock = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
        for (int round = 0; round < 60; round++) {
            int64_t one = end_of_span(&clocks[i]), two = end_of_span(&clocks[i]);
            kw_value_span span = span_of(MIN(one, two), MAX(one, two), g_test_rand_bit(), g_test_rand_bit());
            check_span(&clocks[i], clock, &span);
        }
        kw_value_span same = span_of(BEGIN, BEGIN, true, true), empty = span_of(BEGIN, BEGIN, true, false);
        g_autoptr(kw_arena) arena = kw_arena_new();
        check_span(&clocks[i], clock, &same);
        g_assert_cmpuint(runs_of(clock, &same, arena).count, ==, 1);
        g_assert_cmpuint(runs_of(clock, &empty, arena).count, ==, 0);
    }
}

static bool
is_loose(const kw_component *clock, int64_t from, int64_t to, bool from_inclusive)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_value_span span = span_of(from, to, from_inclusive, true);
    return runs_of(clock, &span, arena).loose;
}

/* A span of whole days is exactly the rows of its days. */
static void
test_days(void)
{
    g_autoptr(kw_policy) policy = policy_of(&clocks[0]);
    const kw_component *clock = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
    g_autoptr(kw_arena) arena = kw_arena_new();
    int64_t day = BEGIN / DAY_MS * DAY_MS;
    kw_value_span whole = span_of(day, day + 2 * DAY_MS - 1, true, true);
    kw_piece_runs runs = runs_of(clock, &whole, arena);
    g_assert_cmpuint(runs.count, ==, 1);
    g_assert_false(runs.loose);
    g_autofree char *low = test_hex(runs.items[0].low), *high = test_hex(runs.items[0].high);
    g_assert_cmpstr(low, ==, "3230313030333331");
    g_assert_cmpstr(high, ==, "3230313030343031");
    g_assert_true(is_loose(clock, day, day + 2 * DAY_MS - 2, true));
    g_assert_true(is_loose(clock, day + 1, day + 2 * DAY_MS - 1, true));
    g_assert_true(is_loose(clock, day, day + 2 * DAY_MS - 1, false));
}

/* The first of two hours with the same local time has the pieces of the second, so the rows must be checked.
 * Berlin's clock is set forward before and after each time that it is set back; the last two changes of
 * Khandyga's clock are both back. */
static void
test_repeated_hour_is_loose(void)
{
    static const struct {
        const char *zone;
        int64_t set_back_s;
    } cases[] = {{"Europe/Berlin", 1288486800}, {"Asia/Khandyga", 1315832400}, {"Asia/Khandyga", 1414252800}};
    const int64_t hour_ms = 3600000;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *key =
            g_strdup_printf(CALENDAR("parts: [yyyy, MM, dd, HH], zone: %s"), cases[i].zone);
        g_autoptr(kw_policy) policy = policy_of(&(clock_case){.key = key});
        const kw_component *clock = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
        int64_t set_back_ms = cases[i].set_back_s * 1000;
        g_assert_true(is_loose(clock, set_back_ms - hour_ms, set_back_ms - 1, true));
        g_assert_true(is_loose(clock, set_back_ms, set_back_ms + hour_ms - 1, true));
        g_assert_false(is_loose(clock, set_back_ms - 2 * hour_ms, set_back_ms - hour_ms - 1, true));
        g_assert_false(is_loose(clock, set_back_ms + hour_ms, set_back_ms + 2 * hour_ms - 1, true));
    }
}

/* Bits with whole seconds are exact only for spans of whole seconds. */
static void
test_whole_seconds_are_exact(void)
{
    g_autoptr(kw_policy) policy = policy_of(&clocks[12]);
    const kw_component *clock = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
    g_assert_false(is_loose(clock, BEGIN, BEGIN + 1999, true));
    g_assert_true(is_loose(clock, BEGIN, BEGIN + 1998, true));
    g_assert_true(is_loose(clock, BEGIN + 1, BEGIN + 1999, true));
    g_assert_true(is_loose(clock, BEGIN, BEGIN + 1999, false));
}

/* Bits with a minute have a range for each minute of a short span. It begins with the minute, or with the
 * span. */
static void
test_minutes(void)
{
    g_autoptr(kw_policy) policy = policy_of(&clocks[14]);
    const kw_component *clock = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
    g_autoptr(kw_arena) arena = kw_arena_new();
    int64_t minute = BEGIN / 60000 * 60000;
    kw_value_span span = span_of(minute + 5000, minute + 130999, true, true);
    kw_piece_runs runs = runs_of(clock, &span, arena);
    g_assert_cmpuint(runs.count, ==, 3);
    for (size_t i = 0; i < 3; i++) {
        g_assert_cmpint(runs.items[i].least, ==, i ? minute + (int64_t)i * 60000 : minute + 5000);
        g_assert_cmpint(runs.items[i].most, ==,
                        i < 2 ? minute + (int64_t)(i + 1) * 60000 - 1 : minute + 130999);
    }
}

/* Cuts a span into parts as the planner does, and checks each of them. */
static void
check_parts(const kw_component *clock, int64_t from, int64_t to, uint64_t most, bool falling)
{
    g_autoptr(kw_arena) whole_arena = kw_arena_new();
    kw_value_span whole = span_of(from, to, true, true);
    bool known[FIELDS] = {false};
    size_t runs_count = 0;
    unsigned parts = 0;
    for (;; parts++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_value_span span = span_of(from, to, true, true);
        int64_t cut;
        if (!clock->kind->reach(clock, &span, false, most, falling, &cut)) {
            size_t rest = runs_of(clock, &span, arena).count;
            g_assert_cmpuint(rest, <=, most);
            runs_count += rest;
            break;
        }
        g_assert_cmpuint(clock->kind->count(clock, known, &span, false), >, most);
        g_assert_true(falling ? cut > from && cut <= to : cut >= from && cut < to);
        kw_value_span part = falling ? span_of(cut, to, true, true) : span_of(from, cut, true, true);
        size_t count = runs_of(clock, &part, arena).count;
        g_assert_cmpuint(count, <=, MAX(most, 1));
        runs_count += count;
        if (falling)
            to = cut - 1;
        else
            from = cut + 1;
        g_assert_cmpuint(parts, <, 20000);
    }
    if (clock->offsets) /* a calendar: no range is cut in two */
        g_assert_cmpuint(runs_count, ==, runs_of(clock, &whole, whole_arena).count);
}

static void
test_parts(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(clocks); i++) {
        g_autoptr(kw_policy) policy = policy_of(&clocks[i]);
        const kw_component *clock = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
        for (int round = 0; round < 6; round++) {
            int64_t one = end_of_span(&clocks[i]), two = end_of_span(&clocks[i]);
            uint64_t most = 1 + (uint64_t)g_test_rand_int_range(0, 200) * (uint64_t)(round > 1);
            if (clocks[i].length_ms > DAY_MS) /* at most some thousand parts */
                most = MAX(most, 20);
            int64_t from = MIN(one, two), to = MIN(MAX(one, two), from + 40 * DAY_MS);
            check_parts(clock, from, to, most, round % 2);
        }
    }
}

static void
check_moment(const kw_component *clock, const kw_value_span *span, kw_arena *arena)
{
    kw_value values[FIELDS] = {[TS] = test_number(BEGIN), [M] = test_number(7)};
    kw_piece_runs runs;
    kw_error error = KW_ERROR_NONE;
    if (!clock->kind->runs(clock, values, span, arena, &runs, &error))
        g_error("%s", error.text);
    g_assert_cmpuint(runs.count, <=, 1);
    g_assert_false(runs.loose);
    for (int64_t number = 0; number < 256; number++) {
        kw_buffer out = KW_BUFFER_EMPTY;
        values[N] = test_number(number);
        g_assert_true(clock->kind->encode(clock, values, KW_BYTES_NONE, &out, &error));
        g_assert_cmpuint(count_selecting(&runs, kw_buffer_bytes(&out), BEGIN, true), ==,
                         kw_value_span_holds(span, values[N]));
        kw_buffer_clear(&out);
    }
}

/* Other fields of the piece at a known time: the pieces of the numbers within a span, and no others. */
static void
test_moments(void)
{
    static const int64_t ends[] = {INT64_MIN, -5, -1, 0, 1, 2, 100, 254, 255, 256, 999, 1000, INT64_MAX};
    static const char *const keys[] = {CALENDAR("parts: [yyyy, MM, dd], as: packed, sequence: n, digits: 3"),
                                       CALENDAR("parts: [yyyy, MM, dd], as: decimal, sequence: n, digits: 3"),
                                       BITS("parts: [zero 1, seconds 39, n 8]"),
                                       BITS("parts: [zero 1, minute 6, seconds 32, n 9, m 16]")};
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        g_autoptr(kw_policy) policy = policy_of(&(clock_case){.key = keys[i]});
        g_autoptr(kw_arena) arena = kw_arena_new();
        const kw_component *clock = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
        for (size_t end = 0; end < G_N_ELEMENTS(ends) * G_N_ELEMENTS(ends); end++) {
            kw_value_span span =
                span_of(ends[end % G_N_ELEMENTS(ends)], ends[end / G_N_ELEMENTS(ends)], true, true);
            span.field = N;
            check_moment(clock, &span, arena);
        }
    }
}

/* A part of a span ends where a piece ends, also where a clock is set back or forward: an hour that occurs
 * twice is one piece of the calendar, and its minutes are two pieces each. Parts of every length, and from
 * every minute around the change, are cut from either end. */
static void
check_cuts(const kw_component *clock, int64_t from, int64_t to, int64_t length_ms)
{
    const kw_bucket *pieces;
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_value_span span = span_of(from, to, true, true);
    size_t count = clock->kind->enumerate(clock, &span, arena, &pieces);
    for (uint64_t most = 1; most <= (uint64_t)((to - from) / length_ms) + 6; most++)
        for (int falling = 0; falling < 2; falling++) {
            int64_t cut;
            if (!clock->kind->reach(clock, &span, true, most, falling, &cut)) {
                g_assert_cmpuint(count, <=, most);
                continue;
            }
            size_t at = 0;
            while (at < count && (falling ? pieces[at].least : pieces[at].most) != cut)
                at++;
            g_assert_cmpuint(at, <, count); /* the end of a piece */
            size_t taken = falling ? count - at : at + 1;
            g_assert_cmpuint(taken, <=, MAX(most, 1));
            g_assert_cmpuint(taken + 5, >=, most); /* not many parts where few are enough */
        }
}

static void
test_cuts_at_changes(void)
{
    static const struct {
        const char *parts, *zone;
        int64_t change_s, length_ms;
    } cases[] = {
        {"HH, dd, MM, yyyy", "Europe/Berlin", 1288486800, 3600000},
        {"HH, dd, MM, yyyy", "Europe/Berlin", 1269738000, 3600000},
        {"mm, HH, dd, MM, yyyy", "Europe/Berlin", 1288486800, 60000},
        {"HH, dd, MM, yyyy", "Australia/Lord_Howe", 1270306800, 3600000},
        {"dd, MM, yyyy", "Pacific/Apia", 1325239200, 86400000},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *key = g_strdup_printf("{calendar: {of: ts, parts: [%s], zone: %s}}, {field: id}",
                                               cases[i].parts, cases[i].zone);
        g_autoptr(kw_policy) policy = policy_of(&(clock_case){.key = key});
        const kw_component *clock = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
        int64_t change_ms = cases[i].change_s * 1000, step_ms = cases[i].length_ms / 2;
        for (int64_t before = 0; before < 8; before++)
            for (int64_t after = 1; after < 8; after++) {
                check_cuts(clock, change_ms - before * step_ms, change_ms + after * step_ms - 1,
                           cases[i].length_ms);
                check_cuts(clock, change_ms - before * step_ms + 1, change_ms + after * step_ms,
                           cases[i].length_ms);
            }
    }
}

/* A calendar in the order of time is cut where its clock is set back, even directly after the beginning of
 * the span or before its end. */
static void
test_cuts_of_one_stretch(void)
{
    const int64_t change_ms = 1288486800000, year_ms = 365 * DAY_MS;
    static const int64_t around_s[] = {-3600, -60, -2, -1, 0, 1, 2, 60, 3600};
    g_autoptr(kw_policy) policy =
        policy_of(&(clock_case){.key = CALENDAR("parts: [yyyy, MM, dd, HH, mm, ss], zone: Europe/Berlin")});
    const kw_component *clock = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(around_s); i++) {
        int64_t end_ms = change_ms + around_s[i] * 1000, cut, next_ms = 1319936400000,
                before_ms = 1256432400000;
        kw_value_span rising = span_of(end_ms, end_ms + 2 * year_ms, true, true);
        kw_value_span falling = span_of(end_ms - 2 * year_ms, end_ms, true, true);
        g_assert_true(clock->kind->reach(clock, &rising, false, 1, false, &cut));
        g_assert_cmpint(cut, ==, (around_s[i] < 0 ? change_ms : next_ms) - 1);
        g_assert_true(clock->kind->reach(clock, &falling, false, 1, true, &cut));
        g_assert_cmpint(cut, ==, around_s[i] < 0 ? before_ms : change_ms);
    }
}

/* --- numbers ----------------------------------------------------------------------------------------------
 */

static const kw_zone *
zone_of(const char *name, kw_arena *arena)
{
    const kw_zone *zone = kw_zone_make(name, NULL, arena);
    g_assert_nonnull(zone);
    return zone;
}

static int64_t
utc(int year, int month, int day, int hour, int minute, int second)
{
    g_autoptr(GDateTime) time = g_date_time_new_utc(year, month, day, hour, minute, second);
    return g_date_time_to_unix(time);
}

/* Zones that no longer change are known for all times, others until the end of 2199. */
static void
test_zones(void)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_assert_cmpint(zone_of("UTC", arena)->end, ==, INT64_MAX);
    g_assert_cmpint(zone_of("+05:30", arena)->end, ==, INT64_MAX);
    g_assert_cmpint(zone_of("Asia/Tokyo", arena)->end, ==, INT64_MAX);
    g_assert_cmpint(zone_of("Europe/Berlin", arena)->end, ==, utc(2200, 1, 1, 0, 0, 0));
    g_assert_cmpstr(zone_of("Etc/UTC", arena)->name, ==, "UTC");
    g_assert_cmpstr(zone_of("+05:30", arena)->name, ==, "+05:30");
    g_assert_true(zone_of("Europe/Berlin", arena)->falls);
    g_assert_false(zone_of("+05:30", arena)->falls);
    g_assert_false(zone_of("Pacific/Fakaofo", arena)->falls); /* only set forward */
    g_assert_null(kw_zone_make("Nowhere/Atall", NULL, arena));
    const kw_zone *berlin = zone_of("Europe/Berlin", arena);
    int64_t spring = utc(2010, 3, 28, 1, 0, 0);
    g_assert_cmpint(berlin->steps[kw_zone_find(berlin, spring)].from, ==, spring);
    g_assert_cmpint(berlin->steps[kw_zone_find(berlin, spring)].offset, ==, 7200);
    g_assert_cmpint(berlin->steps[kw_zone_find(berlin, spring - 1)].offset, ==, 3600);
    g_assert_cmpuint(kw_zone_hash(berlin), ==, kw_zone_hash(zone_of("Europe/Berlin", arena)));
    g_assert_cmpuint(kw_zone_hash(berlin), !=, kw_zone_hash(zone_of("+01:00", arena)));
}

static void
test_clock_changes(void)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_zone *berlin = zone_of("Europe/Berlin", arena), *howe = zone_of("Australia/Lord_Howe", arena),
                  *apia = zone_of("Pacific/Apia", arena), *fixed = zone_of("+01:00", arena);
    g_assert_cmpint(kw_clock_set_back_most(berlin), ==, 3600);
    g_assert_cmpint(kw_clock_set_back_most(howe), ==, 1800);
    g_assert_cmpint(kw_clock_set_back_most(fixed), ==, 0);
    g_assert_cmpint(kw_clock_set_forward_most(berlin, 86400), ==, 3600);
    g_assert_cmpint(kw_clock_set_forward_most(howe, 86400), ==, 1800);
    g_assert_cmpint(kw_clock_set_forward_most(apia, 86400), ==, 86400);
    g_assert_cmpint(kw_clock_set_forward_most(apia, 366 * 86400), ==,
                    86400 + 3600); /* summer time and the date line */
    g_assert_cmpint(kw_clock_set_forward_most(fixed, 86400), ==, 0);
    g_assert_cmpint(kw_clock_set_back_since(fixed), ==, INT64_MAX);
    g_assert_cmpint(kw_clock_set_back_since(berlin), ==, utc(1992, 9, 27, 1, 0, 0));
    int64_t autumn = utc(2010, 10, 31, 1, 0, 0);
    g_assert_false(kw_local_time_repeats(berlin, autumn - 3601));
    g_assert_true(kw_local_time_repeats(berlin, autumn - 3600));
    g_assert_true(kw_local_time_repeats(berlin, autumn - 1));
    g_assert_true(kw_local_time_repeats(berlin, autumn));
    g_assert_true(kw_local_time_repeats(berlin, autumn + 3599));
    g_assert_false(kw_local_time_repeats(berlin, autumn + 3600));
    g_assert_false(kw_local_time_repeats(berlin, utc(2010, 3, 28, 1, 0, 0)));
}

/* No local time repeats before the first change of a clock, even if that is long after 1970: the clock of
 * Troll was first changed in 2005. */
static void
test_before_the_first_change(void)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    static const char *const zones[] = {"UTC", "+05:30", "Antarctica/Troll", "Europe/Berlin"};
    for (size_t i = 0; i < G_N_ELEMENTS(zones); i++) {
        const kw_zone *zone = zone_of(zones[i], arena);
        g_assert_false(kw_local_time_repeats(zone, utc(1801, 1, 1, 0, 0, 0)));
        g_assert_false(kw_local_time_repeats(zone, utc(1970, 1, 1, 0, 0, 0)));
        g_assert_false(kw_local_time_repeats(zone, utc(1991, 1, 1, 0, 0, 0)));
    }
    const kw_zone *troll = zone_of("Antarctica/Troll", arena);
    g_assert_cmpint(troll->steps[1].from, >, utc(2005, 1, 1, 0, 0, 0));
    g_assert_cmpint(kw_clock_set_back_since(troll), >, utc(2005, 1, 1, 0, 0, 0));
}

/* Coarse times have codes, whichever component of the key holds them. */
static void
test_codes(void)
{
    g_autoptr(kw_policy) policy = test_policy(
        "    fields: {ts: {type: timestamp, column: 'd:ts'}, id: string}\n    key: [{hash: id}, {field: "
        "{name: id, encoding: terminated}}, {field: {name: ts, unit: s}}]\n");
    const kw_layout *layout = kw_policy_table(policy, 0)->paths[0].layout;
    int64_t a, b, c;
    g_assert_true(kw_layout_holds_coarsely(layout, 0));
    g_assert_false(kw_layout_holds_coarsely(layout, 1));
    g_assert_true(kw_layout_code(layout, 0, test_number(5000), &a) &&
                  kw_layout_code(layout, 0, test_number(5999), &b) &&
                  kw_layout_code(layout, 0, test_number(6000), &c));
    g_assert_cmpint(a, ==, b);
    g_assert_cmpint(a, !=, c);
    g_assert_true(kw_layout_alike(layout, 0, test_number(5000), test_number(5999)));
    g_assert_false(kw_layout_alike(layout, 0, test_number(4999), test_number(5000)));
    g_assert_false(kw_layout_alike(layout, 1, test_text("a"), test_text("b")));
    g_assert_true(kw_layout_alike(layout, 1, test_text("a"), test_text("a")));
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/rule/runs/spans", test_spans);
    g_test_add_func("/rule/runs/days", test_days);
    g_test_add_func("/rule/runs/repeated-hour", test_repeated_hour_is_loose);
    g_test_add_func("/rule/runs/whole-seconds", test_whole_seconds_are_exact);
    g_test_add_func("/rule/runs/minutes", test_minutes);
    g_test_add_func("/rule/runs/parts", test_parts);
    g_test_add_func("/rule/runs/moments", test_moments);
    g_test_add_func("/rule/runs/cuts-at-changes", test_cuts_at_changes);
    g_test_add_func("/rule/runs/cuts-of-one-stretch", test_cuts_of_one_stretch);
    g_test_add_func("/rule/runs/zones", test_zones);
    g_test_add_func("/rule/runs/clock-changes", test_clock_changes);
    g_test_add_func("/rule/runs/before-the-first-change", test_before_the_first_change);
    g_test_add_func("/rule/runs/codes", test_codes);
    return g_test_run();
}
