/* Sorted columns against a search from the first to the last, and checks of very many columns. */
#include "contract/fixture.h"
#include "store/check.h"
#include "store/columns.h"
#include "support/seeded.h"
#include "support/slow_build.h"

#include <time.h>

enum { FEW = 40, MANY = 100000, CPU_SECONDS_MAX = 10 };

static kw_column
random_column(kw_arena *arena)
{
    const char family[] = {(char)g_test_rand_int_range('a', 'd'), '\0'};
    g_autofree char *qualifier = g_strdup_printf("%d", g_test_rand_int_range(0, 15));
    return (kw_column){.family = kw_bytes_of_text(kw_arena_text(arena, B(family))),
                       .qualifier = kw_bytes_of_text(kw_arena_text(arena, B(qualifier))),
                       .whole_family = g_test_rand_int_range(0, 20) == 0};
}

static bool
same(const kw_column *a, const kw_column *b)
{
    return kw_bytes_equal(a->family, b->family) && a->whole_family == b->whole_family &&
           (a->whole_family || kw_bytes_equal(a->qualifier, b->qualifier));
}

static bool
is_there(const kw_column *columns, size_t count, const kw_column *column)
{
    bool found = false;
    for (size_t i = 0; i < count && !found; i++)
        found = same(&columns[i], column);
    return found;
}

static void
check_look_ups(const kw_column *columns, size_t count, const kw_sorted_columns *sorted, kw_arena *arena)
{
    for (int i = 0; i < 100; i++) {
        kw_column column = random_column(arena);
        kw_column whole = {.family = column.family, .whole_family = true};
        size_t at = kw_columns_find(sorted, &column);
        g_assert_cmpint(at < sorted->count, ==, is_there(columns, count, &column));
        if (at < sorted->count)
            g_assert_true(same(sorted->columns[at], &column));
        column.whole_family = false;
        g_assert_cmpint(kw_columns_include(sorted, column.family, column.qualifier), ==,
                        is_there(columns, count, &column) || is_there(columns, count, &whole));
    }
}

static void
test_random(void)
{
    for (int round = 0; round < 200; round++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        size_t count = (size_t)g_test_rand_int_range(0, FEW);
        kw_column columns[FEW];
        bool repeated = false;
        for (size_t i = 0; i < count; i++) {
            columns[i] = random_column(arena);
            repeated = repeated || is_there(columns, i, &columns[i]);
        }
        kw_sorted_columns sorted = kw_columns_sort(columns, count, arena);
        g_assert_cmpuint(sorted.count, ==, count);
        g_assert_cmpint(kw_columns_repeated(&sorted) != NULL, ==, repeated);
        check_look_ups(columns, count, &sorted, arena);
        kw_columns_remove_repeated(&sorted);
        g_assert_null(kw_columns_repeated(&sorted));
        check_look_ups(columns, count, &sorted, arena);
        for (size_t i = 0; i < sorted.count; i++) /* the first of equal columns stays */
            g_assert_false(is_there(columns, (size_t)(sorted.columns[i] - columns), sorted.columns[i]));
    }
}

/* The check takes time in proportion to the number of columns: comparing all pairs would take minutes. */
static void
test_increment_of_many_columns(void)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_column *columns = KW_ARENA_ARRAY(arena, kw_column, MANY);
    int64_t *amounts = KW_ARENA_ARRAY(arena, int64_t, MANY);
    for (int i = 0; i < MANY; i++) {
        g_autofree char *name = g_strdup_printf("a-rather-long-name-of-a-column-%d", i);
        columns[i] = (kw_column){.family = KW_BYTES_LITERAL("d"),
                                 .qualifier = kw_bytes_of_text(kw_arena_text(arena, B(name)))};
    }
    kw_increment increment = {.table = KW_BYTES_LITERAL("t"),
                              .row = KW_BYTES_LITERAL("r"),
                              .columns = columns,
                              .amounts = amounts,
                              .columns_count = MANY};
    kw_error error = KW_ERROR_NONE;
    clock_t began = clock();
    g_assert_true(kw_check_increment(&increment, &error));
    columns[MANY - 1] = columns[MANY / 3];
    g_assert_false(kw_check_increment(&increment, &error));
    kw_expect_error(&error, KW_INVALID, "a-rather-long-name-of-a-column-33333 twice");
    g_assert_cmpint((clock() - began) / CLOCKS_PER_SEC, <, CPU_SECONDS_MAX);
}

/* What a get shares with one that was checked is not checked again; everything else is. */
static void
test_gets_alike(void)
{
    static const kw_column good[] = {{.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("a")}};
    static const kw_column bad[] = {{.family = KW_BYTES_LITERAL("")}};
    kw_error error;
    kw_get first = {.table = B("t"), .row = B("r"), .columns = good, .columns_count = 1, .max_versions = 1};
    kw_get alike = first, other = first;
    g_assert_true(kw_check_get_like(&first, NULL, &error));
    g_assert_true(kw_check_get_like(&alike, &first, &error));
    alike.row = B("");
    g_assert_false(kw_check_get_like(&alike, &first, &error));
    other.columns = bad;
    g_assert_false(kw_check_get_like(&other, &first, &error));
    other = first;
    other.filter = B("no filter");
    g_assert_false(kw_check_get_like(&other, &first, &error));
    other = first;
    other.max_versions = -1;
    g_assert_false(kw_check_get_like(&other, &first, &error));
    other = first;
    other.time_from = 5;
    g_assert_false(kw_check_get_like(&other, &first, &error));
    /* The columns of a get that looks like a checked one are not read. */
    kw_get unread = first, checked = first;
    unread.columns = checked.columns = bad;
    g_assert_true(kw_check_get_like(&unread, &checked, &error));
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/columns/random", test_random);
    g_test_add_func("/columns/increment_of_many", test_increment_of_many_columns);
    g_test_add_func("/columns/gets_alike", test_gets_alike);
    return g_test_run();
}
