/* Tests of the committer: acknowledged writes were synced, callers share a sync, conditional writes of
 * several threads are atomic, and a write whose sync fails is UNKNOWN, whereas later writes are FAILED.
 *
 * The program defines its own fdatasync, which the dynamic linker uses for RocksDB, too. It counts the
 * calls, and fails if disk_fails is set.
 */
#include "base/metrics.h"
#include "base/thread.h"
#include "contract/fixture.h"
#include "embedded_fixture.h"
#include "store/control.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic int syncs;
static _Atomic bool disk_fails;
static _Atomic bool disk_waits, disk_is_waiting;

/* Declared again for -Wmissing-prototypes, because not every unistd.h declares it. */
int fdatasync(int file);

int
fdatasync(int file)
{
    while (atomic_load(&disk_waits)) {
        atomic_store(&disk_is_waiting, true);
        g_usleep(100);
    }
    if (atomic_load(&disk_fails)) {
        errno = EIO;
        return -1;
    }
    int failed = (int)syscall(SYS_fdatasync, file);
    atomic_fetch_add(&syncs, 1);
    return failed;
}

static const kw_cell cell = {.family = {(const uint8_t *)"d", 1},
                             .qualifier = {(const uint8_t *)"a", 1},
                             .value = {(const uint8_t *)"x", 1}};

static kw_write
make_put(const char *row, int64_t timestamp)
{
    return (kw_write){.kind = KW_WRITE_PUT,
                      .table = B("t"),
                      .row = B(row),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = timestamp,
                      .deadline = KW_DEADLINE_NONE};
}

static void
setup(embedded_fixture *fixture)
{
    embedded_fixture_init(fixture);
    kw_family_spec family = default_family("d");
    family.max_versions = 3;
    embedded_fixture_create_table(fixture, "t", &family, 1);
}

KW_TEST(test_sync_by_durability, "/committer/sync_by_durability")
{
    static const struct {
        kw_durability durability;
        bool synced;
    } cases[] = {{KW_DURABILITY_DEFAULT, true},
                 {KW_DURABILITY_SYNC_WAL, true},
                 {KW_DURABILITY_FSYNC_WAL, true},
                 {KW_DURABILITY_ASYNC_WAL, false},
                 {KW_DURABILITY_SKIP_WAL, false}};
    embedded_fixture fixture;
    setup(&fixture);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_write write = make_put("row", (int64_t)i + 1);
        write.durability = cases[i].durability;
        int before = atomic_load(&syncs);
        g_assert_cmpint(kw_sync_write(&fixture.sync, &write).outcome, ==, KW_OUTCOME_OK);
        g_assert_cmpint(atomic_load(&syncs) > before, ==, cases[i].synced);
    }
    embedded_fixture_expect_row(&fixture, "t", "row", "d:a@5=x d:a@4=x d:a@3=x");
    embedded_fixture_clear(&fixture);
}

typedef struct group {
    size_t started, finished, failed;
    bool done;
} group;

static void
count_done(void *user, kw_outcome outcome, const kw_error *error)
{
    (void)error;
    group *all = user;
    all->failed += outcome != KW_OUTCOME_OK;
    all->done = ++all->finished == all->started;
}

KW_TEST(test_shared_sync, "/committer/shared_sync")
{
    enum { PUTS = 500 };
    embedded_fixture fixture;
    setup(&fixture);
    char rows[PUTS][8];
    kw_write writes[PUTS];
    group all = {.started = PUTS};
    int64_t commits = kw_metrics_read(KW_METRIC_commits);
    for (int i = 0; i < PUTS; i++) {
        g_snprintf(rows[i], sizeof rows[i], "%d", i);
        writes[i] = make_put(rows[i], 1);
        kw_store_handle_write(fixture.sync.handle, &writes[i], count_done, &all);
    }
    kw_sync_wait(&fixture.sync, &all.done);
    g_assert_cmpuint(all.failed, ==, 0);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_commits) - commits, <=, 2); /* one loop iteration */
    for (int i = 0; i < PUTS; i++)
        embedded_fixture_expect_row(&fixture, "t", rows[i], "d:a@1=x");
    embedded_fixture_clear(&fixture);
}

