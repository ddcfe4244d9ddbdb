/* Atomic operations with order: stamp: what they read, write and answer when calls are rejected, lost or
 * late. */
#include "order_bed.h"

#include "store/control.h"
#include "store/hbase/thrift2/convert.h"

static const kw_ordering counted = {.regime.order = KW_WRITE_ORDER_STAMP,
                                    .regime.atomics = KW_ATOMICS_CAS,
                                    .counters = true,
                                    .family = {(const uint8_t *)"f", 1}};
static const kw_row_target other[] = {{KW_BYTES_LITERAL("new"), KW_BYTES_LITERAL("n"), 0}};

#define TIME_MS 1000

/* --- operations ---------------------------------------------------------------------------------- */

typedef struct atomic_answer {
    order_answer base; /* written[0] has the outcome and the error */
    bool applied;
    int64_t sums[2];
    uint32_t count;
} atomic_answer;

static void
on_write_if(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    atomic_answer *answer = user;
    answer->applied = applied;
    order_on_write(&answer->base, outcome, error);
}

static void
on_increment(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    atomic_answer *answer = user;
    g_assert_cmpint(rows != NULL, ==, outcome == KW_OUTCOME_OK);
    for (uint32_t i = 0; rows && i < rows->rows[0].cells_count; i++)
        answer->sums[answer->count++] = (int64_t)kw_be64_load(rows->rows[0].cells[i].value.data);
    kw_rows_free(rows);
    order_on_write(&answer->base, outcome, error);
}

/* "a = 1" as the condition; value NULL: a is absent. */
static kw_check
check_of(const char *value)
{
    return (kw_check){.family = KW_BYTES_LITERAL("f"),
                      .qualifier = KW_BYTES_LITERAL("a"),
                      .compare = KW_COMPARE_EQUAL,
                      .has_value = value != NULL,
                      .value = value ? kw_bytes_of_text(value) : KW_BYTES_NONE};
}

static kw_write
write_if(kw_arena *arena, const char *cells, bool several)
{
    kw_write write = order_put(arena, &counted, "r", cells);
    write.others = other;
    write.others_count = several ? 1 : 0;
    return write;
}

static kw_increment
increment_of(kw_arena *arena, const char *column, int64_t amount, bool several)
{
    kw_column *columns = KW_ARENA_NEW(arena, kw_column);
    int64_t *amounts = KW_ARENA_NEW(arena, int64_t);
    *columns = (kw_column){.family = KW_BYTES_LITERAL("f"), .qualifier = kw_bytes_of_text(column)};
    *amounts = amount;
    return (kw_increment){.table = KW_BYTES_LITERAL("old"),
                          .row = KW_BYTES_LITERAL("r"),
                          .columns = columns,
                          .amounts = amounts,
                          .columns_count = 1,
                          .deadline = kw_deadline_in_ms(60000),
                          .ordering = &counted,
                          .others = other,
                          .others_count = several ? 1 : 0};
}

static void
start_if(order_bed *bed, const kw_write *write, const kw_check *check, atomic_answer *answer)
{
    kw_store_handle_write_if(bed->sync.handle, write, check, on_write_if, answer);
}

static void
start_increment(order_bed *bed, const kw_increment *increment, atomic_answer *answer)
{
    kw_store_handle_increment(bed->sync.handle, increment, on_increment, answer);
}

static void
assert_ok(order_bed *bed, atomic_answer *answer)
{
    order_await(bed, &answer->base);
    g_assert_cmpstr(answer->base.written[0].error.text, ==, "");
    g_assert_cmpint(answer->base.written[0].outcome, ==, KW_OUTCOME_OK);
}

static void
assert_error(order_bed *bed, atomic_answer *answer, kw_outcome outcome, const char *text)
{
    order_await(bed, &answer->base);
    g_assert_cmpint(answer->base.written[0].outcome, ==, outcome);
    g_assert_cmpint(answer->base.written[0].error.maybe_applied, ==, outcome == KW_OUTCOME_UNKNOWN);
    g_assert_nonnull(strstr(answer->base.written[0].error.text, text));
}

