/* Sweeps of gone cells, over the rows of the simulated HBase. */
#include "order_bed.h"

static const kw_ordering ordering = {
    .regime.order = KW_WRITE_ORDER_STAMP, .family = {(const uint8_t *)"f", 1}, .regime.keeps_gone = true};

static const kw_ordering leaving = {.regime.order = KW_WRITE_ORDER_RAISED,
                                    .family = {(const uint8_t *)"f", 1}};

static void
sweep_row_as(order_bed *bed, const kw_ordering *how, const char *row, int64_t until_ms)
{
    kw_row_sweep sweep = {.table = KW_BYTES_LITERAL("old"),
                          .row = kw_bytes_of_text(row),
                          .ordering = how,
                          .until_ms = until_ms};
    order_answer swept = {0};
    kw_store_handle_sweep_rows(bed->sync.handle, &sweep, 1, kw_deadline_in_ms(60000), swept.written,
                               order_on_many, &swept);
    order_await(bed, &swept);
    g_assert_cmpint(swept.written[0].outcome, ==, KW_OUTCOME_OK);
}

static void
sweep_row(order_bed *bed, const char *row, int64_t until_ms)
{
    sweep_row_as(bed, &ordering, row, until_ms);
}

KW_TEST(test_sweep, "/order/sweep/rows")
{
    static const struct {
        const char *before;
        int64_t until_ms;
        const char *after;
    } cases[] = {
        {"f:kw:r=10@11 f:a=1@12", 11, "f:a=1@12"},
        {"f:kw:r=10@11 f:a=1@12", 10, "f:kw:r=10@11 f:a=1@12"},
        {"f:kw:cf:a=10@11 f:kw:cf:b=20@21 f:kw:fg:=10@11 f:c=1@5 g:a=1@11", 20,
         "f:kw:cf:b=20@21 f:c=1@5 g:a=1@11"},
        {"f:kw:g=1@5 f:a=1@5", 20, "f:kw:g=1@5 f:a=1@5"},
        {"f:kw:t=5@20 f:a=1@5", 20, "f:a=1@5"}, /* the trace of a put */
        {"f:kw:t=5@21 f:a=1@5", 20, "f:kw:t=5@21 f:a=1@5"},
        {"", 20, ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        order_bed bed = order_bed_new();
        order_write_row(&bed, "old", "r", cases[i].before);
        sweep_row(&bed, "r", cases[i].until_ms);
        order_assert_row(&bed, "old", "r", cases[i].after);
        sweep_row(&bed, "r", cases[i].until_ms);
        order_assert_row(&bed, "old", "r", cases[i].after);
        order_bed_free(&bed);
    }
}

/* The kw:w of a removed record is removed with its gone cell, unless atomic operations can still need it. */
KW_TEST(test_writer, "/order/sweep/last-write")
{
    static const struct {
        const kw_ordering *how;
        int64_t now_ms;
        const char *before, *after;
    } cases[] = {
        {&leaving, 1000, "f:kw:r=10@11 f:kw:w=10@11", ""},
        {&leaving, 1000, "f:kw:r=10@11 f:kw:w=12@12 f:a=1@12", "f:kw:w=12@12 f:a=1@12"},
        {&leaving, 1000, "f:kw:cf:a=10@11 f:kw:w=10@11 f:b=1@5", "f:kw:w=10@11 f:b=1@5"},
        {&leaving, 1000, "f:kw:r=10@11 f:kw:t=5@9 f:kw:w=10@11", ""},
        {&ordering, 1000, "f:kw:t=5@9 f:kw:w=9@9 f:a=1@5", "f:kw:w=9@9 f:a=1@5"},
        {&ordering, 11 + 2 * LATE_MS + 90000, "f:kw:r=10@11 f:kw:w=10@11", "f:kw:w=10@11"},
        {&ordering, 12 + 2 * LATE_MS + 90000, "f:kw:r=10@11 f:kw:w=10@11", ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        order_bed bed = order_bed_new();
        order_write_row(&bed, "old", "r", cases[i].before);
        kw_simulated_set_time_ms(bed.rows, cases[i].now_ms, cases[i].now_ms);
        sweep_row_as(&bed, cases[i].how, "r", 20);
        order_assert_row(&bed, "old", "r", cases[i].after);
        order_bed_free(&bed);
    }
}

/* A cell that only the gone cell hides does not appear when the gone cell is removed. */
KW_TEST(test_sweep_hidden, "/order/sweep/hidden")
{
    order_bed bed = order_bed_new();
    order_write_row(&bed, "old", "r", "f:kw:r=10@11 f:kw:cf:b=12@13");
    kw_simulated_purge(bed.rows);
    kw_simulated_put(bed.rows, "old", "r", "a", "late", 9);
    kw_simulated_put(bed.rows, "old", "r", "b", "late", 12);
    kw_simulated_put(bed.rows, "old", "r", "c", "kept", 12);
    sweep_row(&bed, "r", 13);
    order_assert_row(&bed, "old", "r", "f:c=kept@12");
    order_bed_free(&bed);
}

static kw_fate
hold_writes(void *user, const kw_simulated_call *call)
{
    bool *holds = user;
    g_assert_true(!*holds || !call->write || (call->write->fenced && call->write->era == 7));
    return *holds && call->write ? KW_FATE_HELD : KW_FATE_ANSWERED;
}

/* A removal that comes between the read and the write of the sweep keeps its gone cell. */
KW_TEST(test_sweep_and_removal, "/order/sweep/during-removal")
{
    order_bed bed = order_bed_new();
    bool holds = true;
    order_answer swept = {0};
    kw_row_sweep sweep = {.table = KW_BYTES_LITERAL("old"),
                          .row = KW_BYTES_LITERAL("r"),
                          .ordering = &ordering,
                          .until_ms = 15,
                          .era = 7};
    order_write_row(&bed, "old", "r", "f:kw:r=10@11");
    kw_simulated_set_fate(bed.rows, hold_writes, &holds);
    kw_store_handle_sweep_rows(bed.sync.handle, &sweep, 1, kw_deadline_in_ms(60000), swept.written,
                               order_on_many, &swept);
    while (kw_simulated_held(bed.rows) == 0)
        order_run(&bed);
    holds = false;
    order_write_row(&bed, "old", "r", "f:kw:r=20@21");
    kw_simulated_release(bed.rows);
    order_await(&bed, &swept);
    g_assert_cmpint(swept.written[0].outcome, ==, KW_OUTCOME_OK);
    g_autofree char *after = kw_simulated_row(bed.rows, "old", "r");
    g_assert_cmpstr(after, ==, "f:kw:r=20@21");
    order_bed_free(&bed);
}

/* A record with so many removed columns that several mutations are needed. */
KW_TEST(test_sweep_large, "/order/sweep/large")
{
    order_bed bed = order_bed_new();
    g_autofree char *name = g_strnfill(20000, 'n');
    for (int i = 0; i < 100; i++) {
        g_autofree char *cells = g_strdup_printf("f:kw:cf:%s%03d=10@11", name, i);
        order_write_row(&bed, "old", "r", cells);
    }
    unsigned calls = kw_simulated_calls(bed.rows);
    sweep_row(&bed, "r", 11);
    order_assert_row(&bed, "old", "r", "");
    g_assert_cmpuint(kw_simulated_calls(bed.rows) - calls, >, 3);
    order_bed_free(&bed);
}

KW_TEST(test_refused, "/order/sweep/refused")
{
    order_bed bed = order_bed_new();
    kw_row_sweep sweep = {.table = KW_BYTES_LITERAL("old"), .row = KW_BYTES_LITERAL("r")};
    order_answer swept = {0};
    kw_store_handle_sweep_rows(bed.sync.handle, &sweep, 1, kw_deadline_in_ms(60000), swept.written,
                               order_on_many, &swept);
    order_await(&bed, &swept);
    g_assert_cmpint(swept.written[0].outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(swept.written[0].error.code, ==, KW_REFUSED);
    order_bed_free(&bed);
}