/* A write that is not visible yet has got its timestamp long ago: the earliest time is not above it. */
KW_TEST(test_earliest, "/committer/earliest")
{
    embedded_fixture fixture;
    setup(&fixture);
    group one = {.started = 1};
    kw_write write = make_put("row", KW_TIMESTAMP_NONE);
    int64_t before_ms, earliest_ms, after_ms;
    g_assert_true(kw_store_earliest_ms(fixture.store, &before_ms));
    g_assert_cmpint(kw_clock_wall_ms() - before_ms, <, 10000);
    atomic_store(&disk_waits, true);
    kw_store_handle_write(fixture.sync.handle, &write, count_done, &one);
    while (!atomic_load(&disk_is_waiting))
        uv_run(kw_loop_uv(fixture.sync.loop), UV_RUN_NOWAIT);
    g_usleep(20000);
    g_assert_true(kw_store_earliest_ms(fixture.store, &earliest_ms));
    atomic_store(&disk_waits, false);
    kw_sync_wait(&fixture.sync, &one.done);
    kw_get get = {.table = B("t"), .row = B("row"), .deadline = KW_DEADLINE_NONE};
    kw_error error;
    kw_rows *rows = kw_sync_get(&fixture.sync, &get, &error);
    int64_t written_ms = rows->rows[0].cells[0].timestamp;
    g_assert_cmpint(before_ms, <=, written_ms);
    g_assert_cmpint(earliest_ms, <=, written_ms);
    while (!kw_store_earliest_ms(fixture.store, &after_ms) || after_ms <= written_ms)
        g_usleep(1000); /* the round has ended */
    kw_rows_free(rows);
    embedded_fixture_clear(&fixture);
}

/* Writes that are submitted together, and the order in which they finish. */
typedef struct numbered {
    int *finished; /* how many have finished before */
    int place;
    bool done;
} numbered;

static void
number_done(void *user, kw_outcome outcome, const kw_error *error)
{
    (void)error;
    numbered *self = user;
    g_assert_cmpint(outcome, ==, KW_OUTCOME_OK);
    self->place = (*self->finished)++;
    self->done = true;
}

enum { LARGE_CELLS = 20000 };

/* A put of many cells in one row. The row is borrowed. Free the cells with g_free. */
static kw_write
make_large_put(const char *row)
{
    static char names[LARGE_CELLS][8];
    kw_cell *cells = g_new(kw_cell, LARGE_CELLS);
    for (int i = 0; i < LARGE_CELLS; i++) {
        g_snprintf(names[i], sizeof names[i], "%d", i);
        cells[i] = cell;
        cells[i].qualifier = B(names[i]);
    }
    kw_write put = make_put(row, KW_TIMESTAMP_NONE);
    put.cells = cells;
    put.cells_count = LARGE_CELLS;
    return put;
}

KW_TEST(test_small_first, "/committer/small_first")
{
    enum { LARGE = 4, WRITES = LARGE + 1 };
    static const char *const rows[WRITES] = {"l0", "l1", "l2", "l3", "small"};
    embedded_fixture fixture;
    setup(&fixture);
    kw_write writes[WRITES];
    numbered all[WRITES];
    int finished = 0;
    for (int i = 0; i < WRITES; i++) {
        writes[i] = i < LARGE ? make_large_put(rows[i]) : make_put(rows[i], KW_TIMESTAMP_NONE);
        all[i] = (numbered){.finished = &finished};
        kw_store_handle_write(fixture.sync.handle, &writes[i], number_done, &all[i]);
    }
    for (int i = 0; i < WRITES; i++)
        kw_sync_wait(&fixture.sync, &all[i].done);
    g_assert_cmpint(all[LARGE].place, ==, 0);
    for (int i = 0; i < LARGE; i++) {
        g_assert_cmpint(all[i].place, ==, i + 1);
        g_free((void *)writes[i].cells);
    }
    embedded_fixture_clear(&fixture);
}

