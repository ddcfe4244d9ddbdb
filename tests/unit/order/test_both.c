/* Gets of both rows of a record: the answer is that of a get of the merged row, which is in both rows before
 * the answer. Row r of table "old" is written last by puts. */
#include "order_bed.h"

#include <string.h>

static const kw_ordering ordering = {.regime.order = KW_WRITE_ORDER_STAMP,
                                     .family = {(const uint8_t *)"f", 1},
                                     .regime.waits_for_next_ms = true,
                                     .regime.keeps_gone = true};
#define ERA 7 /* of the fence, when the get began */

static const kw_row_target other = {.table = {(const uint8_t *)"new", 3}, .row = {(const uint8_t *)"n", 1}};

/* Writes a row with its timestamps. */
static void
fill(order_bed *bed, const char *table, const char *row, const char *cells)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_row from = order_row(arena, cells);
    kw_write write = {.table = kw_bytes_of_text(table),
                      .row = kw_bytes_of_text(row),
                      .cells = from.cells,
                      .cells_count = from.cells_count,
                      .own_timestamps = true,
                      .deadline = KW_DEADLINE_NONE};
    if (from.cells_count)
        g_assert_cmpint(kw_sync_write(&bed->sync, &write).outcome, ==, KW_OUTCOME_OK);
}

static order_bed
bed_with(const char *old, const char *new)
{
    order_bed bed = order_bed_new();
    kw_simulated_set_time_ms(bed.rows, 2000, 2000);
    fill(&bed, "old", "r", old);
    fill(&bed, "new", "n", new);
    return bed;
}

static kw_get
get_of_both(void)
{
    return (kw_get){.table = KW_BYTES_LITERAL("old"),
                    .row = KW_BYTES_LITERAL("r"),
                    .other = &other,
                    .era = ERA,
                    .deadline = kw_deadline_in_ms(60000),
                    .ordering = &ordering};
}

/* "f:a g:*" */
static void
set_columns(kw_get *get, kw_arena *arena, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    kw_column *columns = KW_ARENA_ARRAY(arena, kw_column, g_strv_length(words));
    for (; words[get->columns_count]; get->columns_count++) {
        const char *word = kw_arena_text(arena, kw_bytes_of_text(words[get->columns_count]));
        columns[get->columns_count] = (kw_column){.family = kw_bytes_of((const uint8_t *)word, 1),
                                                  .qualifier = kw_bytes_of_text(word + 2),
                                                  .whole_family = word[2] == '*'};
    }
    get->columns = columns;
}

/* --- answers ------------------------------------------------------------------------------------ */

typedef struct both_case {
    const char *what;
    const char *old, *new;
    const char *columns; /* NULL: all */
    int32_t versions;
    int64_t from, to;
    const char *filter;
    const char *answer;
    const char *old_after, *new_after; /* NULL: as before */
} both_case;

