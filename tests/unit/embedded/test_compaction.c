/* Compaction drops the right number of entries, and changes no result. */
#include "contract/fixture.h"
#include "embedded_fixture.h"
#include "store/embedded/embedded_internal.h"

static void
compact(embedded_fixture *fixture)
{
    rocksdb_t *db = ((kw_embedded *)fixture->store)->engine.db;
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *failed = NULL;
    rocksdb_flush(db, options, &failed);
    g_assert_null(failed);
    rocksdb_flushoptions_destroy(options);
    rocksdb_compactoptions_t *how = rocksdb_compactoptions_create();
    rocksdb_compactoptions_set_bottommost_level_compaction(how, 2); /* compact the bottom level, too */
    rocksdb_compact_range_opt(db, how, NULL, 0, NULL, 0);
    rocksdb_compactoptions_destroy(how);
}

/* Counts the entries on disk, except those of the list of tables. */
static size_t
count_entries(embedded_fixture *fixture)
{
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_total_order_seek(options, 1);
    rocksdb_iterator_t *at = rocksdb_create_iterator(((kw_embedded *)fixture->store)->engine.db, options);
    size_t count = 0;
    for (rocksdb_iter_seek(at, "\0\0\0\1", 4); rocksdb_iter_valid(at); rocksdb_iter_next(at))
        count++;
    rocksdb_iter_destroy(at);
    rocksdb_readoptions_destroy(options);
    return count;
}

static void
put_versions(embedded_fixture *fixture, const char *row, const char *family, int64_t count)
{
    for (int64_t at = 1; at <= count; at++)
        embedded_fixture_put(fixture, "t", row, family, "q", "x", at);
}

KW_TEST(test_versions, "/compaction/versions")
{
    embedded_fixture fixture;
    embedded_fixture_init(&fixture);
    kw_family_spec families[] = {default_family("d"), default_family("v")};
    families[1].max_versions = 3;
    embedded_fixture_create_table(&fixture, "t", families, 2);
    put_versions(&fixture, "a", "d", 20);
    put_versions(&fixture, "a", "v", 20);
    put_versions(&fixture, "b", "d", 1);
    g_assert_cmpuint(count_entries(&fixture), ==, 41);
    compact(&fixture);
    g_assert_cmpuint(count_entries(&fixture), ==, 5);
    embedded_fixture_expect_row(&fixture, "t", "a", "d:q@20=x v:q@20=x v:q@19=x v:q@18=x");
    embedded_fixture_expect_row(&fixture, "t", "b", "d:q@1=x");
    embedded_fixture_clear(&fixture);
}

KW_TEST(test_ttl, "/compaction/ttl")
{
    embedded_fixture fixture;
    embedded_fixture_init(&fixture);
    kw_family_spec families[] = {default_family("m"), default_family("t")};
    families[0].ttl_seconds = families[1].ttl_seconds = 3600;
    families[0].min_versions = 1;
    embedded_fixture_create_table(&fixture, "t", families, 2);
    int64_t now_ms = kw_clock_wall_ms();
    embedded_fixture_put(&fixture, "t", "a", "m", "q", "x", 1);
    embedded_fixture_put(&fixture, "t", "a", "t", "q", "x", 1);
    embedded_fixture_put(&fixture, "t", "b", "t", "q", "x", now_ms);
    embedded_fixture_delete_row(&fixture, "t", "c",
                                1); /* two markers, one of them in the family with min_versions */
    compact(&fixture);
    g_assert_cmpuint(count_entries(&fixture), ==, 3);
    embedded_fixture_expect_row(&fixture, "t", "a", "m:q@1=x");
    g_autofree char *text = g_strdup_printf("t:q@%lld=x", (long long)now_ms);
    embedded_fixture_expect_row(&fixture, "t", "b", text);
    embedded_fixture_clear(&fixture);
}