/* A small removal that is submitted after a large put of its row removes the cells. */
KW_TEST(test_row_order, "/committer/row_order")
{
    enum { WRITES = 3 };
    embedded_fixture fixture;
    setup(&fixture);
    kw_write writes[WRITES] = {make_large_put("other"),
                               make_large_put("row"),
                               {.kind = KW_WRITE_DELETE, .table = B("t"), .row = B("row")}};
    numbered all[WRITES];
    int finished = 0;
    writes[2].timestamp = KW_TIMESTAMP_NONE;
    writes[2].deadline = KW_DEADLINE_NONE;
    for (int i = 0; i < WRITES; i++) {
        all[i] = (numbered){.finished = &finished};
        kw_store_handle_write(fixture.sync.handle, &writes[i], number_done, &all[i]);
    }
    for (int i = 0; i < WRITES; i++)
        kw_sync_wait(&fixture.sync, &all[i].done);
    embedded_fixture_expect_row(&fixture, "t", "row", "");
    g_free((void *)writes[0].cells);
    g_free((void *)writes[1].cells);
    embedded_fixture_clear(&fixture);
}

/* The last of several puts to one cell in one call counts. */
KW_TEST(test_last_put_counts, "/committer/last_put_counts")
{
    enum { PUTS = 20 };
    embedded_fixture fixture;
    setup(&fixture);
    char values[PUTS][4];
    kw_cell cells[PUTS];
    kw_write writes[PUTS];
    const kw_write *all[PUTS];
    kw_written results[PUTS];
    for (int i = 0; i < PUTS; i++) {
        g_snprintf(values[i], sizeof values[i], "%d", i);
        cells[i] = cell;
        cells[i].value = B(values[i]);
        writes[i] = make_put("row", 5);
        writes[i].cells = &cells[i];
        all[i] = &writes[i];
    }
    kw_sync_write_many(&fixture.sync, all, PUTS, results);
    embedded_fixture_expect_row(&fixture, "t", "row", "d:a@5=19");
    embedded_fixture_clear(&fixture);
}

/* A conditional put without a timestamp replaces a cell whose timestamp is in the future. */
KW_TEST(test_put_if_replaces_future_cell, "/committer/put_if_replaces_future_cell")
{
    embedded_fixture fixture;
    setup(&fixture);
    int64_t ahead = kw_clock_wall_ms() + 3600000;
    kw_write write = make_put("row", ahead);
    g_assert_cmpint(kw_sync_write(&fixture.sync, &write).outcome, ==, KW_OUTCOME_OK);
    kw_cell changed = cell;
    changed.value = B("y");
    kw_write change = make_put("row", KW_TIMESTAMP_NONE);
    change.cells = &changed;
    kw_check check = {.family = B("d"),
                      .qualifier = B("a"),
                      .compare = KW_COMPARE_EQUAL,
                      .has_value = true,
                      .value = B("x")};
    kw_sync_written result = kw_sync_write_if(&fixture.sync, &change, &check);
    g_assert_true(result.outcome == KW_OUTCOME_OK && result.applied);
    g_autofree char *expected = g_strdup_printf("d:a@%" G_GINT64_FORMAT "=y", ahead);
    embedded_fixture_expect_row(&fixture, "t", "row", expected);
    embedded_fixture_clear(&fixture);
}

static void
dropped(void *user, const kw_error *error)
{
    count_done(user, error ? KW_OUTCOME_FAILED : KW_OUTCOME_OK, error);
}

static void
created(void *user, bool is_new, const kw_error *error)
{
    count_done(user, is_new && !error ? KW_OUTCOME_OK : KW_OUTCOME_FAILED, error);
}

/* All operations start in one loop iteration and belong to one round. The put after the drop must go to the
 * new table. */
KW_TEST(test_table_created_again, "/committer/table_created_again")
{
    embedded_fixture fixture;
    setup(&fixture);
    group all = {.started = 4};
    kw_family_spec family = default_family("d");
    kw_table_spec spec = {
        .name = B("t"), .families = &family, .families_count = 1, .deadline = KW_DEADLINE_NONE};
    kw_write before = make_put("before", 1), after = make_put("after", 1);
    kw_store_handle_write(fixture.sync.handle, &before, count_done, &all);
    kw_store_handle_drop_table(fixture.sync.handle, spec.name, KW_DEADLINE_NONE, dropped, &all);
    kw_store_handle_create_table(fixture.sync.handle, &spec, created, &all);
    kw_store_handle_write(fixture.sync.handle, &after, count_done, &all);
    kw_sync_wait(&fixture.sync, &all.done);
    g_assert_cmpuint(all.failed, ==, 0);
    embedded_fixture_expect_row(&fixture, "t", "before", "");
    embedded_fixture_expect_row(&fixture, "t", "after", "d:a@1=x");
    embedded_fixture_clear(&fixture);
}

