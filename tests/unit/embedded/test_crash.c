/* SIGKILL loses no acknowledged write. A child process writes with many callers, reports the acknowledged
 * rows through a pipe, and is killed while it writes. Then all reported rows must exist completely. And the
 * store can always be opened again: a child is killed at random moments, also while it opens the store.
 *
 * The child is this program: test_embedded_crash --child FOLDER ROUND [large].
 */
#include "contract/fixture.h"
#include "embedded_fixture.h"
#include "support/seeded.h"
#include "support/slow_build.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLERS = 64, ACKNOWLEDGED = 3000, ROUNDS = 3 };
/* With large values, RocksDB flushes and compacts several times per second. */
enum { LARGE = 256 * 1024, LARGE_CALLERS = 8, KILLS = 100, KILL_MS_MAX = 700 };

/* --- the child -------------------------------------------------------------------------------------- */

typedef struct caller {
    kw_store_handle *handle;
    int round;
    uint32_t number;
    char row[32];
    kw_cell cells[2];
    kw_write write;
} caller;

static uint32_t next_number;
static kw_bytes large; /* the value of the second cell; empty: the name of the row */

static void acknowledged(void *user, kw_outcome outcome, const kw_error *error);

static void
start_put(caller *one)
{
    one->number = next_number++;
    g_snprintf(one->row, sizeof one->row, "%d-%08u", one->round, one->number);
    one->cells[0] = (kw_cell){.family = B("d"), .qualifier = B("a"), .value = B(one->row)};
    one->cells[1] =
        (kw_cell){.family = B("v"), .qualifier = B("b"), .value = large.size ? large : B(one->row)};
    one->write = (kw_write){.kind = KW_WRITE_PUT,
                            .table = B("t"),
                            .row = B(one->row),
                            .cells = one->cells,
                            .cells_count = 2,
                            .timestamp = 7,
                            .deadline = KW_DEADLINE_NONE};
    kw_store_handle_write(one->handle, &one->write, acknowledged, one);
}

static void
acknowledged(void *user, kw_outcome outcome, const kw_error *error)
{
    caller *one = user;
    if (outcome != KW_OUTCOME_OK)
        g_error("%s", error->text);
    ssize_t written = write(STDOUT_FILENO, &one->number, sizeof one->number);
    if (written != sizeof one->number)
        _exit(1);
    start_put(one);
}

/* Creates a table, and drops that of an earlier round: RocksDB then removes files without a flush. */
static void
change_tables(kw_sync *sync, const kw_table_spec *like, int round)
{
    g_autofree char *name = g_strdup_printf("t%d", round), *earlier = g_strdup_printf("t%d", round - 3);
    kw_table_spec spec = *like;
    kw_error error;
    spec.name = B(name);
    g_assert_true(kw_sync_create(sync, &spec, NULL, NULL));
    kw_sync_drop(sync, B(earlier),
                 &error); /* fails if the earlier child was killed before it had created it */
}

static void
run_child(const char *folder, int round)
{
    static caller callers[CALLERS];
    kw_error error;
    kw_store *store = embedded_fixture_open_store(folder, &error);
    if (!store)
        g_error("%s", error.text);
    kw_sync sync;
    kw_sync_open(&sync, store);
    const kw_family_spec families[] = {default_family("d"), default_family("v")};
    kw_table_spec spec = {
        .name = B("t"), .families = families, .families_count = 2, .deadline = KW_DEADLINE_NONE};
    g_assert_true(kw_sync_create(&sync, &spec, NULL, NULL));
    if (large.size)
        change_tables(&sync, &spec, round);
    for (int i = 0; i < (large.size ? LARGE_CALLERS : CALLERS); i++) {
        callers[i].handle = sync.handle;
        callers[i].round = round;
        start_put(&callers[i]);
    }
    kw_loop_run(sync.loop);
}

/* --- the parent ------------------------------------------------------------------------------------- */

static const char *program;

/* Starts the child, collects the rows that it reports, and kills it while it writes more. */
static GArray *
run_and_kill(const char *folder, int round)
{
    g_autofree char *round_text = g_strdup_printf("%d", round);
    const char *const command[] = {program, "--child", folder, round_text, NULL};
    GPid child;
    int from_child;
    g_autoptr(GError) failed = NULL;
    if (!g_spawn_async_with_pipes(NULL, (char **)(uintptr_t)command, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL,
                                  NULL, &child, NULL, &from_child, NULL, &failed))
        g_error("%s", failed->message);
    GArray *numbers = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    uint32_t number;
    while (numbers->len < ACKNOWLEDGED && read(from_child, &number, sizeof number) == sizeof number)
        g_array_append_val(numbers, number);
    kill(child, SIGKILL);
    while (read(from_child, &number, sizeof number) == sizeof number)
        g_array_append_val(numbers, number); /* reported before it died */
    int status;
    waitpid(child, &status, 0);
    g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(from_child);
    return numbers;
}

