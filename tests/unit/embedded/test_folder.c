/* The store's folder: it is created, locked, and rejected if it is not a store; and its data survives a
 * restart. */
#include "base/metrics.h"
#include "contract/fixture.h"
#include "embedded_fixture.h"
#include "store/check.h"

#include <glib/gstdio.h>
#include <unistd.h>

static void
expect_rejected(const char *folder, kw_code code, const char *text)
{
    kw_error error = {0};
    g_assert_null(embedded_fixture_open_store(folder, &error));
    kw_expect_error(&error, code, text);
    kw_expect_error(&error, code, folder);
}

KW_TEST(test_created, "/folder/created")
{
    g_autofree char *base = temporary_folder_new();
    g_autofree char *deep = g_build_filename(base, "a", "b", NULL);
    kw_error error;
    kw_store *store = embedded_fixture_open_store(deep, &error);
    g_assert_nonnull(store);
    g_assert_nonnull(strstr(kw_store_about(store), deep));
    kw_store_free(store);
    temporary_folder_remove(base);
}

KW_TEST(test_locked, "/folder/locked")
{
    embedded_fixture fixture;
    embedded_fixture_init(&fixture);
    g_autofree char *pid = g_strdup_printf("process %d", (int)getpid());
    expect_rejected(fixture.folder, KW_UNAVAILABLE, pid);
    embedded_fixture_reopen(&fixture); /* the lock is free again */
    embedded_fixture_clear(&fixture);
}

KW_TEST(test_not_a_store, "/folder/not_a_store")
{
    g_autofree char *folder = temporary_folder_new();
    g_autofree char *file = g_build_filename(folder, "holiday.jpg", NULL);
    g_assert_true(g_file_set_contents(file, "x", 1, NULL));
    expect_rejected(folder, KW_CORRUPT, "holiday.jpg");
    g_assert_cmpint(g_unlink(file), ==, 0);
    g_autofree char *key = g_build_filename(folder, "cursor.key", NULL);
    g_assert_true(g_file_set_contents(key, "x", 1, NULL)); /* a file that the gateway itself creates there */
    kw_error error;
    kw_store *store = embedded_fixture_open_store(folder, &error);
    g_assert_nonnull(store);
    kw_store_free(store);
    temporary_folder_remove(folder);
}

/* The rest of a store is not mistaken for a folder of something else. */
KW_TEST(test_part_of_a_store, "/folder/part_of_a_store")
{
    static const char *const rests[] = {"rows", "acknowledged", "filled"};
    for (size_t i = 0; i < G_N_ELEMENTS(rests); i++) {
        g_autofree char *folder = temporary_folder_new();
        g_autofree char *file = g_build_filename(folder, rests[i], NULL);
        g_assert_true(g_file_set_contents(file, "", 0, NULL));
        expect_rejected(folder, KW_CORRUPT, "restore the whole folder from a backup (docs/backup.md)");
        temporary_folder_remove(folder);
    }
}

KW_TEST(test_other_format, "/folder/other_format")
{
    g_autofree char *folder = temporary_folder_new();
    g_autofree char *file = g_build_filename(folder, "format", NULL);
    g_assert_true(g_file_set_contents(file, "keyway embedded store, format 7\n", -1, NULL));
    expect_rejected(folder, KW_CORRUPT, "format 7");
    g_autofree char *rows = g_build_filename(folder, "rows", NULL);
    g_assert_false(g_file_test(rows, G_FILE_TEST_EXISTS));
    temporary_folder_remove(folder);
}

KW_TEST(test_path_is_a_file, "/folder/path_is_a_file")
{
    g_autofree char *folder = temporary_folder_new();
    g_autofree char *file = g_build_filename(folder, "file", NULL);
    g_assert_true(g_file_set_contents(file, "x", 1, NULL));
    expect_rejected(file, KW_UNAVAILABLE, "");
    temporary_folder_remove(folder);
}

/* Damage in a file of RocksDB is reported. */
KW_TEST(test_damaged, "/folder/damaged")
{
    embedded_fixture fixture;
    embedded_fixture_init(&fixture);
    embedded_fixture_clear(&fixture);
    g_autofree char *folder = temporary_folder_new();
    kw_store *store = embedded_fixture_open_store(folder, NULL);
    g_assert_nonnull(store);
    kw_store_free(store);
    g_autofree char *current = g_build_filename(folder, "rows", "CURRENT", NULL);
    g_assert_true(g_file_set_contents(current, "nonsense", -1, NULL));
    expect_rejected(folder, KW_CORRUPT, "damaged");
    temporary_folder_remove(folder);
}

