/* Batches of single operations, against thrift2_fake: which operations wait, which are sent in one call, and
 * that each caller gets its own outcome whatever happens to the batch. */
#include "fixture.h"
#include "support/seeded.h"

#include <stdio.h>

#define MANY 60
#define PATIENT_MS 60000

/* Gates of the fake: for the calls that use up the concurrency of a batch queue, and for the batches after
 * them. */
enum { GATE_CLOSED, GATE_BLOCKS, GATE_BATCHES };

typedef struct batch_test {
    fixture on;
    bed_cell_write writes[MANY];
    kw_get gets[MANY];
    char rows[MANY][24];
    char values[MANY][24];
    answer got[MANY];
} batch_test;

/* The first two calls of a kind wait at a gate: they use up the initial concurrency of a batch queue. */
static void
blocking_singles(const fake_call *call, fake_answer *to, void *user)
{
    (void)user;
    bool single = call->method == KW_HB_THBaseService_put || call->method == KW_HB_THBaseService_get ||
                  call->method == KW_HB_THBaseService_deleteSingle;
    if (single && call->nth <= 2)
        to->gate = GATE_BLOCKS;
}

static void
start_test(batch_test *all, fake_script script)
{
    *all = (batch_test){0};
    fixture_start(&all->on, 1, FRAMED_COMPACT);
    thrift2_fake_set_script(all->on.fakes[0], script, NULL);
}

static void
start_put(batch_test *all, size_t at, const char *row, const char *value, int64_t timestamp,
          int64_t timeout_ms)
{
    snprintf(all->rows[at], sizeof all->rows[at], "%s", row);
    snprintf(all->values[at], sizeof all->values[at], "%s", value);
    bed_cell_write_init(&all->writes[at], "t", all->rows[at], "f", all->values[at], timestamp);
    all->writes[at].write.deadline = kw_deadline_in_ms(timeout_ms);
    kw_store_handle_write(all->on.bed.handle, &all->writes[at].write, bed_on_write, &all->got[at]);
}

static void
start_get(batch_test *all, size_t at, const char *row, int64_t timeout_ms)
{
    snprintf(all->rows[at], sizeof all->rows[at], "%s", row);
    all->gets[at] = (kw_get){.table = KW_BYTES_LITERAL("t"),
                             .row = kw_bytes_of_text(all->rows[at]),
                             .deadline = kw_deadline_in_ms(timeout_ms)};
    kw_store_handle_get(all->on.bed.handle, &all->gets[at], bed_on_rows, &all->got[at]);
}

/* Sends two puts, one after the other, that use up the concurrency of the batch queue. Puts started in the
 * same loop iteration after that are sent together once the two are released. */
static void
block_puts(batch_test *all)
{
    thrift2_fake_open_gates(all->on.fakes[0], GATE_CLOSED);
    start_put(all, 0, "block0", "v", 1, PATIENT_MS);
    fixture_await_calls(&all->on, KW_HB_THBaseService_put, 1);
    start_put(all, 1, "block1", "v", 1, PATIENT_MS);
    fixture_await_calls(&all->on, KW_HB_THBaseService_put, 2);
}

static void
block_gets(batch_test *all)
{
    thrift2_fake_open_gates(all->on.fakes[0], GATE_CLOSED);
    start_get(all, 0, "block0", PATIENT_MS);
    fixture_await_calls(&all->on, KW_HB_THBaseService_get, 1);
    start_get(all, 1, "block1", PATIENT_MS);
    fixture_await_calls(&all->on, KW_HB_THBaseService_get, 2);
}

static void
release(batch_test *all)
{
    thrift2_fake_open_gates(all->on.fakes[0], GATE_BLOCKS);
}

static answer
await(batch_test *all, size_t at)
{
    bed_await(&all->on.bed, &all->got[at].done);
    answer got = all->got[at];
    all->got[at] = (answer){0};
    return got;
}

static uint32_t
calls(const batch_test *all, kw_hb_method method)
{
    return thrift2_fake_calls(all->on.fakes[0], method);
}