/* --- threads ---------------------------------------------------------------------------------------- */

enum { THREADS = 4, EACH = 100 };

typedef struct worker {
    kw_thread thread;
    kw_store *store;
    int number;
    int64_t values[EACH];
} worker;

static kw_increment
make_increment(const int64_t *amount)
{
    static const kw_column column = {.family = {(const uint8_t *)"d", 1},
                                     .qualifier = {(const uint8_t *)"n", 1}};
    return (kw_increment){.table = B("t"),
                          .row = B("counter"),
                          .columns = &column,
                          .amounts = amount,
                          .columns_count = 1,
                          .deadline = KW_DEADLINE_NONE};
}

/* Puts a row between the increments and reads it back at once. */
static void
put_and_read(kw_sync *sync, int number, int i)
{
    g_autofree char *row = g_strdup_printf("%d-%d", number, i);
    kw_write write = make_put(row, i + 1);
    g_assert_cmpint(kw_sync_write(sync, &write).outcome, ==, KW_OUTCOME_OK);
    kw_get get = {.table = B("t"), .row = B(row), .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(sync, &get, NULL);
    g_assert_cmpuint(rows->rows[0].cells_count, ==, 1);
    kw_rows_free(rows);
}

static void
work(void *user)
{
    worker *own = user;
    kw_sync sync;
    kw_sync_open(&sync, own->store);
    int64_t amount = 1;
    for (int i = 0; i < EACH; i++) {
        kw_increment increment = make_increment(&amount);
        kw_sync_written result = kw_sync_increment(&sync, &increment);
        g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
        own->values[i] = (int64_t)kw_be64_load(result.rows->rows[0].cells[0].value.data);
        kw_rows_free(result.rows);
        if (i % 5 == 0)
            put_and_read(&sync, own->number, i);
    }
    kw_sync_close(&sync);
}

/* Every increment returns a different value, and the values of each thread grow. */
KW_TEST(test_concurrent_increments, "/committer/concurrent_increments")
{
    embedded_fixture fixture;
    setup(&fixture);
    static worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i].store = fixture.store;
        workers[i].number = i;
        kw_thread_start(&workers[i].thread, "worker", work, &workers[i]);
    }
    bool seen[THREADS * EACH + 1] = {false};
    for (int i = 0; i < THREADS; i++) {
        kw_thread_join(&workers[i].thread);
        for (int k = 0; k < EACH; k++) {
            int64_t value = workers[i].values[k];
            g_assert_cmpint(value, >, k ? workers[i].values[k - 1] : 0);
            g_assert_cmpint(value, <=, THREADS * EACH);
            g_assert_false(seen[value]);
            seen[value] = true;
        }
    }
    embedded_fixture_clear(&fixture);
}

/* --- large calls ------------------------------------------------------------------------------------ */

enum { LARGE = 40000 }; /* records: several slices */

typedef struct large_call {
    char (*rows)[8];
    kw_write *writes;
    const kw_write **list;
    kw_written *results;
    const group *others;    /* NULL: none */
    size_t others_finished; /* of them, when the call was finished */
    bool done;
} large_call;

static void
large_call_init(large_call *call)
{
    *call = (large_call){.rows = g_malloc(sizeof *call->rows * LARGE),
                         .writes = g_new(kw_write, LARGE),
                         .list = g_new(const kw_write *, LARGE),
                         .results = g_new0(kw_written, LARGE)};
    for (int i = 0; i < LARGE; i++) {
        g_snprintf(call->rows[i], sizeof call->rows[i], "%d", i);
        call->writes[i] = make_put(call->rows[i], 1);
        call->list[i] = &call->writes[i];
    }
}

static void
large_call_clear(large_call *call)
{
    g_free(call->rows);
    g_free(call->writes);
    g_free(call->list);
    g_free(call->results);
}

static void
large_done(void *user)
{
    large_call *call = user;
    call->done = true;
    call->others_finished = call->others ? call->others->finished : 0;
}

static size_t
count_outcomes(const large_call *call, kw_outcome outcome)
{
    size_t count = 0;
    for (int i = 0; i < LARGE; i++)
        count += call->results[i].outcome == outcome;
    return count;
}

