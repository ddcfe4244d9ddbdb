/* The committer: what is acknowledged was synced, callers share a sync, conditions hold between threads, and
 * a write whose sync fails is UNKNOWN, those after it have FAILED.
 *
 * The program has its own fdatasync, which the dynamic linker prefers for RocksDB too: it counts, and
 * fails when it is told to.
 */
#include "base/metrics.h"
#include "base/thread.h"
#include "contract/fixture.h"
#include "opened.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int syncs;
static _Atomic bool disk_fails;

int fdatasync(int file); /* unistd.h has it, but for -Wmissing-prototypes under every libc */

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
put_of(const char *row, int64_t timestamp)
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
begin(kw_opened *opened)
{
    kw_opened_init(opened);
    kw_family_spec family = kw_plain_family("d");
    family.max_versions = 3;
    kw_opened_create(opened, "t", &family, 1);
}

static void
test_synced(void)
{
    static const struct {
        kw_durability durability;
        bool synced;
    } cases[] = {{KW_DURABILITY_DEFAULT, true},
                 {KW_DURABILITY_SYNC_WAL, true},
                 {KW_DURABILITY_FSYNC_WAL, true},
                 {KW_DURABILITY_ASYNC_WAL, false},
                 {KW_DURABILITY_SKIP_WAL, false}};
    kw_opened opened;
    begin(&opened);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_write write = put_of("row", (int64_t)i + 1);
        write.durability = cases[i].durability;
        int before = atomic_load(&syncs);
        g_assert_cmpint(kw_sync_write(&opened.sync, &write).outcome, ==, KW_OUTCOME_OK);
        g_assert_cmpint(atomic_load(&syncs) > before, ==, cases[i].synced);
    }
    kw_opened_expect(&opened, "t", "row", "d:a@5=x d:a@4=x d:a@3=x");
    kw_opened_clear(&opened);
}

typedef struct group {
    size_t started, finished, failed;
    bool done;
} group;

static void
one_done(void *user, kw_outcome outcome, const kw_error *error)
{
    (void)error;
    group *all = user;
    all->failed += outcome != KW_OUTCOME_OK;
    all->done = ++all->finished == all->started;
}

static void
test_shared(void)
{
    enum { PUTS = 500 };
    kw_opened opened;
    begin(&opened);
    char rows[PUTS][8];
    kw_write writes[PUTS];
    group all = {.started = PUTS};
    int64_t commits = kw_metrics_read(KW_METRIC_commits);
    for (int i = 0; i < PUTS; i++) {
        g_snprintf(rows[i], sizeof rows[i], "%d", i);
        writes[i] = put_of(rows[i], 1);
        kw_store_handle_write(opened.sync.handle, &writes[i], one_done, &all);
    }
    kw_sync_wait(&opened.sync, &all.done);
    g_assert_cmpuint(all.failed, ==, 0);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_commits) - commits, <=, 2); /* one turn of the loop */
    for (int i = 0; i < PUTS; i++)
        kw_opened_expect(&opened, "t", rows[i], "d:a@1=x");
    kw_opened_clear(&opened);
}

/* Of puts to one cell in one call the last holds; so do a put and a delete in their order of time. */
static void
test_order_in_a_call(void)
{
    enum { PUTS = 20 };
    kw_opened opened;
    begin(&opened);
    char values[PUTS][4];
    kw_cell cells[PUTS];
    kw_write writes[PUTS];
    const kw_write *all[PUTS];
    kw_written results[PUTS];
    for (int i = 0; i < PUTS; i++) {
        g_snprintf(values[i], sizeof values[i], "%d", i);
        cells[i] = cell;
        cells[i].value = B(values[i]);
        writes[i] = put_of("row", 5);
        writes[i].cells = &cells[i];
        all[i] = &writes[i];
    }
    kw_sync_write_many(&opened.sync, all, PUTS, results);
    kw_opened_expect(&opened, "t", "row", "d:a@5=19");
    kw_opened_clear(&opened);
}

/* A put that the store stamps replaces what a stamp ahead of the store's clock put there. */
static void
test_condition_behind_a_stamp(void)
{
    kw_opened opened;
    begin(&opened);
    int64_t ahead = kw_clock_wall_ms() + 3600000;
    kw_write write = put_of("row", ahead);
    g_assert_cmpint(kw_sync_write(&opened.sync, &write).outcome, ==, KW_OUTCOME_OK);
    kw_cell changed = cell;
    changed.value = B("y");
    kw_write change = put_of("row", KW_TIMESTAMP_NONE);
    change.cells = &changed;
    kw_check check = {.family = B("d"),
                      .qualifier = B("a"),
                      .compare = KW_COMPARE_EQUAL,
                      .has_value = true,
                      .value = B("x")};
    kw_sync_written result = kw_sync_write_if(&opened.sync, &change, &check);
    g_assert_true(result.outcome == KW_OUTCOME_OK && result.applied);
    g_autofree char *wanted = g_strdup_printf("d:a@%" G_GINT64_FORMAT "=y", ahead);
    kw_opened_expect(&opened, "t", "row", wanted);
    kw_opened_clear(&opened);
}