/* --- batches ---------------------------------------------------------------------------------- */

static void
test_sent_alone(void)
{
    batch_test all;
    start_test(&all, NULL);
    for (int i = 0; i < 3; i++) {
        start_put(&all, 0, "r", "v", 1, PATIENT_MS);
        fixture_ok(await(&all, 0));
        start_get(&all, 1, "r", PATIENT_MS);
        fixture_value(await(&all, 1), "v");
    }
    g_assert_cmpuint(calls(&all, KW_HB_THBaseService_put), ==, 3);
    g_assert_cmpuint(calls(&all, KW_HB_THBaseService_get), ==, 3);
    g_assert_cmpuint(thrift2_fake_all_calls(all.on.fakes[0]), ==, 6);
    fixture_stop(&all.on);
}

static void
test_sent_together(void)
{
    batch_test all;
    start_test(&all, blocking_singles);
    block_puts(&all);
    for (size_t i = 2; i < MANY; i++) {
        char row[24];
        snprintf(row, sizeof row, "r%zu", i);
        start_put(&all, i, row, "v", 1, PATIENT_MS);
    }
    bed_run_loop(&all.on.bed, 40);
    g_assert_cmpuint(calls(&all, KW_HB_THBaseService_putMultiple), ==, 0); /* the concurrency is 2 */
    release(&all);
    for (size_t i = 0; i < MANY; i++) {
        fixture_ok(await(&all, i));
        g_assert_cmpuint(thrift2_fake_writes(all.on.fakes[0], all.rows[i]), ==, 1);
    }
    g_assert_cmpuint(calls(&all, KW_HB_THBaseService_putMultiple), <=, 2);
    g_assert_cmpuint(thrift2_fake_items(all.on.fakes[0], KW_HB_THBaseService_putMultiple), >=, MANY - 4);
    fixture_stop(&all.on);
}

typedef struct spread {
    uint32_t calls;
    uint32_t mixed; /* with rows of more than one region */
} spread;

static void
note_regions(const fake_call *call, fake_answer *to, void *user)
{
    spread *seen = user;
    const kw_hb_THBaseService_putMultiple_args *many = call->args;
    blocking_singles(call, to, NULL);
    if (call->method != KW_HB_THBaseService_putMultiple)
        return;
    seen->calls++;
    for (uint32_t i = 1; i < many->tputs.count; i++) {
        if ((many->tputs.items[i].row.data[0] < 'g') != (many->tputs.items[0].row.data[0] < 'g')) {
            seen->mixed++;
            return;
        }
    }
}

/* Rows of two regions: once the boundaries are known, each call has rows of one region. Wrong boundaries do
 * no harm. */
static void
check_regions(const char *boundary, bool right)
{
    batch_test all;
    spread seen = {0};
    start_test(&all, NULL);
    thrift2_fake_set_boundaries(all.on.fakes[0], &boundary, 1);
    thrift2_fake_set_script(all.on.fakes[0], note_regions, &seen);
    for (int round = 0; round < 3; round++) {
        thrift2_fake_reset_calls(all.on.fakes[0]);
        seen = (spread){0};
        block_puts(&all);
        for (size_t i = 2; i < MANY; i++) {
            char row[24];
            snprintf(row, sizeof row, "%c%d-%zu", i % 2 ? 'a' : 'q', round, i);
            start_put(&all, i, row, "v", 1, PATIENT_MS);
        }
        release(&all);
        for (size_t i = 0; i < MANY; i++)
            fixture_ok(await(&all, i));
        for (size_t i = 2; i < MANY; i++)
            g_assert_cmpuint(thrift2_fake_writes(all.on.fakes[0], all.rows[i]), ==, 1);
        g_assert_cmpuint(seen.calls, >=, 1);
    }
    if (right)
        g_assert_cmpuint(seen.mixed, ==, 0);
    fixture_stop(&all.on);
}

static void
test_regions(void)
{
    check_regions("g", true);
    check_regions("zzz", false);
}

/* --- equal reads ------------------------------------------------------------------------------ */

