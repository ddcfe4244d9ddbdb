/* Copies of rows to another store table. A store that has several writers refuses them. */
#include "contract/fixture.h"

#include "store/check.h"

#define COPY_TABLE "copies"

/* The target has no family k. */
static kw_bytes
make_target(kw_fixture *f)
{
    return kw_fixture_make_table(f, COPY_TABLE, "dvtm");
}

/* The same store, whose tests read and write the target. */
static kw_fixture
target_of(const kw_fixture *f)
{
    return (kw_fixture){.sync = f->sync, .table = kw_fixture_table(COPY_TABLE)};
}

static kw_row_copy
copy_of(const kw_fixture *f, const char *row, const char *to_row)
{
    return (kw_row_copy){
        .table = f->table, .row = B(row), .to_table = kw_fixture_table(COPY_TABLE), .to_row = B(to_row)};
}

/* False if the store refuses copies. */
static bool
copies(kw_fixture *f)
{
    kw_row_copy copy = copy_of(f, "copies", "copies");
    kw_written result;
    make_target(f);
    kw_sync_copy(&f->sync, &copy, 1, &result);
    if (result.outcome == KW_OUTCOME_OK)
        return true;
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    kw_expect_error(&result.error, KW_REFUSED, "only rows of tables with an order of writes");
    return false;
}

static void
copy_row(kw_fixture *f, const char *row, const char *to_row)
{
    kw_row_copy copy = copy_of(f, row, to_row);
    kw_written result;
    kw_sync_copy(&f->sync, &copy, 1, &result);
    if (result.outcome != KW_OUTCOME_OK)
        g_error("%s", result.error.text);
}

static void
expect_versions(kw_fixture *f, const char *row, const char *text)
{
    kw_asking asking;
    kw_ask(&asking, f, row, NULL);
    asking.get.max_versions = 10;
    kw_expect(f, &asking.get, text);
}

static void
test_versions(kw_fixture *f)
{
    if (!copies(f))
        return;
    kw_fixture target = target_of(f);
    kw_put(f, "copies1", "d:a", "1", 4);
    kw_put(f, "copies1", "d:a", "2", 5);
    kw_put(f, "copies1", "d:", "empty", 6);
    for (int64_t at = 1; at <= 4; at++)
        kw_put(f, "copies1", "v:a", "x", at);
    kw_put(f, "copies1x", "d:a", "neighbour", 1);
    copy_row(f, "copies1", "target1");
    expect_versions(&target, "target1", "d:@6=empty d:a@5=2 v:a@4=x v:a@3=x v:a@2=x");
    expect_versions(f, "copies1", "d:@6=empty d:a@5=2 v:a@4=x v:a@3=x v:a@2=x");
    copy_row(f, "copies1", "target1"); /* again */
    expect_versions(&target, "target1", "d:@6=empty d:a@5=2 v:a@4=x v:a@3=x v:a@2=x");
    expect_versions(&target, "target1x", "");
}

static void
test_ttl(kw_fixture *f)
{
    if (!copies(f))
        return;
    kw_fixture target = target_of(f);
    int64_t now = kw_clock_wall_ms();
    kw_put(f, "copies2", "t:old", "x", now - 3700000);
    kw_put(f, "copies2", "t:aged", "x", now - 3597000);
    kw_put(f, "copies2", "m:a", "1", now - 3900000);
    kw_put(f, "copies2", "m:a", "2", now - 3800000);
    copy_row(f, "copies2", "target2");
    g_autofree char *text =
        g_strdup_printf("m:a@%lld=2 t:aged@%lld=x", (long long)now - 3800000, (long long)now - 3597000);
    expect_versions(&target, "target2", text);
    g_usleep(4000000); /* the time to live counts on */
    g_autofree char *later = g_strdup_printf("m:a@%lld=2", (long long)now - 3800000);
    expect_versions(&target, "target2", later);
}

static void
test_removed(kw_fixture *f)
{
    if (!copies(f))
        return;
    kw_fixture target = target_of(f);
    kw_put(f, "copies3", "d:a", "removed", 5);
    kw_put(f, "copies3", "d:b", "kept", 7);
    kw_put(f, "copies3", "v:a", "removed", 5);
    kw_put(f, "copies3", "v:a", "kept", 9);
    kw_remove(f, "copies3", NULL, 6);
    copy_row(f, "copies3", "target3");
    expect_versions(&target, "target3", "d:b@7=kept v:a@9=kept");
    kw_put(f, "copies3", "d:c", "x", 8);
    kw_remove(f, "copies3", NULL, 20);
    copy_row(f, "copies3", "target3empty");
    expect_versions(&target, "target3empty", "");
}