/* The number in column n of the row; -1: there is no such cell. */
static int64_t
number_in_n(order_bed *bed, const char *table, const char *row)
{
    kw_get get = {.table = kw_bytes_of_text(table), .row = kw_bytes_of_text(row)};
    kw_rows *rows = kw_sync_get(&bed->sync, &get, NULL);
    const kw_cell *cell = kw_row_find_cell(&rows->rows[0], KW_BYTES_LITERAL("f"), KW_BYTES_LITERAL("n"));
    int64_t value = cell ? (int64_t)kw_be64_load(cell->value.data) : -1;
    kw_rows_free(rows);
    return value;
}

/* --- fates ----------------------------------------------------------------------------------------- */

/* What happens to one call: the `at`th conditional write, read or plain write. */
typedef struct plan {
    enum { OF_COMPARE, OF_READ, OF_WRITE } of;
    unsigned at;
    kw_fate fate;
    unsigned compares, reads, writes;
} plan;

static kw_fate
fate_of(void *user, const kw_simulated_call *call)
{
    plan *with = user;
    unsigned *count = call->check ? &with->compares : call->get ? &with->reads : &with->writes;
    unsigned *own = with->of == OF_COMPARE ? &with->compares
                    : with->of == OF_READ  ? &with->reads
                                           : &with->writes;
    ++*count;
    return count == own && *count == with->at ? with->fate : KW_FATE_ANSWERED;
}

/* --- without trouble ------------------------------------------------------------------------------ */

KW_TEST(test_put_if, "/order/cas/put-if")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    atomic_answer answers[3] = {{.count = 0}};
    kw_check absent = check_of(NULL), one = check_of("1");
    kw_write first = write_if(arena, "a=1", true), second = write_if(arena, "a=2 b=3", true);
    start_if(&bed, &first, &absent, &answers[0]);
    assert_ok(&bed, &answers[0]);
    g_assert_true(answers[0].applied);
    start_if(&bed, &second, &absent, &answers[1]);
    assert_ok(&bed, &answers[1]);
    g_assert_false(answers[1].applied);
    start_if(&bed, &second, &one, &answers[2]);
    order_run(&bed);
    g_assert_false(answers[2].base.done); /* the second write has a millisecond of its own */
    kw_simulated_set_time_ms(bed.rows, 1001, 1001);
    assert_ok(&bed, &answers[2]);
    g_assert_true(answers[2].applied);
    order_assert_row(&bed, "old", "r", "f:kw:w=1001@1001 f:kw:w=1000@1000 f:a=2@1001 f:a=1@1000 f:b=3@1001");
    order_assert_row(&bed, "new", "n", "f:kw:w=1001@1001 f:kw:w=1000@1000 f:a=2@1001 f:a=1@1000 f:b=3@1001");
    order_bed_free(&bed);
}

/* A write of another gateway has the latest time that the clock can have. In a record with several rows the
 * stamp is above it, so that all rows get the two writes in the same order. */
KW_TEST(test_above_another_gateway, "/order/cas/above-another-gateway")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    atomic_answer answer = {.count = 0};
    kw_increment increment = increment_of(arena, "n", 1, true);
    kw_simulated_put(bed.rows, "old", "r", "n", "12345678", TIME_MS);
    start_increment(&bed, &increment, &answer);
    order_run(&bed);
    g_assert_false(answer.base.done);
    kw_simulated_set_time_ms(bed.rows, TIME_MS + 1, TIME_MS + 1);
    assert_ok(&bed, &answer);
    order_assert_row(&bed, "new", "n", "f:kw:w=1001@1001 f:n=12345679@1001");
    order_bed_free(&bed);
}

/* A record with one row: the stamp can be that of the write before, and earlier than the clock's latest
 * time, so nothing waits. */
KW_TEST(test_one_row, "/order/cas/one-row")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    kw_simulated_set_time_ms(bed.rows, 1000, 1004);
    for (int64_t i = 1; i <= 3; i++) {
        atomic_answer answer = {.count = 0};
        kw_increment increment = increment_of(arena, "n", 5, false);
        start_increment(&bed, &increment, &answer);
        assert_ok(&bed, &answer);
        g_assert_cmpint(answer.sums[0], ==, 5 * i);
    }
    g_assert_cmpint(number_in_n(&bed, "old", "r"), ==, 15);
    order_bed_free(&bed);
}