static void
test_equal_gets_share(void)
{
    batch_test all;
    start_test(&all, blocking_singles);
    thrift2_fake_set_row(all.on.fakes[0], "hot", "v");
    block_gets(&all);
    for (size_t i = 2; i < MANY; i++)
        start_get(&all, i, "hot", PATIENT_MS);
    release(&all);
    for (size_t i = 2; i < MANY; i++)
        fixture_value(await(&all, i), "v");
    uint32_t rows = thrift2_fake_items(all.on.fakes[0], KW_HB_THBaseService_getMultiple);
    g_assert_cmpuint(rows + calls(&all, KW_HB_THBaseService_get) - 2, ==, 1);
    for (size_t i = 0; i < 2; i++) {
        answer got = await(&all, i);
        answer_clear(&got);
    }
    fixture_stop(&all.on);
}

static void
blocking_first_get(const fake_call *call, fake_answer *to, void *user)
{
    (void)user;
    if (call->method == KW_HB_THBaseService_get && call->nth == 1)
        to->gate = GATE_BLOCKS;
}

/* A read that was sent may return an old value, so a later get is sent again. */
static void
test_never_joins_sent_get(void)
{
    batch_test all;
    start_test(&all, blocking_first_get);
    thrift2_fake_set_row(all.on.fakes[0], "r", "old");
    start_get(&all, 0, "r", PATIENT_MS);
    fixture_await_calls(&all.on, KW_HB_THBaseService_get, 1);
    start_get(&all, 1, "r", PATIENT_MS);
    fixture_value(await(&all, 1), "old");
    g_assert_cmpuint(calls(&all, KW_HB_THBaseService_get), ==, 2);
    start_put(&all, 2, "r", "new", KW_TIMESTAMP_NONE - 1, PATIENT_MS);
    fixture_ok(await(&all, 2));
    for (size_t i = 3; i < MANY; i++)
        start_get(&all, i, "r", PATIENT_MS);
    for (size_t i = 3; i < MANY; i++)
        fixture_value(await(&all, i), "new");
    g_assert_false(all.got[0].done);
    release(&all);
    fixture_value(await(&all, 0), "old");
    fixture_stop(&all.on);
}

/* Gets with other columns, versions or times are not equal. */
static void
test_unequal_gets(void)
{
    batch_test all;
    start_test(&all, blocking_singles);
    thrift2_fake_set_row(all.on.fakes[0], "r", "v");
    static const kw_column column = {.family = {.data = (const uint8_t *)"f", .size = 1},
                                     .whole_family = true};
    block_gets(&all);
    for (size_t i = 2; i < 6; i++) {
        all.gets[i] = (kw_get){.table = KW_BYTES_LITERAL("t"),
                               .row = KW_BYTES_LITERAL("r"),
                               .deadline = kw_deadline_in_ms(PATIENT_MS)};
        all.gets[i].columns = &column;
        all.gets[i].columns_count = i == 2;
        all.gets[i].max_versions = i == 3 ? 3 : 0;
        all.gets[i].time_to = i == 4 ? INT64_MAX : 0;
        kw_store_handle_get(all.on.bed.handle, &all.gets[i], bed_on_rows, &all.got[i]);
    }
    release(&all);
    for (size_t i = 0; i < 6; i++) {
        answer got = await(&all, i);
        answer_clear(&got);
    }
    g_assert_cmpuint(thrift2_fake_items(all.on.fakes[0], KW_HB_THBaseService_getMultiple) +
                         calls(&all, KW_HB_THBaseService_get),
                     ==, 6);
    fixture_stop(&all.on);
}

/* The get in the batch queue times out: the others that share it still get their answer. */
static void
test_first_waiter_times_out(void)
{
    batch_test all;
    start_test(&all, blocking_singles);
    thrift2_fake_set_row(all.on.fakes[0], "hot", "v");
    block_gets(&all);
    start_get(&all, 2, "hot", 20);
    for (size_t i = 3; i < 10; i++)
        start_get(&all, i, "hot", PATIENT_MS);
    fixture_failed(await(&all, 2), 0, KW_TIMEOUT);
    release(&all);
    for (size_t i = 3; i < 10; i++)
        fixture_value(await(&all, i), "v");
    for (size_t i = 0; i < 2; i++) {
        answer got = await(&all, i);
        answer_clear(&got);
    }
    fixture_stop(&all.on);
}

