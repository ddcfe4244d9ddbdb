/* Multi-writes and multi-gets against thrift2_fake: each write has its own outcome, calls are limited by
 * bytes, and writes to one row keep their order. */
#include "fixture.h"

#include <stdatomic.h>
#include <stdio.h>

#define MANY 200

typedef struct batch {
    bed_cell_write writes[MANY];
    char rows[MANY][16];
    const kw_write *pointers[MANY];
    kw_written results[MANY];
    size_t count;
} batch;

/* Puts with a timestamp to the rows r0, r1, ... */
static void
batch_init(batch *all, size_t count)
{
    all->count = count;
    for (size_t i = 0; i < count; i++) {
        snprintf(all->rows[i], sizeof all->rows[i], "r%zu", i);
        bed_cell_write_init(&all->writes[i], "t", all->rows[i], "f", "v", 5);
        all->writes[i].write.deadline = kw_deadline_in_ms(60000);
        all->pointers[i] = &all->writes[i].write;
        all->results[i].outcome = (kw_outcome)99;
    }
}

static void
run_batch(fixture *on, batch *all)
{
    bool done = false;
    kw_store_handle_write_many(on->bed.handle, all->pointers, all->count, all->results, bed_on_done, &done);
    g_assert_false(done);
    bed_await(&on->bed, &done);
}

static uint32_t
calls(const fixture *on, kw_hb_method method)
{
    return thrift2_fake_calls(on->fakes[0], method);
}

/* As HBase does: puts to family "bad" fail the whole call, but the others are applied. */
static void
bad_family(const fake_call *call, fake_answer *to, void *user)
{
    (void)user;
    const kw_hb_THBaseService_putMultiple_args *many = call->args;
    const kw_hb_THBaseService_put_args *one = call->args;
    bool bad = call->method == KW_HB_THBaseService_put &&
               kw_bytes_equal(one->tput->columnValues.items[0].family, KW_BYTES_LITERAL("bad"));
    for (uint32_t i = 0; call->method == KW_HB_THBaseService_putMultiple && i < many->tputs.count; i++)
        bad =
            bad || kw_bytes_equal(many->tputs.items[i].columnValues.items[0].family, KW_BYTES_LITERAL("bad"));
    if (bad)
        to->result =
            fake_io_error(call,
                          "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: Column family "
                          "bad does not exist in region x\n\tat y",
                          call->method == KW_HB_THBaseService_putMultiple);
}

KW_TEST(test_all_good, "/hbase/many/all-good")
{
    for (size_t form = 0; form < G_N_ELEMENTS(fixture_forms); form++) {
        fixture on;
        batch all;
        fixture_start(&on, 1, fixture_forms[form]);
        batch_init(&all, MANY);
        run_batch(&on, &all);
        for (size_t i = 0; i < MANY; i++) {
            g_assert_cmpint(all.results[i].outcome, ==, KW_OUTCOME_OK);
            g_assert_cmpuint(thrift2_fake_writes(on.fakes[0], all.rows[i]), ==, 1);
        }
        g_assert_cmpuint(calls(&on, KW_HB_THBaseService_putMultiple), ==, 1);
        g_assert_cmpuint(calls(&on, KW_HB_THBaseService_put), ==, 0);
        fixture_stop(&on);
    }
}

KW_TEST(test_one_bad, "/hbase/many/one-bad")
{
    fixture on;
    batch all;
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_script(on.fakes[0], bad_family, NULL);
    batch_init(&all, MANY);
    all.writes[17].cell.family = KW_BYTES_LITERAL("bad");
    all.writes[150].cell.family = KW_BYTES_LITERAL("bad");
    run_batch(&on, &all);
    for (size_t i = 0; i < MANY; i++) {
        bool bad = i == 17 || i == 150;
        g_assert_cmpint(all.results[i].outcome, ==, bad ? KW_OUTCOME_FAILED : KW_OUTCOME_OK);
        g_assert_cmpint(all.results[i].error.code, ==, bad ? KW_INVALID : KW_OK);
        if (bad)
            g_assert_nonnull(strstr(all.results[i].error.text, "'bad'"));
        else
            g_assert_cmpuint(thrift2_fake_writes(on.fakes[0], all.rows[i]), >=, 1);
    }
    g_assert_cmpuint(calls(&on, KW_HB_THBaseService_putMultiple) + calls(&on, KW_HB_THBaseService_put), <,
                     40);
    fixture_stop(&on);
}