/* It waits for the clock if what it has read has not surely passed. */
KW_TEST(test_waits_for_seen, "/order/cas/waits-for-what-it-has-read")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    kw_simulated_put(bed.rows, "old", "r", "a", "1", 1003);
    kw_simulated_set_time_ms(bed.rows, 1000, 1004);
    atomic_answer met = {.count = 0}, unmet = {.count = 0};
    kw_check one = check_of("1"), two = check_of("2");
    kw_write write = write_if(arena, "b=1", false);
    start_if(&bed, &write, &two, &unmet);
    order_run(&bed);
    start_if(&bed, &write, &one, &met);
    order_run(&bed);
    g_assert_false(met.base.done || unmet.base.done);
    kw_simulated_set_time_ms(bed.rows, 1003, 1007);
    assert_ok(&bed, &unmet);
    assert_ok(&bed, &met);
    g_assert_true(met.applied && !unmet.applied);
    order_bed_free(&bed);
}

/* Increments that wait together are one write; each gets the result in the order of arrival. */
KW_TEST(test_sums, "/order/cas/sums")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    atomic_answer answers[5] = {{.count = 0}};
    kw_increment increments[5];
    plan none = {.fate = KW_FATE_ANSWERED};
    kw_simulated_set_fate(bed.rows, fate_of, &none);
    for (int i = 0; i < 5; i++) {
        increments[i] = increment_of(arena, i == 3 ? "m" : "n", 1 + i, true);
        start_increment(&bed, &increments[i], &answers[i]);
    }
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, 1001, 1001);
    static const int64_t sums[5] = {1, 3, 6, 4, 11};
    for (int i = 0; i < 5; i++) {
        assert_ok(&bed, &answers[i]);
        g_assert_cmpuint(answers[i].count, ==, 1);
        g_assert_cmpint(answers[i].sums[0], ==, sums[i]);
    }
    g_assert_cmpuint(none.compares, ==, 2); /* the first one alone, then four */
    g_assert_cmpint(number_in_n(&bed, "new", "n"), ==, 11);
    order_bed_free(&bed);
}

#define REPEATED_CALLS 8

/* A caller that increments again as soon as it has its answer. */
typedef struct repeater {
    order_bed *bed;
    kw_increment increment;
    unsigned answers;
} repeater;

static void
on_repeated(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    repeater *of = user;
    (void)error;
    g_assert_cmpint(outcome, ==, KW_OUTCOME_OK);
    kw_rows_free(rows);
    if (++of->answers < REPEATED_CALLS)
        kw_store_handle_increment(of->bed->sync.handle, &of->increment, on_repeated, of);
}

/* A round waits for the callers of the round before, so that all of them share one write. Without that, the
 * first caller and the other two would take turns: two writes for three increments. */
KW_TEST(test_collection, "/order/cas/collection")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    repeater callers[3];
    plan none = {.fate = KW_FATE_ANSWERED};
    kw_simulated_set_fate(bed.rows, fate_of, &none);
    for (int i = 0; i < 3; i++) {
        callers[i] = (repeater){.bed = &bed, .increment = increment_of(arena, "n", 1, false)};
        kw_store_handle_increment(bed.sync.handle, &callers[i].increment, on_repeated, &callers[i]);
    }
    while (callers[0].answers + callers[1].answers + callers[2].answers < 3 * REPEATED_CALLS)
        order_run_ms(&bed, 1);
    g_assert_cmpint(number_in_n(&bed, "old", "r"), ==, 3 * REPEATED_CALLS);
    /* REPEATED_CALLS + 1 if no round ended its wait early */
    g_assert_cmpuint(none.compares, <, 2 * REPEATED_CALLS - 2);
    order_bed_free(&bed);
}