static void
expect_rows(embedded_fixture *fixture, int round, const GArray *numbers)
{
    for (guint i = 0; i < numbers->len; i++) {
        g_autofree char *row = g_strdup_printf("%d-%08u", round, g_array_index(numbers, uint32_t, i));
        g_autofree char *text = g_strdup_printf("d:a@7=%s v:b@7=%s", row, row);
        embedded_fixture_expect_row(fixture, "t", row, text);
    }
}

/* Rows that were not acknowledged can exist, but only completely. */
static void
expect_whole_rows(embedded_fixture *fixture)
{
    kw_range_scan *scan =
        kw_store_handle_open_range_scan(fixture->sync.handle, &(kw_range_scan_spec){.table = B("t")});
    for (bool end = false; !end;) {
        kw_rows *rows = kw_sync_fetch(&fixture->sync, scan, 1000, 1 << 20, true, NULL);
        for (size_t i = 0; i < rows->count; i++)
            g_assert_cmpuint(rows->rows[i].cells_count, ==, 2);
        end = rows->end;
        kw_rows_free(rows);
    }
    kw_range_scan_close(scan);
}

static void
test_kill(void)
{
    g_autofree char *folder = temporary_folder_new();
    GArray *numbers[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        numbers[round] = run_and_kill(folder, round);
        g_assert_cmpuint(numbers[round]->len, >=, ACKNOWLEDGED);
    }
    kw_error error;
    embedded_fixture fixture = {.folder = folder, .store = embedded_fixture_open_store(folder, &error)};
    g_assert_nonnull(fixture.store);
    kw_sync_open(&fixture.sync, fixture.store);
    for (int round = 0; round < ROUNDS; round++) {
        expect_rows(&fixture, round, numbers[round]);
        g_array_free(numbers[round], TRUE);
    }
    expect_whole_rows(&fixture);
    kw_sync_close(&fixture.sync);
    kw_store_free(fixture.store);
    temporary_folder_remove(folder);
}

/* --- random moments --------------------------------------------------------------------------------- */

/* Kills the child after a random time. Returns the last number that it reported for one of its callers; -1:
 * none. */
static int64_t
kill_at_random(const char *folder, int round)
{
    g_autofree char *round_text = g_strdup_printf("%d", round);
    const char *const command[] = {program, "--child", folder, round_text, "large", NULL};
    GPid child;
    int from_child, status;
    g_autoptr(GError) failed = NULL;
    if (!g_spawn_async_with_pipes(NULL, (char **)(uintptr_t)command, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL,
                                  NULL, &child, NULL, &from_child, NULL, &failed))
        g_error("%s", failed->message);
    g_usleep((gulong)g_test_rand_int_range(0, KILL_MS_MAX) * 1000);
    kill(child, SIGKILL);
    int64_t last = -1;
    uint32_t number;
    while (read(from_child, &number, sizeof number) == sizeof number)
        last = number;
    waitpid(child, &status, 0);
    close(from_child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        g_error("round %d: the store could not be opened after SIGKILL, or a write failed", round);
    return last;
}

static void
test_random_moments(void)
{
    const char *more = g_getenv("KW_KILLS");
    int kills = more ? atoi(more) : KILLS / KW_TEST_STEP(4), written = 0;
    g_autofree char *folder = temporary_folder_new();
    int64_t *last = g_new(int64_t, (gsize)kills);
    for (int round = 0; round < kills; round++)
        last[round] = kill_at_random(folder, round);
    kw_error error;
    embedded_fixture fixture = {.folder = folder, .store = embedded_fixture_open_store(folder, &error)};
    if (!fixture.store)
        g_error("%s", error.text);
    kw_sync_open(&fixture.sync, fixture.store);
    for (int round = 0; round < kills; round++) {
        if (last[round] < 0)
            continue;
        g_autofree char *row = g_strdup_printf("%d-%08u", round, (unsigned)last[round]);
        kw_get get = {.table = B("t"), .row = B(row), .deadline = KW_DEADLINE_NONE};
        kw_rows *rows = kw_sync_get(&fixture.sync, &get, NULL);
        g_assert_cmpuint(rows->rows[0].cells_count, ==, 2);
        kw_rows_free(rows);
        written++;
    }
    g_test_message("%d kills, %d of them after writes", kills, written);
    g_assert_cmpint(written, >, 0);
    kw_sync_close(&fixture.sync);
    kw_store_free(fixture.store);
    temporary_folder_remove(folder);
    g_free(last);
}

int
main(int argc, char **argv)
{
    program = argv[0];
    if (argc >= 4 && strcmp(argv[1], "--child") == 0) {
        if (argc == 5)
            large = B(g_strnfill(LARGE, 'x'));
        run_child(argv[2], atoi(argv[3]));
    }
    seeded_init(&argc, &argv);
    g_test_add_func("/crash/kill", test_kill);
    g_test_add_func("/crash/random_moments", test_random_moments);
    return g_test_run();
}
