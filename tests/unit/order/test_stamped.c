/* order: stamp: when writes are acknowledged, and the gone cells of removals. */
#include "order_bed.h"

static const kw_ordering stamped = {.regime.order = KW_WRITE_ORDER_STAMP,
                                    .family = {(const uint8_t *)"f", 1}};
static const kw_ordering spaced = {.regime.order = KW_WRITE_ORDER_STAMP,
                                   .family = {(const uint8_t *)"f", 1},
                                   .regime.waits_for_next_ms = true,
                                   .regime.keeps_gone = true};

typedef struct wait_case {
    const kw_ordering *ordering;
    bool removes;
    int64_t acknowledged_ms; /* the store's time at which the write is acknowledged; its stamp is 1000 */
} wait_case;

static const wait_case waits[] = {
    {&stamped, false, 1000}, {&stamped, true, 1001}, {&spaced, false, 1001}, {&spaced, true, 1001}};

static void
test_wait(const wait_case *of, bool many)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_answer answer = {0};
    kw_write writes[2] = {order_put(arena, of->ordering, "r", "a=1"),
                          order_put(arena, of->ordering, "s", "a=1")};
    const kw_write *all[2] = {&writes[0], &writes[1]};
    if (of->removes)
        writes[0] = order_removal(arena, of->ordering, "r", "");
    kw_simulated_set_time_ms(bed.rows, 999, 1000);
    if (many)
        kw_store_handle_write_many(bed.sync.handle, all, 2, answer.written, order_on_many, &answer);
    else
        kw_store_handle_write(bed.sync.handle, all[0], order_on_write, &answer);
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, of->acknowledged_ms - 1, of->acknowledged_ms + 10);
    order_run(&bed);
    g_assert_cmpuint(kw_simulated_calls(bed.rows), ==, many ? 2 : 1);
    g_assert_false(answer.done);
    kw_simulated_set_time_ms(bed.rows, of->acknowledged_ms, of->acknowledged_ms + 10);
    order_await(&bed, &answer);
    g_assert_cmpint(answer.written[0].outcome, ==, KW_OUTCOME_OK);
    order_assert_row(&bed, "old", "r", of->removes ? "f:kw:r=1000@1001" : "f:a=1@1000");
    order_bed_free(&bed);
}

KW_TEST(test_waits, "/order/stamped/waits")
{
    for (size_t i = 0; i < G_N_ELEMENTS(waits); i++) {
        test_wait(&waits[i], false);
        test_wait(&waits[i], true);
    }
}

/* A gone cell expires after `late`, except while a key rule changes. */
KW_TEST(test_gone, "/order/stamped/gone")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_answer answers[2] = {{0}, {0}};
    kw_write expiring = order_removal(arena, &stamped, "r", "a b");
    kw_write kept = order_removal(arena, &spaced, "s", "a b");
    kw_store_handle_write(bed.sync.handle, &expiring, order_on_write, &answers[0]);
    kw_store_handle_write(bed.sync.handle, &kept, order_on_write, &answers[1]);
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, 1001, 1001);
    order_await(&bed, &answers[0]);
    order_await(&bed, &answers[1]);
    kw_simulated_purge(bed.rows);
    order_assert_row(&bed, "old", "r", "f:kw:cf:a=1000@1001 f:kw:cf:b=1000@1001");
    order_assert_row(&bed, "old", "s", "f:kw:cf:a=1000@1001 f:kw:cf:b=1000@1001");
    kw_simulated_set_time_ms(bed.rows, 1002 + LATE_MS, 1002 + LATE_MS);
    order_assert_row(&bed, "old", "r", "");
    order_assert_row(&bed, "old", "s", "f:kw:cf:a=1000@1001 f:kw:cf:b=1000@1001");
    order_bed_free(&bed);
}

static kw_fate
late_puts(void *user, const kw_simulated_call *call)
{
    (void)user;
    return call->write && call->write->kind == KW_WRITE_PUT ? KW_FATE_LATE : KW_FATE_ANSWERED;
}

/* Starts a write. Its stamp is at_ms. */
static void
start_at(order_bed *bed, int64_t at_ms, const kw_write *write, order_answer *answer)
{
    kw_simulated_set_time_ms(bed->rows, at_ms, at_ms);
    kw_store_handle_write(bed->sync.handle, write, order_on_write, answer);
    order_run(bed);
}

/* A put, a removal with a higher stamp, a compaction; then the put is applied, and the gone cell expires. The
 * table must keep its delete markers: the put becomes visible without them. */