KW_TEST(test_wrong_number, "/order/cas/wrong-number")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    kw_simulated_put(bed.rows, "old", "r", "a", "text", 900);
    atomic_answer answers[3] = {{.count = 0}};
    kw_increment first = increment_of(arena, "n", 1, false), wrong = increment_of(arena, "a", 1, false),
                 right = increment_of(arena, "n", 2, false);
    start_increment(&bed, &first, &answers[0]);
    start_increment(&bed, &wrong, &answers[1]);
    start_increment(&bed, &right, &answers[2]);
    assert_error(&bed, &answers[1], KW_OUTCOME_FAILED, "does not have 8 bytes");
    g_assert_cmpint(answers[1].base.written[0].error.code, ==, KW_INVALID);
    assert_ok(&bed, &answers[0]);
    assert_ok(&bed, &answers[2]);
    g_assert_cmpint(answers[2].sums[0], ==, 3);
    order_bed_free(&bed);
}

/* --- beside plain writes ---------------------------------------------------------------------------- */

/* Plain writes leave kw:w, that of a removal expires after more than `late`. */
KW_TEST(test_plain_writes, "/order/cas/plain-writes")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_answer put = {0}, removal = {0};
    kw_write writes[] = {order_put(arena, &counted, "r", "a=1"), order_removal(arena, &counted, "r", ""),
                         order_removal(arena, &counted, "s", "a")};
    kw_store_handle_write(bed.sync.handle, &writes[0], order_on_write, &put);
    order_await(&bed, &put);
    order_assert_row(&bed, "old", "r", "f:kw:w=1000@1000 f:a=1@1000");
    kw_store_handle_write(bed.sync.handle, &writes[1], order_on_write, &removal);
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, 1001, 1001);
    order_await(&bed, &removal);
    order_assert_row(&bed, "old", "r", "f:kw:r=1000@1001 f:kw:w=1000@1001");
    order_answer column = {0};
    kw_store_handle_write(bed.sync.handle, &writes[2], order_on_write, &column);
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, 1002, 1002);
    order_await(&bed, &column);
    order_assert_row(&bed, "old", "s", "f:kw:cf:a=1001@1002 f:kw:w=1001@1002");
    kw_simulated_set_time_ms(bed.rows, 1001 + 2 * LATE_MS, 1001 + 2 * LATE_MS);
    order_assert_row(&bed, "old", "r", "f:kw:r=1000@1001 f:kw:w=1000@1001");
    kw_simulated_set_time_ms(bed.rows, 1002 + 2 * LATE_MS + 90000, 1002 + 2 * LATE_MS + 90000);
    order_assert_row(&bed, "old", "r", "");
    order_bed_free(&bed);
}

/* Only what is visible counts: a removed value is absent. */
KW_TEST(test_removed_value, "/order/cas/removed-value")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    order_write_row(&bed, "old", "r", "f:kw:r=990@991");
    kw_simulated_put(bed.rows, "old", "r", "a", "1", 985); /* arrives late, after a compaction */
    kw_simulated_purge(bed.rows);
    kw_simulated_put(bed.rows, "old", "r", "a", "1", 985);
    atomic_answer answer = {.count = 0};
    kw_check absent = check_of(NULL);
    kw_write write = write_if(arena, "a=2", false);
    start_if(&bed, &write, &absent, &answer);
    assert_ok(&bed, &answer);
    g_assert_true(answer.applied);
    order_bed_free(&bed);
}

/* A write that comes between the read and the compare is noticed, and everything begins again. */
KW_TEST(test_write_in_between, "/order/cas/write-in-between")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    plan held = {.of = OF_COMPARE, .at = 1, .fate = KW_FATE_HELD};
    atomic_answer answer = {.count = 0};
    order_answer removed = {0};
    kw_simulated_put(bed.rows, "old", "r", "a", "1", 900);
    kw_simulated_set_fate(bed.rows, fate_of, &held);
    kw_check one = check_of("1");
    kw_write write = write_if(arena, "b=2", false), removal = order_removal(arena, &counted, "r", "");
    start_if(&bed, &write, &one, &answer);
    order_run(&bed);
    kw_store_handle_write(bed.sync.handle, &removal, order_on_write, &removed);
    order_run(&bed);
    kw_simulated_set_time_ms(bed.rows, 1001, 1001);
    order_await(&bed, &removed);
    kw_simulated_release(bed.rows);
    assert_ok(&bed, &answer);
    g_assert_false(answer.applied);
    order_assert_row(&bed, "old", "r", "f:kw:r=1000@1001 f:kw:w=1000@1001");
    order_bed_free(&bed);
}

