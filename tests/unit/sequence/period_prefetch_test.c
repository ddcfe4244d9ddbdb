/* Writers do not wait when a new minute (hour, ...) begins: its first block is fetched before. No number
 * is assigned twice, the numbers of each period start at its beginning and increase, and no block is
 * fetched for a series without writes. */
#include "base/metrics.h"
#include "bed.h"

#include <string.h>

#define MINUTE INT64_C(60000)
#define COUNTERS "keyway_sequences"
#define PER_MINUTE                                                                                           \
    "seq: {type: int, generate: {kind: sequence, from: 0, to: 99999, per: minute, of: ts, block: 50}}"

static int64_t
waits(void)
{
    return kw_metrics_read(KW_METRIC_sequence_waits);
}

static size_t
count_counters(bed *self)
{
    return kw_memory_store_rows(self->inner, COUNTERS);
}

/* Completes the operations in flight. */
static void
settle(bed *self)
{
    for (int i = 0; i < 20; i++)
        uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);
}

static int64_t
number_at(bed *self, size_t gateway, int64_t time_ms)
{
    g_autofree char *record = g_strdup_printf("key=a ts=%" G_GINT64_FORMAT, (gint64)time_ms);
    return bed_number(self, gateway, record, "seq");
}

static bed *
open_at(int64_t time_ms, const char *fields)
{
    bed *self = bed_new("sequences: {keep: 30d}\n", fields);
    bed_wall_ms = time_ms;
    g_assert_true(bed_open(self, 0));
    return self;
}

/* With a put every second for ten minutes, only the first put waits. */
KW_TEST(test_no_waits, "/period_prefetch/no_waits")
{
    int64_t begin = bed_wall_ms / MINUTE * MINUTE + 500, before = waits();
    bed *self = open_at(begin, PER_MINUTE);
    for (int i = 0; i < 600; i++) {
        g_assert_cmpint(number_at(self, 0, bed_wall_ms), ==, i % 60);
        g_assert_cmpint(waits() - before, ==, 1);
        settle(self);
        bed_pass_ms(1000);
    }
    g_assert_cmpuint(count_counters(self), ==, 11); /* the eleventh minute is about to begin */
    bed_free(self);
}

/* Three gateways at once: the numbers of each one increase, and none is assigned twice. */
KW_TEST(test_gateways, "/period_prefetch/gateways")
{
    enum { GATEWAYS = 3, MINUTES = 6, PUTS = 400 };
    static bool seen[MINUTES][100000];
    int64_t begin = bed_wall_ms / MINUTE * MINUTE, before = waits();
    bed *self = open_at(begin, PER_MINUTE);
    for (size_t i = 1; i < GATEWAYS; i++)
        g_assert_true(bed_open(self, i));
    memset(seen, 0, sizeof seen);
    for (int minute = 0; minute < MINUTES; minute++) {
        int64_t last[GATEWAYS] = {-1, -1, -1};
        for (int put = 0; put < PUTS; put++) {
            size_t gateway = (size_t)put % GATEWAYS;
            int64_t number = number_at(self, gateway, bed_wall_ms);
            g_assert_cmpint(number, >, last[gateway]);
            g_assert_false(seen[minute][number]);
            seen[minute][number] = true;
            last[gateway] = number;
            settle(self);
            bed_pass_ms(MINUTE / PUTS);
        }
    }
    g_assert_cmpint(waits() - before, ==, GATEWAYS);
    bed_free(self);
}

/* With one put per minute, long before the minute's end, the timer fetches the next minute's block, and
 * not earlier. */
KW_TEST(test_timer, "/period_prefetch/timer")
{
    int64_t minute = bed_wall_ms / MINUTE * MINUTE, before = waits();
    bed *self = open_at(minute + 6000, PER_MINUTE);
    for (size_t i = 0; i < 3; i++) {
        g_assert_cmpint(number_at(self, 0, bed_wall_ms), ==, 0);
        g_assert_cmpuint(count_counters(self), ==, i + 1);
        bed_pass_all_ms(self, 43000);
        settle(self);
        g_assert_cmpuint(count_counters(self), ==, i + 1);
        bed_pass_all_ms(self, 1000);
        while (count_counters(self) < i + 2)
            uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
        settle(self);
        bed_pass_all_ms(self, 16000);
    }
    g_assert_cmpint(waits() - before, ==, 1);
    bed_free(self);
}

/* A series whose writes stop leaves one unused counter, however much time passes. */
KW_TEST(test_pauses, "/period_prefetch/pauses")
{
    bed *self = open_at(bed_wall_ms / MINUTE * MINUTE + MINUTE - 5000, PER_MINUTE);
    for (int burst = 0; burst < 20; burst++) {
        for (int i = 0; i < 4; i++) {
            g_assert_cmpint(number_at(self, 0, bed_wall_ms), ==, i);
            settle(self);
            bed_pass_ms(1000);
        }
        g_assert_cmpuint(count_counters(self), ==, 2 * (size_t)burst + 2);
        bed_pass_ms(17 * MINUTE - 4000);
    }
    bed_free(self);
}

/* For records that arrive 90 seconds late, or are replayed from the past, their own time controls the
 * prefetch. */