static void
remove_column(embedded_fixture *fixture, const char *row, int64_t timestamp)
{
    kw_column column = {.family = B("d"), .qualifier = B("q")};
    kw_write write = {.kind = KW_WRITE_DELETE,
                      .table = B("t"),
                      .row = B(row),
                      .columns = &column,
                      .columns_count = 1,
                      .timestamp = timestamp,
                      .deadline = KW_DEADLINE_NONE};
    g_assert_cmpint(kw_sync_write(&fixture->sync, &write).outcome, ==, KW_OUTCOME_OK);
}

/* The newest marker stays and hides older puts that arrive after the compaction. */
KW_TEST(test_markers, "/compaction/markers")
{
    embedded_fixture fixture;
    embedded_fixture_init(&fixture);
    kw_family_spec family = default_family("d");
    family.max_versions = 10;
    embedded_fixture_create_table(&fixture, "t", &family, 1);
    put_versions(&fixture, "a", "d", 6);
    for (int64_t at = 1; at <= 4; at++)
        embedded_fixture_delete_row(&fixture, "t", "a", at);
    put_versions(&fixture, "b", "d", 6);
    remove_column(&fixture, "b", 2);
    remove_column(&fixture, "b", 5);
    embedded_fixture_expect_row(&fixture, "t", "a", "d:q@6=x d:q@5=x");
    embedded_fixture_expect_row(&fixture, "t", "b", "d:q@6=x");
    compact(&fixture);
    g_assert_cmpuint(count_entries(&fixture), ==, 5); /* a: a marker and two cells; b: a cell and a marker */
    embedded_fixture_expect_row(&fixture, "t", "a", "d:q@6=x d:q@5=x");
    embedded_fixture_expect_row(&fixture, "t", "b", "d:q@6=x");
    embedded_fixture_put(&fixture, "t", "a", "d", "q", "late", 4);
    embedded_fixture_put(&fixture, "t", "b", "d", "q", "late", 3);
    embedded_fixture_put(&fixture, "t", "b", "d", "other", "late", 3);
    compact(&fixture);
    embedded_fixture_expect_row(&fixture, "t", "a", "d:q@6=x d:q@5=x");
    embedded_fixture_expect_row(&fixture, "t", "b", "d:other@3=late d:q@6=x");
    g_assert_cmpuint(count_entries(&fixture), ==, 6);
    embedded_fixture_clear(&fixture);
}

KW_TEST(test_keep_deleted, "/compaction/keep_deleted")
{
    embedded_fixture fixture;
    embedded_fixture_init(&fixture);
    kw_family_spec family = default_family("d");
    family.max_versions = 10;
    family.keep_deleted_cells = 1;
    embedded_fixture_create_table(&fixture, "t", &family, 1);
    put_versions(&fixture, "a", "d", 6);
    embedded_fixture_delete_row(&fixture, "t", "a", 3);
    remove_column(&fixture, "a", 5);
    compact(&fixture);
    g_assert_cmpuint(count_entries(&fixture), ==, 8);
    embedded_fixture_expect_row(&fixture, "t", "a", "d:q@6=x");
    embedded_fixture_clear(&fixture);
}

KW_TEST(test_dropped_table, "/compaction/dropped_table")
{
    embedded_fixture fixture;
    embedded_fixture_init(&fixture);
    kw_family_spec family = default_family("d");
    embedded_fixture_create_table(&fixture, "before", &family, 1);
    embedded_fixture_create_table(&fixture, "t", &family, 1);
    embedded_fixture_create_table(&fixture, "after", &family, 1);
    embedded_fixture_put(&fixture, "before", "r", "d", "q", "x", 1);
    embedded_fixture_put(&fixture, "after", "r", "d", "q", "x", 1);
    put_versions(&fixture, "a", "d", 1);
    put_versions(&fixture, "b", "d", 1);
    g_assert_true(kw_sync_drop(&fixture.sync, B("t"), NULL));
    compact(&fixture);
    g_assert_cmpuint(count_entries(&fixture), ==, 2);
    embedded_fixture_reopen(&fixture);
    embedded_fixture_expect_row(&fixture, "before", "r", "d:q@1=x");
    embedded_fixture_expect_row(&fixture, "after", "r", "d:q@1=x");
    embedded_fixture_clear(&fixture);
}