/* Timestamps that no gateway has given. */
KW_TEST(test_ahead, "/order/cas/timestamps-ahead")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    kw_simulated_put(bed.rows, "old", "r", "n", "12345678", 9000);
    atomic_answer added = {.count = 0}, written = {.count = 0};
    kw_increment increment = increment_of(arena, "n", 1, true);
    start_increment(&bed, &increment, &added);
    assert_error(&bed, &added, KW_OUTCOME_FAILED, "its newest timestamp, 9000, is 8000 ms ahead");
    g_assert_cmpint(added.base.written[0].error.code, ==, KW_REFUSED);
    kw_check absent = check_of(NULL);
    kw_write write = write_if(arena, "a=1", true);
    start_if(&bed, &write, &absent, &written);
    assert_ok(&bed, &written);
    g_assert_true(written.applied);
    order_bed_free(&bed);
}

/* The compared cell has its caller's timestamp. A write that replaces it gets one that is not lower, so that
 * the same condition cannot be met again. */
KW_TEST(test_compared_ahead, "/order/cas/compared-ahead")
{
    static const char *const after[] = {"f:kw:w=1010@1010 f:a=2@1010",
                                        "f:kw:w=1011@1011 f:a=2@1011 f:a=1@1010"};
    for (int several = 0; several < 2; several++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        order_bed bed = order_bed_new();
        atomic_answer answer = {.count = 0}, again = {.count = 0};
        kw_simulated_put(bed.rows, "old", "r", "a", "1", TIME_MS + 10);
        kw_check one = check_of("1");
        kw_write write = write_if(arena, "a=2", several);
        start_if(&bed, &write, &one, &answer);
        order_run(&bed);
        g_assert_false(answer.base.done);
        kw_simulated_set_time_ms(bed.rows, TIME_MS + 11, TIME_MS + 11);
        assert_ok(&bed, &answer);
        g_assert_true(answer.applied);
        order_assert_row(&bed, "old", "r", after[several]);
        start_if(&bed, &write, &one, &again);
        assert_ok(&bed, &again);
        g_assert_false(again.applied);
        order_bed_free(&bed);
    }
}

/* Its timestamp is so far ahead that no gateway has given it. The condition is evaluated all the same. */
KW_TEST(test_compared_far_ahead, "/order/cas/compared-far-ahead")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    atomic_answer same = {.count = 0}, unmet = {.count = 0}, other_column = {.count = 0},
                  given = {.count = 0};
    kw_simulated_put(bed.rows, "old", "r", "a", "1", 9000);
    kw_check one = check_of("1"), two = check_of("2");
    kw_write write = write_if(arena, "a=2", false), b = write_if(arena, "b=2", false);
    start_if(&bed, &write, &one, &same);
    assert_error(&bed, &same, KW_OUTCOME_FAILED, "its newest timestamp, 9000, is 8000 ms ahead");
    g_assert_cmpint(same.base.written[0].error.code, ==, KW_REFUSED);
    start_if(&bed, &write, &two, &unmet);
    assert_ok(&bed, &unmet);
    g_assert_false(unmet.applied);
    start_if(&bed, &b, &one, &other_column);
    assert_ok(&bed, &other_column);
    g_assert_true(other_column.applied);
    write.timestamp = 9001;
    write.deadline = kw_deadline_in_ms(1000);
    start_if(&bed, &write, &one, &given);
    assert_error(&bed, &given, KW_OUTCOME_FAILED, "its timestamp, 9001, is ");
    g_assert_cmpint(given.base.written[0].error.code, ==, KW_REFUSED);
    order_assert_row(&bed, "old", "r", "f:kw:w=1000@1000 f:a=1@9000 f:b=2@1000");
    order_bed_free(&bed);
}

