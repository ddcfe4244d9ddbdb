/* Tests that the judge finds planted errors of queries of hint paths. Odd values have the side 1. */
#include "histories/judge.h"

#include <glib.h>
#include <string.h>

#define NONE OPERATION_ABSENT
#define NO_ORDER "no order of the operations"

static operations *all;
static uint64_t now;

/* --- writing histories ------------------------------------------------------------------------ */

static void
begin(void)
{
    all = operations_new();
    now = 0;
}

static operation *
add(operation_kind kind, uint64_t begin_ns, uint64_t end_ns)
{
    operation made = {
        .kind = kind, .fields = 15, .record = 1, .begin_ns = begin_ns, .end_ns = end_ns, .expected = NONE};
    for (int i = 0; i < OPERATION_FIELDS; i++)
        made.values[i] = made.results[i] = NONE;
    g_array_append_val(all, made);
    return operation_at(all, all->len - 1);
}

static operation *
then(operation_kind kind)
{
    now += 10;
    return add(kind, now, now + 5);
}

static void
set(operation *of, int64_t a, int64_t b)
{
    of->values[0] = a;
    of->values[1] = b;
    if (of->kind == OPERATION_PUT)
        of->fields = (uint8_t)((a != NONE) | (b != NONE) << 1);
}

/* a or b can be NONE: not given. */
static operation *
put(int64_t a, int64_t b)
{
    operation *made = then(OPERATION_PUT);
    set(made, a, b);
    return made;
}

static void
make_query(operation *of, uint32_t view, uint8_t bound, uint8_t sides)
{
    of->view = view;
    of->on = bound;
    of->expected = sides;
}

/* The query returns the record with these values. If a is NONE, it does not return the record. */
static operation *
find(uint32_t view, uint8_t sides, int64_t a, int64_t b)
{
    operation *made = then(OPERATION_FIND);
    make_query(made, view, operation_path_fields(view), sides);
    made->applied = a != NONE;
    set(made, a, b);
    return made;
}

/* A row on this page of the scan that follows. */
static void
row(uint32_t view, uint32_t record, int64_t page, int64_t a, int64_t b)
{
    operation *made = add(OPERATION_ROW, now + 10, now + 20);
    made->scan = 1;
    made->record = record;
    made->view = view;
    made->results[0] = page;
    set(made, a, b);
}

static void
scan(uint32_t view, uint8_t bound, uint8_t sides)
{
    operation *made = add(OPERATION_SCAN, now + 10, now + 20);
    made->scan = 1;
    make_query(made, view, bound, sides);
    now += 20;
}

static void
end_by(judge_rules rules, const char *says)
{
    judgement found = judge(all, rules);
    if (says) {
        g_assert_nonnull(found.wrong);
        g_assert_nonnull(strstr(found.wrong, says));
    } else {
        g_assert_cmpstr(found.wrong, ==, NULL);
    }
    judgement_clear(&found);
    g_array_unref(all);
}

/* says: part of the complaint; NULL: the history is right. */
static void
end(const char *says)
{
    end_by((judge_rules){.whole = JUDGE_IN_STEP}, says);
}

/* --- reads of one record ---------------------------------------------------------------------- */

KW_TEST(test_find, "/judge/hints/find")
{
    static const struct {
        uint8_t sides;
        int64_t a, b; /* of what is found */
        const char *says;
    } plans[] = {
        {1, 7, 8, NULL},           {0, NONE, NONE, NULL}, /* the record has a = 7, b = 8 */
        {1, NONE, NONE, NO_ORDER}, {0, 7, 8, "does not match"}, {1, 7, 6, NO_ORDER}, {1, 5, 8, NO_ORDER},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i++) {
        begin();
        put(5, 6);
        put(7, 8);
        find(1, plans[i].sides, plans[i].a, plans[i].b);
        end(plans[i].says);
    }
}

/* The second path has the sides of both texts. */
KW_TEST(test_find_both, "/judge/hints/find by both")
{
    for (uint8_t sides = 0; sides < 4; sides++) {
        begin();
        put(7, 8);
        find(2, sides, NONE, NONE);
        end(sides == 1 ? NO_ORDER : NULL);
    }
}

