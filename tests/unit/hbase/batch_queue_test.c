/* How many calls of a batch queue are in flight, with operations that only count: rows of records with
 * several rows have the same concurrency in all tables, other operations have one for each table. */
#include "fixture.h"
#include "store/hbase/batch/batch_queue.h"
#include "support/seeded.h"

#define OPS 5000
#define PATIENT_MS 60000
#define WAITING 10

/* Batch queues of two tables, one row in each call. */
typedef struct queue_test {
    fixture on;
    kw_hbase_coalescer *coalescer;
    kw_hbase_batch_queue *queues[2];
    size_t started[2], sent[2], answered[2];
    kw_hbase_pending_op ops[OPS]; /* those of both tables */
    size_t ops_count;
} queue_test;

static queue_test *running;

static void
on_send(kw_hbase_batch_queue *queue, kw_hbase_pending_op *const *pending_ops, size_t count)
{
    g_assert_cmpuint(count, ==, 1);
    kw_hbase_pending_op_unwatch(pending_ops[0]);
    running->sent[queue == running->queues[1]]++;
}

static bool
can_have_been_sent(const kw_hbase_pending_op *pending)
{
    (void)pending;
    return false;
}

static void
on_fail(kw_hbase_pending_op *pending, const kw_error *error)
{
    (void)pending;
    (void)error;
}

static const kw_hbase_pending_op_class counting = {
    .send = on_send, .can_have_been_sent = can_have_been_sent, .fail = on_fail};

static queue_test *
start_test(kw_hbase_batch_queue_kind kind)
{
    queue_test *test = running = g_new0(queue_test, 1);
    fixture_start(&test->on, 1, FRAMED_COMPACT);
    test->coalescer = kw_hbase_coalescer_new(test->on.bed.handle, test->on.bed.loop, 8, 1);
    test->queues[0] =
        kw_hbase_coalescer_queue(test->coalescer, kind, KW_BYTES_LITERAL("t"), KW_DURABILITY_DEFAULT);
    test->queues[1] =
        kw_hbase_coalescer_queue(test->coalescer, kind, KW_BYTES_LITERAL("u"), KW_DURABILITY_DEFAULT);
    return test;
}

static void
start_op(queue_test *test, size_t table)
{
    g_assert_cmpuint(test->ops_count, <, OPS);
    kw_hbase_pending_op *pending = &test->ops[test->ops_count++];
    kw_hbase_pending_op_init(pending, &counting, test->coalescer, KW_BYTES_LITERAL("row"),
                             kw_deadline_in_ms(PATIENT_MS));
    pending->queue = test->queues[table];
    pending->bytes = 1;
    test->started[table]++;
    kw_hbase_batch_queue_join(pending);
}

static size_t
in_flight(const queue_test *test, size_t table)
{
    return test->sent[table] - test->answered[table];
}

static void
answer_one(queue_test *test, size_t table)
{
    test->answered[table]++;
    kw_hbase_batch_queue_answered(test->queues[table], 1);
}

/* Keeps operations of the first table waiting, until a higher concurrency than the initial one is tried. */
static void
load_until_three_calls(queue_test *test)
{
    while (in_flight(test, 0) < 3) {
        while (test->started[0] - test->sent[0] < WAITING)
            start_op(test, 0);
        bed_run_loop(&test->on.bed, 1);
        if (in_flight(test, 0) == 2)
            answer_one(test, 0);
    }
}

static void
end_test(queue_test *test)
{
    for (size_t table = 0; table < 2; table++)
        while (test->started[table] > test->answered[table]) {
            if (in_flight(test, table) > 0)
                answer_one(test, table);
            bed_run_loop(&test->on.bed, 0);
        }
    kw_hbase_coalescer_close(test->coalescer, &KW_ERROR_NONE);
    kw_hbase_coalescer_free(test->coalescer);
    fixture_stop(&test->on);
    g_free(test);
}

static size_t
calls_of_the_other_table(kw_hbase_batch_queue_kind kind)
{
    queue_test *test = start_test(kind);
    load_until_three_calls(test);
    for (size_t i = 0; i < WAITING; i++)
        start_op(test, 1);
    bed_run_loop(&test->on.bed, 1);
    size_t calls = in_flight(test, 1);
    end_test(test);
    return calls;
}

/* The tables have the same concurrency, and each counts its own calls. */
static void
test_rows_of_records(void)
{
    g_assert_cmpuint(calls_of_the_other_table(KW_HBASE_BATCH_PUT_ROWS), ==, 3);
}

static void
test_others(void)
{
    g_assert_cmpuint(calls_of_the_other_table(KW_HBASE_BATCH_PUT_ONCE), ==, 2);
    g_assert_cmpuint(calls_of_the_other_table(KW_HBASE_BATCH_GET), ==, 2);
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/hbase/batch-queue/rows-of-records", test_rows_of_records);
    g_test_add_func("/hbase/batch-queue/others", test_others);
    return g_test_run();
}
