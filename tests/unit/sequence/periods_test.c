/* Sequences that restart with each minute (hour, ...): the period of a time in a time zone, and how long
 * counters of past periods are kept. */
#include "bed.h"
#include "sequence/backend.h"
#include "sequence/period.h"
#include "store/embedded/embedded.h"

#include <stdlib.h>

static kw_period_at
find(kw_period period, const char *zone_name, const char *iso)
{
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(iso, utc);
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_zone *zone = zone_name ? kw_zone_make(zone_name, NULL, arena) : NULL;
    kw_period_at at;
    g_assert_nonnull(time);
    g_assert_true(kw_period_find(period, zone, KW_UNIT_S, g_date_time_to_unix(time), &at));
    return at;
}

#define assert_text(period, zone, iso, expected)                                                             \
    do {                                                                                                     \
        char text[KW_PERIOD_TEXT_MAX];                                                                       \
        kw_period_at at = find(period, zone, iso);                                                           \
        kw_period_print(period, &at, text, sizeof text);                                                     \
        g_assert_cmpstr(text, ==, expected);                                                                 \
        g_assert_cmpint(at.end_ms, >, at.start_ms);                                                          \
    } while (0)

KW_TEST(test_periods, "/periods/find")
{
    const char *time = "2026-11-21T12:34:56Z";
    assert_text(KW_PERIOD_SECOND, NULL, time, "2026-11-21 12:34:56");
    assert_text(KW_PERIOD_MINUTE, NULL, time, "2026-11-21 12:34");
    assert_text(KW_PERIOD_HOUR, NULL, time, "2026-11-21 12");
    assert_text(KW_PERIOD_DAY, NULL, time, "2026-11-21");
    assert_text(KW_PERIOD_MONTH, NULL, time, "2026-11");
    assert_text(KW_PERIOD_YEAR, NULL, time, "2026");
    assert_text(KW_PERIOD_DAY, "Asia/Shanghai", "2026-12-31T16:00:00Z", "2027-01-01");
    assert_text(KW_PERIOD_YEAR, "Asia/Shanghai", "2026-12-31T15:59:59Z", "2026");
    assert_text(KW_PERIOD_MINUTE, "Asia/Kolkata", "2026-01-01T00:00:59Z", "2026-01-01 05:30");
    assert_text(KW_PERIOD_MINUTE, NULL, "1969-12-31T23:59:59Z", "1969-12-31 23:59");
    assert_text(KW_PERIOD_DAY, NULL, "1900-02-28T23:59:59Z", "1900-02-28");
}

KW_TEST(test_neighbours, "/periods/neighbours")
{
    for (int period = KW_PERIOD_SECOND; period <= KW_PERIOD_YEAR; period++) {
        kw_period_at at = find((kw_period)period, NULL, "2024-12-31T23:59:59Z");
        kw_period_at next = find((kw_period)period, NULL, "2025-01-01T00:00:00Z");
        g_assert_cmpint(next.index, ==, at.index + 1);
        g_assert_cmpint(next.start_ms, ==, at.end_ms);
    }
    kw_period_at leap = find(KW_PERIOD_MONTH, NULL, "2024-02-29T12:00:00Z");
    g_assert_cmpint(leap.end_ms - leap.start_ms, ==, INT64_C(29) * 86400000);
}

/* An hour that occurs twice is one period; the hour that is skipped is in no period. */
KW_TEST(test_summer_time, "/periods/summer_time")
{
    kw_period_at before = find(KW_PERIOD_MINUTE, "Europe/Berlin", "2026-10-25T00:30:00Z");
    kw_period_at again = find(KW_PERIOD_MINUTE, "Europe/Berlin", "2026-10-25T01:30:00Z");
    g_assert_cmpint(before.index, ==, again.index);
    g_assert_cmpint(before.shift_ms - again.shift_ms, ==, 3600000);
    kw_period_at last = find(KW_PERIOD_HOUR, "Europe/Berlin", "2026-03-29T00:59:59Z");
    kw_period_at first = find(KW_PERIOD_HOUR, "Europe/Berlin", "2026-03-29T01:00:00Z");
    g_assert_cmpint(first.index, ==, last.index + 2);
}

