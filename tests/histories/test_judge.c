/* Tests the judge with histories that are right, and with the same histories after one error of each kind was
 * added. */
#include "histories/judge.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#define NONE OPERATION_ABSENT

static operations *all;
static uint64_t now;

/* --- writing histories ------------------------------------------------------------------------ */

static operation *
add(operation_kind kind, uint8_t fields, uint64_t begin, uint64_t end)
{
    operation made = {.kind = kind, .fields = fields, .begin_ns = begin, .end_ns = end, .expected = NONE};
    for (int i = 0; i < OPERATION_FIELDS; i++)
        made.values[i] = made.results[i] = NONE;
    g_array_append_val(all, made);
    return operation_at(all, all->len - 1);
}

/* Adds an operation after the previous one. */
static operation *
then(operation_kind kind, uint8_t fields, int64_t value)
{
    now += 10;
    operation *made = add(kind, fields, now, now + 5);
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (fields >> i & 1)
            made->values[i] = value;
    return made;
}

/* Makes the operation pending until the end of the history. */
static operation *
unknown(operation *of)
{
    of->outcome = OPERATION_UNKNOWN;
    return of;
}

static operation *
put_if(int64_t expected, int64_t value, bool applied)
{
    operation *made = then(OPERATION_PUT_IF, 1, value);
    made->expected = expected;
    made->applied = applied;
    return made;
}

static operation *
increment(int64_t amount, int64_t sum)
{
    operation *made = then(OPERATION_INCREMENT, 4, amount);
    made->results[2] = sum;
    return made;
}

static void
begin(void)
{
    all = operations_new();
    now = 0;
}

static void
end_by(judge_rules rules, bool right, const char *says)
{
    judgement found = judge(all, rules);
    if (right)
        g_assert_cmpstr(found.wrong, ==, NULL);
    else
        g_assert_nonnull(found.wrong);
    if (says)
        g_assert_nonnull(strstr(found.wrong, says));
    g_assert_cmpuint(found.undecided, ==, 0);
    judgement_clear(&found);
    g_array_unref(all);
}

static void
end_with(judge_whole whole, bool right, const char *says)
{
    end_by((judge_rules){.whole = whole}, right, says);
}

static void
end_exempt(bool right, const char *says)
{
    end_by((judge_rules){.whole = JUDGE_FIELDS, .exempt = true}, right, says);
}

static void
is_right(void)
{
    end_with(JUDGE_FIELDS, true, NULL);
}

static void
is_wrong(const char *says)
{
    end_with(JUDGE_FIELDS, false, says);
}

#define NO_ORDER "no order of the operations"

/* --- puts, gets, removals --------------------------------------------------------------------- */

KW_TEST(test_right, "/judge/right")
{
    begin();
    then(OPERATION_GET, 1, NONE);
    then(OPERATION_PUT, 1, 7);
    then(OPERATION_GET, 1, 7);
    then(OPERATION_REMOVE, 15, 0);
    then(OPERATION_GET, 1, NONE);
    is_right();
}

KW_TEST(test_lost, "/judge/lost")
{
    begin();
    then(OPERATION_PUT, 1, 7);
    then(OPERATION_GET, 1, NONE);
    is_wrong(NO_ORDER);
    begin();
    then(OPERATION_PUT, 1, 7);
    then(OPERATION_PUT, 1, 8);
    then(OPERATION_GET, 1, 7);
    is_wrong(NO_ORDER);
    begin();
    then(OPERATION_PUT, 1, 7);
    then(OPERATION_REMOVE, 1, 0);
    then(OPERATION_GET, 1, 7);
    is_wrong(NO_ORDER);
}

KW_TEST(test_made_up, "/judge/made-up")
{
    begin();
    then(OPERATION_PUT, 1, 7);
    then(OPERATION_GET, 1, 9);
    is_wrong(NO_ORDER);
    begin();
    then(OPERATION_PUT, 1, 7)->outcome = OPERATION_FAILED;
    then(OPERATION_GET, 1, 7);
    is_wrong(NO_ORDER);
    begin();
    then(OPERATION_GET, 15, NONE)->applied = true;
    is_wrong("without fields");
}