/* With a timestamp of its caller's, only kw:w has the stamp. While a key rule changes, the write leaves a
 * trace with the present time, by which a pass finds the older cells. */
KW_TEST(test_given_timestamp, "/order/cas/given-timestamp")
{
    static const kw_ordering changing = {.regime.order = KW_WRITE_ORDER_STAMP,
                                         .regime.atomics = KW_ATOMICS_CAS,
                                         .regime.keeps_gone = true,
                                         .family = {(const uint8_t *)"f", 1}};
    static const struct {
        const kw_ordering *how;
        bool several;
        const char *after;
    } cases[] = {
        {&counted, false, "f:kw:w=1000@1000 f:a=1@5 f:b=2@5"},
        {&counted, true, "f:kw:w=1000@1000 f:a=1@5 f:b=2@5"},
        {&changing, false, "f:kw:t=5@1000 f:kw:w=1000@1000 f:a=1@5 f:b=2@5"},
        {&changing, true, "f:kw:t=5@1000 f:kw:w=1000@1000 f:a=1@5 f:b=2@5"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        order_bed bed = order_bed_new();
        atomic_answer answer = {.count = 0};
        kw_check absent = check_of(NULL);
        kw_write write = write_if(arena, "a=1 b=2", cases[i].several);
        write.ordering = cases[i].how;
        write.timestamp = 5;
        start_if(&bed, &write, &absent, &answer);
        assert_ok(&bed, &answer);
        g_assert_true(answer.applied);
        order_assert_row(&bed, "old", "r", cases[i].after);
        order_assert_row(&bed, "new", "n", cases[i].several ? cases[i].after : "");
        order_bed_free(&bed);
    }
}

/* The puts of a removal: how many cells each has, and its time to live. */
typedef struct put_cells {
    size_t counts[2];
    int64_t ttl_ms[2];
    size_t count;
} put_cells;

static kw_fate
note_puts(void *user, const kw_simulated_call *call)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    put_cells *found = user;
    if (!call->write)
        return KW_FATE_ANSWERED;
    const kw_hb_TRowMutations *all = kw_hbase_to_mutations(arena, call->write, KW_DURABILITY_DEFAULT);
    for (size_t i = 0; i < all->mutations.count; i++) {
        const kw_hb_TPut *put = all->mutations.items[i].put;
        if (!all->mutations.items[i].has_put)
            continue;
        g_assert_cmpuint(found->count, <, 2);
        found->counts[found->count] = put->columnValues.count;
        found->ttl_ms[found->count++] =
            put->has_attributes ? (int64_t)kw_be64_load(put->attributes.items[0].value.data) : 0;
    }
    return KW_FATE_ANSWERED;
}

/* While a key rule changes, gone cells stay until a sweep, but kw:w expires. */
KW_TEST(test_expiry, "/order/cas/expiry")
{
    const int64_t writer_ms = 2 * LATE_MS + 90000;
    for (int keeps = 0; keeps < 2; keeps++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        const kw_ordering how = {.regime.order = KW_WRITE_ORDER_STAMP,
                                 .regime.atomics = KW_ATOMICS_CAS,
                                 .regime.keeps_gone = keeps,
                                 .family = {(const uint8_t *)"f", 1}};
        order_bed bed = order_bed_new();
        put_cells found = {.count = 0};
        order_answer removed = {0};
        kw_write removal = order_removal(arena, &how, "r", "a b");
        kw_simulated_set_fate(bed.rows, note_puts, &found);
        kw_store_handle_write(bed.sync.handle, &removal, order_on_write, &removed);
        order_run(&bed);
        kw_simulated_set_time_ms(bed.rows, 1001, 1001);
        order_await(&bed, &removed);
        g_assert_cmpuint(found.count, ==, keeps ? 2 : 1);
        g_assert_cmpuint(found.counts[0], ==, keeps ? 2 : 3);
        g_assert_cmpint(found.ttl_ms[0], ==, keeps ? 0 : writer_ms);
        g_assert_cmpint(found.ttl_ms[1], ==, keeps ? writer_ms : 0);
        order_bed_free(&bed);
    }
}

