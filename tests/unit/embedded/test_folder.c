/* The folder: made, locked, refused when it is another's; and what survives a restart. */
#include "base/metrics.h"
#include "contract/fixture.h"
#include "opened.h"
#include "store/check.h"

#include <glib/gstdio.h>
#include <unistd.h>

static void
expect_closed(const char *folder, kw_code code, const char *names)
{
    kw_error error = {0};
    g_assert_null(kw_opened_store(folder, &error));
    kw_expect_error(&error, code, names);
    kw_expect_error(&error, code, folder);
}

static void
test_made(void)
{
    g_autofree char *base = kw_folder_make();
    g_autofree char *deep = g_build_filename(base, "a", "b", NULL);
    kw_error error;
    kw_store *store = kw_opened_store(deep, &error);
    g_assert_nonnull(store);
    g_assert_nonnull(strstr(kw_store_about(store), deep));
    kw_store_free(store);
    kw_folder_remove(base);
}

static void
test_locked(void)
{
    kw_opened opened;
    kw_opened_init(&opened);
    g_autofree char *pid = g_strdup_printf("process %d", (int)getpid());
    expect_closed(opened.folder, KW_UNAVAILABLE, pid);
    kw_opened_reopen(&opened); /* free again */
    kw_opened_clear(&opened);
}

static void
test_something_else(void)
{
    g_autofree char *folder = kw_folder_make();
    g_autofree char *file = g_build_filename(folder, "holiday.jpg", NULL);
    g_assert_true(g_file_set_contents(file, "x", 1, NULL));
    expect_closed(folder, KW_CORRUPT, "holiday.jpg");
    g_assert_cmpint(g_unlink(file), ==, 0);
    g_autofree char *key = g_build_filename(folder, "cursor.key", NULL);
    g_assert_true(g_file_set_contents(key, "x", 1, NULL)); /* the gateway's own neighbour */
    kw_error error;
    kw_store *store = kw_opened_store(folder, &error);
    g_assert_nonnull(store);
    kw_store_free(store);
    kw_folder_remove(folder);
}

static void
test_other_format(void)
{
    g_autofree char *folder = kw_folder_make();
    g_autofree char *file = g_build_filename(folder, "format", NULL);
    g_assert_true(g_file_set_contents(file, "keyway embedded store, format 7\n", -1, NULL));
    expect_closed(folder, KW_CORRUPT, "format 7");
    g_autofree char *rows = g_build_filename(folder, "rows", NULL);
    g_assert_false(g_file_test(rows, G_FILE_TEST_EXISTS));
    kw_folder_remove(folder);
}

static void
test_a_file(void)
{
    g_autofree char *folder = kw_folder_make();
    g_autofree char *file = g_build_filename(folder, "file", NULL);
    g_assert_true(g_file_set_contents(file, "x", 1, NULL));
    expect_closed(file, KW_UNAVAILABLE, "");
    kw_folder_remove(folder);
}

/* Damage in a file of RocksDB's is found and told. */
static void
test_damaged(void)
{
    kw_opened opened;
    kw_opened_init(&opened);
    kw_opened_clear(&opened);
    g_autofree char *folder = kw_folder_make();
    kw_store *store = kw_opened_store(folder, NULL);
    g_assert_nonnull(store);
    kw_store_free(store);
    g_autofree char *current = g_build_filename(folder, "rows", "CURRENT", NULL);
    g_assert_true(g_file_set_contents(current, "nonsense", -1, NULL));
    expect_closed(folder, KW_CORRUPT, "damaged");
    kw_folder_remove(folder);
}

static void
test_restart_keeps_all(void)
{
    kw_opened opened;
    kw_opened_init(&opened);
    kw_family_spec families[] = {kw_plain_family("z"), kw_plain_family("a")};
    families[1].max_versions = 3;
    families[1].ttl_seconds = 1234567890;
    families[1].compression = "ZSTD";
    kw_opened_create(&opened, "first", families, 2);
    kw_opened_create(&opened, "ns:second", families, 1);
    kw_opened_put(&opened, "first", "row", "z", "q", "kept", 5);
    kw_opened_put(&opened, "ns:second", "row", "z", "q", "too", 6);
    kw_opened_create(&opened, "third", families, 1);
    kw_opened_put(&opened, "third", "row", "z", "q", "dropped", 5);
    g_assert_true(kw_sync_drop(&opened.sync, B("third"), NULL));
    kw_opened_reopen(&opened);
    kw_opened_expect(&opened, "first", "row", "z:q@5=kept");
    kw_opened_expect(&opened, "default:first", "row", "z:q@5=kept");
    kw_opened_expect(&opened, "ns:second", "row", "z:q@6=too");
    kw_table_facts *facts = kw_sync_describe(&opened.sync, B("first"), NULL);
    g_assert_cmpuint(facts->families_count, ==, 2);
    g_assert_cmpstr(facts->families[0].name, ==, "a");
    g_assert_cmpint(facts->families[0].max_versions, ==, 3);
    g_assert_cmpint(facts->families[0].ttl_seconds, ==, 1234567890);
    g_assert_cmpstr(facts->families[0].compression, ==, "ZSTD");
    g_assert_null(facts->families[1].compression);
    kw_table_facts_free(facts);
    kw_opened_create(&opened, "third", families, 1); /* its id is new: the old rows stay gone */
    kw_opened_expect(&opened, "third", "row", "");
    kw_opened_clear(&opened);
}