/* Puts with timestamps before a removal stay hidden in the copy. */
static void
test_markers(kw_fixture *f)
{
    if (!copies(f))
        return;
    kw_fixture target = target_of(f);
    kw_put(f, "copiesA", "d:a", "kept", 20);
    kw_remove(f, "copiesA", "d:a", 10);
    kw_remove(f, "copiesA", "d:b", 10);
    kw_remove(f, "copiesA", "v", 10);
    kw_remove(f, "copiesA", "v:a", 5); /* the family's marker hides more */
    copy_row(f, "copiesA", "targetA");
    kw_fixture *sides[] = {f, &target};
    const char *rows[] = {"copiesA", "targetA"};
    for (size_t i = 0; i < G_N_ELEMENTS(sides); i++) {
        kw_put(sides[i], rows[i], "d:a", "hidden", 9);
        kw_put(sides[i], rows[i], "d:b", "hidden", 10); /* at the same time as the removal */
        kw_put(sides[i], rows[i], "d:c", "seen", 10);
        kw_put(sides[i], rows[i], "v:a", "hidden", 10);
        kw_put(sides[i], rows[i], "v:b", "seen", 11);
        expect_versions(sides[i], rows[i], "d:a@20=kept d:c@10=seen v:b@11=seen");
    }
}

static void
test_removed_row(kw_fixture *f)
{
    if (!copies(f))
        return;
    kw_fixture target = target_of(f);
    kw_put(f, "copiesB", "d:a", "removed", 5);
    kw_remove(f, "copiesB", NULL, 6); /* marks also the family k, which the target lacks */
    kw_put(&target, "targetB", "d:a", "extra", 5);
    copy_row(f, "copiesB", "targetB");
    kw_put(&target, "targetB", "d:b", "hidden", 6);
    expect_versions(&target, "targetB", "");
    kw_put(&target, "targetB", "d:b", "seen", 7);
    expect_versions(&target, "targetB", "d:b@7=seen");
}

/* A family that keeps deleted cells: reads of earlier times see them. */
static void
test_kept_deleted(kw_fixture *f)
{
    if (!copies(f))
        return;
    kw_row_copy copy = {.table = f->table, .row = B("copiesD"), .to_table = f->table, .to_row = B("targetD")};
    kw_written result;
    kw_put(f, "copiesD", "k:a", "deleted", 5);
    kw_remove(f, "copiesD", "k:a", 6);
    kw_put(f, "copiesD", "k:b", "deleted", 7);
    kw_remove(f, "copiesD", "k", 8);
    kw_sync_copy(&f->sync, &copy, 1, &result);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
    expect_versions(f, "targetD", "");
    kw_asking asking;
    kw_ask(&asking, f, "targetD", NULL);
    asking.get.time_to = 8;
    kw_expect(f, &asking.get, "k:b@7=deleted");
    asking.get.time_to = 6;
    kw_expect(f, &asking.get, "k:a@5=deleted");
}

static void
expect_row_keys(kw_fixture *f, kw_range_scan_spec spec, const char *text)
{
    g_autoptr(GString) keys = g_string_new(NULL);
    kw_range_scan *scan = kw_store_handle_open_range_scan(f->sync.handle, &spec);
    bool end = false;
    while (!end) {
        kw_error error;
        kw_rows *rows = kw_sync_fetch(&f->sync, scan, 2, 1 << 20, true, &error);
        g_assert_nonnull(rows);
        for (size_t i = 0; i < rows->count; i++)
            g_string_append_printf(keys, "%s%s=%u", keys->len ? " " : "", kw_show(rows->rows[i].key).text,
                                   rows->rows[i].cells_count);
        end = rows->end;
        kw_rows_free(rows);
    }
    kw_range_scan_close(scan);
    g_assert_cmpstr(keys->str, ==, text);
}