/* Two concurrent puts: either can be the last, but readers agree. */
KW_TEST(test_together, "/judge/concurrent-puts")
{
    for (int planted = 0; planted < 2; planted++) {
        begin();
        add(OPERATION_PUT, 1, 0, 100)->values[0] = 7;
        add(OPERATION_PUT, 1, 0, 100)->values[0] = 8;
        add(OPERATION_GET, 1, 10, 20)->values[0] = 7;
        add(OPERATION_GET, 1, 30, 40)->values[0] = 8;
        if (planted)
            add(OPERATION_GET, 1, 50, 60)->values[0] = 7;
        end_with(JUDGE_FIELDS, !planted, NULL);
    }
}

/* An unknown write takes effect later, or never, but only once. */
KW_TEST(test_unknown, "/judge/unknown")
{
    begin();
    unknown(then(OPERATION_PUT, 1, 7));
    then(OPERATION_GET, 1, NONE);
    then(OPERATION_PUT, 1, 8);
    then(OPERATION_GET, 1, 8);
    then(OPERATION_GET, 1, 7);
    is_right();
    begin();
    unknown(then(OPERATION_PUT, 1, 7));
    then(OPERATION_GET, 1, 7);
    then(OPERATION_PUT, 1, 8);
    then(OPERATION_GET, 1, 8);
    then(OPERATION_GET, 1, 7);
    is_wrong(NO_ORDER);
    begin();
    for (int i = 0; i < 30; i++)
        unknown(then(OPERATION_REMOVE, 15, 0));
    then(OPERATION_PUT, 1, 8);
    then(OPERATION_GET, 1, 8);
    then(OPERATION_GET, 1, NONE);
    is_right();
}

KW_TEST(test_whole_records, "/judge/whole-records")
{
    for (judge_whole whole = JUDGE_FIELDS; whole <= JUDGE_IN_STEP; whole++) {
        begin();
        then(OPERATION_PUT, 3, 7);
        add(OPERATION_REMOVE, 15, now + 10, now + 100);
        operation *part = add(OPERATION_GET, 3, now + 20, now + 30);
        part->values[0] = 7; /* the second field is already removed */
        now += 200;
        then(OPERATION_GET, 3, NONE);
        end_with(whole, whole != JUDGE_IN_STEP, NULL);
    }
    begin();
    then(OPERATION_PUT, 3, 7);
    add(OPERATION_PUT, 3, now + 10, now + 100)->values[0] = 8;
    operation_at(all, 1)->values[1] = 8;
    operation *torn = add(OPERATION_GET, 3, now + 20, now + 30);
    torn->values[0] = 8;
    torn->values[1] = 7;
    end_with(JUDGE_RECORD, false, NO_ORDER);
}

/* --- conditions, counters --------------------------------------------------------------------- */

KW_TEST(test_two_winners, "/judge/two-winners")
{
    begin();
    put_if(NONE, 7, true);
    put_if(NONE, 8, false);
    put_if(7, 9, true);
    then(OPERATION_GET, 1, 9);
    is_right();
    begin();
    put_if(NONE, 7, true);
    put_if(NONE, 8, true);
    is_wrong(NO_ORDER);
    begin();
    put_if(NONE, 7, false);
    is_wrong(NO_ORDER);
    begin();
    unknown(put_if(NONE, 7, false));
    put_if(7, 8, true);
    is_right();
}

KW_TEST(test_counters, "/judge/counters")
{
    begin();
    increment(2, 2);
    unknown(increment(1, NONE));
    increment(2, 5);
    then(OPERATION_GET, 4, 5)->last = true;
    is_right();
    begin();
    increment(2, 2);
    increment(2, 2);
    is_wrong(NO_ORDER);
    begin();
    increment(2, 2);
    unknown(increment(1, NONE));
    then(OPERATION_GET, 4, 5)->last = true;
    is_wrong("the final value of a counter");
    begin();
    unknown(then(OPERATION_PUT, 4, 100));
    increment(2, 102); /* no read returned the 100 */
    is_right();
}

/* The search does not distinguish which of many unknown operations have taken effect if it makes no
 * difference. */