KW_TEST(test_restart_keeps_all, "/folder/restart_keeps_all")
{
    embedded_fixture fixture;
    embedded_fixture_init(&fixture);
    kw_family_spec families[] = {default_family("z"), default_family("a")};
    families[1].max_versions = 3;
    families[1].ttl_seconds = 1234567890;
    families[1].compression = "ZSTD";
    embedded_fixture_create_table(&fixture, "first", families, 2);
    embedded_fixture_create_table(&fixture, "ns:second", families, 1);
    embedded_fixture_put(&fixture, "first", "row", "z", "q", "kept", 5);
    embedded_fixture_put(&fixture, "ns:second", "row", "z", "q", "too", 6);
    embedded_fixture_create_table(&fixture, "third", families, 1);
    embedded_fixture_put(&fixture, "third", "row", "z", "q", "dropped", 5);
    g_assert_true(kw_sync_drop(&fixture.sync, B("third"), NULL));
    embedded_fixture_reopen(&fixture);
    embedded_fixture_expect_row(&fixture, "first", "row", "z:q@5=kept");
    embedded_fixture_expect_row(&fixture, "default:first", "row", "z:q@5=kept");
    embedded_fixture_expect_row(&fixture, "ns:second", "row", "z:q@6=too");
    kw_table_facts *facts = kw_sync_describe(&fixture.sync, B("first"), NULL);
    g_assert_cmpuint(facts->families_count, ==, 2);
    g_assert_cmpstr(facts->families[0].name, ==, "a");
    g_assert_cmpint(facts->families[0].max_versions, ==, 3);
    g_assert_cmpint(facts->families[0].ttl_seconds, ==, 1234567890);
    g_assert_cmpstr(facts->families[0].compression, ==, "ZSTD");
    g_assert_null(facts->families[1].compression);
    kw_table_facts_free(facts);
    embedded_fixture_create_table(&fixture, "third", families,
                                  1); /* it has a new id: the old rows do not reappear */
    embedded_fixture_expect_row(&fixture, "third", "row", "");
    embedded_fixture_clear(&fixture);
}

/* A row that is not in the block cache is read by a reader thread, and the next time on the loop. */
KW_TEST(test_from_disk_and_from_memory, "/folder/from_disk_and_from_memory")
{
    embedded_fixture fixture;
    embedded_fixture_init(&fixture);
    kw_family_spec family = default_family("d");
    embedded_fixture_create_table(&fixture, "t", &family, 1);
    g_autofree char *large = g_strnfill(40000, 'x'); /* each row fills a block */
    g_autofree char *expected = g_strdup_printf("d:q@5=%s", large);
    for (const char *row = "abcde"; *row; row++)
        embedded_fixture_put(&fixture, "t", row, "d", "q", large, 5);
    int64_t before = kw_metrics_read(KW_METRIC_store_reads_from_memory);
    embedded_fixture_expect_row(&fixture, "t", "cde", expected); /* in the memtable */
    g_assert_cmpint(kw_metrics_read(KW_METRIC_store_reads_from_memory), ==, before + 1);
    embedded_fixture_reopen(&fixture); /* in a file */
    embedded_fixture_expect_row(&fixture, "t", "cde", expected);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_store_reads_from_memory), ==, before + 1);
    embedded_fixture_expect_row(&fixture, "t", "cde", expected);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_store_reads_from_memory), ==, before + 2);
    embedded_fixture_expect_row(&fixture, "t", "no such row", "");
    embedded_fixture_clear(&fixture);
}

/* The longest row key and qualifier, with the bytes whose escaped form is the longest and the shortest. */
KW_TEST(test_longest_row, "/folder/longest_row")
{
    embedded_fixture fixture;
    embedded_fixture_init(&fixture);
    kw_family_spec family = default_family("d");
    embedded_fixture_create_table(&fixture, "t", &family, 1);
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
        g_assert_cmpint(kw_sync_write(&fixture.sync, &write).outcome, ==, KW_OUTCOME_OK);
        kw_range_scan *scan = kw_store_handle_open_range_scan(
            fixture.sync.handle, &(kw_range_scan_spec){.table = B("t"), .start = write.row});
        kw_rows *rows = kw_sync_fetch(&fixture.sync, scan, 10, 1 << 20, false, NULL);
        g_assert_cmpuint(rows->count, >=, 1);
        g_assert_true(kw_bytes_equal(rows->rows[0].key, write.row));
        g_assert_true(kw_bytes_equal(rows->rows[0].cells[0].qualifier, cell.qualifier));
        kw_rows_free(rows);
        kw_range_scan_close(scan);
    }
    embedded_fixture_clear(&fixture);
}