/* Scans that also return rows with delete markers only. */
static void
test_scan_removed(kw_fixture *f)
{
    if (!copies(f))
        return;
    kw_put(f, "copiesC1", "d:a", "x", 5);
    kw_put(f, "copiesC2", "d:a", "x", 5);
    kw_remove(f, "copiesC2", NULL, 6);
    kw_remove(f, "copiesC3", "d:a", 6);
    kw_put(f, "copiesC4", "t:a", "expired", 1);
    kw_put(f, "copiesC5", "d:a", "x", 5);
    kw_put(f, "copiesC5", "d:b", "x", 5);
    kw_remove(f, "copiesC5", "d:b", 6);
    kw_range_scan_spec spec = {
        .table = f->table, .start = B("copiesC"), .stop = B("copiesD"), .max_versions = 1};
    expect_row_keys(f, spec, "copiesC1=1 copiesC5=1");
    spec.with_removed = true;
    expect_row_keys(f, spec, "copiesC1=1 copiesC2=0 copiesC3=0 copiesC5=1");
    spec.filter = B("FirstKeyOnlyFilter ()");
    spec.filters_cells_only = true;
    expect_row_keys(f, spec, "copiesC1=1 copiesC2=0 copiesC3=0 copiesC5=1");
    spec.reversed = true;
    expect_row_keys(f, spec, "copiesC5=1 copiesC3=0 copiesC2=0 copiesC1=1");
}

/* What the target has stays: its newer cells and its delete markers. */
static void
test_target(kw_fixture *f)
{
    if (!copies(f))
        return;
    kw_fixture target = target_of(f);
    kw_put(f, "copies4", "d:a", "old", 5);
    kw_put(f, "copies4", "d:b", "hidden", 5);
    kw_put(f, "copies4", "d:c", "seen", 7);
    kw_put(f, "copies4", "d:d", "same", 5);
    kw_put(f, "copies4", "v:a", "older", 5);
    kw_put(&target, "target4", "d:a", "new", 6);
    kw_put(&target, "target4", "d:other", "stays", 1);
    kw_put(&target, "target4", "d:d", "same", 5);
    kw_put(&target, "target4", "v:a", "newer", 6);
    kw_remove(&target, "target4", "d:b", 6);
    kw_remove(&target, "target4", "d:c", 6);
    copy_row(f, "copies4", "target4");
    expect_versions(&target, "target4",
                    "d:a@6=new d:c@7=seen d:d@5=same d:other@1=stays v:a@6=newer v:a@5=older");
}

/* The source has the last value of a timestamp: it is copied while nobody writes it. */
static void
test_same_timestamp(kw_fixture *f)
{
    if (!copies(f))
        return;
    kw_fixture target = target_of(f);
    kw_put(f, "copies5", "d:a", "last", 5);
    kw_put(&target, "target5", "d:a", "first", 5);
    copy_row(f, "copies5", "target5");
    expect_versions(&target, "target5", "d:a@5=last");
}

/* A put after the copy is seen, even if a removal in the same millisecond had moved the timestamps ahead. */
static void
test_put_after(kw_fixture *f)
{
    if (!copies(f))
        return;
    kw_fixture target = target_of(f);
    for (int i = 0; i < 20; i++) {
        kw_remove(f, "copies6", NULL, KW_TIMESTAMP_NONE);
        kw_remove(f, "copies6", NULL, KW_TIMESTAMP_NONE);
        kw_put(f, "copies6", "d:a", "old", KW_TIMESTAMP_NONE);
        copy_row(f, "copies6", "target6");
        kw_put(&target, "target6", "d:a", "new", KW_TIMESTAMP_NONE);
        kw_asking asking;
        kw_rows *rows = kw_sync_get(&f->sync, &kw_ask(&asking, &target, "target6", NULL)->get, NULL);
        g_assert_cmpuint(rows->rows[0].cells_count, ==, 1);
        g_assert_true(kw_bytes_equal(rows->rows[0].cells[0].value, B("new")));
        kw_rows_free(rows);
    }
}

static void
test_many(kw_fixture *f)
{
    enum { COUNT = 300 };
    if (!copies(f))
        return;
    kw_fixture target = target_of(f);
    kw_row_copy all[COUNT];
    kw_written results[COUNT];
    char *rows[COUNT];
    for (int i = 0; i < COUNT; i++) {
        rows[i] = g_strdup_printf("copies7_%03d", i);
        kw_put(f, rows[i], "d:a", rows[i], 1 + i);
        all[i] = copy_of(f, rows[i], rows[i]);
    }
    kw_put(f, rows[150], "k:a", "x", 1);
    all[200].to_table = B("absent_table");
    kw_sync_copy(&f->sync, all, COUNT, results);
    for (int i = 0; i < COUNT; i++) {
        bool fails = i == 150 || i == 200;
        g_assert_cmpint(results[i].outcome, ==, fails ? KW_OUTCOME_FAILED : KW_OUTCOME_OK);
        g_autofree char *text = fails ? g_strdup("") : g_strdup_printf("d:a@%d=%s", 1 + i, rows[i]);
        expect_versions(&target, rows[i], text);
    }
    kw_expect_error(&results[150].error, KW_INVALID, "has no family k");
    kw_expect_error(&results[200].error, KW_NOT_FOUND, "absent_table");
    for (int i = 0; i < COUNT; i++)
        g_free(rows[i]);
}

