/* The arithmetic of a gather's reads: when a page is full, how many rows it still needs, how large a fetch
 * is, and how much memory fetches hold. */
#include "gather/flow.h"

#include <glib.h>

/* --- pages ----------------------------------------------------------------------------------------- */

KW_TEST(test_page_full, "/gather/flow-edges/full pages")
{
    static const struct {
        uint64_t page_rows;
        size_t page_bytes;
        uint64_t limit, returned;
        bool full;
    } cases[] = {{0, 0, 0, 0, false},   {9, 0, 0, 9, false},    {10, 0, 0, 10, true},  {1, 999, 0, 1, false},
                 {1, 1000, 0, 1, true}, {0, 1000, 0, 0, false}, {2, 100, 3, 2, false}, {2, 100, 3, 3, true},
                 {2, 100, 3, 4, true},  {0, 0, 3, 3, true}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_flow flow = {.limit = cases[i].limit};
        kw_flow_begin_page(&flow, 10, 1000);
        flow.page_rows = cases[i].page_rows;
        flow.page_bytes = cases[i].page_bytes;
        flow.returned = cases[i].returned;
        g_assert_cmpint(kw_flow_page_full(&flow), ==, cases[i].full);
    }
}

/* A row counts for its page and for the limit of all pages. */
KW_TEST(test_kept_rows, "/gather/flow-edges/kept rows")
{
    kw_flow flow = {.limit = 4};
    for (uint64_t page = 0; page < 2; page++) {
        kw_flow_begin_page(&flow, 10, 1000);
        g_assert_cmpuint(flow.page_rows + flow.page_bytes, ==, 0);
        kw_flow_keep(&flow, 30);
        kw_flow_keep(&flow, 50);
        g_assert_cmpuint(flow.page_rows, ==, 2);
        g_assert_cmpuint(flow.page_bytes, ==, 80);
        g_assert_cmpuint(flow.returned, ==, 2 * (page + 1));
        g_assert_cmpint(kw_flow_limit_reached(&flow), ==, page == 1);
    }
}

/* --- rows that are still needed -------------------------------------------------------------------- */