static const both_case cases[] = {
    {.what = "equal", .old = "f:a=1@10", .new = "f:a=1@10", .answer = "f:a=1@10"},
    {.what = "absent", .old = "", .new = "", .answer = ""},
    {.what = "only in new", .old = "", .new = "f:a=1@10", .answer = "f:a=1@10", .old_after = "f:a=1@10"},
    {.what = "only in old", .old = "f:a=1@10", .new = "", .answer = "f:a=1@10", .new_after = "f:a=1@10"},
    {.what = "newer in each",
     .old = "f:a=2@11 f:b=1@10",
     .new = "f:a=1@10 f:b=2@11",
     .answer = "f:a=2@11 f:b=2@11",
     .old_after = "f:a=2@11 f:b=2@11 f:b=1@10",
     .new_after = "f:a=2@11 f:a=1@10 f:b=2@11"},
    {.what = "older versions are not written",
     .old = "f:a=3@12 f:a=1@10",
     .new = "f:a=3@12 f:a=2@11",
     .answer = "f:a=3@12"},
    {.what = "a tie", .old = "f:a=1@10", .new = "f:a=2@10", .answer = "f:a=1@10"},
    {.what = "removed in new",
     .old = "f:a=1@10",
     .new = "f:kw:r=10@11",
     .answer = "",
     .old_after = "f:kw:r=10@11"},
    {.what = "removed in old, and put again",
     .old = "f:kw:r=10@11",
     .new = "f:a=2@12 f:b=1@10",
     .answer = "f:a=2@12",
     .old_after = "f:kw:r=10@11 f:a=2@12",
     .new_after = "f:kw:r=10@11 f:a=2@12"},
    {.what = "a column removed in new",
     .old = "f:a=1@10 f:b=1@10",
     .new = "f:kw:cf:a=12@13 f:b=1@10",
     .answer = "f:b=1@10",
     .old_after = "f:kw:cf:a=12@13 f:b=1@10"},
    {.what = "the requested column was removed in new",
     .old = "f:a=1@10 f:b=1@10",
     .new = "f:kw:cf:a=12@13",
     .columns = "f:a",
     .answer = "",
     .old_after = "f:kw:cf:a=12@13 f:b=1@10"},
    {.what = "of the requested family a column was removed in new",
     .old = "f:a=1@10 g:a=1@10 g:b=1@10",
     .new = "f:kw:cg:a=12@13 g:b=1@10",
     .columns = "g:*",
     .answer = "g:b=1@10",
     .old_after = "f:kw:cg:a=12@13 f:a=1@10 g:b=1@10",
     .new_after = "f:kw:cg:a=12@13 f:a=1@10 g:b=1@10"},
    {.what = "only requested columns are written",
     .old = "f:a=2@11",
     .new = "f:b=2@11",
     .columns = "f:a",
     .answer = "f:a=2@11",
     .new_after = "f:a=2@11 f:b=2@11"},
    {.what = "versions of both",
     .old = "f:a=3@12 f:a=1@10",
     .new = "f:a=2@11 f:a=1@10",
     .versions = 2,
     .answer = "f:a=3@12 f:a=2@11",
     .old_after = "f:a=3@12 f:a=2@11 f:a=1@10",
     .new_after = "f:a=3@12 f:a=2@11 f:a=1@10"},
    {.what = "a time range that the newest value is not in",
     .old = "f:a=2@20 f:a=1@10",
     .new = "f:a=1@10",
     .from = 5,
     .to = 15,
     .answer = "f:a=1@10",
     .new_after = "f:a=2@20 f:a=1@10"},
    {.what = "a time range, and a removal outside of it",
     .old = "f:a=1@10",
     .new = "f:kw:r=20@21",
     .from = 5,
     .to = 15,
     .answer = "",
     .old_after = "f:kw:r=20@21"},
    {.what = "a filter that the older value meets",
     .old = "f:a=2@20 f:b=1@10",
     .new = "f:a=1@10 f:b=1@10",
     .filter = "ValueFilter(=, 'binary:1')",
     .answer = "f:a=1@10 f:b=1@10",
     .old_after = "f:a=2@20 f:a=1@10 f:b=1@10",
     .new_after = "f:a=2@20 f:a=1@10 f:b=1@10"},
    {.what = "a filter of rows",
     .old = "f:a=2@20 f:b=1@10",
     .new = "f:a=1@10 f:b=1@10",
     .filter = "SingleColumnValueFilter('f', 'a', =, 'binary:1', true, true)",
     .answer = "",
     .old_after = "f:a=2@20 f:a=1@10 f:b=1@10",
     .new_after = "f:a=2@20 f:a=1@10 f:b=1@10"},
    {.what = "a filter of the first cell",
     .old = "f:a=1@10 f:b=1@10",
     .new = "f:kw:cf:a=12@13 f:b=1@10",
     .filter = "FirstKeyOnlyFilter()",
     .answer = "f:b=1@10",
     .old_after = "f:kw:cf:a=12@13 f:b=1@10"},
};