/* Each copy reads what the one before it has written. */
static void
test_chain(kw_fixture *f)
{
    if (!copies(f))
        return;
    kw_fixture target = target_of(f);
    kw_row_copy chain[] = {copy_of(f, "copies8", "target8"), copy_of(&target, "target8", "target8b"),
                           copy_of(&target, "target8b", "target8c")};
    kw_written results[G_N_ELEMENTS(chain)];
    kw_put(f, "copies8", "d:a", "x", 3);
    kw_sync_copy(&f->sync, chain, G_N_ELEMENTS(chain), results);
    expect_versions(&target, "target8c", "d:a@3=x");
}

/* A row that is copied in several parts. */
static void
test_large(kw_fixture *f)
{
    enum { COLUMNS = 40, BYTES = 100000 };
    if (!copies(f))
        return;
    kw_fixture target = target_of(f);
    g_autofree char *value = g_strnfill(BYTES, 'x');
    for (int64_t version = 1; version <= 3; version++)
        for (int i = 0; i < COLUMNS; i++) {
            g_autofree char *column = g_strdup_printf("v:%02d", i);
            memcpy(value, column, 4);
            kw_put(f, "copies9", column, value, version + 1);
        }
    kw_put(f, "copies9", "d:a", "x", 3);
    kw_put(f, "copies9", "t:a", "removed", 3);
    kw_remove(f, "copies9", "v:39", 3);
    kw_remove(f, "copies9", "v", 2);
    copy_row(f, "copies9", "target9");
    kw_asking left, right;
    kw_ask(&left, f, "copies9", NULL)->get.max_versions = 3;
    kw_ask(&right, &target, "target9", NULL)->get.max_versions = 3;
    kw_rows *from = kw_sync_get(&f->sync, &left.get, NULL), *to = kw_sync_get(&f->sync, &right.get, NULL);
    g_autofree char *from_text = kw_row_text(&from->rows[0]), *to_text = kw_row_text(&to->rows[0]);
    g_assert_cmpuint(to->rows[0].cells_count, ==, 1 + 2 * COLUMNS - 1);
    g_assert_true(g_str_equal(from_text, to_text));
    kw_rows_free(from);
    kw_rows_free(to);
}

static void
test_refused(kw_fixture *f)
{
    kw_written results[2];
    kw_row_copy bad[] = {copy_of(f, "copies1", "target1"), copy_of(f, "copies1", "")};
    kw_sync_copy(&f->sync, bad, 2, results);
    for (size_t i = 0; i < 2; i++) {
        g_assert_cmpint(results[i].outcome, ==, KW_OUTCOME_FAILED);
        kw_expect_error(&results[i].error, KW_INVALID, "copy 2 of 2: table ");
        kw_expect_error(&results[i].error, KW_INVALID, "row key is empty");
    }
    g_autofree uint8_t *large = g_malloc0(KW_STORE_ROW_KEY_MAX + 1);
    kw_row_copy too_long = copy_of(f, "copies1", "target1");
    too_long.row = kw_bytes_of(large, KW_STORE_ROW_KEY_MAX + 1);
    kw_sync_copy(&f->sync, &too_long, 1, results);
    kw_expect_error(&results[0].error, KW_INVALID, "32768");
    kw_sync_copy(&f->sync, NULL, 0, NULL);
}

void
kw_contract_add_copies(void)
{
    kw_fixture_add("copies", "versions", test_versions);
    kw_fixture_add("copies", "ttl", test_ttl);
    kw_fixture_add("copies", "removed", test_removed);
    kw_fixture_add("copies", "markers", test_markers);
    kw_fixture_add("copies", "removed_row", test_removed_row);
    kw_fixture_add("copies", "kept_deleted", test_kept_deleted);
    kw_fixture_add("copies", "scan_removed", test_scan_removed);
    kw_fixture_add("copies", "target", test_target);
    kw_fixture_add("copies", "same_timestamp", test_same_timestamp);
    kw_fixture_add("copies", "put_after", test_put_after);
    kw_fixture_add("copies", "many", test_many);
    kw_fixture_add("copies", "chain", test_chain);
    kw_fixture_add("copies", "large", test_large);
    kw_fixture_add("copies", "refused", test_refused);
}