static void
dropped(void *user, const kw_error *error)
{
    one_done(user, error ? KW_OUTCOME_FAILED : KW_OUTCOME_OK, error);
}

static void
created(void *user, bool made, const kw_error *error)
{
    one_done(user, made && !error ? KW_OUTCOME_OK : KW_OUTCOME_FAILED, error);
}

/* Started in one turn of the loop, done in one round: what is written behind the drop is in the new table. */
static void
test_table_made_again(void)
{
    kw_opened opened;
    begin(&opened);
    group all = {.started = 4};
    kw_family_spec family = kw_plain_family("d");
    kw_table_spec spec = {
        .name = B("t"), .families = &family, .families_count = 1, .deadline = KW_DEADLINE_NONE};
    kw_write before = put_of("before", 1), behind = put_of("behind", 1);
    kw_store_handle_write(opened.sync.handle, &before, one_done, &all);
    kw_store_handle_drop_table(opened.sync.handle, spec.name, KW_DEADLINE_NONE, dropped, &all);
    kw_store_handle_create_table(opened.sync.handle, &spec, created, &all);
    kw_store_handle_write(opened.sync.handle, &behind, one_done, &all);
    kw_sync_wait(&opened.sync, &all.done);
    g_assert_cmpuint(all.failed, ==, 0);
    kw_opened_expect(&opened, "t", "before", "");
    kw_opened_expect(&opened, "t", "behind", "d:a@1=x");
    kw_opened_clear(&opened);
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
increment_of(const int64_t *amount)
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

/* A put of its own between the increments, which it must read back at once. */
static void
put_and_read(kw_sync *sync, int number, int i)
{
    g_autofree char *row = g_strdup_printf("%d-%d", number, i);
    kw_write write = put_of(row, i + 1);
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
        kw_increment increment = increment_of(&amount);
        kw_sync_written result = kw_sync_increment(&sync, &increment);
        g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
        own->values[i] = (int64_t)kw_be64_load(result.rows->rows[0].cells[0].value.data);
        kw_rows_free(result.rows);
        if (i % 5 == 0)
            put_and_read(&sync, own->number, i);
    }
    kw_sync_close(&sync);
}

/* Every increment had a value of its own, and each thread saw them grow. */
static void
test_threads(void)
{
    kw_opened opened;
    begin(&opened);
    static worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i].store = opened.store;
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
    kw_opened_clear(&opened);
}

/* --- a disk that fails ------------------------------------------------------------------------------ */

static void
test_failing_disk(void)
{
    kw_opened opened;
    begin(&opened);
    kw_write write = put_of("before", 1);
    g_assert_cmpint(kw_sync_write(&opened.sync, &write).outcome, ==, KW_OUTCOME_OK);
    kw_error error;
    g_assert_true(kw_store_ready(opened.store, &error));
    atomic_store(&disk_fails, true);
    write = put_of("lost", 1);
    kw_sync_written result = kw_sync_write(&opened.sync, &write);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_UNKNOWN);
    g_assert_true(result.error.maybe_applied);
    kw_expect_error(&result.error, KW_UNAVAILABLE, "writing");
    kw_written results[2];
    const kw_write *all[] = {&write, &write};
    kw_sync_write_many(&opened.sync, all, 2, results); /* from here on nothing is tried any more */
    g_assert_cmpint(results[0].outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(results[1].outcome, ==, KW_OUTCOME_FAILED);
    g_assert_false(results[0].error.maybe_applied);
    int64_t amount = 1;
    kw_increment increment = increment_of(&amount);
    result = kw_sync_increment(&opened.sync, &increment);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    g_assert_null(result.rows);
    g_assert_false(kw_store_ready(opened.store, &error));
    kw_expect_error(&error, KW_UNAVAILABLE, opened.folder);
    kw_opened_expect(&opened, "t", "before", "d:a@1=x"); /* reads go on */
    atomic_store(&disk_fails, false);
    kw_opened_reopen(&opened);
    g_assert_true(kw_store_ready(opened.store, &error));
    kw_opened_expect(&opened, "t", "before", "d:a@1=x");
    write = put_of("after", 1);
    g_assert_cmpint(kw_sync_write(&opened.sync, &write).outcome, ==, KW_OUTCOME_OK);
    kw_opened_clear(&opened);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/committer/synced", test_synced);
    g_test_add_func("/committer/shared", test_shared);
    g_test_add_func("/committer/order_in_a_call", test_order_in_a_call);
    g_test_add_func("/committer/condition_behind_a_stamp", test_condition_behind_a_stamp);
    g_test_add_func("/committer/table_made_again", test_table_made_again);
    g_test_add_func("/committer/threads", test_threads);
    g_test_add_func("/committer/failing_disk", test_failing_disk);
    return g_test_run();
}
