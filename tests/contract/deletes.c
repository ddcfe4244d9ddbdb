/* Delete markers: which cells they hide, at which timestamps, and which cells become visible again. */
#include "contract/fixture.h"

static void
expect_range(kw_fixture *f, const char *row, int64_t from, int64_t to, const char *text)
{
    kw_asking asking;
    kw_ask(&asking, f, row, NULL);
    asking.get.max_versions = 10;
    asking.get.time_from = from;
    asking.get.time_to = to;
    kw_expect(f, &asking.get, text);
}

static void
test_column(kw_fixture *f)
{
    for (int64_t at = 1; at <= 3; at++)
        kw_put(f, "deletes1", "v:a", "x", at);
    kw_put(f, "deletes1", "v:b", "y", 1);
    kw_remove(f, "deletes1", "v:a", 2);
    expect_range(f, "deletes1", 0, 0, "v:a@3=x v:b@1=y");
    kw_remove(f, "deletes1", "v:a", 3);
    expect_range(f, "deletes1", 0, 0, "v:b@1=y");
    kw_put(f, "deletes1", "v:a", "new", 4);
    expect_range(f, "deletes1", 0, 0, "v:a@4=new v:b@1=y");
}

static void
test_row(kw_fixture *f)
{
    kw_put(f, "deletes2", "d:a", "x", 5);
    kw_put(f, "deletes2", "v:a", "x", 6);
    kw_put(f, "deletes2", "v:b", "x", 9);
    kw_put(f, "deletes2x", "d:a", "neighbour", 1);
    kw_remove(f, "deletes2", NULL, 6);
    expect_range(f, "deletes2", 0, 0, "v:b@9=x");
    kw_remove(f, "deletes2", NULL, 9);
    expect_range(f, "deletes2", 0, 0, "");
    kw_expect_row(f, "deletes2x", "d:a@1=neighbour");
    kw_put(f, "deletes2", "d:a", "again", 10);
    expect_range(f, "deletes2", 0, 0, "d:a@10=again");
}

static void
test_family(kw_fixture *f)
{
    kw_put(f, "deletes3", "d:a", "x", 5);
    kw_put(f, "deletes3", "v:a", "x", 5);
    kw_put(f, "deletes3", "v:", "x", 5);
    kw_put(f, "deletes3", "v:b", "y", 6);
    kw_remove(f, "deletes3", "v", 5);
    expect_range(f, "deletes3", 0, 0, "d:a@5=x v:b@6=y");
}

/* In HBase, a marker hides a put of its own millisecond, even if the put is written later. */
static void
test_same_millisecond(kw_fixture *f)
{
    kw_remove(f, "deletes4", "d:a", 7);
    kw_put(f, "deletes4", "d:a", "hidden", 7);
    kw_put(f, "deletes4", "d:b", "seen", 7);
    kw_expect_row(f, "deletes4", "d:b@7=seen");
    kw_put(f, "deletes4", "d:a", "older", 6);
    kw_expect_row(f, "deletes4", "d:b@7=seen");
    kw_put(f, "deletes4", "d:a", "newer", 8);
    kw_expect_row(f, "deletes4", "d:a@8=newer d:b@7=seen");
    kw_remove(f, "deletes4", NULL, 8);
    kw_expect_row(f, "deletes4", "");
}

static void
test_nothing_there(kw_fixture *f)
{
    kw_remove(f, "deletes5", NULL, 5);
    kw_remove(f, "deletes5", "d:a", 5);
    kw_expect_row(f, "deletes5", "");
}

static void
test_several_columns(kw_fixture *f)
{
    kw_put(f, "deletes6", "d:a", "1", 1);
    kw_put(f, "deletes6", "d:b", "2", 1);
    kw_put(f, "deletes6", "d:c", "3", 1);
    kw_put(f, "deletes6", "v:a", "4", 1);
    kw_column columns[] = {{.family = B("d"), .qualifier = B("a")},
                           {.family = B("d"), .qualifier = B("c")},
                           {.family = B("v"), .whole_family = true}};
    kw_write write = {.kind = KW_WRITE_DELETE,
                      .table = f->table,
                      .row = B("deletes6"),
                      .columns = columns,
                      .columns_count = 3,
                      .timestamp = 1,
                      .deadline = KW_DEADLINE_NONE};
    g_assert_cmpint(kw_sync_write(&f->sync, &write).outcome, ==, KW_OUTCOME_OK);
    kw_expect_row(f, "deletes6", "d:b@1=2");
}

static void
test_unstamped(kw_fixture *f)
{
    kw_put(f, "deletes7", "d:a", "x", KW_TIMESTAMP_NONE);
    kw_put(f, "deletes7", "v:a", "x", 5);
    kw_remove(f, "deletes7", NULL, KW_TIMESTAMP_NONE);
    kw_expect_row(f, "deletes7", "");
    g_usleep(5000);
    kw_put(f, "deletes7", "d:a", "x", KW_TIMESTAMP_NONE);
    kw_remove(f, "deletes7", "d:a", KW_TIMESTAMP_NONE);
    kw_expect_row(f, "deletes7", "");
}

/* The time range ends before the marker: only a family that keeps deleted cells returns the cell. */
static void
test_keep_deleted(kw_fixture *f)
{
    kw_put(f, "deletes8", "k:a", "kept", 1);
    kw_put(f, "deletes8", "v:a", "lost", 1);
    kw_remove(f, "deletes8", NULL, 2);
    expect_range(f, "deletes8", 0, 0, "");
    expect_range(f, "deletes8", 0, 3, "");
    expect_range(f, "deletes8", 0, 2, "k:a@1=kept");
    kw_put(f, "deletes8", "k:b", "kept", 4);
    kw_remove(f, "deletes8", "k:b", 5);
    expect_range(f, "deletes8", 0, 5, "k:b@4=kept");
    expect_range(f, "deletes8", 0, 6, "");
}

static void
test_runs_pass_by(kw_fixture *f)
{
    for (int i = 0; i < 40; i++) {
        g_autofree char *row = g_strdup_printf("deletes9-%02d", i);
        kw_put(f, row, "d:a", "x", 1);
        if (i % 10 != 3)
            kw_remove(f, row, i % 2 ? NULL : "d:a", 1);
    }
    kw_range_scan_spec spec = {.start = B("deletes9"), .stop = B("deletes9z")};
    kw_expect_range_scan(
        f, spec, 2, "deletes9-03{d:a@1=x} deletes9-13{d:a@1=x} deletes9-23{d:a@1=x} deletes9-33{d:a@1=x}");
    spec.reversed = true;
    kw_expect_range_scan(
        f, spec, 3, "deletes9-33{d:a@1=x} deletes9-23{d:a@1=x} deletes9-13{d:a@1=x} deletes9-03{d:a@1=x}");
}

void
kw_contract_add_deletes(void)
{
    kw_fixture_add("deletes", "column", test_column);
    kw_fixture_add("deletes", "row", test_row);
    kw_fixture_add("deletes", "family", test_family);
    kw_fixture_add("deletes", "same_millisecond", test_same_millisecond);
    kw_fixture_add("deletes", "nothing_there", test_nothing_there);
    kw_fixture_add("deletes", "several_columns", test_several_columns);
    kw_fixture_add("deletes", "unstamped", test_unstamped);
    kw_fixture_add("deletes", "keep_deleted", test_keep_deleted);
    kw_fixture_add("deletes", "runs_pass_by", test_runs_pass_by);
}