KW_TEST(test_many_unknown, "/judge/many-unknown")
{
    for (int planted = 0; planted < 2; planted++) {
        begin();
        for (int i = 0; i < 50; i++)
            unknown(put_if(i % 2 ? NONE : i, 1000 + i, false));
        then(OPERATION_PUT, 1, 7);
        for (int i = 0; i < 50; i++) {
            then(OPERATION_PUT, 1, 100 + i);
            then(OPERATION_GET, 1, 100 + i);
            then(OPERATION_REMOVE, 15, 0);
            then(OPERATION_GET, 1, NONE);
        }
        then(OPERATION_PUT, 1, 8);
        then(OPERATION_GET, 1, planted ? 7 : 8);
        if (planted)
            is_wrong(NO_ORDER);
        else
            is_right();
    }
}

/* A put in progress at the same time as a conditional put that does not see it. */
static void
begin_beside(uint64_t put_end, bool was_read)
{
    begin();
    then(OPERATION_PUT, 1, 7);
    add(OPERATION_PUT, 1, 20, put_end)->values[0] = 8;
    if (was_read)
        add(OPERATION_GET, 1, 30, 35)->values[0] = 8;
    operation *compared = add(OPERATION_PUT_IF, 1, 40, 60);
    compared->expected = 7;
    compared->applied = true;
    compared->values[0] = 9;
    now = 200;
    then(OPERATION_GET, 1, 9);
}

KW_TEST(test_exempt, "/judge/exempt")
{
    for (int was_read = 0; was_read < 2; was_read++) {
        begin_beside(100, was_read);
        end_with(JUDGE_FIELDS, false, NO_ORDER);
        begin_beside(100, was_read);
        end_exempt(true, NULL);
        begin_beside(39, was_read); /* the put has ended before */
        end_exempt(false, NO_ORDER);
    }
    begin_beside(100, true);
    then(OPERATION_GET, 1, 8); /* after it was replaced */
    end_exempt(false, NO_ORDER);
}

/* Atomic operations are not exempt, and neither is a put beside one of another field. */
KW_TEST(test_not_exempt, "/judge/not exempt")
{
    begin();
    for (int i = 0; i < 2; i++) {
        operation *compared = add(OPERATION_PUT_IF, 1, 10, 20);
        compared->applied = true;
        compared->values[0] = 7 + i;
    }
    end_exempt(false, NO_ORDER);
    begin();
    for (int i = 0; i < 2; i++) {
        operation *added = add(OPERATION_INCREMENT, 4, 10, 20);
        added->values[2] = added->results[2] = 1;
    }
    end_exempt(false, NO_ORDER);
    begin();
    add(OPERATION_PUT, 1, 10, 20)->values[0] = 7;
    operation *other = add(OPERATION_INCREMENT, 4, 10, 20);
    other->values[2] = other->results[2] = 1;
    now = 30;
    then(OPERATION_GET, 1, NONE);
    end_exempt(false, NO_ORDER);
}

/* --- scans, numbers, paths -------------------------------------------------------------------- */

static operation *
row(uint32_t record, int64_t value)
{
    operation *made = add(OPERATION_ROW, 15, 0, 0);
    made->scan = 1;
    made->record = record;
    made->values[0] = value;
    return made;
}

/* Records 1 to 3 have the values 11 to 13; record 2 had the value 2 before. */
static void
begin_scan(void)
{
    begin();
    then(OPERATION_PUT, 1, 2)->record = 2;
    for (uint32_t record = 1; record <= 3; record++)
        then(OPERATION_PUT, 1, 10 + record)->record = record;
    now += 20;
}

static void
end_scan(void)
{
    add(OPERATION_SCAN, 15, now, now + 10)->scan = 1;
}

