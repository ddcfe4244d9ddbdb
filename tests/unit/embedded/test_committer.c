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

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int syncs;
static _Atomic bool disk_fails;

/* Declared again for -Wmissing-prototypes, because not every unistd.h declares it. */
int fdatasync(int file);

int
fdatasync(int file)
{
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

static void
test_sync_by_durability(void)
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

static void
test_shared_sync(void)
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

/* The last of several puts to one cell in one call counts. */
static void
test_last_put_counts(void)
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
static void
test_put_if_replaces_future_cell(void)
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
static void
test_table_created_again(void)
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
static void
test_concurrent_increments(void)
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

/* --- failing disk ----------------------------------------------------------------------------------- */

static void
test_failing_disk(void)
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

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/committer/sync_by_durability", test_sync_by_durability);
    g_test_add_func("/committer/shared_sync", test_shared_sync);
    g_test_add_func("/committer/last_put_counts", test_last_put_counts);
    g_test_add_func("/committer/put_if_replaces_future_cell", test_put_if_replaces_future_cell);
    g_test_add_func("/committer/table_created_again", test_table_created_again);
    g_test_add_func("/committer/concurrent_increments", test_concurrent_increments);
    g_test_add_func("/committer/failing_disk", test_failing_disk);
    return g_test_run();
}