/* Puts that arrive after a call with many records do not wait for all of its records. */
KW_TEST(test_slices, "/committer/slices")
{
    embedded_fixture fixture;
    setup(&fixture);
    large_call call;
    large_call_init(&call);
    kw_write small = make_put("small", 1);
    group others = {.started = 1};
    call.others = &others;
    int64_t commits = kw_metrics_read(KW_METRIC_commits);
    kw_store_handle_write_many(fixture.sync.handle, call.list, LARGE, call.results, large_done, &call);
    kw_store_handle_write(fixture.sync.handle, &small, count_done, &others);
    kw_sync_wait(&fixture.sync, &call.done);
    g_assert_cmpuint(count_outcomes(&call, KW_OUTCOME_OK), ==, LARGE);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_commits) - commits, >=, 3);
    g_assert_cmpuint(call.others_finished, ==, 1);
    for (int i = 0; i < LARGE; i += 997)
        embedded_fixture_expect_row(&fixture, "t", call.rows[i], "d:a@1=x");
    embedded_fixture_expect_row(&fixture, "t", call.rows[LARGE - 1], "d:a@1=x");
    large_call_clear(&call);
    embedded_fixture_clear(&fixture);
}

/* After a slice that could not be synced, the later ones are certainly not written. */
KW_TEST(test_slices_on_failing_disk, "/committer/slices_on_failing_disk")
{
    embedded_fixture fixture;
    setup(&fixture);
    large_call call;
    large_call_init(&call);
    atomic_store(&disk_fails, true);
    kw_store_handle_write_many(fixture.sync.handle, call.list, LARGE, call.results, large_done, &call);
    kw_sync_wait(&fixture.sync, &call.done);
    atomic_store(&disk_fails, false);
    size_t unknown = count_outcomes(&call, KW_OUTCOME_UNKNOWN);
    g_assert_cmpuint(unknown, >, 0);
    g_assert_cmpuint(unknown + count_outcomes(&call, KW_OUTCOME_FAILED), ==, LARGE);
    g_assert_cmpuint(unknown, <, LARGE);
    g_assert_cmpint(call.results[unknown - 1].outcome, ==, KW_OUTCOME_UNKNOWN);
    embedded_fixture_reopen(&fixture);
    for (size_t i = unknown; i < LARGE; i += 997)
        embedded_fixture_expect_row(&fixture, "t", call.rows[i], "");
    large_call_clear(&call);
    embedded_fixture_clear(&fixture);
}

/* A call whose deadline has passed is not worked on. */
KW_TEST(test_deadline_passed, "/committer/deadline_passed")
{
    embedded_fixture fixture;
    setup(&fixture);
    large_call call;
    large_call_init(&call);
    for (int i = 0; i < LARGE; i++)
        call.writes[i].deadline = kw_deadline_in_ms(1);
    g_usleep(2000);
    int64_t commits = kw_metrics_read(KW_METRIC_commits);
    kw_store_handle_write_many(fixture.sync.handle, call.list, LARGE, call.results, large_done, &call);
    kw_sync_wait(&fixture.sync, &call.done);
    g_assert_cmpuint(count_outcomes(&call, KW_OUTCOME_FAILED), ==, LARGE);
    kw_expect_error(&call.results[LARGE - 1].error, KW_TIMEOUT, "the deadline passed before");
    g_assert_cmpint(kw_metrics_read(KW_METRIC_commits), ==, commits);
    embedded_fixture_expect_row(&fixture, "t", call.rows[0], "");
    large_call_clear(&call);
    embedded_fixture_clear(&fixture);
}

/* --- conditional operations on wide rows ------------------------------------------------------------- */

enum { WIDE = 100000, CPU_SECONDS_MAX = 20 };

typedef struct wide_row {
    kw_arena *arena;
    kw_cell *cells;
    kw_column *columns;
    int64_t *amounts;
} wide_row;