static void
assert_answer(order_answer *answer, const char *expected)
{
    g_assert_cmpint(answer->error.code, ==, KW_OK);
    g_assert_cmpuint(answer->rows->count, ==, 1);
    g_autofree char *text = order_print(&answer->rows->rows[0]);
    g_assert_cmpstr(text, ==, expected);
    g_assert_true(kw_bytes_equal(answer->rows->rows[0].key, KW_BYTES_LITERAL("r")));
    kw_rows_free(answer->rows);
}

static void
test_case(const both_case *of, bool many)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = bed_with(of->old, of->new);
    order_answer answer = {0};
    kw_get get = get_of_both();
    const kw_get *one = &get;
    if (of->columns)
        set_columns(&get, arena, of->columns);
    get.max_versions = of->versions;
    get.time_from = of->from;
    get.time_to = of->to;
    get.filter = of->filter ? kw_bytes_of_text(of->filter) : KW_BYTES_NONE;
    if (many)
        kw_store_handle_get_many(bed.sync.handle, &one, 1, order_on_rows, &answer);
    else
        kw_store_handle_get(bed.sync.handle, &get, order_on_rows, &answer);
    order_await(&bed, &answer);
    assert_answer(&answer, of->answer);
    order_assert_row(&bed, "old", "r", of->old_after ? of->old_after : of->old);
    order_assert_row(&bed, "new", "n", of->new_after ? of->new_after : of->new);
    order_bed_free(&bed);
}

KW_TEST(test_cases, "/order/both/cases")
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_test_message("%s", cases[i].what);
        test_case(&cases[i], false);
        test_case(&cases[i], true);
    }
}

/* Rows that agree are only read. */
KW_TEST(test_reads_only, "/order/both/reads only")
{
    order_bed bed = bed_with("f:kw:r=8@9 f:a=1@10", "f:kw:r=8@9 f:a=1@10");
    kw_get get = get_of_both();
    unsigned before = kw_simulated_calls(bed.rows);
    kw_rows_free(kw_sync_get(&bed.sync, &get, NULL));
    g_assert_cmpuint(kw_simulated_calls(bed.rows) - before, ==, 2);
    order_bed_free(&bed);
}

/* --- failures ----------------------------------------------------------------------------------- */

typedef struct plan {
    kw_fate read_old, read_new, write;
} plan;

static kw_fate
follow(void *user, const kw_simulated_call *call)
{
    const plan *of = user;
    g_assert_true(!call->write || (call->write->once && call->write->fenced && call->write->era == ERA));
    if (call->write)
        return of->write;
    return kw_bytes_equal(call->table, KW_BYTES_LITERAL("old")) ? of->read_old : of->read_new;
}

typedef struct failure {
    plan plan;
    bool doubt;      /* the write-back may be applied later */
    unsigned writes; /* never sent twice */
} failure;

static const failure failures[] = {
    {.plan = {.read_old = KW_FATE_FAILED}},
    {.plan = {.read_new = KW_FATE_FAILED}},
    {.plan = {.read_old = KW_FATE_FAILED, .read_new = KW_FATE_FAILED}},
    {.plan = {.write = KW_FATE_FAILED}, .writes = 1},
    {.plan = {.write = KW_FATE_LOST}, .writes = 1, .doubt = true},
    {.plan = {.write = KW_FATE_DROPPED}, .writes = 1, .doubt = true},
    {.plan = {.write = KW_FATE_LATE}, .writes = 1, .doubt = true},
};