KW_TEST(test_late_records, "/period_prefetch/late")
{
    bed *self = open_at(bed_wall_ms / MINUTE * MINUTE, PER_MINUTE);
    int64_t before = waits();
    for (int i = 0; i < 480; i++) {
        g_assert_cmpint(number_at(self, 0, bed_wall_ms - 90 * 1000), ==, i < 30 ? i : (i - 30) % 60);
        settle(self);
        bed_pass_ms(1000);
    }
    g_assert_cmpint(waits() - before, ==,
                    2); /* from the second minute on, the records are known to advance in time */
    bed_free(self);
}

/* Records of the past in reverse order: no block is fetched before it is needed. */
KW_TEST(test_backwards, "/period_prefetch/backwards")
{
    int64_t begin = bed_wall_ms / MINUTE * MINUTE;
    bed *self = open_at(begin + MINUTE / 2, PER_MINUTE);
    for (int64_t i = 1; i <= 200; i++) {
        number_at(self, 0, begin - i * 1000);
        settle(self);
    }
    g_assert_cmpuint(count_counters(self), ==, 4);
    bed_free(self);
}

/* Ranges of few blocks fetch nothing ahead. */
KW_TEST(test_no_prefetch_for_small_ranges, "/period_prefetch/small_ranges")
{
    int64_t begin = bed_wall_ms / MINUTE * MINUTE + 500;
    bed *self = open_at(
        begin,
        "seq: {type: int, generate: {kind: sequence, from: 0, to: 449, per: minute, of: ts, block: 50}}");
    for (int i = 0; i < 120; i++) {
        g_assert_cmpint(number_at(self, 0, bed_wall_ms), ==, i % 60);
        settle(self);
        bed_pass_ms(1000);
    }
    g_assert_cmpuint(count_counters(self), ==, 2);
    bed_free(self);
}

/* Hours in Berlin, over both ends of summer time: no wait, and the numbers of an hour that occurs twice
 * continue. */
static void
put_hours(int64_t begin, const char *days, int64_t twice)
{
    bed *self =
        open_at(begin, "seq: {type: int, generate: {kind: sequence, from: 0, to: 99999, per: hour, of: "
                       "ts, zone: Europe/Berlin, block: 9}}");
    int64_t before = waits(), hour = begin, next = 0;
    for (int64_t at = begin; at < begin + 8 * 3600000; at += 300000) {
        if (at - hour == 3600000 * (hour == twice ? 2 : 1)) {
            hour = at;
            next = 0;
        }
        bed_wall_ms = at + 299000; /* also in the last ten seconds of each hour */
        g_assert_cmpint(number_at(self, 0, bed_wall_ms), ==, next++);
        settle(self);
    }
    g_test_message("%s", days);
    g_assert_cmpint(waits() - before, ==, 1);
    bed_free(self);
}

KW_TEST(test_summer_time, "/period_prefetch/summer_time")
{
    put_hours(INT64_C(1774731600000), "2026-03-28 22:00 to 06:00, an hour left out", 0);
    put_hours(INT64_C(1792872000000), "2026-10-24 22:00 to 05:00, an hour twice", INT64_C(1792886400000));
}

/* A prefetch fails, or its reply is lost: the first put of the next minute waits, and no number is
 * assigned twice. */
KW_TEST(test_faults, "/period_prefetch/faults")
{
    static const kw_fault faults[] = {KW_FAULT_FAILED, KW_FAULT_UNKNOWN_APPLIED, KW_FAULT_UNKNOWN_LOST,
                                      KW_FAULT_TIMEOUT};
    for (size_t f = 0; f < G_N_ELEMENTS(faults); f++) {
        int64_t begin = bed_wall_ms / MINUTE * MINUTE;
        bed *self = open_at(begin + MINUTE - 1000, PER_MINUTE);
        self->plan.fault = faults[f];
        self->plan.fail_at = 1; /* the prefetch is the first operation */
        g_assert_cmpint(number_at(self, 0, bed_wall_ms - 58000), ==, 0);
        g_assert_cmpuint(self->plan.failed, ==, 1);
        bed_free(self); /* closes before the retry */
        self = open_at(begin + MINUTE - 1000, PER_MINUTE);
        self->plan.fault = faults[f];
        self->plan.fail_at = 1;
        g_assert_cmpint(number_at(self, 0, bed_wall_ms), ==, 0);
        bed_wall_ms = begin + MINUTE;
        int64_t first = number_at(self, 0, bed_wall_ms);
        g_assert_true(first == 0 || first == 50);
        g_assert_cmpuint(self->plan.failed, ==, 1);
        for (int i = 1; i < 120; i++)
            g_assert_cmpint(number_at(self, 0, bed_wall_ms), ==, first + i);
        bed_free(self);
    }
}

/* After a reload with another range, the block fetched ahead belongs to the old range and is dropped. */
KW_TEST(test_reload, "/period_prefetch/reload")
{
    int64_t begin = bed_wall_ms / MINUTE * MINUTE;
    bed *self = open_at(begin + MINUTE - 1000, PER_MINUTE);
    g_assert_cmpint(number_at(self, 0, bed_wall_ms), ==, 0);
    settle(self);
    g_assert_cmpuint(count_counters(self), ==, 2);
    bed_reload(
        self, "sequences: {keep: 30d}\n",
        "seq: {type: int, generate: {kind: sequence, from: 500, to: 99999, per: minute, of: ts, block: 50}}");
    bed_wall_ms = begin + MINUTE;
    g_assert_cmpint(number_at(self, 0, bed_wall_ms), ==, 550);
    bed_free(self);
}

KW_TEST_START(start)
{
    bed_inject_clock();
}
