/* The fault store fails the planned operation in the planned way, and reports what happened to the inner
 * store. */
#include "contract/fixture.h"
#include "support/fault_store.h"
#include "unit/embedded/embedded_fixture.h"

typedef struct fault_fixture {
    embedded_fixture plain; /* its store is the inner one */
    kw_fault_plan plan;
    kw_store *store;
    kw_sync sync;
} fault_fixture;

static void
setup(fault_fixture *own)
{
    *own = (fault_fixture){0};
    own->plain.folder = temporary_folder_new();
    own->store = kw_fault_store_new(embedded_fixture_open_store(own->plain.folder, NULL), &own->plan);
    kw_sync_open(&own->sync, own->store);
    own->plain.sync = own->sync; /* the helpers of embedded_fixture go through the fault store */
    kw_family_spec family = default_family("d");
    family.max_versions = 10;
    embedded_fixture_create_table(&own->plain, "t", &family, 1);
}

static void
teardown(fault_fixture *own)
{
    kw_sync_close(&own->sync);
    kw_store_free(own->store);
    temporary_folder_remove(own->plain.folder);
    g_free(own->plain.folder);
}

static void
plan_fault(fault_fixture *own, kw_fault fault, uint64_t nth)
{
    atomic_store(&own->plan.fault, fault);
    atomic_store(&own->plan.fail_at, nth);
}

static const struct {
    kw_fault fault;
    kw_outcome outcome;
    kw_code code;
    bool done;
} cases[] = {{KW_FAULT_FAILED, KW_OUTCOME_FAILED, KW_UNAVAILABLE, false},
             {KW_FAULT_UNKNOWN_APPLIED, KW_OUTCOME_UNKNOWN, KW_UNAVAILABLE, true},
             {KW_FAULT_UNKNOWN_LOST, KW_OUTCOME_UNKNOWN, KW_UNAVAILABLE, false},
             {KW_FAULT_TIMEOUT, KW_OUTCOME_UNKNOWN, KW_TIMEOUT, true},
             {KW_FAULT_TRUNCATED, KW_OUTCOME_FAILED, KW_UNAVAILABLE, false}};

static kw_write
make_put(const char *row, const kw_cell *cell)
{
    return (kw_write){.kind = KW_WRITE_PUT,
                      .table = B("t"),
                      .row = B(row),
                      .cells = cell,
                      .cells_count = 1,
                      .timestamp = 1,
                      .deadline = KW_DEADLINE_NONE};
}

KW_TEST(test_writes, "/fault/writes")
{
    fault_fixture own;
    setup(&own);
    const kw_cell cell = {.family = B("d"), .qualifier = B("a"), .value = B("x")};
    kw_check check = {.family = B("d"), .qualifier = B("a"), .compare = KW_COMPARE_EQUAL};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        for (int kind = 0; kind < 3; kind++) {
            g_autofree char *row = g_strdup_printf("%zu-%d", i, kind);
            kw_write write = make_put(row, &cell);
            const kw_write *all[] = {&write};
            kw_written many;
            kw_sync_written result = {0};
            plan_fault(&own, cases[i].fault, 1);
            if (kind == 0)
                result = kw_sync_write(&own.sync, &write);
            else if (kind == 1)
                result = kw_sync_write_if(&own.sync, &write, &check);
            else
                kw_sync_write_many(&own.sync, all, 1, &many);
            if (kind == 2)
                result = (kw_sync_written){.outcome = many.outcome, .error = many.error};
            g_assert_cmpint(result.outcome, ==, cases[i].outcome);
            kw_expect_error(&result.error, cases[i].code, "on purpose");
            g_assert_cmpint(result.error.maybe_applied, ==, cases[i].outcome == KW_OUTCOME_UNKNOWN);
            embedded_fixture_expect_row(&own.plain, "t", row, cases[i].done ? "d:a@1=x" : "");
        }
    teardown(&own);
}

