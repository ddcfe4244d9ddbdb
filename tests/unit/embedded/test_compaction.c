/* Compaction: what it drops, told by counting raw entries; and that no answer changes. */
#include "contract/fixture.h"
#include "opened.h"
#include "store/embedded/embedded_internal.h"

static void
compact(kw_opened *opened)
{
    rocksdb_t *db = ((kw_embedded *)opened->store)->engine.db;
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *failed = NULL;
    rocksdb_flush(db, options, &failed);
    g_assert_null(failed);
    rocksdb_flushoptions_destroy(options);
    rocksdb_compactoptions_t *how = rocksdb_compactoptions_create();
    rocksdb_compactoptions_set_bottommost_level_compaction(how, 2); /* even what lies at the bottom */
    rocksdb_compact_range_opt(db, how, NULL, 0, NULL, 0);
    rocksdb_compactoptions_destroy(how);
}

/* Entries on disk, the catalog's aside. */
static size_t
count_entries(kw_opened *opened)
{
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_total_order_seek(options, 1);
    rocksdb_iterator_t *at = rocksdb_create_iterator(((kw_embedded *)opened->store)->engine.db, options);
    size_t count = 0;
    for (rocksdb_iter_seek(at, "\0\0\0\1", 4); rocksdb_iter_valid(at); rocksdb_iter_next(at))
        count++;
    rocksdb_iter_destroy(at);
    rocksdb_readoptions_destroy(options);
    return count;
}

static void
put_versions(kw_opened *opened, const char *row, const char *family, int64_t count)
{
    for (int64_t at = 1; at <= count; at++)
        kw_opened_put(opened, "t", row, family, "q", "x", at);
}

static void
test_versions(void)
{
    kw_opened opened;
    kw_opened_init(&opened);
    kw_family_spec families[] = {kw_plain_family("d"), kw_plain_family("v")};
    families[1].max_versions = 3;
    kw_opened_create(&opened, "t", families, 2);
    put_versions(&opened, "a", "d", 20);
    put_versions(&opened, "a", "v", 20);
    put_versions(&opened, "b", "d", 1);
    g_assert_cmpuint(count_entries(&opened), ==, 41);
    compact(&opened);
    g_assert_cmpuint(count_entries(&opened), ==, 5);
    kw_opened_expect(&opened, "t", "a", "d:q@20=x v:q@20=x v:q@19=x v:q@18=x");
    kw_opened_expect(&opened, "t", "b", "d:q@1=x");
    kw_opened_clear(&opened);
}

static void
test_ttl(void)
{
    kw_opened opened;
    kw_opened_init(&opened);
    kw_family_spec families[] = {kw_plain_family("m"), kw_plain_family("t")};
    families[0].ttl_seconds = families[1].ttl_seconds = 3600;
    families[0].min_versions = 1;
    kw_opened_create(&opened, "t", families, 2);
    int64_t now_ms = kw_clock_wall_ms();
    kw_opened_put(&opened, "t", "a", "m", "q", "x", 1);
    kw_opened_put(&opened, "t", "a", "t", "q", "x", 1);
    kw_opened_put(&opened, "t", "b", "t", "q", "x", now_ms);
    kw_opened_remove_row(&opened, "t", "c", 1); /* two markers, one in the family with a minimum */
    compact(&opened);
    g_assert_cmpuint(count_entries(&opened), ==, 3);
    kw_opened_expect(&opened, "t", "a", "m:q@1=x");
    g_autofree char *text = g_strdup_printf("t:q@%lld=x", (long long)now_ms);
    kw_opened_expect(&opened, "t", "b", text);
    kw_opened_clear(&opened);
}

static void
remove_column(kw_opened *opened, const char *row, int64_t timestamp)
{
    kw_column column = {.family = B("d"), .qualifier = B("q")};
    kw_write write = {.kind = KW_WRITE_DELETE,
                      .table = B("t"),
                      .row = B(row),
                      .columns = &column,
                      .columns_count = 1,
                      .timestamp = timestamp,
                      .deadline = KW_DEADLINE_NONE};
    g_assert_cmpint(kw_sync_write(&opened->sync, &write).outcome, ==, KW_OUTCOME_OK);
}

