/* Puts and removals while a table enters or leaves order: stamp: their timestamps, and when they are sent. */
#include "order_bed.h"

#include <string.h>

static const kw_ordering ordering = {.regime.order = KW_WRITE_ORDER_RAISED,
                                     .family = {(const uint8_t *)"f", 1}};

/* Longer than any wait of these tests before its first check of the clock. */
#define RUN_MS (SKEW_MS + 12)

typedef struct plan {
    kw_fate get, write;
    unsigned gets_held; /* so many of the first gets are held */
} plan;

static kw_fate
follow(void *user, const kw_simulated_call *call)
{
    plan *of = user;
    g_assert_true(!call->write || call->write->kind == KW_WRITE_DELETE || call->write->once);
    if (call->write)
        return of->write;
    if (of->gets_held && of->gets_held--)
        return KW_FATE_HELD;
    return of->get;
}

/* --- when and with which timestamp -------------------------------------------------------------- */

typedef struct put_case {
    const char *what;
    int64_t cell_ms, gone_ms; /* in the row before; 0: none. The clock is 1000 to 1004 */
    int64_t stamp_ms;
} put_case;

static const put_case put_cases[] = {
    {"an empty row: the clock", 0, 0, 1004},
    {"an old row: the clock", 900, 0, 1004},
    {"the clock can be at the newest cell", 1004, 0, 1005},
    {"above a cell that is ahead", 1006, 0, 1007},
    {"above a gone cell that is ahead", 900, 1007, 1008},
};

static order_bed
bed_with(const put_case *of)
{
    order_bed bed = order_bed_new();
    if (of->cell_ms)
        kw_simulated_put(bed.rows, "old", "r", "b", "0", of->cell_ms);
    if (of->gone_ms) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        g_autofree char *text =
            g_strdup_printf("f:kw:r=%lld@%lld", (long long)of->gone_ms - 1, (long long)of->gone_ms);
        kw_row gone = order_row(arena, text);
        kw_write fill = {.table = KW_BYTES_LITERAL("old"),
                         .row = KW_BYTES_LITERAL("r"),
                         .cells = gone.cells,
                         .cells_count = 1,
                         .own_timestamps = true,
                         .deadline = KW_DEADLINE_NONE};
        g_assert_cmpint(kw_sync_write(&bed.sync, &fill).outcome, ==, KW_OUTCOME_OK);
    }
    kw_simulated_set_time_ms(bed.rows, 1000, 1004);
    return bed;
}

/* The put is sent when the clock of every region server has passed its timestamp, and then answered. */
KW_TEST(test_put, "/order/raised/put")
{
    for (size_t i = 0; i < G_N_ELEMENTS(put_cases); i++) {
        const put_case *of = &put_cases[i];
        g_autoptr(kw_arena) arena = kw_arena_new();
        g_test_message("%s", of->what);
        order_bed bed = bed_with(of);
        order_answer answer = {0};
        kw_write put = order_put(arena, &ordering, "r", "a=1");
        unsigned before = kw_simulated_calls(bed.rows);
        kw_store_handle_write(bed.sync.handle, &put, order_on_write, &answer);
        order_run(&bed);
        kw_simulated_set_time_ms(bed.rows, of->stamp_ms + SKEW_MS - 1, of->stamp_ms + SKEW_MS + 3);
        order_run_ms(&bed, RUN_MS);
        g_assert_cmpuint(kw_simulated_calls(bed.rows) - before, ==, 1);
        kw_simulated_set_time_ms(bed.rows, of->stamp_ms + SKEW_MS, of->stamp_ms + SKEW_MS + 4);
        order_await(&bed, &answer);
        g_assert_cmpint(answer.written[0].outcome, ==, KW_OUTCOME_OK);
        g_assert_cmpuint(kw_simulated_calls(bed.rows) - before, ==, 2);
        g_autofree char *row = kw_simulated_row(bed.rows, "old", "r");
        g_autofree char *expected = g_strdup_printf("f:a=1@%lld", (long long)of->stamp_ms);
        g_assert_true(strstr(row, expected) != NULL);
        order_bed_free(&bed);
    }
}

/* --- failures ----------------------------------------------------------------------------------- */

typedef struct failure {
    plan fates;
    bool unknown_clock;
    int64_t deadline_ms;
    int64_t cell_ms;
    kw_outcome outcome;
    kw_code code;
    unsigned calls;
    bool doubt;
} failure;