/* What the block cache does not hold is read by a reader thread, and then on the loop. */
static void
test_from_disk_and_from_memory(void)
{
    kw_opened opened;
    kw_opened_init(&opened);
    kw_family_spec family = kw_plain_family("d");
    kw_opened_create(&opened, "t", &family, 1);
    g_autofree char *large = g_strnfill(40000, 'x'); /* a block of its own for each row */
    g_autofree char *expected = g_strdup_printf("d:q@5=%s", large);
    for (const char *row = "abcde"; *row; row++)
        kw_opened_put(&opened, "t", row, "d", "q", large, 5);
    int64_t at_first = kw_metrics_read(KW_METRIC_store_reads_near);
    kw_opened_expect(&opened, "t", "cde", expected); /* in the memtable */
    g_assert_cmpint(kw_metrics_read(KW_METRIC_store_reads_near), ==, at_first + 1);
    kw_opened_reopen(&opened); /* in a file */
    kw_opened_expect(&opened, "t", "cde", expected);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_store_reads_near), ==, at_first + 1);
    kw_opened_expect(&opened, "t", "cde", expected);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_store_reads_near), ==, at_first + 2);
    kw_opened_expect(&opened, "t", "no such row", "");
    kw_opened_clear(&opened);
}

/* The longest row there may be, of the bytes that take most room. */
static void
test_longest_row(void)
{
    kw_opened opened;
    kw_opened_init(&opened);
    kw_family_spec family = kw_plain_family("d");
    kw_opened_create(&opened, "t", &family, 1);
    g_autofree uint8_t *row = g_malloc0(KW_STORE_ROW_KEY_MAX);
    g_autofree uint8_t *qualifier = g_malloc0(KW_STORE_QUALIFIER_MAX);
    for (int filled = 0; filled <= 0xff; filled += 0xff) {
        memset(row, filled, KW_STORE_ROW_KEY_MAX);
        memset(qualifier, filled, KW_STORE_QUALIFIER_MAX);
        kw_cell cell = {
            .family = B("d"), .qualifier = kw_bytes_of(qualifier, KW_STORE_QUALIFIER_MAX), .value = B("x")};
        kw_write write = {.kind = KW_WRITE_PUT,
                          .table = B("t"),
                          .row = kw_bytes_of(row, KW_STORE_ROW_KEY_MAX),
                          .cells = &cell,
                          .cells_count = 1,
                          .timestamp = 1,
                          .deadline = KW_DEADLINE_NONE};
        g_assert_cmpint(kw_sync_write(&opened.sync, &write).outcome, ==, KW_OUTCOME_OK);
        kw_range_scan *run = kw_store_handle_open_range_scan(
            opened.sync.handle, &(kw_range_scan_spec){.table = B("t"), .start = write.row});
        kw_rows *rows = kw_sync_fetch(&opened.sync, run, 10, 1 << 20, false, NULL);
        g_assert_cmpuint(rows->count, >=, 1);
        g_assert_true(kw_bytes_equal(rows->rows[0].key, write.row));
        g_assert_true(kw_bytes_equal(rows->rows[0].cells[0].qualifier, cell.qualifier));
        kw_rows_free(rows);
        kw_range_scan_close(run);
    }
    kw_opened_clear(&opened);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/folder/made", test_made);
    g_test_add_func("/folder/locked", test_locked);
    g_test_add_func("/folder/something_else", test_something_else);
    g_test_add_func("/folder/other_format", test_other_format);
    g_test_add_func("/folder/a_file", test_a_file);
    g_test_add_func("/folder/damaged", test_damaged);
    g_test_add_func("/folder/restart_keeps_all", test_restart_keeps_all);
    g_test_add_func("/folder/from_disk_and_from_memory", test_from_disk_and_from_memory);
    g_test_add_func("/folder/longest_row", test_longest_row);
    return g_test_run();
}