KW_TEST(test_table_missing, "/hbase/many/table-missing")
{
    fixture on;
    batch all;
    fixture_start(&on, 1, FRAMED_COMPACT);
    fixture_rule rule = {
        .method = KW_HB_THBaseService_putMultiple,
        .count = 1000,
        .io_message = "Failed 200 actions: org.apache.hadoop.hbase.TableNotFoundException: t: 200 times",
        .io_can_retry = true};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    batch_init(&all, MANY);
    run_batch(&on, &all);
    for (size_t i = 0; i < MANY; i++) {
        g_assert_cmpint(all.results[i].outcome, ==, KW_OUTCOME_FAILED);
        g_assert_cmpint(all.results[i].error.code, ==, KW_NOT_FOUND);
    }
    g_assert_cmpuint(calls(&on, KW_HB_THBaseService_putMultiple), ==, 1);
    fixture_stop(&on);
}

/* Unstamped writes are sent alone, so that their outcomes are exact. */
KW_TEST(test_unstamped, "/hbase/many/unstamped")
{
    fixture on;
    batch all;
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_script(on.fakes[0], bad_family, NULL);
    batch_init(&all, 20);
    for (size_t i = 0; i < 20; i++)
        all.writes[i].write.timestamp = KW_TIMESTAMP_NONE;
    all.writes[3].cell.family = KW_BYTES_LITERAL("bad");
    run_batch(&on, &all);
    for (size_t i = 0; i < 20; i++) {
        g_assert_cmpint(all.results[i].outcome, ==, i == 3 ? KW_OUTCOME_FAILED : KW_OUTCOME_OK);
        g_assert_cmpuint(thrift2_fake_writes(on.fakes[0], all.rows[i]), ==, 1);
    }
    g_assert_cmpuint(calls(&on, KW_HB_THBaseService_putMultiple), ==, 0);
    fixture_stop(&on);
}

KW_TEST(test_lost, "/hbase/many/lost")
{
    fixture on;
    batch all;
    fixture_start(&on, 1, FRAMED_COMPACT);
    fixture_rule rule = {
        .method = KW_HB_THBaseService_putMultiple, .count = 1, .answer = {.kind = FAKE_CLOSE}};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    batch_init(&all, MANY);
    run_batch(&on, &all);
    for (size_t i = 0; i < MANY; i++)
        g_assert_cmpint(all.results[i].outcome, ==, KW_OUTCOME_OK);
    rule.count = 1000;
    run_batch(&on, &all);
    for (size_t i = 0; i < MANY; i++) {
        g_assert_cmpint(all.results[i].outcome, ==, KW_OUTCOME_UNKNOWN);
        g_assert_true(all.results[i].error.maybe_applied);
    }
    fixture_stop(&on);
}

/* HBase has applied the good rows of the failed call and does not answer any more. */
static void
fails_then_silent(const fake_call *call, fake_answer *to, void *user)
{
    _Atomic unsigned *seen = user;
    bool put = call->method == KW_HB_THBaseService_put || call->method == KW_HB_THBaseService_putMultiple;
    if (put && atomic_fetch_add(seen, 1) > 0) {
        to->kind = FAKE_SILENCE;
        to->do_nothing = true;
    } else {
        bad_family(call, to, NULL);
    }
}

/* False: the machine was so slow that the deadline passed before the halves were sent. */
static bool
check_halves_too_late(int64_t timeout_ms)
{
    fixture on;
    batch all;
    _Atomic unsigned seen = 0;
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_script(on.fakes[0], fails_then_silent, &seen);
    batch_init(&all, 16);
    for (size_t i = 0; i < all.count; i++)
        all.writes[i].write.deadline = kw_deadline_in_ms(timeout_ms);
    all.writes[2].cell.family = KW_BYTES_LITERAL("bad");
    run_batch(&on, &all);
    bed_run_loop(&on.bed, 100);
    bool halved = atomic_load(&seen) > 1;
    for (size_t i = 0; halved && i < all.count; i++) {
        g_assert_cmpuint(thrift2_fake_writes(on.fakes[0], all.rows[i]), ==, 1);
        g_assert_cmpint(all.results[i].outcome, ==, KW_OUTCOME_UNKNOWN);
        g_assert_cmpint(all.results[i].error.code, ==, KW_TIMEOUT);
        g_assert_true(all.results[i].error.maybe_applied);
    }
    fixture_stop(&on);
    return halved;
}

/* Writes that are not sent again before the deadline may have been applied by the failed call. */
KW_TEST(test_halves_too_late, "/hbase/many/halves-too-late")
{
    for (int64_t timeout_ms = 500; !check_halves_too_late(timeout_ms);)
        timeout_ms *= 2;
}