static void
test_late_put(int64_t markers_ms, const char *after)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_answer put = {0}, removed = {0};
    kw_write writes[2] = {order_put(arena, &stamped, "r", "a=1"), order_removal(arena, &stamped, "r", "")};
    writes[0].table = writes[1].table = KW_BYTES_LITERAL("kept");
    kw_simulated_create_table(bed.rows, "kept", markers_ms);
    kw_simulated_set_fate(bed.rows, late_puts, NULL);
    start_at(&bed, 1000, &writes[0], &put);
    kw_simulated_set_time_ms(bed.rows, 1001, 1001);
    order_await(&bed, &put);
    g_assert_cmpint(put.written[0].outcome, ==, KW_OUTCOME_UNKNOWN);
    start_at(&bed, 1010, &writes[1], &removed);
    kw_simulated_set_time_ms(bed.rows, 1011, 1011);
    order_await(&bed, &removed);
    kw_simulated_purge(bed.rows);
    kw_simulated_set_time_ms(bed.rows, 1000 + LATE_MS, 1000 + LATE_MS);
    kw_simulated_apply_late(bed.rows);
    order_assert_row(&bed, "kept", "r", markers_ms ? "f:kw:r=1010@1011" : "f:kw:r=1010@1011 f:a=1@1000");
    kw_simulated_set_time_ms(bed.rows, 1012 + LATE_MS, 1012 + LATE_MS);
    order_assert_row(&bed, "kept", "r", after);
    order_bed_free(&bed);
}

/* The simulated compaction keeps a marker exactly as long as HBase does, and drops what it hides meanwhile.
 */
KW_TEST(test_purge, "/order/stamped/purge")
{
    order_bed bed = order_bed_new();
    kw_simulated_create_table(bed.rows, "kept", 500);
    order_write_row(&bed, "kept", "r", "f:a=1@10 f:kw:cf:a=100@101");
    kw_simulated_set_time_ms(bed.rows, 600, 600);
    kw_simulated_purge(bed.rows);
    kw_simulated_put(bed.rows, "kept", "r", "a", "late", 99);
    order_assert_row(&bed, "kept", "r", "f:kw:cf:a=100@101");
    kw_simulated_set_time_ms(bed.rows, 601, 601);
    kw_simulated_purge(bed.rows);
    order_assert_row(&bed, "kept", "r", "f:kw:cf:a=100@101");
    kw_simulated_put(bed.rows, "kept", "r", "a", "later", 98);
    order_assert_row(&bed, "kept", "r", "f:kw:cf:a=100@101 f:a=later@98");
    order_bed_free(&bed);
}

KW_TEST(test_late_puts, "/order/stamped/late puts")
{
    test_late_put(0, "f:a=1@1000");
    test_late_put(2 * LATE_MS, "");
}

/* Two writes of a record never get the same timestamp, even if they begin with different rows. */
KW_TEST(test_rows_in_other_order, "/order/stamped/rows in other order")
{
    static const char *const rows[2][2] = {{"r", "s"}, {"s", "r"}};
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_answer answers[2] = {{0}, {0}};
    kw_write writes[2][2];
    const kw_write *lists[2][2];
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < 2; j++) {
            writes[i][j] = order_put(arena, &spaced, rows[i][j], i ? "a=2" : "a=1");
            writes[i][j].record = 1;
            writes[i][j].step = (uint8_t)(j + 1);
            lists[i][j] = &writes[i][j];
        }
        kw_store_handle_write_many(bed.sync.handle, lists[i], 2, answers[i].written, order_on_many,
                                   &answers[i]);
    }
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, 1002, 1002);
    order_await(&bed, &answers[0]);
    order_await(&bed, &answers[1]);
    order_assert_row(&bed, "old", "r", "f:a=2@1001 f:a=1@1000");
    order_assert_row(&bed, "old", "s", "f:a=2@1001 f:a=1@1000");
    order_bed_free(&bed);
}

/* A timestamp that is taken in one of the rows is taken in all of them. */
KW_TEST(test_taken_in_one_row, "/order/stamped/taken in one row")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_answer answers[3] = {{0}, {0}, {0}};
    kw_write first = order_removal(arena, &spaced, "s", ""), last = order_removal(arena, &spaced, "r", "");
    kw_write rows[2] = {order_put(arena, &spaced, "r", "a=1"), order_put(arena, &spaced, "s", "a=1")};
    const kw_write *list[2] = {&rows[0], &rows[1]};
    rows[0].record = rows[1].record = 1;
    kw_store_handle_write(bed.sync.handle, &first, order_on_write, &answers[0]);
    kw_store_handle_write_many(bed.sync.handle, list, 2, answers[1].written, order_on_many, &answers[1]);
    kw_store_handle_write(bed.sync.handle, &last, order_on_write, &answers[2]);
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, 1003, 1003);
    for (size_t i = 0; i < G_N_ELEMENTS(answers); i++)
        order_await(&bed, &answers[i]);
    order_assert_row(&bed, "old", "r", "f:kw:r=1002@1003");
    order_assert_row(&bed, "old", "s", "f:kw:r=1000@1001 f:a=1@1001");
    order_bed_free(&bed);
}