KW_TEST(test_increments, "/fault/increments")
{
    fault_fixture own;
    setup(&own);
    kw_column column = {.family = B("d"), .qualifier = B("n")};
    int64_t amount = 1;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *row = g_strdup_printf("%zu", i);
        kw_increment increment = {.table = B("t"),
                                  .row = B(row),
                                  .columns = &column,
                                  .amounts = &amount,
                                  .columns_count = 1,
                                  .deadline = KW_DEADLINE_NONE};
        plan_fault(&own, cases[i].fault, 1);
        g_assert_cmpint(kw_sync_increment(&own.sync, &increment).outcome, ==, cases[i].outcome);
        kw_sync_written after = kw_sync_increment(&own.sync, &increment);
        g_assert_cmpuint(kw_be64_load(after.rows->rows[0].cells[0].value.data), ==, cases[i].done ? 2 : 1);
        kw_rows_free(after.rows);
    }
    teardown(&own);
}

/* Exactly the n-th operation fails, for every n. */
KW_TEST(test_nth, "/fault/nth")
{
    fault_fixture own;
    setup(&own);
    const kw_cell cell = {.family = B("d"), .qualifier = B("a"), .value = B("x")};
    kw_write write = make_put("row", &cell);
    for (uint64_t nth = 1; nth <= 6; nth++) {
        uint64_t failed = atomic_load(&own.plan.failed);
        plan_fault(&own, KW_FAULT_FAILED, nth);
        for (uint64_t i = 1; i <= 5; i++)
            g_assert_cmpint(kw_sync_write(&own.sync, &write).outcome, ==,
                            i == nth ? KW_OUTCOME_FAILED : KW_OUTCOME_OK);
        g_assert_cmpuint(atomic_load(&own.plan.failed) - failed, ==, nth <= 5);
    }
    teardown(&own);
}

KW_TEST(test_reads, "/fault/reads")
{
    fault_fixture own;
    setup(&own);
    kw_error error = {0};
    kw_get get = {.table = B("t"), .row = B("r"), .deadline = KW_DEADLINE_NONE};
    const kw_get *gets[] = {&get};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        plan_fault(&own, cases[i].fault, 1);
        g_assert_null(kw_sync_get(&own.sync, &get, &error));
        g_assert_cmpint(error.code, ==, cases[i].code);
        g_assert_false(error.maybe_applied);
        plan_fault(&own, cases[i].fault, 1);
        g_assert_null(kw_sync_get_many(&own.sync, gets, 1, &error));
        plan_fault(&own, cases[i].fault, 1);
        g_assert_null(kw_sync_describe(&own.sync, B("t"), &error));
        plan_fault(&own, cases[i].fault, 1);
        g_assert_null(kw_sync_regions(&own.sync, B("t"), &error));
    }
    teardown(&own);
}

static void
never_called(void *user, kw_rows *rows, const kw_error *error)
{
    (void)user, (void)rows, (void)error;
    g_assert_not_reached();
}

KW_TEST(test_range_scans, "/fault/range_scans")
{
    fault_fixture own;
    setup(&own);
    for (char row[2] = "a"; *row <= 'f'; (*row)++)
        embedded_fixture_put(&own.plain, "t", row, "d", "q", "x", 1);
    kw_error error = {0};
    kw_range_scan *scan =
        kw_store_handle_open_range_scan(own.sync.handle, &(kw_range_scan_spec){.table = B("t")});
    plan_fault(&own, KW_FAULT_FAILED, 1);
    g_assert_null(kw_sync_fetch(&own.sync, scan, 4, 1000, true, &error));
    kw_expect_error(&error, KW_UNAVAILABLE, "on purpose");
    plan_fault(&own, KW_FAULT_TRUNCATED, 1);
    kw_rows *rows = kw_sync_fetch(&own.sync, scan, 6, 1000, true, NULL);
    g_assert_cmpuint(rows->count, ==, 3);
    g_assert_false(rows->end);
    kw_rows_free(rows);
    g_assert_null(kw_sync_fetch(&own.sync, scan, 4, 1000, true, &error));
    kw_expect_error(&error, KW_UNAVAILABLE, "on purpose");
    plan_fault(&own, KW_FAULT_FAILED, 0);
    kw_range_scan_fetch(scan, 4, 1000, true, KW_DEADLINE_NONE, never_called, NULL);
    kw_range_scan_close(scan); /* its failure is pending */
    scan = kw_store_handle_open_range_scan(own.sync.handle, &(kw_range_scan_spec){.table = B("t")});
    kw_range_scan_fetch(scan, 4, 1000, true, KW_DEADLINE_NONE, never_called, NULL);
    kw_range_scan_close(scan); /* the inner fetch is in flight */
    teardown(&own);
}