KW_TEST(test_scans, "/judge/scans")
{
    static const struct {
        uint32_t records[4];
        int64_t values[4];
        const char *says;
    } plans[] = {
        {{1, 2, 3}, {11, 12, 13}, NULL},
        {{1, 3}, {11, 13}, "does not return record 2"},
        {{1, 2, 2, 3}, {11, 12, 12, 13}, "twice"},
        {{2, 1, 3}, {12, 11, 13}, "out of order"},
        {{1, 2, 3}, {11, 2, 13}, "was not stored during the scan"},
        {{1, 2, 3}, {11, 99, 13}, "was not stored during the scan"},
        {{1, 2, 3, 4}, {11, 12, 13, NONE}, "without fields"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i++) {
        begin_scan();
        for (size_t at = 0; at < 4 && plans[i].records[at]; at++)
            row(plans[i].records[at], plans[i].values[at]);
        end_scan();
        end_with(JUDGE_FIELDS, !plans[i].says, plans[i].says);
    }
}

/* A scan can return a record that is removed at the same time, or not. */
KW_TEST(test_scan_during_removal, "/judge/scan-during-removal")
{
    begin_scan();
    add(OPERATION_REMOVE, 15, now + 2, now + 4)->record = 2;
    row(1, 11);
    row(3, 13);
    end_scan();
    is_right();
}

/* A scan with a filter: even values match. */
KW_TEST(test_filtered_scans, "/judge/filtered-scans")
{
    static const struct {
        int64_t puts[2]; /* of record 2; the second one begins before the scan, and ends after it */
        int64_t shown;   /* of record 2; 0: it is not returned */
        const char *says;
    } plans[] = {
        {{12, 14}, 12, NULL}, {{12, 14}, 14, NULL}, {{12, 14}, 0, "does not return record 2"},
        {{12, 13}, 12, NULL}, {{12, 13}, 0, NULL},  {{12, 13}, 13, "does not match"},
        {{13, 14}, 14, NULL}, {{13, 14}, 0, NULL},  {{13, 15}, 0, NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i++) {
        begin();
        then(OPERATION_PUT, 1, 11)->record = 1;
        then(OPERATION_PUT, 1, plans[i].puts[0])->record = 2;
        now += 10;
        operation *second = add(OPERATION_PUT, 1, now, now + 40);
        second->record = 2;
        second->values[0] = plans[i].puts[1];
        now += 20;
        if (plans[i].shown)
            row(2, plans[i].shown);
        end_scan();
        operation_at(all, all->len - 1)->applied = true;
        end_with(JUDGE_FIELDS, !plans[i].says, plans[i].says);
    }
}

/* --- cells that expire ------------------------------------------------------------------------- */

#define MS UINT64_C(1000000)

static void
then_after(uint64_t ms, operation_kind kind, int64_t value)
{
    now += ms * MS;
    then(kind, 1, value);
}

/* Cells live for a second; the clocks of the servers can differ a little. */
KW_TEST(test_expiry, "/judge/expiry")
{
    static const struct {
        uint64_t after_ms;
        int64_t read;
        bool right;
    } plans[] = {{500, 7, true},   {500, NONE, false}, {1000, 7, true},  {1000, NONE, true},
                 {2000, 7, false}, {2000, NONE, true}, {60000, 7, false}};
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i++) {
        begin();
        then_after(1, OPERATION_PUT, 7);
        then_after(plans[i].after_ms, OPERATION_GET, plans[i].read);
        end_by((judge_rules){.expires_ms = 1000}, plans[i].right, NULL);
    }
    begin(); /* a value that was replaced does not expire */
    then_after(1, OPERATION_PUT, 7);
    then_after(900, OPERATION_PUT, 8);
    then_after(700, OPERATION_GET, NONE);
    end_by((judge_rules){.expires_ms = 1000}, false, NO_ORDER);
    begin(); /* nor does it appear again */
    then_after(1, OPERATION_PUT, 7);
    then_after(2000, OPERATION_GET, NONE);
    then_after(1, OPERATION_GET, 7);
    end_by((judge_rules){.expires_ms = 1000}, false, NO_ORDER);
    begin(); /* a put of unknown outcome that takes effect after a later put does expire */
    unknown(then(OPERATION_PUT, 1, 7));
    then_after(1, OPERATION_PUT, 8);
    then_after(100, OPERATION_GET, 8);
    then_after(100, OPERATION_GET, 7);
    then_after(2000, OPERATION_GET, NONE);
    end_by((judge_rules){.expires_ms = 1000}, true, NULL);
}

/* --- versions ---------------------------------------------------------------------------------- */

/* Reads these versions, the newest first, with these timestamps. */
static void
read_versions(const int64_t *values, int count)
{
    now += 10 * MS;
    for (int i = 0; i < count; i++) {
        operation *version = add(OPERATION_VERSION, 3, now, now + MS);
        version->scan = 1;
        version->values[0] = values[i];
        version->values[1] = values[i] + 100;
        version->results[0] = 1000 - i;
    }
    operation *read = add(OPERATION_VERSIONS, 15, now, now + MS);
    read->scan = 1;
    for (int i = 0; i < 2; i++)
        read->values[i] = count ? values[0] + 100 * i : NONE;
}

static void
put_version(int64_t value)
{
    now += 10 * MS;
    then(OPERATION_PUT, 3, value)->values[1] = value + 100;
}

KW_TEST(test_versions, "/judge/versions")
{
    static const struct {
        int64_t read[4];
        const char *says;
    } plans[] = {
        {{4, 3, 2}, NULL},
        {{4, 3}, "a version is missing"},
        {{4, 2}, "a version is missing"},
        {{4, 2, 1}, "a version is missing"},
        {{3, 2, 1}, "a version is missing"},
        {{4, 2, 3}, "wrong order"},
        {{4, 3, 3}, "twice"},
        {{4, 3, 9}, "no put has written"},
        {{0}, "a version is missing"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i++) {
        int count = 0;
        begin();
        for (int64_t value = 1; value <= 4; value++)
            put_version(value);
        while (plans[i].read[count])
            count++;
        read_versions(plans[i].read, count);
        end_by((judge_rules){.whole = JUDGE_IN_STEP, .versions = 3}, !plans[i].says, plans[i].says);
    }
}

KW_TEST(test_removed_versions, "/judge/removed-versions")
{
    for (int removed = 0; removed < 2; removed++) {
        begin();
        put_version(1);
        now += 10 * MS;
        then(OPERATION_REMOVE, 15, 0);
        put_version(2);
        read_versions((const int64_t[]){2, 1}, removed ? 2 : 1);
        end_by((judge_rules){.whole = JUDGE_IN_STEP, .versions = 3}, !removed,
               removed ? "that was removed" : NULL);
    }
}

/* Puts in the same millisecond can be one version. */
KW_TEST(test_versions_of_one_moment, "/judge/versions-of-one-moment")
{
    begin();
    put_version(1);
    then(OPERATION_PUT, 3, 2)->values[1] = 102;
    read_versions((const int64_t[]){2}, 1);
    end_by((judge_rules){.whole = JUDGE_IN_STEP, .versions = 3}, true, NULL);
}

/* --- numbers and paths ------------------------------------------------------------------------- */

KW_TEST(test_numbers, "/judge/numbers")
{
    for (int64_t second = 4; second <= 5; second++) {
        begin();
        then(OPERATION_NUMBER, 1, 5);
        then(OPERATION_NUMBER, 1, second);
        end_with(JUDGE_FIELDS, second == 4, second == 5 ? "generated twice" : NULL);
    }
}

static void
end_views(int64_t one, int64_t other)
{
    then(OPERATION_GET, 1, one)->last = true;
    operation *second = then(OPERATION_GET, 1, other);
    second->view = 1;
    second->last = true;
}

KW_TEST(test_paths, "/judge/paths")
{
    begin();
    then(OPERATION_PUT, 1, 7);
    then(OPERATION_PUT, 1, 8);
    end_views(8, 7);
    is_wrong("two paths");
    begin();
    add(OPERATION_PUT, 1, 0, 10)->values[0] = 7; /* concurrent puts: either order is right */
    add(OPERATION_PUT, 1, 5, 15)->values[0] = 8;
    now = 20;
    end_views(8, 7);
    end_by((judge_rules){.paths = JUDGE_PATHS_APART}, true, NULL);
    begin();
    then(OPERATION_PUT, 1, 7);
    unknown(then(OPERATION_PUT, 1, 8));
    end_views(8, 7);
    end_by((judge_rules){.paths = JUDGE_PATHS_IN_ORDER}, true, NULL);
}

/* --- views together ---------------------------------------------------------------------------- */

typedef struct view_plan {
    int64_t puts[2]; /* the first one from 10 to 100, the second one from 20 to 200; 0: there is none */
    struct {
        uint64_t at;
        uint32_t view;
        int64_t value;
    } reads[4];
    bool together, in_order, apart; /* true: it is right */
} view_plan;

static void
begin_views(const view_plan *plan)
{
    begin();
    add(OPERATION_PUT, 1, 1, 2)->values[0] = 5;
    for (uint64_t i = 0; i < 2 && plan->puts[i]; i++)
        add(OPERATION_PUT, 1, 10 + 10 * i, 100 + 100 * i)->values[0] = plan->puts[i];
    for (size_t i = 0; i < 4 && plan->reads[i].at; i++) {
        operation *read = add(OPERATION_GET, 1, plan->reads[i].at, plan->reads[i].at + 2);
        read->view = plan->reads[i].view;
        read->values[0] = plan->reads[i].value;
    }
}

/* Two views that show the same writes. */
KW_TEST(test_views, "/judge/views")
{
    static const view_plan plans[] = {
        /* one view shows a put in progress, and then the other one does not yet */
        {{7}, {{30, 1, 7}, {40, 0, 5}}, false, true, true},
        {{7}, {{30, 0, 7}, {40, 1, 5}, {50, 1, 7}}, false, true, true},
        /* after the put, both show it */
        {{7}, {{30, 1, 7}, {110, 0, 5}}, false, false, false},
        {{7}, {{30, 1, 7}, {110, 0, 7}}, true, true, true},
        /* one view never shows the present value and then the earlier one */
        {{7}, {{30, 1, 7}, {40, 1, 5}}, false, false, false},
        /* two puts at the same time: both views show them in the same order */
        {{7, 8}, {{30, 0, 7}, {40, 0, 8}, {50, 1, 7}, {60, 1, 8}}, false, true, true},
        {{7, 8}, {{30, 0, 7}, {40, 0, 8}, {50, 1, 8}, {60, 1, 7}}, false, false, true},
        {{7, 8}, {{30, 0, 8}, {40, 1, 7}, {210, 0, 8}, {210, 1, 8}}, false, true, true},
        {{7, 8}, {{30, 0, 8}, {40, 0, 7}, {210, 1, 7}, {210, 0, 7}}, true, true, true},
        /* in the end they show the same */
        {{7, 8}, {{210, 0, 7}, {210, 1, 8}}, false, false, true},
        /* the one that ended is the last one in one view, so it is in the other one */
        {{7, 8}, {{110, 0, 8}, {120, 0, 7}, {130, 1, 8}, {140, 1, 7}}, false, false, false},
        {{7, 8}, {{110, 0, 8}, {210, 1, 7}}, false, false, true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i++) {
        begin_views(&plans[i]);
        end_by((judge_rules){.paths = JUDGE_PATHS_TOGETHER}, plans[i].together, NULL);
        begin_views(&plans[i]);
        end_by((judge_rules){.paths = JUDGE_PATHS_IN_ORDER}, plans[i].in_order, NULL);
        begin_views(&plans[i]);
        end_by((judge_rules){.paths = JUDGE_PATHS_APART}, plans[i].apart, NULL);
    }
}

/* A put of unknown outcome can stay in one view, until the next write. */
KW_TEST(test_views_unknown, "/judge/views-unknown")
{
    for (int planted = 0; planted < 2; planted++) {
        begin();
        then(OPERATION_PUT, 1, 7);
        unknown(then(OPERATION_PUT, 1, 8));
        then(OPERATION_GET, 1, 8)->view = 1;
        then(OPERATION_GET, 1, 7);
        then(OPERATION_PUT, 1, 9);
        then(OPERATION_GET, 1, 9);
        then(OPERATION_GET, 1, planted ? 8 : 9)->view = 1;
        end_by((judge_rules){.paths = JUDGE_PATHS_IN_ORDER}, !planted, planted ? NO_ORDER : NULL);
    }
}

/* A conditional put that replaces a put in progress without having seen it. Both views show them in this
 * order. The second view shows what the first one has decided. */
KW_TEST(test_views_exempt, "/judge/views-exempt")
{
    for (int planted = 0; planted < 3; planted++) {
        begin_beside(100, false);
        add(OPERATION_GET, 1, 42, 44)->values[0] = planted == 1 ? 9 : 8;
        add(OPERATION_GET, 1, 46, 48)->values[0] = planted == 1 ? 8 : 9;
        for (guint i = all->len - 2; i < all->len; i++)
            operation_at(all, i)->view = 1;
        then(OPERATION_GET, 1, planted == 2 ? 8 : 9)->view = 1;
        end_by((judge_rules){.paths = JUDGE_PATHS_IN_ORDER, .exempt = true}, !planted,
               planted ? NO_ORDER : NULL);
    }
    for (int64_t shown = 2; shown <= 3; shown++) {
        begin();
        increment(2, 2);
        then(OPERATION_GET, 4, shown)->view = 1;
        end_by((judge_rules){.paths = JUDGE_PATHS_IN_ORDER, .exempt = true}, shown == 2, NULL);
    }
}

/* Two puts of a counter at the same time, which the views show in different orders in the end. */
KW_TEST(test_views_counters, "/judge/views-counters")
{
    static const judge_paths paths[] = {JUDGE_PATHS_IN_ORDER, JUDGE_PATHS_TEXTS_IN_ORDER, JUDGE_PATHS_APART};
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        begin();
        add(OPERATION_PUT, 4, 10, 30)->values[2] = 7;
        add(OPERATION_PUT, 4, 10, 30)->values[2] = 8;
        add(OPERATION_GET, 4, 40, 42)->values[2] = 7;
        operation *other = add(OPERATION_GET, 4, 50, 52);
        other->view = 1;
        other->values[2] = 8;
        end_by((judge_rules){.paths = paths[i]}, i > 0, i > 0 ? NULL : NO_ORDER);
    }
}

/* --- ties -------------------------------------------------------------------------------------- */

/* Three puts with the same timestamp, and another one. */
KW_TEST(test_ties, "/judge/ties")
{
    static const judge_tie ties[] = {{0, 7, 8}, {0, 8, 9}, {1, 7, 5}};
    static const struct {
        int64_t reads[2];
        bool right;
    } plans[] = {{{9, 7}, true}, {{7, 8}, true}, {{5, 7}, false}, {{9, 5}, false}};
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i++) {
        begin();
        then(OPERATION_PUT, 1, 5);
        for (int64_t value = 7; value <= 9; value++)
            add(OPERATION_PUT, 1, 100, 200)->values[0] = value;
        now = 300;
        then(OPERATION_GET, 1, plans[i].reads[0]);
        then(OPERATION_GET, 1, plans[i].reads[1]);
        operations *tied = all;
        all = judge_untie(all, ties, G_N_ELEMENTS(ties));
        g_array_unref(tied);
        end_with(JUDGE_FIELDS, plans[i].right, NULL);
    }
}

/* Two puts with the same timestamp, and then a scan with a filter. If only one of the values matches, the
 * scan can return the record or not. */
KW_TEST(test_ties_and_filters, "/judge/ties-and-filters")
{
    static const struct {
        int64_t puts[2];
        int64_t shown; /* 0: the record is not returned */
        const char *says;
    } plans[] = {
        {{12, 13}, 12, NULL}, {{12, 13}, 0, NULL},  {{13, 12}, 12, NULL},
        {{13, 12}, 0, NULL},  {{12, 14}, 14, NULL}, {{12, 14}, 0, "does not return record 2"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i++) {
        const judge_tie tie = {2, plans[i].puts[0], plans[i].puts[1]};
        begin();
        for (int put = 0; put < 2; put++) {
            operation *made = add(OPERATION_PUT, 1, 100, 200);
            made->record = 2;
            made->values[0] = plans[i].puts[put];
        }
        now = 300;
        then(OPERATION_GET, 1, 12)->record = 2;
        then(OPERATION_GET, 1, plans[i].puts[plans[i].puts[0] == 12])->record = 2;
        if (plans[i].shown)
            row(2, plans[i].shown);
        end_scan();
        operation_at(all, all->len - 1)->applied = true;
        operations *tied = all;
        all = judge_untie(all, &tie, 1);
        g_array_unref(tied);
        end_with(JUDGE_FIELDS, !plans[i].says, plans[i].says);
    }
}

/* --- many -------------------------------------------------------------------------------------- */

/* A register that takes its value at a random moment of each call. Its histories are right. With one read of
 * a value that was overwritten before the read began, they are wrong. */
KW_TEST(test_random, "/judge/random")
{
    for (int round = 0; round < 200; round++) {
        int64_t value = NONE, before = NONE;
        uint64_t changed_ns = 0;
        guint where = 0;
        begin();
        for (uint64_t at = 100; at < 4000; at += (uint64_t)g_test_rand_int_range(5, 40)) {
            bool puts = g_test_rand_int_range(0, 3) == 0;
            operation *made =
                add(puts ? OPERATION_PUT : OPERATION_GET, 1, at - (uint64_t)g_test_rand_int_range(0, 90),
                    at + (uint64_t)g_test_rand_int_range(0, 90));
            if (puts) {
                before = value;
                value = (int64_t)at;
                changed_ns = made->end_ns;
            }
            made->values[0] = value;
            if (!puts && before != NONE && made->begin_ns > changed_ns)
                where = all->len - 1;
        }
        judgement found = judge(all, (judge_rules){.whole = JUDGE_FIELDS});
        g_assert_cmpstr(found.wrong, ==, NULL);
        if (where) {
            operation_at(all, where)->values[0] = before == value ? 1 : 99999;
            found = judge(all, (judge_rules){.whole = JUDGE_FIELDS});
            g_assert_nonnull(found.wrong);
            judgement_clear(&found);
        }
        g_array_unref(all);
    }
}

#define VIEW_WRITES 60

/* Writes that take effect in two views at two random moments of each call; what a view shows is the write
 * with the highest number among them. Such histories are right. They are wrong after two more writes, which
 * the views show in different orders. */
KW_TEST(test_random_views, "/judge/views-random")
{
    for (int round = 0; round < 100; round++) {
        uint64_t effects[VIEW_WRITES][2];
        begin();
        for (uint64_t i = 0; i < VIEW_WRITES; i++) {
            uint64_t at = 100 + 20 * i, end = at + (uint64_t)g_test_rand_int_range(10, 60);
            for (int view = 0; view < 2; view++)
                effects[i][view] = (uint64_t)g_test_rand_int_range((gint32)at, (gint32)end);
            add(OPERATION_PUT, 1, at, end)->values[0] = (int64_t)i + 1;
        }
        for (uint64_t at = 90; at < 100 + 20 * VIEW_WRITES; at += 7) {
            operation *read = add(OPERATION_GET, 1, at, at + 1);
            read->view = g_test_rand_bit() ? 1 : 0;
            for (uint64_t i = 0; i < VIEW_WRITES; i++)
                if (effects[i][read->view] <= at)
                    read->values[0] = (int64_t)i + 1;
        }
        operations *kept = all;
        all = g_array_copy(kept);
        end_by((judge_rules){.paths = JUDGE_PATHS_IN_ORDER}, true, NULL);
        all = kept;
        /* Two more puts at the same time, which the views show in different orders. */
        for (int64_t value = 1000; value < 1002; value++)
            add(OPERATION_PUT, 1, 5000, 5100)->values[0] = value;
        for (uint64_t i = 0; i < 4; i++) {
            operation *read = add(OPERATION_GET, 1, 5010 + 10 * i, 5012 + 10 * i);
            read->view = i >= 2;
            read->values[0] = 1000 + (i == 1 || i == 2);
        }
        end_by((judge_rules){.paths = JUDGE_PATHS_IN_ORDER}, false, NO_ORDER);
    }
}

KW_TEST(test_file, "/judge/file")
{
    g_autofree char *folder = g_dir_make_tmp("keyway-history-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "one", NULL);
    begin();
    unknown(put_if(NONE, 7, false));
    increment(2, 2)->last = true;
    operations_save(all, file);
    operations *read = operations_load(file);
    g_assert_cmpuint(read->len, ==, all->len);
    for (guint i = 0; i < all->len; i++) {
        g_autofree char *one = operation_text(operation_at(all, i)),
                        *other = operation_text(operation_at(read, i));
        g_assert_cmpstr(one, ==, other);
    }
    g_array_unref(all);
    g_array_unref(read);
    g_assert_cmpint(g_unlink(file), ==, 0);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}