/* The newest marker stays and goes on hiding what comes behind it later. */
static void
test_markers(void)
{
    kw_opened opened;
    kw_opened_init(&opened);
    kw_family_spec family = kw_plain_family("d");
    family.max_versions = 10;
    kw_opened_create(&opened, "t", &family, 1);
    put_versions(&opened, "a", "d", 6);
    for (int64_t at = 1; at <= 4; at++)
        kw_opened_remove_row(&opened, "t", "a", at);
    put_versions(&opened, "b", "d", 6);
    remove_column(&opened, "b", 2);
    remove_column(&opened, "b", 5);
    kw_opened_expect(&opened, "t", "a", "d:q@6=x d:q@5=x");
    kw_opened_expect(&opened, "t", "b", "d:q@6=x");
    compact(&opened);
    g_assert_cmpuint(count_entries(&opened), ==, 5); /* a: a marker and two cells; b: a cell and a marker */
    kw_opened_expect(&opened, "t", "a", "d:q@6=x d:q@5=x");
    kw_opened_expect(&opened, "t", "b", "d:q@6=x");
    kw_opened_put(&opened, "t", "a", "d", "q", "late", 4);
    kw_opened_put(&opened, "t", "b", "d", "q", "late", 3);
    kw_opened_put(&opened, "t", "b", "d", "other", "late", 3);
    compact(&opened);
    kw_opened_expect(&opened, "t", "a", "d:q@6=x d:q@5=x");
    kw_opened_expect(&opened, "t", "b", "d:other@3=late d:q@6=x");
    g_assert_cmpuint(count_entries(&opened), ==, 6);
    kw_opened_clear(&opened);
}

static void
test_keep_deleted(void)
{
    kw_opened opened;
    kw_opened_init(&opened);
    kw_family_spec family = kw_plain_family("d");
    family.max_versions = 10;
    family.keep_deleted_cells = 1;
    kw_opened_create(&opened, "t", &family, 1);
    put_versions(&opened, "a", "d", 6);
    kw_opened_remove_row(&opened, "t", "a", 3);
    remove_column(&opened, "a", 5);
    compact(&opened);
    g_assert_cmpuint(count_entries(&opened), ==, 8);
    kw_opened_expect(&opened, "t", "a", "d:q@6=x");
    kw_opened_clear(&opened);
}

static void
test_dropped_table(void)
{
    kw_opened opened;
    kw_opened_init(&opened);
    kw_family_spec family = kw_plain_family("d");
    kw_opened_create(&opened, "before", &family, 1);
    kw_opened_create(&opened, "t", &family, 1);
    kw_opened_create(&opened, "after", &family, 1);
    kw_opened_put(&opened, "before", "r", "d", "q", "x", 1);
    kw_opened_put(&opened, "after", "r", "d", "q", "x", 1);
    put_versions(&opened, "a", "d", 1);
    put_versions(&opened, "b", "d", 1);
    g_assert_true(kw_sync_drop(&opened.sync, B("t"), NULL));
    compact(&opened);
    g_assert_cmpuint(count_entries(&opened), ==, 2);
    kw_opened_reopen(&opened);
    kw_opened_expect(&opened, "before", "r", "d:q@1=x");
    kw_opened_expect(&opened, "after", "r", "d:q@1=x");
    kw_opened_clear(&opened);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/compaction/versions", test_versions);
    g_test_add_func("/compaction/ttl", test_ttl);
    g_test_add_func("/compaction/markers", test_markers);
    g_test_add_func("/compaction/keep_deleted", test_keep_deleted);
    g_test_add_func("/compaction/dropped_table", test_dropped_table);
    return g_test_run();
}