/* --- outcomes --------------------------------------------------------------------------------- */

static void
bad_rows(const fake_call *call, fake_answer *to, void *user)
{
    blocking_singles(call, to, user);
    const kw_hb_THBaseService_putMultiple_args *many = call->args;
    const kw_hb_THBaseService_put_args *one = call->args;
    bool bad = call->method == KW_HB_THBaseService_put && one->tput->row.data[0] == 'x';
    for (uint32_t i = 0; call->method == KW_HB_THBaseService_putMultiple && i < many->tputs.count; i++)
        bad = bad || many->tputs.items[i].row.data[0] == 'x';
    if (bad)
        to->result = fake_io_error(call,
                                   "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: Column "
                                   "family f does not exist in region x\n\tat y",
                                   call->method == KW_HB_THBaseService_putMultiple);
}

static void
test_only_the_bad_put_fails(void)
{
    batch_test all;
    start_test(&all, bad_rows);
    block_puts(&all);
    for (size_t i = 2; i < MANY; i++) {
        char row[24];
        snprintf(row, sizeof row, "%s%zu", i % 20 == 7 ? "x" : "r", i);
        start_put(&all, i, row, "v", 1, PATIENT_MS);
    }
    release(&all);
    for (size_t i = 0; i < MANY; i++) {
        if (all.rows[i][0] == 'x')
            fixture_failed(await(&all, i), KW_OUTCOME_FAILED, KW_INVALID);
        else
            fixture_ok(await(&all, i));
    }
    fixture_stop(&all.on);
}

static void
bad_gets(const fake_call *call, fake_answer *to, void *user)
{
    blocking_singles(call, to, user);
    const kw_hb_THBaseService_getMultiple_args *many = call->args;
    bool bad = false;
    for (uint32_t i = 0; call->method == KW_HB_THBaseService_getMultiple && i < many->tgets.count; i++)
        bad = bad || many->tgets.items[i].row.data[0] == 'x';
    if (bad)
        to->result = fake_io_error(call, "java.io.IOException: no", false);
}

static void
test_only_the_bad_get_fails(void)
{
    batch_test all;
    start_test(&all, bad_gets);
    thrift2_fake_set_row(all.on.fakes[0], "r", "v");
    thrift2_fake_set_row(all.on.fakes[0], "s", "w");
    block_gets(&all);
    for (size_t i = 2; i < 20; i++)
        start_get(&all, i, i == 9 ? "x" : i % 2 ? "r" : "s", PATIENT_MS);
    release(&all);
    for (size_t i = 2; i < 20; i++) {
        if (i == 9)
            fixture_failed(await(&all, i), 0, KW_REFUSED);
        else
            fixture_value(await(&all, i), i % 2 ? "v" : "w");
    }
    for (size_t i = 0; i < 2; i++) {
        answer got = await(&all, i);
        answer_clear(&got);
    }
    fixture_stop(&all.on);
}

static void
close_under_first_batch(const fake_call *call, fake_answer *to, void *user)
{
    blocking_singles(call, to, user);
    bool batch =
        call->method == KW_HB_THBaseService_putMultiple || call->method == KW_HB_THBaseService_getMultiple;
    if (batch && call->nth == 1)
        to->kind = FAKE_CLOSE;
}

