/* The merge of the two rows of a record, and what a row lacks: examples, and a comparison with the rules of
 * the explorations (row_merge and row_missing) on all small rows. */
#include "../change/model_row.h"
#include "order_bed.h"
#include "store/order/order_internal.h"

static const kw_ordering ordering = {.regime.order = KW_WRITE_ORDER_STAMP,
                                     .family = {(const uint8_t *)"f", 1}};

typedef struct merge_case {
    const char *what;
    const char *authority, *other, *merged;
    const char *authority_lacks, *other_lacks; /* cells; each removal's marker is checked to match its cell */
    bool ties;
} merge_case;

static const merge_case cases[] = {
    {"equal", "f:a=1@10", "f:a=1@10", "f:a=1@10", "", "", false},
    {"empty", "", "", "", "", "", true},
    {"only one has it", "", "f:a=1@10", "f:a=1@10", "f:a=1@10", "", false},
    {"newer in one", "f:a=1@10", "f:a=2@11", "f:a=2@11 f:a=1@10", "f:a=2@11", "f:a=1@10", false},
    {"each cell by itself", "f:a=2@11 f:b=1@10", "f:a=1@10 f:b=3@12", "f:a=2@11 f:a=1@10 f:b=3@12 f:b=1@10",
     "f:a=1@10 f:b=3@12", "f:a=2@11 f:b=1@10", false},
    {"versions", "f:a=3@12 f:a=1@10", "f:a=2@11 f:a=1@10", "f:a=3@12 f:a=2@11 f:a=1@10", "f:a=2@11",
     "f:a=3@12", false},
    {"a tie", "f:a=1@10", "f:a=2@10", "f:a=1@10", "", "", false},
    {"a tie that counts", "f:a=1@10", "f:a=2@10", "f:a=1@10", "", "f:a=1@10", true},
    {"families", "f:z=1@10", "g:a=1@10", "f:z=1@10 g:a=1@10", "g:a=1@10", "f:z=1@10", false},
    {"a removed record", "f:kw:r=10@11", "f:a=1@10", "f:kw:r=10@11 f:a=1@10", "", "f:kw:r=10@11", false},
    {"put again after it", "f:kw:r=10@11", "f:a=2@12 f:a=1@10", "f:kw:r=10@11 f:a=2@12 f:a=1@10", "f:a=2@12",
     "f:kw:r=10@11", false},
    {"the later removal", "f:kw:r=10@11", "f:kw:r=12@13", "f:kw:r=12@13 f:kw:r=10@11", "f:kw:r=12@13", "",
     false},
    {"a removed column", "f:kw:cf:a=10@11", "f:a=1@9 f:b=1@9", "f:kw:cf:a=10@11 f:a=1@9 f:b=1@9", "f:b=1@9",
     "f:kw:cf:a=10@11", false},
    {"a removed column of a record removed later", "f:kw:cf:a=10@11", "f:kw:r=12@13",
     "f:kw:cf:a=10@11 f:kw:r=12@13", "f:kw:r=12@13", "", false},
    {"a removed column of a record removed before", "f:kw:cf:a=14@15", "f:kw:r=12@13",
     "f:kw:cf:a=14@15 f:kw:r=12@13", "f:kw:r=12@13", "f:kw:cf:a=14@15", false},
    {"a removed family", "f:kw:fg:=10@11", "g:a=1@9 g:b=1@11", "f:kw:fg:=10@11 g:a=1@9 g:b=1@11", "g:b=1@11",
     "f:kw:fg:=10@11", false},
    {"a removed column of a family removed later", "f:kw:cg:a=9@10", "f:kw:fg:=10@11",
     "f:kw:cg:a=9@10 f:kw:fg:=10@11", "f:kw:fg:=10@11", "", false},
    {"generations are not merged", "f:kw:g=1@20", "f:kw:g=2@30", "", "", "", true},
};

static void
assert_lacks(const kw_row *merged, const kw_row *to, bool ties, kw_arena *arena, const char *expected)
{
    kw_write write;
    int64_t newest_ms = 0;
    bool any = kw_order_missing(&ordering, merged, to, ties, arena, &write);
    kw_row cells = {.cells = (kw_cell *)write.cells, .cells_count = (uint32_t)write.cells_count};
    g_autofree char *text = order_print(&cells);
    g_assert_cmpstr(text, ==, expected);
    g_assert_cmpint(any, ==, expected[0] != '\0');
    g_assert_true(write.own_timestamps && write.kind == KW_WRITE_PUT);
    for (size_t i = 0; i < write.cells_count; i++)
        newest_ms = MAX(newest_ms, cells.cells[i].timestamp);
    g_assert_cmpint(write.timestamp, ==, newest_ms);
    for (size_t i = 0; i < write.cells_count; i++) {
        kw_marker marker;
        g_assert_cmpint(kw_control_marker(&ordering, &cells.cells[i], &marker), ==, i < write.markers_count);
        if (i < write.markers_count)
            g_assert_cmpint(write.markers[i].until_ms, ==, cells.cells[i].timestamp - 1);
    }
}