/* Paths with texts in their keys: the record has had each text once. */
KW_TEST(test_find_texts, "/judge/hints/find by texts")
{
    for (uint32_t view = 3; view <= 4; view++)
        for (int64_t asked = 5; asked <= 7; asked += 2) {
            begin();
            put(5, 8);
            put(7, 8);
            operation *query = find(view, 0, NONE, NONE);
            query->results[0] = asked;
            query->results[1] = 8;
            end(asked == 7 ? NO_ORDER : NULL);
        }
    begin();
    put(5, 8);
    find(3, 0, 5, 8)->results[0] = 5;
    end(NULL);
    begin();
    put(5, 8);
    find(3, 0, 5, 8)->results[0] = 7;
    end("does not match");
}

/* A record without a field of the path is not in it. */
KW_TEST(test_incomplete, "/judge/hints/incomplete")
{
    for (uint32_t view = 1; view <= 2; view++) {
        begin();
        put(7, NONE);
        find(view, 1, NONE, NONE);
        end_by((judge_rules){.whole = JUDGE_FIELDS}, view == 1 ? NO_ORDER : NULL);
    }
    begin();
    put(7, 8);
    then(OPERATION_REMOVE);
    find(1, 1, NONE, NONE);
    end(NULL);
}

/* Beside a put that moves the record, it can be missed; after it, it is found. */
KW_TEST(test_find_beside, "/judge/hints/find beside a put")
{
    for (int planted = 0; planted < 2; planted++) {
        begin();
        put(7, 8);
        set(add(OPERATION_PUT, 20, 100), 4, 8);
        now = planted ? 100 : 20;
        find(1, 1, NONE, NONE);
        find(1, 0, planted ? NONE : 4, planted ? NONE : 8);
        end(planted ? NO_ORDER : NULL);
    }
    begin();
    put(7, 8);
    set(add(OPERATION_PUT, 20, 100), 4, 8);
    now = 20;
    find(1, 1, NONE, NONE);
    find(1, 1, 7, 8); /* it has moved already */
    end(NO_ORDER);
}

/* A put of unknown outcome can be the reason why a record is missed, although nobody read its value. */
KW_TEST(test_unknown, "/judge/hints/unknown puts")
{
    begin();
    put(7, 8);
    put(4, 8)->outcome = OPERATION_UNKNOWN;
    operation_at(all, 1)->end_ns = OPERATION_NEVER;
    find(1, 1, NONE, NONE);
    end(NULL);
    begin();
    put(7, 8);
    put(4, 8)->outcome = OPERATION_UNKNOWN;
    operation_at(all, 1)->end_ns = OPERATION_NEVER;
    find(1, 0, 4, 8);
    find(1, 1, 7, 8);
    end(NO_ORDER);
}

/* --- scans ------------------------------------------------------------------------------------ */

/* Records 1 to 3 have the values (3, 2), (4, 2) and (5, 2); record 4 has moved from (1, 2) to (8, 2). */
static void
begin_scan(void)
{
    begin();
    for (uint32_t record = 1; record <= 3; record++)
        put(2 + record, 2)->record = record;
    put(1, 2)->record = 4;
    put(8, 2)->record = 4;
}

KW_TEST(test_scans, "/judge/hints/scans")
{
    static const struct {
        uint8_t bound, sides;
        struct {
            uint32_t record;
            int64_t page, a, b;
        } rows[5];
        const char *says;
    } plans[] = {
        {1, 1, {{1, 1, 3, 2}, {3, 1, 5, 2}}, NULL},
        {1, 0, {{2, 1, 4, 2}, {4, 2, 8, 2}}, NULL},
        {1, 1, {{1, 1, 3, 2}}, NO_ORDER},
        {1, 0, {{2, 1, 4, 2}}, NO_ORDER},
        {1, 1, {{1, 1, 3, 2}, {2, 1, 4, 2}, {3, 1, 5, 2}}, "does not match"},
        {1, 1, {{1, 1, 3, 2}, {3, 1, 5, 2}, {4, 1, 1, 2}}, NO_ORDER},
        {1, 1, {{3, 1, 5, 2}, {1, 1, 3, 2}}, "out of order"},
        {1, 1, {{1, 1, 3, 2}, {1, 1, 3, 2}, {3, 1, 5, 2}}, "twice on one page"},
        {1, 1, {{1, 1, 3, 2}, {1, 2, 3, 2}, {3, 2, 5, 2}}, "not with newer values"},
        {1, 1, {{1, 1, 3, 2}, {1, 2, 3, 2}, {1, 3, 3, 2}, {3, 3, 5, 2}}, "more than twice"},
        {0, 0, {{2, 1, 4, 2}, {1, 2, 3, 2}, {3, 2, 5, 2}, {4, 2, 8, 2}}, NULL},
        {0, 0, {{1, 1, 3, 2}, {2, 1, 4, 2}, {3, 2, 5, 2}, {4, 2, 8, 2}}, "out of order"},
        {0, 0, {{2, 1, 4, 2}, {1, 2, 3, 2}, {3, 2, 5, 2}}, NO_ORDER},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i++) {
        begin_scan();
        for (size_t at = 0; at < 5 && plans[i].rows[at].record; at++)
            row(1, plans[i].rows[at].record, plans[i].rows[at].page, plans[i].rows[at].a,
                plans[i].rows[at].b);
        scan(1, plans[i].bound, plans[i].sides);
        end(plans[i].says);
    }
}