static wide_row
wide_row_new(void)
{
    kw_arena *arena = kw_arena_new();
    wide_row wide = {arena, KW_ARENA_ARRAY(arena, kw_cell, WIDE), KW_ARENA_ARRAY(arena, kw_column, WIDE),
                     KW_ARENA_ARRAY(arena, int64_t, WIDE)};
    for (int i = 0; i < WIDE; i++) {
        g_autofree char *name = g_strdup_printf("entry-%d", i);
        kw_bytes qualifier = kw_arena_copy(arena, B(name));
        uint8_t *value = kw_arena_alloc0(arena, 8);
        wide.cells[i] = (kw_cell){.family = B("d"), .qualifier = qualifier, .value = kw_bytes_of(value, 8)};
        wide.columns[i] = (kw_column){.family = B("d"), .qualifier = qualifier};
        wide.amounts[i] = i;
    }
    return wide;
}

/* Operations on a row with many cells take time in proportion to their number. Comparing each cell with each
 * other one would take minutes. */
KW_TEST(test_wide_rows, "/committer/wide_rows")
{
    embedded_fixture fixture;
    setup(&fixture);
    wide_row wide = wide_row_new();
    kw_write write = make_put("wide", KW_TIMESTAMP_NONE);
    write.cells = wide.cells;
    write.cells_count = WIDE;
    kw_check check = {.family = B("d"),
                      .qualifier = B("entry-77"),
                      .compare = KW_COMPARE_EQUAL,
                      .has_value = true,
                      .value = wide.cells[77].value};
    kw_increment increment = {.table = B("t"),
                              .row = B("wide"),
                              .columns = wide.columns,
                              .amounts = wide.amounts,
                              .columns_count = WIDE,
                              .deadline = KW_DEADLINE_NONE};
    clock_t began = clock();
    g_assert_cmpint(kw_sync_write(&fixture.sync, &write).outcome, ==, KW_OUTCOME_OK);
    kw_sync_written result = kw_sync_write_if(&fixture.sync, &write, &check);
    g_assert_true(result.outcome == KW_OUTCOME_OK && result.applied);
    result = kw_sync_increment(&fixture.sync, &increment);
    g_assert_cmpint((clock() - began) / CLOCKS_PER_SEC, <, CPU_SECONDS_MAX);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpuint(result.rows->rows[0].cells_count, ==, WIDE);
    const kw_cell *sum = kw_row_find_cell(&result.rows->rows[0], B("d"), B("entry-4711"));
    g_assert_cmpuint(kw_be64_load(sum->value.data), ==, 4711);
    kw_rows_free(result.rows);
    kw_arena_free(wide.arena);
    embedded_fixture_clear(&fixture);
}

/* --- failing disk ----------------------------------------------------------------------------------- */

KW_TEST(test_failing_disk, "/committer/failing_disk")
{
    embedded_fixture fixture;
    setup(&fixture);
    kw_write write = make_put("before", 1);
    g_assert_cmpint(kw_sync_write(&fixture.sync, &write).outcome, ==, KW_OUTCOME_OK);
    kw_error error;
    g_assert_true(kw_store_ready(fixture.store, &error));
    atomic_store(&disk_fails, true);
    write = make_put("lost", 1);
    kw_sync_written result = kw_sync_write(&fixture.sync, &write);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_UNKNOWN);
    g_assert_true(result.error.maybe_applied);
    kw_expect_error(&result.error, KW_UNAVAILABLE, "writing");
    kw_written results[2];
    const kw_write *all[] = {&write, &write};
    kw_sync_write_many(&fixture.sync, all, 2, results); /* the store does not try to write any more */
    g_assert_cmpint(results[0].outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(results[1].outcome, ==, KW_OUTCOME_FAILED);
    g_assert_false(results[0].error.maybe_applied);
    int64_t amount = 1;
    kw_increment increment = make_increment(&amount);
    result = kw_sync_increment(&fixture.sync, &increment);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    g_assert_null(result.rows);
    g_assert_false(kw_store_ready(fixture.store, &error));
    kw_expect_error(&error, KW_UNAVAILABLE, fixture.folder);
    embedded_fixture_expect_row(&fixture, "t", "before", "d:a@1=x"); /* reads still work */
    atomic_store(&disk_fails, false);
    embedded_fixture_reopen(&fixture);
    g_assert_true(kw_store_ready(fixture.store, &error));
    embedded_fixture_expect_row(&fixture, "t", "before", "d:a@1=x");
    write = make_put("after", 1);
    g_assert_cmpint(kw_sync_write(&fixture.sync, &write).outcome, ==, KW_OUTCOME_OK);
    embedded_fixture_clear(&fixture);
}