static const failure failures[] = {
    {{.get = KW_FATE_FAILED}, false, 60000, 900, KW_OUTCOME_FAILED, KW_UNAVAILABLE, 1, false},
    {{.write = KW_FATE_FAILED}, false, 60000, 900, KW_OUTCOME_FAILED, KW_UNAVAILABLE, 2, false},
    {{.write = KW_FATE_LOST}, false, 60000, 900, KW_OUTCOME_UNKNOWN, KW_UNAVAILABLE, 2, true},
    {{.write = KW_FATE_LATE}, false, 60000, 900, KW_OUTCOME_UNKNOWN, KW_UNAVAILABLE, 2, true},
    {{0}, true, 20, 900, KW_OUTCOME_FAILED, KW_TIMEOUT, 1, false},
    {{0}, false, 5000, 9000, KW_OUTCOME_FAILED, KW_REFUSED, 1, false}, /* the cell is 8 s ahead */
    {{0}, false, 5000, INT64_MAX - 1, KW_OUTCOME_FAILED, KW_REFUSED, 1, false},
};

KW_TEST(test_failures, "/order/raised/failures")
{
    for (size_t i = 0; i < G_N_ELEMENTS(failures); i++) {
        const failure *of = &failures[i];
        g_autoptr(kw_arena) arena = kw_arena_new();
        const put_case before = {"", of->cell_ms, 0, 0};
        plan fates = of->fates;
        order_bed bed = bed_with(&before);
        order_answer answer = {0};
        kw_write put = order_put(arena, &ordering, "r", "a=1");
        put.deadline = kw_deadline_in_ms(of->deadline_ms);
        kw_simulated_set_fate(bed.rows, follow, &fates);
        if (of->unknown_clock)
            kw_simulated_set_time_unknown(bed.rows);
        kw_store_handle_write(bed.sync.handle, &put, order_on_write, &answer);
        order_run(&bed);
        if (!of->unknown_clock)
            kw_simulated_set_time_ms(bed.rows, 1024, 1028);
        order_await(&bed, &answer);
        const kw_written *written = &answer.written[0];
        g_assert_cmpint(written->outcome, ==, of->outcome);
        g_assert_cmpint(written->error.code, ==, of->code);
        g_assert_cmpint(written->error.maybe_applied, ==, of->outcome == KW_OUTCOME_UNKNOWN);
        g_assert_cmpint(written->error.retry_after_ms > 0, ==, of->code == KW_REFUSED);
        g_assert_cmpuint(kw_simulated_calls(bed.rows), ==, of->calls);
        g_assert_cmpint(kw_store_last_doubt_ns(bed.sync.store) > 0, ==, of->doubt);
        order_bed_free(&bed);
    }
}

/* A put that is applied late does not replace a later put. */
KW_TEST(test_late, "/order/raised/late")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    plan fates = {.write = KW_FATE_LATE};
    order_answer answers[2] = {{0}, {0}};
    kw_write puts[2] = {order_put(arena, &ordering, "r", "a=1"), order_put(arena, &ordering, "r", "a=2")};
    kw_simulated_set_fate(bed.rows, follow, &fates);
    for (size_t i = 0; i < 2; i++) {
        kw_store_handle_write(bed.sync.handle, &puts[i], order_on_write, &answers[i]);
        order_run(&bed);
        kw_simulated_set_time_ms(bed.rows, 1020 + 30 * (int64_t)i, 1020 + 30 * (int64_t)i);
        order_await(&bed, &answers[i]);
        fates.write = KW_FATE_ANSWERED;
    }
    g_assert_cmpint(answers[1].written[0].outcome, ==, KW_OUTCOME_OK);
    kw_simulated_apply_late(bed.rows);
    order_assert_row(&bed, "old", "r", "f:a=2@1020 f:a=1@1000");
    order_bed_free(&bed);
}

/* --- several puts ------------------------------------------------------------------------------- */