KW_TEST(test_failures, "/order/both/failures")
{
    for (size_t i = 0; i < G_N_ELEMENTS(failures); i++) {
        const failure *of = &failures[i];
        order_bed bed = bed_with("f:a=1@10", "f:a=2@11");
        order_answer answer = {0};
        kw_get get = get_of_both();
        unsigned before = kw_simulated_calls(bed.rows);
        kw_simulated_set_fate(bed.rows, follow, (void *)&of->plan);
        kw_store_handle_get(bed.sync.handle, &get, order_on_rows, &answer);
        order_await(&bed, &answer);
        g_assert_null(answer.rows);
        g_assert_cmpint(answer.error.code, ==, KW_UNAVAILABLE);
        g_assert_false(answer.error.maybe_applied);
        g_assert_cmpuint(kw_simulated_calls(bed.rows) - before, ==, 2 + of->writes);
        g_assert_cmpint(kw_store_last_doubt_ns(bed.sync.store) > 0, ==, of->doubt);
        order_bed_free(&bed);
    }
}

/* A write-back that was given up cannot replace a later put when it is applied. */
KW_TEST(test_late, "/order/both/late")
{
    static const plan late = {.write = KW_FATE_LATE};
    order_bed bed = bed_with("f:a=1@10", "f:a=2@11");
    order_answer answer = {0};
    kw_get get = get_of_both();
    kw_simulated_set_fate(bed.rows, follow, (void *)&late);
    kw_store_handle_get(bed.sync.handle, &get, order_on_rows, &answer);
    order_await(&bed, &answer);
    kw_simulated_set_fate(bed.rows, NULL, NULL);
    fill(&bed, "old", "r", "f:a=3@12");
    kw_simulated_apply_late(bed.rows);
    order_assert_row(&bed, "old", "r", "f:a=3@12 f:a=2@11 f:a=1@10");
    order_bed_free(&bed);
}

/* The answer waits for the write-back. */
KW_TEST(test_held, "/order/both/held")
{
    static const plan held = {.write = KW_FATE_HELD};
    order_bed bed = bed_with("f:a=1@10 f:b=2@11", "f:a=2@11 f:b=1@10");
    order_answer answer = {0};
    kw_get get = get_of_both();
    kw_simulated_set_fate(bed.rows, follow, (void *)&held);
    kw_store_handle_get(bed.sync.handle, &get, order_on_rows, &answer);
    for (size_t left = 2; left > 0; left--) {
        order_run(&bed);
        g_assert_false(answer.done);
        g_assert_cmpuint(kw_simulated_held(bed.rows), ==, left);
        kw_simulated_release(bed.rows);
    }
    order_await(&bed, &answer);
    assert_answer(&answer, "f:a=2@11 f:b=2@11");
    order_bed_free(&bed);
}

/* --- the clock ---------------------------------------------------------------------------------- */

/* The answer waits until the clock has passed what was read, also a removal. */
KW_TEST(test_clock, "/order/both/clock")
{
    static const char *const newest[] = {"f:a=1@2003", "f:kw:r=2002@2003"};
    for (size_t i = 0; i < G_N_ELEMENTS(newest); i++) {
        order_bed bed = bed_with("f:a=1@10", newest[i]);
        order_answer answer = {0};
        kw_get get = get_of_both();
        kw_store_handle_get(bed.sync.handle, &get, order_on_rows, &answer);
        kw_simulated_set_time_ms(bed.rows, 2002, 2004);
        order_run(&bed);
        g_assert_false(answer.done);
        kw_simulated_set_time_ms(bed.rows, 2003, 2004);
        order_await(&bed, &answer);
        assert_answer(&answer, i == 0 ? "f:a=1@2003" : "");
        order_bed_free(&bed);
    }
}

KW_TEST(test_clock_unknown, "/order/both/clock unknown")
{
    order_bed bed = bed_with("f:a=1@10", "f:a=1@10");
    order_answer answer = {0};
    kw_get get = get_of_both();
    kw_simulated_set_time_unknown(bed.rows);
    get.deadline = kw_deadline_in_ms(20);
    kw_store_handle_get(bed.sync.handle, &get, order_on_rows, &answer);
    order_await(&bed, &answer);
    g_assert_cmpint(answer.error.code, ==, KW_TIMEOUT);
    order_bed_free(&bed);
}