/* The connection is lost during a batch: stamped writes and reads are sent again. */
static void
test_batch_lost(void)
{
    batch_test all;
    start_test(&all, close_under_first_batch);
    thrift2_fake_set_row(all.on.fakes[0], "r", "v");
    block_puts(&all);
    for (size_t i = 2; i < 30; i++) {
        char row[24];
        snprintf(row, sizeof row, "p%zu", i);
        start_put(&all, i, row, "v", 1, PATIENT_MS);
    }
    release(&all);
    for (size_t i = 0; i < 30; i++) {
        fixture_ok(await(&all, i));
        g_assert_cmpuint(thrift2_fake_writes(all.on.fakes[0], all.rows[i]), >=, 1);
    }
    block_gets(&all);
    for (size_t i = 2; i < 10; i++)
        start_get(&all, i, i % 2 ? "r" : "p4", PATIENT_MS);
    release(&all);
    for (size_t i = 2; i < 10; i++)
        fixture_value(await(&all, i), "v");
    for (size_t i = 0; i < 2; i++) {
        answer got = await(&all, i);
        answer_clear(&got);
    }
    fixture_stop(&all.on);
}

static void
blocking_batches(const fake_call *call, fake_answer *to, void *user)
{
    blocking_singles(call, to, user);
    if (call->method == KW_HB_THBaseService_putMultiple)
        to->gate = GATE_BATCHES;
}

/* False: the machine was so slow that the put with the short deadline was not sent in time. */
static bool
check_deadlines(int64_t time_to_send_ms)
{
    batch_test all;
    start_test(&all, blocking_batches);
    block_puts(&all);
    for (size_t i = 2; i < 12; i++) {
        char row[24];
        snprintf(row, sizeof row, "r%zu", i);
        start_put(&all, i, row, "v", 1, i == 4 ? 30 : i == 5 ? time_to_send_ms : PATIENT_MS);
    }
    fixture_failed(await(&all, 4), KW_OUTCOME_FAILED, KW_TIMEOUT);
    g_assert_false(all.got[0].done);
    release(&all);
    answer timed_out = await(&all, 5);
    bool sent = timed_out.outcome == KW_OUTCOME_UNKNOWN;
    fixture_failed(timed_out, sent ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED, KW_TIMEOUT);
    g_assert_false(all.got[6].done);
    thrift2_fake_open_gates(all.on.fakes[0], GATE_BATCHES);
    for (size_t i = 0; i < 12; i++) {
        if (i != 4 && i != 5)
            fixture_ok(await(&all, i));
    }
    g_assert_cmpuint(thrift2_fake_writes(all.on.fakes[0], "r4"), ==, 0);
    g_assert_cmpuint(thrift2_fake_writes(all.on.fakes[0], "r5"), ==, sent ? 1 : 0);
    fixture_stop(&all.on);
    return sent;
}

/* An operation with a short deadline times out in time, in the queue (not applied) and in a batch (unknown),
 * without an effect on the others. */
static void
test_deadlines(void)
{
    for (int64_t time_to_send_ms = 1000; !check_deadlines(time_to_send_ms);)
        time_to_send_ms *= 2;
}

/* A write and the time of its answer. */
typedef struct timed_answer {
    answer got;
    uint64_t at_ns;
} timed_answer;

static void
on_timed_write(void *user, kw_outcome outcome, const kw_error *error)
{
    timed_answer *timed = user;
    timed->at_ns = kw_clock_mono_ns();
    bed_on_write(&timed->got, outcome, error);
}

static void
blocking_gets(const fake_call *call, fake_answer *to, void *user)
{
    (void)user;
    if (call->method == KW_HB_THBaseService_get)
        to->gate = GATE_BLOCKS;
}

/* All channels are busy with gets, and the concurrency of the batch queue is used up by two puts that time
 * out soon. The next two puts are then sent together and wait for a channel. Returns how late the one with
 * the shorter deadline is answered. */