KW_TEST(test_cases, "/order/merge/cases")
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        g_test_message("%s", cases[i].what);
        kw_row authority = order_row(arena, cases[i].authority), other = order_row(arena, cases[i].other);
        kw_row merged = kw_order_merge(&ordering, &authority, &other, arena);
        g_autofree char *text = order_print(&merged);
        g_assert_cmpstr(text, ==, cases[i].merged);
        assert_lacks(&merged, &authority, cases[i].ties, arena, cases[i].authority_lacks);
        assert_lacks(&merged, &other, cases[i].ties, arena, cases[i].other_lacks);
    }
}

KW_TEST(test_marker, "/order/merge/marker")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_row found = order_row(arena, "f:kw:cf:a:b=7@8 f:kw:fg:=7@8 f:kw:r=7@8 f:kw:g=7@8 f:kw:c=7@8 f:a=7@8");
    kw_marker marker;
    g_assert_true(kw_control_marker(&ordering, &found.cells[0], &marker));
    g_assert_true(!marker.whole_row && !marker.column.whole_family && marker.until_ms == 7);
    g_assert_true(kw_bytes_equal(marker.column.family, KW_BYTES_LITERAL("f")));
    g_assert_true(kw_bytes_equal(marker.column.qualifier, KW_BYTES_LITERAL("a:b")));
    g_assert_true(kw_control_marker(&ordering, &found.cells[1], &marker));
    g_assert_true(marker.column.whole_family && kw_bytes_equal(marker.column.family, KW_BYTES_LITERAL("g")));
    g_assert_true(kw_control_marker(&ordering, &found.cells[2], &marker));
    g_assert_true(marker.whole_row);
    for (size_t i = 3; i < found.cells_count; i++)
        g_assert_false(kw_control_marker(&ordering, &found.cells[i], &marker));
}

/* --- the rules of the explorations -------------------------------------------------------------- */

#define STAMPS 4 /* 0: none */

static row
model_row_of(unsigned number, unsigned writer)
{
    row made = {.row_marker = 0};
    for (unsigned i = 0; i < CELLS; i++, number /= STAMPS)
        made.cells[i] = number % STAMPS ? RANK(number % STAMPS, writer) : 0;
    made.row_gone = RANK(number % STAMPS, 0);
    made.a_gone = RANK(number / STAMPS % STAMPS, 0);
    return made;
}

static char *
print_model(const row *of)
{
    GString *text = g_string_new(NULL);
    if (of->a_gone)
        g_string_append_printf(text, " f:kw:cf:a=%u@%u", STAMP_OF(of->a_gone), STAMP_OF(of->a_gone) + 1);
    if (of->row_gone)
        g_string_append_printf(text, " f:kw:r=%u@%u", STAMP_OF(of->row_gone), STAMP_OF(of->row_gone) + 1);
    for (unsigned i = 0; i < CELLS; i++)
        if (of->cells[i])
            g_string_append_printf(text, " f:%c=%u@%u", 'a' + i, NUMBER_OF(of->cells[i]),
                                   STAMP_OF(of->cells[i]));
    g_string_erase(text, 0, text->len > 0);
    return g_string_free(text, FALSE);
}

/* The model has no older versions. */
static kw_row
newest_cells(const kw_write *write, const kw_row *to, kw_arena *arena)
{
    kw_row cells = {.cells = KW_ARENA_ARRAY(arena, kw_cell, write->cells_count)};
    for (size_t i = 0; i < write->cells_count; i++) {
        const kw_cell *own = kw_row_find_cell(to, write->cells[i].family, write->cells[i].qualifier);
        if (!own || own->timestamp <= write->cells[i].timestamp)
            cells.cells[cells.cells_count++] = write->cells[i];
    }
    return cells;
}

static void
compare_with_model(const row *authority, const row *other, bool ties)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_autofree char *one = print_model(authority), *two = print_model(other);
    kw_row rows[2] = {order_row(arena, one), order_row(arena, two)};
    kw_row merged = kw_order_merge(&ordering, &rows[0], &rows[1], arena);
    row model = row_merge(authority, other), lacks;
    for (int i = 0; i < 2; i++) {
        kw_write write;
        bool any = row_missing(&model, i ? other : authority, ties, &lacks);
        g_autofree char *expected = print_model(&lacks);
        kw_order_missing(&ordering, &merged, &rows[i], ties, arena, &write);
        kw_row cells = newest_cells(&write, &rows[i], arena);
        g_autofree char *text = order_print(&cells);
        g_assert_cmpstr(text, ==, expected);
        g_assert_cmpint(cells.cells_count > 0, ==, any);
    }
}

KW_TEST(test_model, "/order/merge/model")
{
    unsigned most = STAMPS * STAMPS * STAMPS * STAMPS;
    for (unsigned i = 0; i < most; i++)
        for (unsigned j = 0; j < most; j++) {
            row authority = model_row_of(i, 0), other = model_row_of(j, 1);
            compare_with_model(&authority, &other, (i + j) % 2 == 0);
        }
}