KW_TEST(test_units, "/periods/units")
{
    kw_period_at s, ms, us, ns;
    g_assert_true(kw_period_find(KW_PERIOD_MINUTE, NULL, KW_UNIT_S, -61, &s));
    g_assert_true(kw_period_find(KW_PERIOD_MINUTE, NULL, KW_UNIT_MS, -60001, &ms));
    g_assert_true(kw_period_find(KW_PERIOD_MINUTE, NULL, KW_UNIT_US, -60000001, &us));
    g_assert_true(kw_period_find(KW_PERIOD_MINUTE, NULL, KW_UNIT_NS, -60000000001, &ns));
    g_assert_cmpint(s.index, ==, -2);
    g_assert_cmpint(ms.index, ==, -2);
    g_assert_cmpint(us.index, ==, -2);
    g_assert_cmpint(ns.index, ==, -2);
    g_assert_false(kw_period_find(KW_PERIOD_MINUTE, NULL, KW_UNIT_S, INT64_MAX, &s));
    g_assert_false(kw_period_find(KW_PERIOD_MINUTE, NULL, KW_UNIT_S, INT64_MIN, &s));
    g_assert_false(kw_period_find(KW_PERIOD_YEAR, NULL, KW_UNIT_MS, INT64_MAX, &s));
}

/* --- sequences of periods ----------------------------------------------------------------------------- */

#define PER_MINUTE                                                                                           \
    "seq: {type: int, generate: {kind: sequence, from: 0, to: 99999, per: minute, of: ts, block: 10}}"

static char *
at_ms(int64_t ms)
{
    return g_strdup_printf("key=a ts=%" G_GINT64_FORMAT, (gint64)ms);
}

static int64_t
number_at_ms(bed *self, int64_t ms)
{
    g_autofree char *record = at_ms(ms);
    return bed_number(self, 0, record, "seq");
}

KW_TEST(test_restarts, "/periods/restarts")
{
    bed *self = bed_new("", PER_MINUTE);
    int64_t minute = bed_wall_ms / 60000 * 60000;
    g_assert_true(bed_open(self, 0));
    for (int i = 0; i < 25; i++) {
        g_assert_cmpint(number_at_ms(self, minute + i), ==, i);
        g_assert_cmpint(number_at_ms(self, minute + 60000 + i), ==, i);
        g_assert_cmpint(number_at_ms(self, minute - 1 - i), ==, i);
    }
    g_autofree char *scope = g_strdup_printf("ts=%" G_GINT64_FORMAT, (gint64)minute);
    g_assert_cmpstr(bed_allocate(self, 0, "seq", 50, scope), ==,
                    "40+50"); /* 20 to 39 are in the current block */
    g_assert_cmpstr(bed_allocate(self, 0, "seq", 1, ""), ==,
                    "INVALID: table t, field seq: its numbers restart per minute of ts, which is missing");
    g_assert_cmpstr(bed_fill(self, 0, "key=a"), ==,
                    "INVALID: table t, field seq: its numbers restart per minute of ts, which is missing");
    bed_free(self);
}

/* An error at the end of a minute's range names the minute; the next minute has all its numbers. */
KW_TEST(test_end_of_a_minute, "/periods/end")
{
    bed *self =
        bed_new("", "seq: {type: int, generate: {kind: sequence, from: 0, to: 4, per: minute, of: ts}}");
    int64_t minute = INT64_C(1790000040000); /* 2026-09-21 13:34 */
    g_assert_true(bed_open(self, 0));
    for (int i = 0; i < 5; i++)
        g_assert_cmpint(number_at_ms(self, minute), ==, i);
    g_autofree char *record = at_ms(minute + 59999);
    g_assert_cmpstr(bed_fill(self, 0, record), ==,
                    "LIMIT: table t, field seq, minute 2026-09-21 14:14: the numbers 0 to 4 are used up");
    g_assert_cmpint(number_at_ms(self, minute + 60000), ==, 0);
    bed_free(self);
}

