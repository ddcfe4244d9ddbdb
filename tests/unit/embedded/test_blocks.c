/* The bound of the blocks that iterators hold, and which iterators waiting scans keep. */
#include "base/budget.h"
#include "embedded_fixture.h"
#include "store/embedded/embedded_internal.h"

#define MIB ((int64_t)1024 * 1024)

static kw_blocks *
blocks_of(embedded_fixture *fixture)
{
    return &((kw_embedded *)fixture->store)->blocks;
}

static void
setup(embedded_fixture *fixture)
{
    embedded_fixture_init(fixture);
    kw_family_spec family = default_family("d");
    embedded_fixture_create_table(fixture, "t", &family, 1);
}

static void
put(embedded_fixture *fixture, int64_t bytes)
{
    g_autofree char *value = g_strnfill((gsize)bytes, 'x');
    embedded_fixture_put(fixture, "t", "row", "d", "a", value, KW_TIMESTAMP_NONE);
}

/* The bound of an iterator that is created now. */
static int64_t
most(embedded_fixture *fixture)
{
    kw_iterator_blocks iterator = kw_blocks_begin(blocks_of(fixture), true);
    int64_t bytes = iterator.most_bytes;
    kw_blocks_end(blocks_of(fixture), &iterator);
    return bytes;
}

KW_TEST(test_bound_grows_with_the_largest_entry, "/embedded/blocks/largest")
{
    embedded_fixture fixture;
    setup(&fixture);
    put(&fixture, 10);
    int64_t small = most(&fixture);
    g_assert_cmpint(small, <, MIB / 4);
    put(&fixture, 3 * MIB);
    put(&fixture, 10);
    g_assert_cmpint(most(&fixture), >=, 3 * MIB);
    g_assert_cmpint(most(&fixture) - small, <, 4 * MIB);
    embedded_fixture_clear(&fixture);
}

KW_TEST(test_largest_entry_survives_a_restart, "/embedded/blocks/restart")
{
    embedded_fixture fixture;
    setup(&fixture);
    put(&fixture, 3 * MIB);
    put(&fixture, 5 * MIB);
    put(&fixture, 4 * MIB);
    embedded_fixture_delete_row(&fixture, "t", "row", KW_TIMESTAMP_NONE);
    embedded_fixture_reopen(&fixture);
    g_assert_cmpint(atomic_load(&blocks_of(&fixture)->largest_bytes), >=, 5 * MIB);
    g_assert_cmpint(most(&fixture), >=, 5 * MIB);
    embedded_fixture_clear(&fixture);
}

/* Keeps iterators that do not use the cache until one is refused. Returns how many were kept. */
static size_t
keep_all(embedded_fixture *fixture, kw_iterator_blocks *iterators, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        iterators[i] = kw_blocks_begin(blocks_of(fixture), false);
        if (!kw_blocks_keep(blocks_of(fixture), &iterators[i])) {
            kw_blocks_end(blocks_of(fixture), &iterators[i]);
            return i;
        }
    }
    return count;
}

KW_TEST(test_kept_iterators_are_charged_and_limited, "/embedded/blocks/kept")
{
    embedded_fixture fixture;
    kw_iterator_blocks iterators[1000], again[2];
    setup(&fixture);
    put(&fixture, MIB);
    kw_budget_settle();
    int64_t before = kw_budget_used();
    kw_budget_configure(before + 64 * MIB);
    int64_t for_callers = kw_budget_for_callers();
    size_t kept = keep_all(&fixture, iterators, G_N_ELEMENTS(iterators));
    g_assert_cmpuint(kept, >, 0);
    g_assert_cmpuint(kept, <, G_N_ELEMENTS(iterators));
    kw_budget_settle();
    int64_t charged = kw_budget_used() - before;
    g_assert_cmpint(charged, >=, (int64_t)kept * MIB);
    g_assert_cmpint(charged, <=, for_callers / 4);
    g_assert_true(kw_blocks_keep(blocks_of(&fixture), &iterators[0])); /* for another fetch */
    kw_blocks_end(blocks_of(&fixture), &iterators[0]);
    g_assert_cmpuint(keep_all(&fixture, again, G_N_ELEMENTS(again)), ==, 1);
    kw_blocks_end(blocks_of(&fixture), &again[0]);
    for (size_t i = 1; i < kept; i++)
        kw_blocks_end(blocks_of(&fixture), &iterators[i]);
    kw_budget_settle();
    g_assert_cmpint(kw_budget_used(), ==, before);
    kw_budget_configure(0);
    embedded_fixture_clear(&fixture);
}

KW_TEST(test_an_iterator_in_use_is_charged_in_part, "/embedded/blocks/used")
{
    embedded_fixture fixture;
    setup(&fixture);
    put(&fixture, 8 * MIB);
    kw_budget_settle();
    int64_t before = kw_budget_used();
    kw_budget_configure(before + 16 * MIB);
    int64_t part = kw_budget_for_callers() / 8;
    kw_iterator_blocks iterator = kw_blocks_begin(blocks_of(&fixture), false);
    kw_budget_settle();
    g_assert_cmpint(kw_budget_used() - before, ==, part);
    g_assert_false(kw_blocks_keep(blocks_of(&fixture), &iterator));
    kw_blocks_end(blocks_of(&fixture), &iterator);
    iterator = kw_blocks_begin(blocks_of(&fixture), true); /* its blocks are in the cache, which is empty */
    g_assert_true(kw_blocks_keep(blocks_of(&fixture), &iterator));
    kw_budget_settle();
    g_assert_cmpint(kw_budget_used(), ==, before);
    kw_blocks_end(blocks_of(&fixture), &iterator);
    kw_budget_configure(0);
    embedded_fixture_clear(&fixture);
}

/* --- write buffers ---------------------------------------------------------------------------------- */

/* Counts the rows that a scan returns if this many bytes, and then a row, are written after its first row. */
static size_t
rows_after_writing(int64_t bytes)
{
    embedded_fixture fixture;
    setup(&fixture);
    embedded_fixture_put(&fixture, "t", "a", "d", "a", "1", KW_TIMESTAMP_NONE);
    embedded_fixture_put(&fixture, "t", "b", "d", "a", "1", KW_TIMESTAMP_NONE);
    kw_range_scan_spec spec = {
        .table = KW_BYTES_LITERAL("t"), .stop = KW_BYTES_LITERAL("k"), .max_versions = 1};
    kw_range_scan *scan = kw_store_handle_open_range_scan(fixture.sync.handle, &spec);
    kw_rows *rows = kw_sync_fetch(&fixture.sync, scan, 1, MIB, true, NULL);
    g_assert_cmpuint(rows->count, ==, 1);
    kw_rows_free(rows);
    for (; bytes > 0; bytes -= MIB)
        put(&fixture, MIB);
    embedded_fixture_put(&fixture, "t", "c", "d", "a", "1", KW_TIMESTAMP_NONE);
    rows = kw_sync_fetch(&fixture.sync, scan, 10, MIB, true, NULL);
    size_t count = 1 + rows->count;
    kw_rows_free(rows);
    kw_range_scan_close(scan);
    embedded_fixture_clear(&fixture);
    return count;
}

KW_TEST(test_a_waiting_scan_does_not_hold_old_write_buffers, "/embedded/blocks/old")
{
    g_assert_cmpuint(rows_after_writing(0), ==, 2); /* it kept its iterator */
    g_assert_cmpuint(rows_after_writing(20 * MIB), ==, 3);
}