/* A record that moves within the ranges is returned, and the second time with newer values. */
KW_TEST(test_moves, "/judge/hints/moves")
{
    static const struct {
        int64_t values[2]; /* of b on the pages; 0: the record is not returned there */
        const char *says;
    } plans[] = {
        {{2, 0}, NULL},     {{2, 5}, NULL},    {{5, 0}, NULL},    {{0, 5}, NULL},
        {{0, 0}, NO_ORDER}, {{5, 2}, "newer"}, {{5, 5}, "newer"}, {{9, 0}, NO_ORDER},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i++) {
        begin();
        put(3, 9);
        put(3, 2);
        set(add(OPERATION_PUT, now + 12, now + 14), 3, 5); /* during the scan */
        for (int page = 0; page < 2; page++)
            if (plans[i].values[page])
                row(2, 1, page + 1, 3, plans[i].values[page]);
        scan(2, 1, 1);
        end(plans[i].says);
    }
}

/* A query that takes longer than hints are kept can miss a record. */
KW_TEST(test_long, "/judge/hints/long queries")
{
    for (int is_long = 0; is_long < 2; is_long++) {
        begin();
        put(3, 2);
        now = 1000000;
        operation *query = add(OPERATION_SCAN, now, now + (is_long ? 30000000 : 10000000));
        make_query(query, 1, 0, 0);
        end_by((judge_rules){.whole = JUDGE_IN_STEP, .keep_ms = 20}, is_long ? NULL : NO_ORDER);
    }
}

/* --- partial puts ----------------------------------------------------------------------------- */

/* A put of both texts in progress beside a put of one text that does not see it. */
static void
begin_beside(uint64_t end_ns)
{
    begin();
    put(3, 2);
    set(add(OPERATION_PUT, 20, end_ns), 5, 6);
    set(add(OPERATION_PUT, 30, 40), 9, NONE);
    now = 100;
    find(2, 1, 9, 2);
}

KW_TEST(test_rewrites, "/judge/hints/rewrites")
{
    for (int is_read = 0; is_read < 2; is_read++)
        for (int exempt = 0; exempt < 2; exempt++) {
            judge_rules rules = {.whole = JUDGE_IN_STEP, .rewrites = true, .exempt = exempt};
            begin_beside(25); /* the put of both has ended before */
            end_by(rules, NO_ORDER);
            begin_beside(35);
            if (is_read)
                set(add(OPERATION_GET, 22, 28), 5, 6);
            end_by(rules, exempt ? NULL : NO_ORDER);
        }
}

/* A put of one text whose value nobody has read can have replaced a put of both. */
KW_TEST(test_idle_rewrite, "/judge/hints/idle rewrite")
{
    for (int i = 0; i < 4; i++) {
        bool rewrites = i % 2;
        judge_whole whole = i < 2 ? JUDGE_IN_STEP : JUDGE_FIELDS;
        begin();
        put(3, 2);
        operation *one = put(NONE, 6);
        one->outcome = OPERATION_UNKNOWN;
        one->end_ns = OPERATION_NEVER;
        put(5, 4);
        operation *read = then(OPERATION_GET);
        read->fields = 1;
        read->values[0] = 3;
        end_by((judge_rules){.whole = whole, .rewrites = rewrites, .exempt = true},
               rewrites ? NULL : NO_ORDER);
    }
}