/* Puts of one row take effect in their order, whichever is ready first; one that fails delays no other. */
static void
test_order(bool first_fails)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    plan fates = {.gets_held = 1};
    order_answer answers[3] = {{0}, {0}, {0}};
    kw_write puts[3] = {order_put(arena, &ordering, "r", "a=1"), order_put(arena, &ordering, "r", "a=2"),
                        order_put(arena, &ordering, "s", "a=3")};
    if (first_fails)
        puts[0].deadline = kw_deadline_in_ms(15);
    kw_simulated_set_fate(bed.rows, follow, &fates);
    for (size_t i = 0; i < 3; i++)
        kw_store_handle_write(bed.sync.handle, &puts[i], order_on_write, &answers[i]);
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, 1020, 1020);
    order_await(&bed, &answers[2]);
    order_run_ms(&bed, RUN_MS);
    g_assert_false(answers[0].done || answers[1].done);
    kw_simulated_release(bed.rows);
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, 1040, 1040);
    order_await(&bed, &answers[0]);
    order_await(&bed, &answers[1]);
    g_assert_cmpint(answers[0].written[0].outcome, ==, first_fails ? KW_OUTCOME_FAILED : KW_OUTCOME_OK);
    g_assert_cmpint(answers[1].written[0].outcome, ==, KW_OUTCOME_OK);
    g_autofree char *row = kw_simulated_row(bed.rows, "old", "r");
    g_assert_true(g_str_has_prefix(row, "f:a=2@"));
    order_assert_row(&bed, "old", "s", "f:a=3@1000");
    order_bed_free(&bed);
}

KW_TEST(test_orders, "/order/raised/order")
{
    test_order(false);
    test_order(true);
}

/* Each write of a multi-write has its own outcome. */
KW_TEST(test_many, "/order/raised/many")
{
    enum { COUNT = 4 };
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_answer answer = {0};
    kw_write writes[COUNT] = {
        order_put(arena, &ordering, "r", "a=1"), order_put(arena, &ordering, "s", "a=2"),
        order_removal(arena, &ordering, "t", ""), order_put(arena, &ordering, "u", "a=3")};
    const kw_write *list[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        list[i] = &writes[i];
        writes[i].deadline = kw_deadline_in_ms(5000);
    }
    kw_simulated_put(bed.rows, "old", "s", "a", "0", 9000); /* ahead of the clock by more than the deadline */
    kw_simulated_put(bed.rows, "old", "t", "a", "0", 900);
    kw_store_handle_write_many(bed.sync.handle, list, COUNT, answer.written, order_on_many, &answer);
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, 1020, 1020);
    order_await(&bed, &answer);
    for (size_t i = 0; i < COUNT; i++)
        g_assert_cmpint(answer.written[i].outcome, ==, i == 1 ? KW_OUTCOME_FAILED : KW_OUTCOME_OK);
    order_assert_row(&bed, "old", "r", "f:a=1@1000");
    order_assert_row(&bed, "old", "s", "f:a=0@9000");
    order_assert_row(&bed, "old", "t", "");
    order_assert_row(&bed, "old", "u", "f:a=3@1000");
    order_bed_free(&bed);
}

/* --- removals ----------------------------------------------------------------------------------- */

/* A removal deletes up to the newest timestamp, when every later put gets a higher one. */
KW_TEST(test_removal, "/order/raised/removal")
{
    static const char *const columns[] = {"", "a"};
    for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        order_bed bed = order_bed_new();
        order_answer answer = {0};
        kw_write removal = order_removal(arena, &ordering, "r", columns[i]);
        kw_simulated_put(bed.rows, "old", "r", "a", "1", 1002);
        kw_simulated_set_time_ms(bed.rows, 1001, 1003);
        kw_store_handle_write(bed.sync.handle, &removal, order_on_write, &answer);
        order_run(&bed);
        kw_simulated_set_time_ms(bed.rows, 1002 + SKEW_MS, 1005 + SKEW_MS);
        order_run_ms(&bed, RUN_MS);
        g_assert_cmpuint(kw_simulated_calls(bed.rows), ==, 1);
        kw_simulated_set_time_ms(bed.rows, 1003 + SKEW_MS, 1005 + SKEW_MS);
        order_await(&bed, &answer);
        g_assert_cmpint(answer.written[0].outcome, ==, KW_OUTCOME_OK);
        kw_simulated_put(bed.rows, "old", "r", "a", "late", 1002);
        kw_simulated_put(bed.rows, "old", "r", "a", "next", 1003);
        order_assert_row(&bed, "old", "r", "f:a=next@1003");
        order_bed_free(&bed);
    }
}

/* A removal that would have to delete up to a timestamp after its deadline deletes nothing, and reports when
 * to retry. */