/* --- trouble --------------------------------------------------------------------------------------- */

typedef struct trouble {
    const char *name;
    plan with;
    bool late; /* late writes are applied while the operation waits */
    kw_outcome outcome;
    unsigned compares;         /* that are sent */
    const char *after, *other; /* the rows */
} trouble;

#define WRITTEN "f:kw:w=1000@1000 f:a=1@1000"

static const trouble troubles[] = {
    {"none", {.fate = KW_FATE_ANSWERED}, false, KW_OUTCOME_OK, 1, WRITTEN, WRITTEN},
    {"the read fails", {.of = OF_READ, .at = 1, .fate = KW_FATE_FAILED}, false, KW_OUTCOME_FAILED, 0, "", ""},
    {"the compare fails",
     {.of = OF_COMPARE, .at = 1, .fate = KW_FATE_FAILED},
     false,
     KW_OUTCOME_FAILED,
     1,
     "",
     ""},
    {"its answer is lost",
     {.of = OF_COMPARE, .at = 1, .fate = KW_FATE_LOST},
     false,
     KW_OUTCOME_OK,
     1,
     WRITTEN,
     WRITTEN},
    {"it is lost",
     {.of = OF_COMPARE, .at = 1, .fate = KW_FATE_DROPPED},
     false,
     KW_OUTCOME_OK,
     2,
     WRITTEN,
     WRITTEN},
    {"it is late",
     {.of = OF_COMPARE, .at = 1, .fate = KW_FATE_LATE},
     true,
     KW_OUTCOME_OK,
     2,
     WRITTEN,
     WRITTEN},
    {"the other row's answer is lost",
     {.of = OF_WRITE, .at = 1, .fate = KW_FATE_LOST},
     false,
     KW_OUTCOME_OK,
     1,
     WRITTEN,
     WRITTEN},
    {"the other row fails",
     {.of = OF_WRITE, .at = 1, .fate = KW_FATE_FAILED},
     false,
     KW_OUTCOME_OK,
     1,
     WRITTEN,
     WRITTEN},
};

static void
test_trouble(gconstpointer user)
{
    const trouble *of = user;
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    atomic_answer answer = {.count = 0};
    plan with = of->with;
    kw_simulated_set_fate(bed.rows, fate_of, &with);
    kw_check absent = check_of(NULL);
    kw_write write = write_if(arena, "a=1", true);
    start_if(&bed, &write, &absent, &answer);
    order_run(&bed);
    if (of->late)
        kw_simulated_apply_late(bed.rows);
    order_await(&bed, &answer.base);
    g_assert_cmpint(answer.base.written[0].outcome, ==, of->outcome);
    g_assert_cmpint(answer.applied, ==, of->outcome == KW_OUTCOME_OK);
    g_assert_cmpuint(with.compares, ==, of->compares);
    order_assert_row(&bed, "old", "r", of->after);
    order_assert_row(&bed, "new", "n", of->other);
    order_bed_free(&bed);
}

/* The other row is sent again. Its first attempt can be applied later, so no later write may have the same
 * stamp. */
KW_TEST(test_other_row_lost, "/order/cas/the other row is lost")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    atomic_answer answer = {.count = 0};
    plan with = {.of = OF_WRITE, .at = 1, .fate = KW_FATE_LATE};
    kw_simulated_set_fate(bed.rows, fate_of, &with);
    kw_increment increment = increment_of(arena, "n", 1, true);
    start_increment(&bed, &increment, &answer);
    order_run_ms(&bed, 1500);
    g_assert_cmpint(number_in_n(&bed, "new", "n"), ==, 1);
    g_assert_false(answer.base.done);
    kw_simulated_set_time_ms(bed.rows, 1001, 1001);
    assert_ok(&bed, &answer);
    g_assert_cmpuint(with.writes, ==, 2);
    kw_simulated_apply_late(bed.rows);
    order_bed_free(&bed);
}