/* --- several gets ------------------------------------------------------------------------------- */

/* Three records; the second one has one row only. */
KW_TEST(test_many, "/order/both/many")
{
    static const kw_row_target others[] = {
        {.table = {(const uint8_t *)"new", 3}, .row = {(const uint8_t *)"n0", 2}},
        {.table = {(const uint8_t *)"new", 3}, .row = {(const uint8_t *)"n2", 2}}};
    static const char *const rows[] = {"r0", "r1", "r2"}, *const answers[] = {"f:a=2@11", "f:a=5@10", ""};
    order_bed bed = bed_with("", "");
    kw_get gets[3];
    const kw_get *list[3];
    fill(&bed, "old", "r0", "f:a=1@10");
    fill(&bed, "new", "n0", "f:a=2@11");
    fill(&bed, "old", "r1", "f:a=5@10");
    fill(&bed, "old", "r2", "f:a=1@10");
    fill(&bed, "new", "n2", "f:kw:r=11@12");
    for (size_t i = 0; i < 3; i++) {
        gets[i] = get_of_both();
        gets[i].row = kw_bytes_of_text(rows[i]);
        gets[i].other = i == 1 ? NULL : &others[i / 2];
        list[i] = &gets[i];
    }
    kw_rows *got = kw_sync_get_many(&bed.sync, list, 3, NULL);
    for (size_t i = 0; i < 3; i++) {
        g_autofree char *text = order_print(&got->rows[i]);
        g_assert_cmpstr(text, ==, answers[i]);
        g_assert_true(kw_bytes_equal(got->rows[i].key, gets[i].row));
    }
    kw_rows_free(got);
    order_assert_row(&bed, "old", "r0", "f:a=2@11 f:a=1@10");
    order_assert_row(&bed, "old", "r2", "f:kw:r=11@12");
    order_bed_free(&bed);
}

/* The limit is for the merged rows, which are larger than each of the two. */
static void
test_limit(size_t max_bytes, const kw_omission *expected, size_t bytes)
{
    order_bed bed = bed_with("f:a=12345678@10", "f:b=12345678@10"); /* 10 bytes each, merged 19 */
    kw_get get = get_of_both(), small = get;
    const kw_get *list[] = {&get, &get, &small};
    small.row = KW_BYTES_LITERAL("absent");
    small.other = NULL;
    get.max_bytes = max_bytes;
    kw_rows *got = kw_sync_get_many(&bed.sync, list, 3, NULL);
    g_assert_cmpuint(got->bytes, ==, bytes);
    for (size_t i = 0; i < 3; i++)
        g_assert_cmpint(got->rows[i].omitted, ==, expected[i]);
    kw_rows_free(got);
    order_bed_free(&bed);
}

/* After a row that does not fit with those before it, no other one is returned, even if it fits. */
KW_TEST(test_limits, "/order/both/limit")
{
    const kw_omission none[] = {KW_OMITTED_NOT, KW_OMITTED_NOT, KW_OMITTED_NOT};
    const kw_omission second[] = {KW_OMITTED_NOT, KW_OMITTED_LIMIT_REACHED, KW_OMITTED_LIMIT_REACHED};
    const kw_omission large[] = {KW_OMITTED_TOO_LARGE, KW_OMITTED_LIMIT_REACHED, KW_OMITTED_LIMIT_REACHED};
    const kw_omission larger[] = {KW_OMITTED_TOO_LARGE, KW_OMITTED_TOO_LARGE, KW_OMITTED_NOT};
    test_limit(0, none, 2 * 19 + 6);
    test_limit(44, none, 2 * 19 + 6);
    test_limit(30, second, 19);
    test_limit(15, large, 0); /* the second one does not fit in the store's reply */
    test_limit(9, larger, 6); /* nor does the first one */
}