KW_TEST(test_removal_far_ahead, "/order/raised/removal far ahead")
{
    for (int raised = 0; raised <= 1; raised++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        const put_case before = {"", 9000, 0, 0};
        const kw_ordering store = {.regime.order = KW_WRITE_ORDER_STORE, .family = {(const uint8_t *)"f", 1}};
        order_bed bed = bed_with(&before);
        order_answer answer = {0};
        kw_write removal = order_removal(arena, raised ? &ordering : &store, "r", "");
        removal.deadline = kw_deadline_in_ms(5000);
        unsigned calls = kw_simulated_calls(bed.rows);
        kw_store_handle_write(bed.sync.handle, &removal, order_on_write, &answer);
        order_await(&bed, &answer);
        const kw_written *written = &answer.written[0];
        g_assert_cmpint(written->outcome, ==, KW_OUTCOME_FAILED);
        g_assert_cmpint(written->error.code, ==, KW_REFUSED);
        g_assert_cmpuint(written->error.retry_after_ms, >=, 8000);
        g_assert_nonnull(strstr(written->error.text, "its timestamp 9000 is "));
        g_assert_nonnull(strstr(written->error.text, "keyway remove --timestamp"));
        g_assert_cmpuint(kw_simulated_calls(bed.rows) - calls, ==, 1);
        order_assert_row(&bed, "old", "r", "f:b=0@9000");
        order_bed_free(&bed);
    }
}

/* A removal deletes the puts of its row that were started before it. */
KW_TEST(test_removal_after_put, "/order/raised/removal after put")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_answer answers[2] = {{0}, {0}};
    kw_write put = order_put(arena, &ordering, "r", "a=1"),
             removal = order_removal(arena, &ordering, "r", "");
    kw_store_handle_write(bed.sync.handle, &put, order_on_write, &answers[0]);
    kw_store_handle_write(bed.sync.handle, &removal, order_on_write, &answers[1]);
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, 1020, 1020);
    order_await(&bed, &answers[0]);
    kw_simulated_set_time_ms(bed.rows, 1021, 1021);
    order_await(&bed, &answers[1]);
    g_assert_cmpint(answers[1].written[0].outcome, ==, KW_OUTCOME_OK);
    order_assert_row(&bed, "old", "r", "");
    order_bed_free(&bed);
}

/* While the clock is unknown, nothing is deleted. */
KW_TEST(test_removal_without_clock, "/order/raised/removal without clock")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_answer answer = {0};
    kw_write removal = order_removal(arena, &ordering, "r", "");
    removal.deadline = kw_deadline_in_ms(2 * SKEW_MS + 20);
    kw_simulated_put(bed.rows, "old", "r", "a", "1", 900);
    kw_simulated_set_time_unknown(bed.rows);
    kw_store_handle_write(bed.sync.handle, &removal, order_on_write, &answer);
    order_await(&bed, &answer);
    g_assert_cmpint(answer.written[0].outcome, ==, KW_OUTCOME_FAILED);
    order_assert_row(&bed, "old", "r", "f:a=1@900");
    order_bed_free(&bed);
}

/* --- gets --------------------------------------------------------------------------------------- */

/* Gone cells hide older cells, and a get waits until the clock has passed what it has read. */
KW_TEST(test_get, "/order/raised/get")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    kw_row stored = order_row(arena, "f:kw:r=900@901 f:a=1@1003 f:b=2@900");
    kw_write fill = {.table = KW_BYTES_LITERAL("old"),
                     .row = KW_BYTES_LITERAL("r"),
                     .cells = stored.cells,
                     .cells_count = stored.cells_count,
                     .own_timestamps = true,
                     .deadline = KW_DEADLINE_NONE};
    kw_get get = {.table = fill.table, .row = fill.row, .deadline = KW_DEADLINE_NONE, .ordering = &ordering};
    order_answer answer = {0};
    g_assert_cmpint(kw_sync_write(&bed.sync, &fill).outcome, ==, KW_OUTCOME_OK);
    kw_simulated_set_time_ms(bed.rows, 1002, 1004);
    kw_store_handle_get(bed.sync.handle, &get, order_on_rows, &answer);
    order_run(&bed);
    g_assert_false(answer.done);
    kw_simulated_set_time_ms(bed.rows, 1003, 1004);
    order_await(&bed, &answer);
    g_autofree char *row = order_print(&answer.rows->rows[0]);
    g_assert_cmpstr(row, ==, "f:a=1@1003");
    kw_rows_free(answer.rows);
    order_bed_free(&bed);
}