/* Which of the two rows "r" and "s" of a record the store refuses. */
typedef struct refusals {
    const char *rows;
    unsigned left; /* so many writes are refused */
    unsigned writes[2];
} refusals;

static kw_fate
refuse(void *user, const kw_simulated_call *call)
{
    refusals *of = user;
    if (!call->write)
        return KW_FATE_ANSWERED;
    of->writes[call->row.data[0] == 's']++;
    if (!strchr(of->rows, call->row.data[0]) || of->left == 0)
        return KW_FATE_ANSWERED;
    of->left--;
    return KW_FATE_FAILED;
}

/* A row that the store refuses is written later, if another row of the record can have the write. */
KW_TEST(test_refused_rows, "/order/stamped/refused rows")
{
    static const struct {
        refusals refused;
        bool in_steps; /* row s is written after row r */
        kw_outcome outcomes[2];
        unsigned writes[2];
        const char *r, *s;
    } cases[] = {
        {{"s", 1, {0}}, false, {KW_OUTCOME_OK, KW_OUTCOME_OK}, {1, 2}, "f:a=1@1000", "f:a=1@1000"},
        {{"r", 2, {0}}, false, {KW_OUTCOME_OK, KW_OUTCOME_OK}, {3, 1}, "f:a=1@1000", "f:a=1@1000"},
        {{"s", 1, {0}}, true, {KW_OUTCOME_OK, KW_OUTCOME_OK}, {1, 2}, "f:a=1@1000", "f:a=1@1000"},
        {{"rs", 2, {0}}, false, {KW_OUTCOME_FAILED, KW_OUTCOME_FAILED}, {1, 1}, "", ""},
        {{"r", 1, {0}}, true, {KW_OUTCOME_FAILED, KW_OUTCOME_FAILED}, {1, 0}, "", ""},
        {{"s", 99, {0}}, false, {KW_OUTCOME_OK, KW_OUTCOME_FAILED}, {1, 4}, "f:a=1@1000", ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        order_bed bed = order_bed_new();
        order_answer answer = {0};
        refusals refused = cases[i].refused;
        kw_write rows[2] = {order_put(arena, &stamped, "r", "a=1"), order_put(arena, &stamped, "s", "a=1")};
        const kw_write *list[2] = {&rows[0], &rows[1]};
        rows[0].record = rows[1].record = 1;
        rows[0].step = 1;
        rows[1].step = cases[i].in_steps ? 2 : 1;
        g_test_message("case %zu", i);
        kw_simulated_set_fate(bed.rows, refuse, &refused);
        kw_store_handle_write_many(bed.sync.handle, list, 2, answer.written, order_on_many, &answer);
        order_await(&bed, &answer);
        for (size_t row = 0; row < 2; row++) {
            g_assert_cmpint(answer.written[row].outcome, ==, cases[i].outcomes[row]);
            g_assert_cmpuint(refused.writes[row], ==, cases[i].writes[row]);
        }
        order_assert_row(&bed, "old", "r", cases[i].r);
        order_assert_row(&bed, "old", "s", cases[i].s);
        order_bed_free(&bed);
    }
}

/* While a key rule changes, a put with a timestamp of its caller's leaves a trace with the present time. It
 * is not acknowledged any later, and its caller can read it at once. */
KW_TEST(test_trace, "/order/stamped/trace")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_answer answer = {0}, many = {0}, unspaced = {0}, removed = {0};
    kw_write put = order_put(arena, &spaced, "r", "a=1 b=2"), other = order_put(arena, &spaced, "s", "a=1");
    kw_write without = order_put(arena, &stamped, "t", "a=1"),
             removal = order_removal(arena, &spaced, "r", "b");
    const kw_write *both[2] = {&put, &other};
    put.timestamp = other.timestamp = without.timestamp = removal.timestamp = 5;
    kw_simulated_set_time_ms(bed.rows, 990, 1000);
    kw_store_handle_write(bed.sync.handle, &put, order_on_write, &answer);
    order_await(&bed, &answer);
    order_assert_row(&bed, "old", "r", "f:kw:t=5@1000 f:a=1@5 f:b=2@5");
    kw_simulated_set_time_ms(bed.rows, 1001, 1002);
    kw_store_handle_write_many(bed.sync.handle, both, 2, many.written, order_on_many, &many);
    order_await(&bed, &many);
    order_assert_row(&bed, "old", "s", "f:kw:t=5@1002 f:a=1@5");
    kw_store_handle_write(bed.sync.handle, &without, order_on_write, &unspaced);
    order_await(&bed, &unspaced);
    order_assert_row(&bed, "old", "t", "f:a=1@5");
    kw_store_handle_write(bed.sync.handle, &removal, order_on_write, &removed);
    order_await(&bed, &removed);
    order_assert_row(&bed, "old", "r", "f:kw:t=5@1002 f:kw:t=5@1000 f:a=1@5");
    order_bed_free(&bed);
}