static int64_t
lateness_ns(void)
{
    batch_test all;
    timed_answer timed = {0};
    start_test(&all, blocking_gets);
    block_gets(&all);
    start_put(&all, 2, "r2", "v", 1, 20);
    start_put(&all, 3, "r3", "v", 1, 20);
    bed_cell_write_init(&all.writes[4], "t", "r4", "f", "v", 1);
    all.writes[4].write.deadline = kw_deadline_in_ms(100);
    kw_store_handle_write(all.on.bed.handle, &all.writes[4].write, on_timed_write, &timed);
    start_put(&all, 5, "r5", "v", 1, 190);
    bed_await(&all.on.bed, &timed.got.done);
    int64_t late_ns = (int64_t)(timed.at_ns - all.writes[4].write.deadline);
    g_assert_cmpint(timed.got.error.code, !=, KW_OK);
    release(&all);
    for (size_t i = 0; i < 6; i++) {
        if (i != 4) {
            answer got = await(&all, i);
            answer_clear(&got);
        }
    }
    fixture_stop(&all.on);
    return late_ns;
}

/* A put in a batch is answered at its own deadline. The test is repeated if the machine was too slow. */
static void
test_deadline_in_batch(void)
{
    int64_t late_ns = lateness_ns();
    for (int tries = 1; tries < 50 && late_ns > 20000000; tries++)
        late_ns = MIN(late_ns, lateness_ns());
    g_test_message("answered %.1f ms after the deadline", (double)late_ns / 1e6);
    g_assert_cmpint(late_ns, <=, 20000000);
}

static void
test_close(void)
{
    batch_test all;
    start_test(&all, blocking_singles);
    block_puts(&all);
    for (size_t i = 2; i < 20; i++)
        start_put(&all, i, i % 3 ? "same" : "other", "v", i % 4 ? 1 : UNSTAMPED, PATIENT_MS);
    for (size_t i = 20; i < 30; i++)
        start_get(&all, i, "hot", PATIENT_MS);
    bed_close(&all.on.bed);
    for (size_t i = 0; i < 30; i++) {
        g_assert_true(all.got[i].done);
        g_assert_cmpint(all.got[i].error.code, ==, KW_UNAVAILABLE);
        answer_clear(&all.got[i]);
    }
    thrift2_fake_stop(all.on.fakes[0]);
}

/* --- order ------------------------------------------------------------------------------------ */

/* Writes to one row arrive in the order in which they were started, whichever batch queue they are in and
 * however long each takes. All have the same timestamp, so the last to arrive is visible. */
static void
test_order(void)
{
    batch_test all;
    start_test(&all, blocking_singles);
    block_puts(&all);
    for (size_t i = 2; i < MANY; i++) {
        char value[24], row[24];
        snprintf(value, sizeof value, "v%zu", i);
        snprintf(row, sizeof row, "r%zu", i % 3);
        start_put(&all, i, row, value, i % 7 == 5 ? UNSTAMPED : KW_TIMESTAMP_NONE - 1, PATIENT_MS);
    }
    release(&all);
    for (size_t i = 0; i < MANY; i++)
        fixture_ok(await(&all, i));
    for (size_t i = MANY - 3; i < MANY; i++) {
        answer got = fixture_get(&all.on, all.rows[i], PATIENT_MS);
        if ((i % 7) != 5)
            fixture_value(got, all.values[i]);
        else
            answer_clear(&got);
    }
    fixture_stop(&all.on);
}

/* Some calls are late, some are lost, some fail temporarily. A read that starts after a write was
 * acknowledged returns this value or a newer one. */
static void
inject_failures(const fake_call *call, fake_answer *to, void *user)
{
    GRand *random = user;
    switch (g_rand_int_range(random, 0, 12)) {
    case 0:
        to->delay_ms = g_rand_int_range(random, 1, 20);
        return;
    case 1:
        if (call->nth % 5 == 0)
            to->kind = FAKE_CLOSE;
        return;
    case 2:
        if (call->method != KW_HB_THBaseService_getAllRegionLocations)
            to->result = fake_io_error(call, "busy", true);
        to->do_nothing = to->result != NULL;
        return;
    default:
        return;
    }
}

#define ROWS 5

typedef struct history {
    batch_test all;
    size_t row_of[MANY];
    size_t started[MANY]; /* puts: the value; gets: the newest acknowledged value before */
    bool is_get[MANY];
    size_t acknowledged[ROWS];
    size_t newest[ROWS];
} history;

