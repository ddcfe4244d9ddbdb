/* Plans over calendars and bits: which ranges a stretch of time becomes, and where clocks are put back. */
#include "plan/asking.h"
#include "rule/policies.h"

#define ARCHIVE(more)                                                                                        \
    "    fields: {ts: {type: timestamp, unit: s, column: \"d:ts\"}, seq: int}\n    key:\n"                   \
    "      - calendar: {of: ts, parts: [" more "], sequence: seq, as: packed}\n"

#define PARTITIONED                                                                                          \
    "    fields: {ts: {type: timestamp, unit: s}, id: int}\n    key:\n"                                      \
    "      - bits: {of: id, time: ts, parts: [zero 1, minute 6, seconds 32, worker 9, sequence 16]}\n"

static const kw_plan *
plan_of(kw_test_asking *asking, const char *words)
{
    asking_reset(asking);
    asking_set(asking, words);
    const kw_plan *plan;
    kw_error error = KW_ERROR_NONE;
    if (!kw_plan_make(&asking->question, asking->arena, &plan, &error))
        g_error("%s: %s", words, error.text);
    return plan;
}

static void
check_counts(kw_test_asking *asking, const char *words, size_t ranges, size_t groups, bool residual)
{
    const kw_plan *plan = plan_of(asking, words);
    g_assert_cmpuint(plan->ranges_count, ==, ranges);
    g_assert_cmpuint(plan->groups_count, ==, groups);
    g_assert_true(plan->residual == residual);
}

/* The day from 1620000000, which is midnight UTC: one range a minute, one after the other. */
static void
test_day(void)
{
    g_autoptr(kw_test_asking) asking = asking_new(ARCHIVE("mm, HH, dd, MM, yyyy"));
    check_counts(asking, "ts>=1620000000 ts<1620086400", 1440, 1440, false);
    check_counts(asking, "ts>=1620000001 ts<1620086400", 1440, 1440, true);
    check_counts(asking, "ts>=1620000059 ts<1620000061 order=desc", 2, 2, true);
    check_counts(asking, "ts=1620000000", 1, 1, true);
    check_counts(asking, "ts=1620000000 seq=7", 1, 1, true);
    const kw_plan *rising = plan_of(asking, "ts>=1620000000 ts<1620000120");
    g_assert_cmpint(kw_bytes_compare(rising->ranges[0].start, rising->ranges[1].start), <, 0);
    const kw_plan *falling = plan_of(asking, "ts>=1620000000 ts<1620000120 order=desc");
    g_assert_true(falling->reversed);
    g_assert_true(kw_bytes_equal(falling->ranges[0].start, rising->ranges[1].start));
    g_autoptr(kw_test_asking) ordered = asking_new(ARCHIVE("yyyy, MM, dd, HH, mm"));
    check_counts(ordered, "ts>=1620000000 ts<1620086400", 1, 1, false);
}

/* More minutes than a plan may have ranges: refused, and told what helps. */
static void
test_too_long(void)
{
    g_autoptr(kw_test_asking) asking = asking_new(ARCHIVE("mm, HH, dd, MM, yyyy"));
    asking_reset(asking);
    asking_set(asking, "ts>=1620000000 ts<1620604800");
    asking->question.range_limit = 10000;
    const kw_plan *plan;
    kw_error error = KW_ERROR_NONE;
    g_assert_false(kw_plan_make(&asking->question, asking->arena, &plan, &error));
    g_assert_cmpint(error.code, ==, KW_INVALID);
    g_assert_nonnull(strstr(error.text, "from and to of ts lie further apart than the 10000 ranges"));
    asking->question.range_limit = 10100;
    g_assert_true(kw_plan_make(&asking->question, asking->arena, &plan, &error));
    g_assert_cmpuint(plan->groups_count, ==, 10080);
}

/* 2021-10-31 in Berlin: 02:00 to 03:00 comes twice, and each time keeps its own rows. */
static void
test_clock_put_back(void)
{
    g_autoptr(kw_test_asking) asking =
        asking_new("    fields: {ts: {type: timestamp, unit: s, column: \"d:ts\"}, seq: int}\n    key:\n"
                   "      - calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm], zone: Europe/Berlin,\n"
                   "                   sequence: seq, as: packed}\n");
    const int64_t change = 1635642000;
    const kw_plan *plan = plan_of(asking, "ts>=1635552000 ts<1635724800");
    g_assert_cmpuint(plan->ranges_count, ==, 2);
    g_assert_cmpuint(plan->groups_count, ==, 2);
    g_assert_true(plan->residual);
    g_assert_true(plan->ranges[0].timed && plan->ranges[1].timed);
    g_assert_cmpint(plan->ranges[0].most, ==, change - 1);
    g_assert_cmpint(plan->ranges[1].least, ==, change);
    kw_value values[] = {test_number(change - 1), test_number(5)};
    kw_record record = {.values = values};
    g_assert_true(kw_plan_matches_in(plan, 0, &record) && !kw_plan_matches_in(plan, 1, &record));
    check_counts(asking, "ts>=1620000000 ts<1620086400", 1, 1, false); /* far from any change */
}

/* A minute of an id is in one of 60 partitions. */
static void
test_partitions(void)
{
    g_autoptr(kw_test_asking) asking = asking_new(PARTITIONED);
    check_counts(asking, "ts>=1620000000 ts<1620000600", 10, 10, false);
    check_counts(asking, "ts>=1620000000 ts<1620086400", 60, 1, false);
    const kw_plan *plan = plan_of(asking, "ts>=1620000000 ts<1620086400 order=desc limit=1");
    g_assert_true(plan->reversed);
    g_assert_cmpuint(plan->ranges[0].skip, ==, 1);
    /* across 2038 the first bit of the seconds changes beside the minute's: two groups */
    check_counts(asking, "ts>=2147400000 ts<2147560000", 120, 2, false);
    check_counts(asking, "id>=5 id<9", 1, 1, false);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/clocks/day", test_day);
    g_test_add_func("/plan/clocks/too_long", test_too_long);
    g_test_add_func("/plan/clocks/clock_put_back", test_clock_put_back);
    g_test_add_func("/plan/clocks/partitions", test_partitions);
    return g_test_run();
}