KW_TEST(test_wanted, "/gather/flow-edges/wanted rows")
{
    static const struct {
        const char *what;
        kw_flow flow;
        uint64_t wanted;
    } cases[] = {
        {"a page", {.max_rows = 100, .max_bytes = 1000}, 100},
        {"its rest", {.max_rows = 100, .max_bytes = 1000, .page_rows = 30, .returned = 30}, 70},
        {"two pages", {.max_rows = 100, .max_bytes = 1000, .page_rows = 30, .more_pages = true}, 170},
        {"the limit", {.max_rows = 100, .max_bytes = 1000, .limit = 25, .returned = 10}, 15},
        {"a high limit", {.max_rows = 100, .max_bytes = 1000, .limit = 2500, .returned = 10}, 100},
        {"large rows", {.max_rows = 100, .max_bytes = 1000, .read_rows = 10, .read_bytes = 990}, 11},
        {"large rows, the rest",
         {.max_rows = 100, .max_bytes = 1000, .page_bytes = 500, .read_rows = 10, .read_bytes = 990},
         6},
        {"large rows, no rest",
         {.max_rows = 100, .max_bytes = 1000, .page_bytes = 1200, .read_rows = 10, .read_bytes = 990},
         1},
        {"large rows, two pages",
         {.max_rows = 100, .max_bytes = 1000, .more_pages = true, .read_rows = 10, .read_bytes = 990},
         21},
        {"all rows were kept", {.max_rows = 100, .max_bytes = 1000, .examined = 10, .returned = 1}, 100},
        {"rows can be dropped", {.max_rows = 100, .max_bytes = 1000, .drops_rows = true}, 100},
        {"one of ten was kept",
         {.max_rows = 100, .max_bytes = 1000, .drops_rows = true, .examined = 199, .returned = 19},
         1001},
        {"one of ten was kept, large rows",
         {.max_rows = 100,
          .max_bytes = 1000,
          .drops_rows = true,
          .examined = 199,
          .returned = 19,
          .read_rows = 10,
          .read_bytes = 990},
         1001},
        {"none was kept", {.max_rows = 100, .max_bytes = 1000, .drops_rows = true, .examined = 199}, 20001},
        {"very many were dropped",
         {.max_rows = 1000, .max_bytes = 1000, .drops_rows = true, .examined = 1000000000},
         1000000001},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        if (kw_flow_wanted(&cases[i].flow) != cases[i].wanted)
            g_error("%s: %" G_GUINT64_FORMAT, cases[i].what, kw_flow_wanted(&cases[i].flow));
}

/* --- sizes ----------------------------------------------------------------------------------------- */

/* The average memory of a row, rounded up: never zero. */
KW_TEST(test_row_memory, "/gather/flow-edges/memory of a row")
{
    kw_flow flow = {0};
    g_assert_cmpuint(kw_flow_row_memory(&flow, 77), ==, 77);
    kw_flow_count(&flow, 0, 10, 5000); /* a read without rows says nothing about their size */
    g_assert_cmpuint(kw_flow_row_memory(&flow, 77), ==, 77);
    kw_flow_count(&flow, 3, 30, 0);
    g_assert_cmpuint(kw_flow_row_memory(&flow, 77), ==, 1);
    kw_flow_count(&flow, 7, 30, 995);
    g_assert_cmpuint(kw_flow_row_memory(&flow, 77), ==, 100);
    g_assert_cmpuint(flow.read_bytes, ==, 70);
}

/* All rows that the page needs are fetched if they fit into three quarters of the budget. Otherwise, each
 * stream has an equal part of seven eighths for two batches. */
KW_TEST(test_chunks, "/gather/flow-edges/chunks")
{
    static const struct {
        const char *what;
        kw_flow flow;
        kw_demand demand;
        uint64_t buffered;
        uint32_t rows;
        size_t bytes;
    } cases[] = {
        {"alone", {.max_rows = 100, .max_bytes = 4000, .budget_bytes = 100000}, {100, 1, 0, 0}, 0, 100, 5000},
        {"buffered",
         {.max_rows = 100, .max_bytes = 4000, .budget_bytes = 100000},
         {100, 1, 0, 0},
         60,
         40,
         5000},
        {"one of ten",
         {.max_rows = 100, .max_bytes = 40000, .budget_bytes = 100000},
         {100, 10, 0, 0},
         0,
         13,
         5000},
        {"at least",
         {.max_rows = 100, .max_bytes = 400, .budget_bytes = 100000},
         {100, 10, 0, 0},
         0,
         13,
         1024},
        {"fits just",
         {.max_rows = 1000, .max_bytes = 1000000, .budget_bytes = 102400},
         {299, 10, 0, 0},
         0,
         37,
         51200},
        {"does not fit",
         {.max_rows = 1000, .max_bytes = 1000000, .budget_bytes = 102400},
         {300, 10, 0, 0},
         0,
         17,
         4480},
        {"more pages",
         {.max_rows = 1000, .max_bytes = 1000, .budget_bytes = 102400, .more_pages = true},
         {100, 10, 0, 0},
         50,
         100,
         51200},
        {"drops rows",
         {.max_rows = 1000, .max_bytes = 1000, .budget_bytes = 102400, .drops_rows = true},
         {100, 10, 0, 0},
         0,
         13,
         51200},
        {"rows of half their memory",
         {.max_rows = 1000,
          .max_bytes = 1000000,
          .budget_bytes = 102400,
          .read_rows = 1,
          .read_memory = 511,
          .read_bytes = 256},
         {300, 10, 0, 0},
         0,
         8,
         2244},
        {"tiny budget",
         {.max_rows = 100, .max_bytes = 4000, .budget_bytes = 100},
         {100, 1, 0, 0},
         0,
         1,
         1024},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_chunk chunk = kw_flow_chunk(&cases[i].flow, &cases[i].demand, cases[i].buffered);
        if (chunk.rows != cases[i].rows || chunk.bytes != cases[i].bytes)
            g_error("%s: %u rows, %zu bytes", cases[i].what, chunk.rows, chunk.bytes);
    }
}

/* While memory is short, one gather reads ahead at most 256 KiB. */
KW_TEST(test_chunks_while_memory_is_short, "/gather/flow-edges/chunks while memory is short")
{
    enum { ROW_BYTES = 256, BUDGET = 16 << 20, USED = 14 << 20 };
    kw_flow flow = {.max_rows = 100000, .max_bytes = 64 << 20, .budget_bytes = 1 << 20};
    kw_demand demand = {.wanted = 100000, .streams = 1};
    kw_budget_configure(BUDGET);
    size_t plenty = kw_flow_chunk(&flow, &demand, 0).rows;
    kw_budget_charge(KW_MEMORY_CALLS, USED);
    kw_budget_settle();
    g_assert_true(kw_flow_is_short(&flow));
    size_t few = kw_flow_chunk(&flow, &demand, 0).rows;
    flow.budget_bytes = 1 << 16;
    size_t fewer = kw_flow_chunk(&flow, &demand, 0).rows;
    kw_budget_charge(KW_MEMORY_CALLS, -USED);
    kw_budget_settle();
    kw_budget_configure(0);
    g_assert_cmpuint(plenty, ==, 4 * few);
    g_assert_cmpuint(few, ==, 4 * fewer);
    g_assert_cmpuint(few * ROW_BYTES, <=, 128 * 1024);
    g_assert_cmpuint(few * ROW_BYTES, >=, 96 * 1024);
}

/* --- memory ---------------------------------------------------------------------------------------- */

KW_TEST(test_space, "/gather/flow-edges/space")
{
    kw_flow flow = {.budget_bytes = 1000, .read_rows = 1, .read_memory = 99}; /* 100 bytes a row */
    kw_flow_hold(&flow, 500);
    g_assert_true(kw_flow_has_space(&flow, 5));
    g_assert_false(kw_flow_has_space(&flow, 6));
    kw_flow_release(&flow, 200);
    g_assert_true(kw_flow_has_space(&flow, 7));
    g_assert_false(kw_flow_has_space(&flow, 8));
}

/* A fetch reserves the memory of its rows, but at most twice its bytes, and returns it at its end. */
KW_TEST(test_fetches, "/gather/flow-edges/fetches")
{
    kw_flow flow = {.read_rows = 1, .read_memory = 99};
    for (size_t i = 0; i < KW_FLOW_FETCHES_MAX; i++) {
        g_assert_true(kw_flow_may_fetch(&flow));
        g_assert_cmpuint(kw_flow_begin_fetch(&flow, (kw_chunk){.rows = 3, .bytes = i % 2 ? 150 : 140}), ==,
                         i % 2 ? 300 : 280);
    }
    g_assert_false(kw_flow_may_fetch(&flow));
    g_assert_cmpuint(flow.held_bytes, ==, KW_FLOW_FETCHES_MAX / 2 * (300 + 280));
    kw_flow_end_fetch(&flow, 300);
    g_assert_true(kw_flow_may_fetch(&flow));
    g_assert_cmpuint(flow.held_bytes, ==, KW_FLOW_FETCHES_MAX / 2 * (300 + 280) - 300);
    g_assert_cmpuint(flow.fetches, ==, KW_FLOW_FETCHES_MAX - 1);
}