/* A period is rejected if its counter may have expired, or will expire too early. */
KW_TEST(test_keep, "/periods/keep")
{
    bed *self = bed_new("sequences: {keep: 2h}\n", PER_MINUTE);
    int64_t minute = bed_wall_ms / 60000 * 60000;
    g_assert_true(bed_open(self, 0));
    g_assert_cmpint(number_at_ms(self, minute - INT64_C(2) * 3600000), ==, 0);
    g_assert_cmpint(number_at_ms(self, minute + INT64_C(2) * 3600000), ==, 0);
    g_autofree char *late = at_ms(minute - INT64_C(2) * 3600000 - 60000);
    g_assert_cmpstr(
        bed_fill(self, 0, late), ==,
        "INVALID: table t, field seq: the minute 2026-09-21 12:12 ended longer ago than sequences.keep "
        "allows");
    g_autofree char *early = at_ms(minute + INT64_C(3) * 3600000);
    g_assert_cmpstr(
        bed_fill(self, 0, early), ==,
        "INVALID: table t, field seq: the minute 2026-09-21 17:13 begins later than sequences.keep "
        "allows");
    bed_free(self);
}

/* Counters of periods are in families with a TTL; slots of old periods are dropped from memory. */
KW_TEST(test_expiry, "/periods/expiry")
{
    kw_model_sequences settings = {.keep_ms = 7 * 86400000};
    g_assert_cmpint(kw_retention_seconds(&settings, KW_KEEP_EVER), ==, 0);
    g_assert_cmpint(kw_retention_seconds(&settings, KW_KEEP_DAYS), >=, (1 + 2 * 7) * 86400);
    g_assert_cmpint(kw_retention_seconds(&settings, KW_KEEP_YEARS), >=, (366 + 2 * 7) * 86400);
    bed *self = bed_new("", PER_MINUTE);
    int64_t minute = bed_wall_ms / 60000 * 60000;
    g_assert_true(bed_open(self, 0));
    for (int i = 0; i < 600; i++) { /* each becomes idle at once */
        g_assert_cmpint(number_at_ms(self, minute + INT64_C(60000) * i), ==, 0);
        bed_mono_ns += UINT64_C(200) * 1000000000;
    }
    g_assert_cmpuint(kw_memory_store_rows(self->inner, "keyway_sequences"), ==, 600);
    bed_free(self);
}

/* --- over the embedded store -------------------------------------------------------------------------- */

static bed *
open_embedded(const char *folder, const char *more, const char *fields)
{
    kw_model_embedded settings = {.path = folder, .cache_bytes = 8 << 20};
    kw_error error;
    kw_store *store = kw_embedded_open(&settings, &error);
    if (!store)
        g_error("%s", error.text);
    return bed_new_over(store, more, fields);
}

static void
remove_folder(const char *folder)
{
    g_autofree char *command = g_strdup_printf("rm -r %s", folder);
    g_assert_cmpint(system(command), ==, 0);
}

/* Counters survive a restart, and a table whose cells expire too early is rejected. */
KW_TEST(test_embedded, "/periods/embedded")
{
    g_autofree char *folder = g_dir_make_tmp("kw-sequence-XXXXXX", NULL);
    int64_t minute = bed_wall_ms / 60000 * 60000;
    bed *self = open_embedded(folder, "sequences: {keep: 1h}\n", PER_MINUTE);
    g_assert_true(bed_open(self, 0));
    for (int i = 0; i < 12; i++)
        g_assert_cmpint(number_at_ms(self, minute), ==, i);
    bed_free(self);
    self = open_embedded(folder, "sequences: {keep: 1h}\n", PER_MINUTE);
    g_assert_true(bed_open(self, 0));
    int64_t next = number_at_ms(self, minute);
    g_assert_cmpint(next, >=, 20);
    g_assert_cmpint(next % 10, ==, 0); /* the blocks of the first run are lost */
    bed_free(self);
    self = open_embedded(folder, "sequences: {keep: 1d}\n", PER_MINUTE);
    g_assert_false(bed_open(self, 0));
    g_assert_cmpint(self->error.code, ==, KW_REFUSED);
    g_assert_true(g_str_has_prefix(
        self->error.text,
        "table of sequences keyway_sequences: the family d drops counters after 180002 s, but "));
    bed_free(self);
    self = open_embedded(folder, "sequences: {keep: 1d}\n", "seq: {type: int, generate: sequence}");
    g_assert_true(bed_open(self, 0)); /* needs no family with a TTL */
    bed_free(self);
    remove_folder(folder);
}

KW_TEST_START(start)
{
    bed_inject_clock();
}