static void
judge(history *seen, size_t at)
{
    answer got = seen->all.got[at];
    size_t row = seen->row_of[at];
    seen->all.got[at] = (answer){0};
    if (got.error.code == KW_OK && !seen->is_get[at]) {
        seen->acknowledged[row] = MAX(seen->acknowledged[row], seen->started[at]);
    } else if (got.error.code == KW_OK) {
        size_t value = 0;
        if (got.rows->rows[0].cells_count)
            value = (size_t)g_ascii_strtoull((const char *)got.rows->rows[0].cells[0].value.data, NULL, 10);
        g_assert_cmpuint(value, >=, seen->started[at]);
        g_assert_cmpuint(value, <=, seen->newest[row]);
    }
    answer_clear(&got);
}

static void
test_history(void)
{
    history *seen = g_new0(history, 1);
    guint32 seed = g_test_rand_int() & 0x7fffffff;
    g_autoptr(GRand) random = g_rand_new_with_seed(seed), trouble = g_rand_new_with_seed(seed + 1);
    g_test_message("seed %u", seed);
    start_test(&seen->all, NULL);
    thrift2_fake_set_script(seen->all.on.fakes[0], inject_failures, trouble);
    for (size_t step = 1; step <= 1500; step++) {
        size_t at = step % MANY, row = (size_t)g_rand_int_range(random, 0, ROWS);
        char name[24], value[24];
        if (step > MANY) {
            bed_await(&seen->all.on.bed, &seen->all.got[at].done);
            judge(seen, at);
        }
        for (size_t i = 0; i < MANY; i++) {
            if (seen->all.got[i].done && !seen->is_get[i])
                seen->acknowledged[seen->row_of[i]] =
                    MAX(seen->acknowledged[seen->row_of[i]],
                        seen->all.got[i].error.code == KW_OK ? seen->started[i] : 0);
        }
        snprintf(name, sizeof name, "row%zu", row);
        snprintf(value, sizeof value, "%zu.", step);
        seen->row_of[at] = row;
        seen->is_get[at] = g_rand_boolean(random);
        seen->started[at] = seen->is_get[at] ? seen->acknowledged[row] : step;
        if (seen->is_get[at]) {
            start_get(&seen->all, at, name, 60000);
        } else {
            seen->newest[row] = step;
            start_put(&seen->all, at, name, value, (int64_t)step, 60000);
        }
        if (g_rand_int_range(random, 0, 4) == 0)
            bed_run_loop(&seen->all.on.bed, g_rand_int_range(random, 1, 4));
    }
    for (size_t at = 0; at < MANY; at++) {
        bed_await(&seen->all.on.bed, &seen->all.got[at].done);
        judge(seen, at);
    }
    fixture_stop(&seen->all.on);
    g_free(seen);
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/hbase/coalesce/sent-alone", test_sent_alone);
    g_test_add_func("/hbase/coalesce/sent-together", test_sent_together);
    g_test_add_func("/hbase/coalesce/regions", test_regions);
    g_test_add_func("/hbase/coalesce/equal-gets-share", test_equal_gets_share);
    g_test_add_func("/hbase/coalesce/never-joins-sent-get", test_never_joins_sent_get);
    g_test_add_func("/hbase/coalesce/unequal-gets", test_unequal_gets);
    g_test_add_func("/hbase/coalesce/first-waiter-times-out", test_first_waiter_times_out);
    g_test_add_func("/hbase/coalesce/only-the-bad-put-fails", test_only_the_bad_put_fails);
    g_test_add_func("/hbase/coalesce/only-the-bad-get-fails", test_only_the_bad_get_fails);
    g_test_add_func("/hbase/coalesce/batch-lost", test_batch_lost);
    g_test_add_func("/hbase/coalesce/deadlines", test_deadlines);
    g_test_add_func("/hbase/coalesce/deadline-in-batch", test_deadline_in_batch);
    g_test_add_func("/hbase/coalesce/close", test_close);
    g_test_add_func("/hbase/coalesce/order", test_order);
    g_test_add_func("/hbase/coalesce/history", test_history);
    return g_test_run();
}