/* --- limit of the bytes ----------------------------------------------------------------------- */

static void
note_largest(const fake_call *call, fake_answer *to, void *user)
{
    (void)to;
    size_t *largest = user, bytes = 0;
    const kw_hb_THBaseService_putMultiple_args *many = call->args;
    if (call->method != KW_HB_THBaseService_putMultiple)
        return;
    for (uint32_t i = 0; i < many->tputs.count; i++)
        bytes += many->tputs.items[i].columnValues.items[0].value.size;
    *largest = MAX(*largest, bytes);
}

KW_TEST(test_cut_by_bytes, "/hbase/many/cut-by-bytes")
{
    fixture on;
    batch all;
    size_t largest = 0;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    on.bed.tuning.batch_bytes = 300000;
    fixture_open(&on, &settings);
    thrift2_fake_set_script(on.fakes[0], note_largest, &largest);
    g_autofree char *value = g_strnfill(50000, 'x');
    batch_init(&all, 100);
    for (size_t i = 0; i < 100; i++)
        all.writes[i].cell.value = kw_bytes_of_text(value);
    run_batch(&on, &all);
    for (size_t i = 0; i < 100; i++)
        g_assert_cmpint(all.results[i].outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpuint(largest, <=, 300000);
    g_assert_cmpuint(largest, >=, 200000);
    g_assert_cmpuint(calls(&on, KW_HB_THBaseService_putMultiple), ==, 20);
    fixture_stop(&on);
}

/* A write that is larger than a frame does not affect the others. */
KW_TEST(test_one_too_large, "/hbase/many/one-too-large")
{
    fixture on;
    batch all;
    fixture_start(&on, 1, FRAMED_COMPACT);
    g_autofree char *value = g_strnfill(3 * 1024 * 1024, 'x');
    batch_init(&all, 10);
    all.writes[4].cell.value = kw_bytes_of_text(value);
    run_batch(&on, &all);
    for (size_t i = 0; i < 10; i++)
        g_assert_cmpint(all.results[i].outcome, ==, i == 4 ? KW_OUTCOME_FAILED : KW_OUTCOME_OK);
    g_assert_cmpint(all.results[4].error.code, ==, KW_LIMIT);
    fixture_stop(&on);
}

/* --- order ------------------------------------------------------------------------------------ */

KW_TEST(test_same_row, "/hbase/many/same-row")
{
    fixture on;
    batch all;
    fixture_start(&on, 1, FRAMED_COMPACT);
    batch_init(&all, 100);
    char values[100][8];
    for (size_t i = 0; i < 100; i++) {
        snprintf(values[i], sizeof values[i], "%zu", i);
        all.writes[i].write.row = KW_BYTES_LITERAL("same");
        all.writes[i].cell.value = kw_bytes_of_text(values[i]);
        if (i % 10 == 9)
            all.writes[i].write.kind = KW_WRITE_DELETE;
    }
    all.count = 99; /* the last is a put */
    run_batch(&on, &all);
    for (size_t i = 0; i < all.count; i++)
        g_assert_cmpint(all.results[i].outcome, ==, KW_OUTCOME_OK);
    answer got = bed_get(&on.bed, "t", "same", 60000);
    g_assert_true(kw_bytes_equal(got.rows->rows[0].cells[0].value, KW_BYTES_LITERAL("98")));
    answer_clear(&got);
    g_assert_cmpuint(thrift2_fake_writes(on.fakes[0], "same"), ==, 99);
    fixture_stop(&on);
}

/* HBase has applied the second half when the first one is sent again: still the last write wins. */
KW_TEST(test_same_row_halved, "/hbase/many/same-row-halved")
{
    fixture on;
    batch all;
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_script(on.fakes[0], bad_family, NULL);
    batch_init(&all, 64);
    char values[64][8];
    for (size_t i = 0; i < 64; i++) {
        snprintf(values[i], sizeof values[i], "%zu", i);
        all.writes[i].write.row = KW_BYTES_LITERAL("same");
        all.writes[i].cell.value = kw_bytes_of_text(values[i]);
    }
    all.writes[20].cell.family = KW_BYTES_LITERAL("bad");
    run_batch(&on, &all);
    for (size_t i = 0; i < 64; i++)
        g_assert_cmpint(all.results[i].outcome, ==, i == 20 ? KW_OUTCOME_FAILED : KW_OUTCOME_OK);
    answer got = bed_get(&on.bed, "t", "same", 60000);
    g_assert_true(kw_bytes_equal(got.rows->rows[0].cells[0].value, KW_BYTES_LITERAL("63")));
    answer_clear(&got);
    fixture_stop(&on);
}

KW_TEST(test_tables, "/hbase/many/tables")
{
    fixture on;
    batch all;
    fixture_start(&on, 1, FRAMED_COMPACT);
    batch_init(&all, 40);
    for (size_t i = 0; i < 40; i++)
        all.writes[i].write.table = i % 2 ? KW_BYTES_LITERAL("odd") : KW_BYTES_LITERAL("ns:even");
    run_batch(&on, &all);
    for (size_t i = 0; i < 40; i++)
        g_assert_cmpint(all.results[i].outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpuint(calls(&on, KW_HB_THBaseService_putMultiple), ==, 2);
    fixture_stop(&on);
}

/* --- gets ------------------------------------------------------------------------------------- */

static answer
get_many(fixture *on, kw_get *gets, size_t count)
{
    const kw_get *pointers[300];
    answer got = {0};
    for (size_t i = 0; i < count; i++)
        pointers[i] = &gets[i];
    kw_store_handle_get_many(on->bed.handle, pointers, count, bed_on_rows, &got);
    bed_await(&on->bed, &got.done);
    return got;
}

static void
large_answers(const fake_call *call, fake_answer *to, void *user)
{
    (void)user;
    const kw_hb_THBaseService_getMultiple_args *many = call->args;
    if (call->method == KW_HB_THBaseService_getMultiple && many->tgets.count > 20)
        to->frame_bytes = 100 * 1024 * 1024;
}

KW_TEST(test_get_many, "/hbase/many/get-many")
{
    fixture on;
    enum { GETS = 300 };
    kw_get gets[GETS];
    char rows[GETS][16];
    fixture_start(&on, 1, FRAMED_COMPACT);
    for (size_t i = 0; i < GETS; i++) {
        snprintf(rows[i], sizeof rows[i], "r%zu", i);
        if (i % 3)
            thrift2_fake_set_row(on.fakes[0], rows[i], rows[i]);
        gets[i] = (kw_get){.table = KW_BYTES_LITERAL("t"),
                           .row = kw_bytes_of_text(rows[i]),
                           .deadline = kw_deadline_in_ms(60000)};
    }
    for (int round = 0; round < 2; round++) {
        answer got = get_many(&on, gets, GETS);
        g_assert_cmpuint(got.rows->count, ==, GETS);
        for (size_t i = 0; i < GETS; i++) {
            const kw_row *row = &got.rows->rows[i];
            g_assert_true(kw_bytes_equal(row->key, gets[i].row));
            g_assert_cmpuint(row->cells_count, ==, i % 3 ? 1 : 0);
            if (i % 3)
                g_assert_true(kw_bytes_equal(row->cells[0].value, gets[i].row));
        }
        answer_clear(&got);
        thrift2_fake_set_script(on.fakes[0], large_answers, NULL);
    }
    fixture_rule rule = {.method = KW_HB_THBaseService_getMultiple, .count = 1000, .io_message = "t"};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    answer got = get_many(&on, gets, GETS);
    g_assert_cmpint(got.error.code, ==, KW_NOT_FOUND);
    fixture_stop(&on);
}

/* With keys this long, one frame cannot hold a call with all gets. */
KW_TEST(test_get_many_long, "/hbase/many/get-many-long")
{
    fixture on;
    enum { GETS = 128, KEY = 30000 };
    kw_get gets[GETS];
    g_autofree char *keys = g_malloc((gsize)GETS * KEY);
    memset(keys, 'k', (size_t)GETS * KEY);
    fixture_start(&on, 1, FRAMED_COMPACT);
    for (size_t i = 0; i < GETS; i++) {
        memcpy(keys + i * KEY, &i, sizeof i);
        gets[i] = (kw_get){.table = KW_BYTES_LITERAL("t"),
                           .row = kw_bytes_of(keys + i * KEY, KEY),
                           .deadline = kw_deadline_in_ms(60000)};
    }
    answer got = get_many(&on, gets, GETS);
    g_assert_cmpint(got.error.code, ==, KW_OK);
    g_assert_cmpuint(got.rows->count, ==, GETS);
    for (size_t i = 0; i < GETS; i++)
        g_assert_true(kw_bytes_equal(got.rows->rows[i].key, gets[i].row));
    answer_clear(&got);
    fixture_stop(&on);
}
