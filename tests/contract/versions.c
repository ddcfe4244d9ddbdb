/* Versions, time ranges and TTL. Not tested: cases in which HBase's result depends on compactions (versions
 * beyond the maximum inside a time range). */
#include "contract/fixture.h"

static void
put_versions(kw_fixture *f, const char *row, const char *column, int64_t from, int64_t to)
{
    for (int64_t at = from; at <= to; at++) {
        g_autofree char *value = g_strdup_printf("%lld", (long long)at);
        kw_put(f, row, column, value, at);
    }
}

static void
expect_versions(kw_fixture *f, const char *row, int32_t versions, int64_t from, int64_t to, const char *text)
{
    kw_asking asking;
    kw_ask(&asking, f, row, NULL);
    asking.get.max_versions = versions;
    asking.get.time_from = from;
    asking.get.time_to = to;
    kw_expect(f, &asking.get, text);
}

static void
test_newest_first(kw_fixture *f)
{
    put_versions(f, "versions1", "v:a", 1, 3);
    put_versions(f, "versions1", "v:b", 7, 7);
    expect_versions(f, "versions1", 0, 0, 0, "v:a@3=3 v:b@7=7");
    expect_versions(f, "versions1", 1, 0, 0, "v:a@3=3 v:b@7=7");
    expect_versions(f, "versions1", 2, 0, 0, "v:a@3=3 v:a@2=2 v:b@7=7");
    expect_versions(f, "versions1", 100, 0, 0, "v:a@3=3 v:a@2=2 v:a@1=1 v:b@7=7");
}

static void
test_maximum(kw_fixture *f)
{
    put_versions(f, "versions2", "v:a", 1, 5);
    put_versions(f, "versions2", "d:a", 1, 5);
    expect_versions(f, "versions2", 100, 0, 0, "d:a@5=5 v:a@5=5 v:a@4=4 v:a@3=3");
}

static void
test_time_range(kw_fixture *f)
{
    put_versions(f, "versions3", "v:a", 10, 12);
    put_versions(f, "versions3", "d:x", 11, 11);
    expect_versions(f, "versions3", 1, 10, 12, "d:x@11=11 v:a@11=11");
    expect_versions(f, "versions3", 9, 10, 12, "d:x@11=11 v:a@11=11 v:a@10=10");
    expect_versions(f, "versions3", 9, 12, 13, "v:a@12=12");
    expect_versions(f, "versions3", 9, 13, 99, "");
    expect_versions(f, "versions3", 9, 0, 11, "v:a@10=10");
    expect_versions(f, "versions3", 9, 12, 12, "");
}

static void
test_ttl(kw_fixture *f)
{
    int64_t now = kw_clock_wall_ms();
    kw_put(f, "versions4", "t:old", "x", now - 3700000);
    kw_put(f, "versions4", "t:young", "x", now - 20000);
    kw_put(f, "versions4", "d:old", "x", now - 3700000);
    g_autofree char *text =
        g_strdup_printf("d:old@%lld=x t:young@%lld=x", (long long)now - 3700000, (long long)now - 20000);
    kw_expect_row(f, "versions4", text);
}

static void
test_min_versions(kw_fixture *f)
{
    int64_t now = kw_clock_wall_ms();
    kw_put(f, "versions5", "m:a", "1", now - 3900000);
    kw_put(f, "versions5", "m:a", "2", now - 3800000);
    kw_put(f, "versions5", "m:b", "3", now - 3900000);
    kw_put(f, "versions5", "m:b", "4", now - 1000);
    g_autofree char *text =
        g_strdup_printf("m:a@%lld=2 m:b@%lld=4", (long long)now - 3800000, (long long)now - 1000);
    expect_versions(f, "versions5", 5, 0, 0, text);
}

static void
test_run_of_versions(kw_fixture *f)
{
    put_versions(f, "versions6a", "v:a", 1, 4);
    put_versions(f, "versions6b", "v:a", 2, 2);
    kw_range_scan_spec spec = {.start = B("versions6"), .stop = B("versions7"), .max_versions = 2};
    kw_expect_range_scan(f, spec, 10, "versions6a{v:a@4=4 v:a@3=3} versions6b{v:a@2=2}");
    spec.time_from = 2;
    spec.time_to = 4;
    kw_expect_range_scan(f, spec, 1, "versions6a{v:a@3=3 v:a@2=2} versions6b{v:a@2=2}");
    spec.time_from = 3;
    kw_expect_range_scan(f, spec, 1, "versions6a{v:a@3=3}");
}

void
kw_contract_add_versions(void)
{
    kw_fixture_add("versions", "newest_first", test_newest_first);
    kw_fixture_add("versions", "maximum", test_maximum);
    kw_fixture_add("versions", "time_range", test_time_range);
    kw_fixture_add("versions", "ttl", test_ttl);
    kw_fixture_add("versions", "min_versions", test_min_versions);
    kw_fixture_add("versions", "run_of_versions", test_run_of_versions);
}