/* Without the time there is no trace, so the put fails. */
KW_TEST(test_trace_without_time, "/order/stamped/trace without time")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_answer answer = {0};
    kw_write put = order_put(arena, &spaced, "r", "a=1");
    put.timestamp = 5;
    put.deadline = kw_deadline_in_ms(50);
    kw_simulated_set_time_unknown(bed.rows);
    kw_store_handle_write(bed.sync.handle, &put, order_on_write, &answer);
    order_await(&bed, &answer);
    g_assert_cmpint(answer.written[0].outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(answer.written[0].error.code, !=, KW_OK);
    order_assert_row(&bed, "old", "r", "");
    order_bed_free(&bed);
}

/* A put with a timestamp ahead of the clock is written when the clock has passed it. So a removal after its
 * answer removes it. */
KW_TEST(test_ahead, "/order/stamped/ahead")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_answer answer = {0}, many = {0}, removed = {0};
    kw_write put = order_put(arena, &stamped, "r", "a=1"), other = order_put(arena, &stamped, "s", "a=1"),
             removal = order_removal(arena, &stamped, "r", "a");
    const kw_write *both[2] = {&put, &other};
    put.timestamp = 1005;
    kw_simulated_set_time_ms(bed.rows, 990, 1000);
    kw_store_handle_write(bed.sync.handle, &put, order_on_write, &answer);
    kw_store_handle_write_many(bed.sync.handle, both, 2, many.written, order_on_many, &many);
    order_run_ms(&bed, 20);
    g_assert_false(answer.done || many.done);
    order_assert_row(&bed, "old", "r", "");
    kw_simulated_set_time_ms(bed.rows, 1005, 1010);
    order_await(&bed, &answer);
    kw_simulated_set_time_ms(bed.rows, 1020, 1030);
    order_await(&bed, &many);
    g_assert_cmpint(answer.written[0].outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpint(many.written[0].outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpint(many.written[1].outcome, ==, KW_OUTCOME_OK);
    order_assert_row(&bed, "old", "r", "f:a=1@1005");
    kw_store_handle_write(bed.sync.handle, &removal, order_on_write, &removed);
    kw_simulated_set_time_ms(bed.rows, 1040, 1050);
    order_await(&bed, &removed);
    g_assert_cmpint(removed.written[0].outcome, ==, KW_OUTCOME_OK);
    order_assert_row(&bed, "old", "r", "f:kw:cf:a=1030@1031");
    order_bed_free(&bed);
}

/* A put whose timestamp the clock passes only after the deadline is refused. The others of the call are
 * written. */
KW_TEST(test_far_ahead, "/order/stamped/far ahead")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_answer many = {0};
    kw_write put = order_put(arena, &stamped, "r", "a=1"), other = order_put(arena, &stamped, "s", "a=1");
    const kw_write *both[2] = {&put, &other};
    put.timestamp = 9000;
    other.timestamp = 5;
    put.deadline = other.deadline = kw_deadline_in_ms(1000);
    kw_simulated_set_time_ms(bed.rows, 990, 1000);
    kw_store_handle_write_many(bed.sync.handle, both, 2, many.written, order_on_many, &many);
    order_await(&bed, &many);
    g_assert_cmpint(many.written[0].outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(many.written[0].error.code, ==, KW_REFUSED);
    g_assert_cmpuint(many.written[0].error.retry_after_ms, >=, 8000);
    g_assert_nonnull(strstr(many.written[0].error.text, "its timestamp, 9000, is "));
    g_assert_cmpint(many.written[1].outcome, ==, KW_OUTCOME_OK);
    order_assert_row(&bed, "old", "r", "");
    order_assert_row(&bed, "old", "s", "f:a=1@5");
    order_bed_free(&bed);
}