static kw_fate
fail_writes(void *user, const kw_simulated_call *call)
{
    (void)user;
    return call->write && !call->check ? KW_FATE_FAILED : KW_FATE_ANSWERED;
}

/* The first row has it, so it is never FAILED. */
KW_TEST(test_other_row_fails, "/order/cas/the other row fails again")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    atomic_answer answer = {.count = 0};
    kw_simulated_set_fate(bed.rows, fail_writes, NULL);
    kw_increment increment = increment_of(arena, "n", 1, true);
    start_increment(&bed, &increment, &answer);
    assert_error(&bed, &answer, KW_OUTCOME_UNKNOWN, "a row of the record may be missing");
    g_assert_cmpint(number_in_n(&bed, "old", "r"), ==, 1);
    order_bed_free(&bed);
}

/* Drops the first compare, and holds the calls that find out whether it was applied. */
static kw_fate
drop_compare_then_hold(void *user, const kw_simulated_call *call)
{
    unsigned *compares = user;
    if (*compares > 0)
        return call->check || call->get ? KW_FATE_HELD : KW_FATE_ANSWERED;
    *compares = call->check != NULL;
    return call->check ? KW_FATE_DROPPED : KW_FATE_ANSWERED;
}

/* A compare is lost, and before the gateway finds that out, the row gets a write with a higher timestamp.
 * Then nobody can tell whether the compare was applied. */
KW_TEST(test_doubt, "/order/cas/doubt")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    atomic_answer answer = {.count = 0};
    unsigned compares = 0;
    kw_simulated_set_fate(bed.rows, drop_compare_then_hold, &compares);
    kw_check absent = check_of(NULL);
    kw_write write = write_if(arena, "a=1", false);
    start_if(&bed, &write, &absent, &answer);
    while (compares == 0)
        order_run_ms(&bed, 0);
    order_write_row(&bed, "old", "r", "f:kw:w=1001@1001");
    kw_simulated_set_fate(bed.rows, NULL, NULL);
    kw_simulated_release(bed.rows);
    assert_error(&bed, &answer, KW_OUTCOME_UNKNOWN, "did not confirm in time");
    order_bed_free(&bed);
}

static kw_fate
hold_reads(void *user, const kw_simulated_call *call)
{
    (void)user;
    return call->get ? KW_FATE_HELD : KW_FATE_ANSWERED;
}

/* A deadline passes while an operation waits for another one; it is certainly not applied. */
KW_TEST(test_deadline, "/order/cas/deadline")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    atomic_answer first = {.count = 0}, waiting = {.count = 0};
    kw_simulated_set_fate(bed.rows, hold_reads, NULL);
    kw_increment increment = increment_of(arena, "n", 1, false),
                 impatient = increment_of(arena, "n", 2, false);
    impatient.deadline = kw_deadline_in_ms(5);
    start_increment(&bed, &increment, &first);
    start_increment(&bed, &impatient, &waiting);
    assert_error(&bed, &waiting, KW_OUTCOME_FAILED, "the deadline passed while the increment waited");
    kw_simulated_release(bed.rows);
    assert_ok(&bed, &first);
    kw_simulated_set_fate(bed.rows, NULL, NULL);
    g_assert_cmpint(number_in_n(&bed, "old", "r"), ==, 1);
    order_bed_free(&bed);
}

/* The store handle closes while operations wait. */
KW_TEST(test_close, "/order/cas/close")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    order_bed bed = order_bed_new();
    atomic_answer answers[3] = {{.count = 0}};
    kw_increment increments[3];
    for (int i = 0; i < 3; i++) {
        increments[i] = increment_of(arena, "n", 1, true);
        start_increment(&bed, &increments[i], &answers[i]);
    }
    order_bed_free(&bed);
    for (int i = 0; i < 3; i++)
        g_assert_true(answers[i].base.done);
}

KW_TEST_START(start)
{
    for (size_t i = 0; i < G_N_ELEMENTS(troubles); i++) {
        g_autofree char *name = g_strdup_printf("/order/cas/%s", troubles[i].name);
        g_test_add_data_func(name, &troubles[i], test_trouble);
    }
}
