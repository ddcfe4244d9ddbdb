/* The reads that a gather starts: their options, sizes and order. */
#include "gather/forecast.h"
#include "gather/gather_internal.h"
#include "noting.h"

/* --- range scans ----------------------------------------------------------------------------------- */

/* A scanner stays open in the store if further fetches are likely: if more pages follow, if the stream is
 * expected to have more rows than the fetch returns, or if many rows are wanted and a filter drops some. */
KW_TEST(test_hints, "/gather/reads/hints")
{
    static const struct {
        uint32_t page_rows;
        const char *filter;
        bool residual, more_pages;
        size_t buffer_bytes;
        bool hint;
    } cases[] = {
        {255, "", false, false, 1 << 20, false},
        {256, "", false, false, 1 << 20, false},
        {255, "", false, true, 1 << 20, true},
        {255, "KeyOnlyFilter ()", false, false, 1 << 20, false},
        {256, "KeyOnlyFilter ()", false, false, 1 << 20, true},
        {255, "", true, false, 1 << 20, false},
        {256, "", true, false, 1 << 20, true},
        {200, "", false, false, 1024, true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        fixture *self = noting_fixture_of_ranges(1, 400);
        self->plan.residual = cases[i].residual;
        kw_gather_spec spec = fixture_spec(self);
        spec.filter = kw_bytes_of_text(cases[i].filter);
        spec.more_pages = cases[i].more_pages;
        spec.buffer_bytes = cases[i].buffer_bytes;
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        fixture_read_page(self, gather, cases[i].page_rows, 1 << 20);
        g_assert_false(self->failed);
        g_assert_cmpint(noted.fetches[0].more_hint, ==, cases[i].hint);
        g_assert_cmpuint(noted.deadline, ==, KW_DEADLINE_NONE);
        kw_gather_free(gather);
        fixture_free(self);
    }
}

/* When the merge waits for one stream, the other streams that will run dry during the page fetch at the same
 * time, so that they do not wait one after the other. The first stream to run dry is the first or the last
 * one. */
static void
assert_streams_fetch_together(bool reversed, uint32_t page_rows)
{
    enum { STREAMS = 4, ROWS = 500 };
    fixture *self = noting_fixture_of_ranges(STREAMS, ROWS);
    self->plan.reversed = reversed;
    kw_gather_spec spec = fixture_spec(self);
    spec.buffer_bytes = 1 << 20;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, 100, 1 << 20);
    size_t first_round = noted.fetches_count;
    g_assert_cmpuint(first_round, >=, STREAMS);
    fixture_start_page(self, gather, page_rows, 1 << 20, KW_DEADLINE_NONE);
    while (noted.fetches_count == first_round && !self->done)
        fixture_run_once(self);
    g_assert_nonnull(gather->groups);
    bool fetched[STREAMS] = {false};
    for (size_t i = first_round; i < noted.fetches_count; i++)
        for (uint32_t stream = 0; stream < STREAMS; stream++)
            fetched[stream] |= gather->groups->streams[stream].range_scan == noted.fetches[i].scan;
    for (uint32_t stream = 0; stream < STREAMS; stream++)
        g_assert_true(fetched[stream]);
    while (!self->done)
        fixture_run_once(self);
    g_assert_cmpuint(self->page_count, ==, page_rows);
    kw_gather_free(gather);
    fixture_free(self);
}

KW_TEST(test_streams_fetch_together, "/gather/reads/streams fetch together")
{
    for (int reversed = 0; reversed < 2; reversed++) {
        assert_streams_fetch_together(reversed, KW_FORECAST_ROWS / 2); /* by a forecast */
        assert_streams_fetch_together(reversed, KW_FORECAST_ROWS + KW_FORECAST_ROWS / 4);
    }
}

/* The batches of earlier pages are freed, so they do not end later pages early. */
KW_TEST(test_pages_stay_full, "/gather/reads/pages stay full")
{
    enum { PAGES = 300, PAGE_ROWS = 20 };
    fixture *self = fixture_of_ranges(1, PAGES * PAGE_ROWS, false);
    kw_gather_spec spec = fixture_spec(self);
    spec.buffer_bytes = 2048;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    for (int page = 0; page < PAGES; page++) {
        fixture_read_page(self, gather, PAGE_ROWS, 1024);
        g_assert_cmpuint(self->page_count, ==, PAGE_ROWS);
    }
    kw_gather_free(gather);
    fixture_free(self);
}

static bool
accept_each_fiftieth(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error)
{
    unsigned *seen = user;
    (void)row;
    (void)ret_error;
    *ret_accepted = ++*seen % 50 ? KW_ROW_DROPPED : KW_ROW_ACCEPTED;
    return true;
}

/* A row keeps its whole batch in memory: a page with few rows of many batches ends before it is full. */
KW_TEST(test_pages_with_large_batches, "/gather/reads/pages with large batches")
{
    fixture *self = fixture_of_ranges(1, 5000, false);
    unsigned seen = 0;
    size_t count = 0, pages = 0, most = 4 * 4000 + 2048; /* four pages and the buffer */
    self->plan.residual = true;
    kw_gather_spec spec = fixture_spec(self);
    spec.buffer_bytes = 2048;
    spec.accept = accept_each_fiftieth;
    spec.accept_user = &seen;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    do {
        fixture_read_page(self, gather, 10000, 4000);
        g_assert_cmpuint(gather->flow.page_bytes, <, 2000);
        g_assert_true(self->end || gather->page.retired_bytes >= most);
        g_assert_cmpuint(gather->page.retired_bytes, <, most + spec.buffer_bytes);
        count += self->page_count;
        pages++;
    } while (!self->end);
    g_assert_cmpuint(count, ==, 100);
    g_assert_cmpuint(pages, >, 1);
    kw_gather_free(gather);
    fixture_free(self);
}

/* Only the second range has a fixed row size: longer rows of it are dropped, those of the first one are not.
 */
KW_TEST(test_row_size_of_one_range, "/gather/reads/row size of one range")
{
    fixture *self = fixture_of_ranges(2, 10, false);
    kw_range *ranges =
        (kw_range *)(void *)kw_arena_copy(self->arena, kw_bytes_of(self->plan.ranges, 2 * sizeof(kw_range)))
            .data;
    ranges[1].row_size = 11;
    self->plan.ranges = ranges;
    for (const char *const *longer = (const char *const[]){"00000000000x", "00100000001x", NULL}; *longer;
         longer++)
        kw_memory_store_set(self->store, "t", kw_bytes_of_text(*longer), "d", "v", KW_BYTES_LITERAL("0"), 1);
    kw_gather_spec spec = fixture_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, 100, 1 << 20);
    g_assert_cmpuint(self->page_count, ==, 21);
    kw_gather_free(gather);
    fixture_free(self);
}

/* --- positions ------------------------------------------------------------------------------------- */

/* Groups before the position are not read again, so they are no progress: if the store is silent, the page
 * fails instead of being empty. */
KW_TEST(test_timeout_after_a_position, "/gather/reads/timeout after a position")
{
    fixture_shape shape = {.groups = 3, .ranges_per_group = 2, .rows_per_range = 40, .suffixes = 1000};
    fixture *self = fixture_new_with_rows(&shape, 10);
    while (self->rows[self->rows_count - 1].group == 0) {
        fixture_free(self);
        self = fixture_new_with_rows(&shape, 10);
    }
    kw_gather_spec spec = fixture_spec(self);
    spec.position = fixture_position_after(self, self->rows_count - 1);
    self->control->never_answer = true;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_start_page(self, gather, 10, 1 << 20, kw_deadline_in_ms(20));
    while (!self->done)
        fixture_run_once(self);
    g_assert_true(self->failed);
    g_assert_cmpint(self->error.code, ==, KW_TIMEOUT);
    kw_gather_free(gather);
    fixture_free(self);
}

/* --- memory that is used up ------------------------------------------------------------------------ */

#define BUDGET_BYTES ((int64_t)16 << 20)

static bool
use_up_memory(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error)
{
    unsigned *seen = user;
    (void)row;
    (void)ret_error;
    *ret_accepted = KW_ROW_ACCEPTED;
    if (++*seen == 10) {
        kw_budget_charge(KW_MEMORY_CALLS, BUDGET_BYTES);
        kw_budget_settle();
    }
    return true;
}

/* If memory is used up while a page is read, the page ends with the rows that it has. Without rows, it fails.
 */
KW_TEST(test_memory_used_up, "/gather/reads/memory used up")
{
    fixture *self = fixture_of_ranges(1, 2000, false);
    unsigned seen = 0;
    kw_account *account = kw_account_new();
    kw_gather_spec spec = fixture_spec(self);
    spec.account = account;
    spec.buffer_bytes = 1 << 20;
    spec.accept = use_up_memory;
    spec.accept_user = &seen;
    kw_budget_configure(BUDGET_BYTES);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, 2000, 16 << 20);
    g_assert_false(self->failed || self->end);
    g_assert_cmpuint(self->page_count, >=, 10);
    g_assert_cmpuint(self->page_count, <, 1000);
    spec.position = self->position;
    kw_gather_free(gather);
    gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, 2000, 16 << 20);
    g_assert_true(self->failed);
    g_assert_cmpint(self->error.code, ==, KW_BUSY);
    kw_budget_charge(KW_MEMORY_CALLS, -BUDGET_BYTES);
    kw_budget_settle();
    kw_gather_free(gather);
    kw_budget_configure(0);
    kw_account_unref(account);
    fixture_free(self);
}

/* --- the caller's account -------------------------------------------------------------------------- */

/* The memory of a gather is charged to the caller's account: not more for each page, and nothing once the
 * gather is freed, whether a read is in flight or not. */
static void
assert_charges(fixture *self, bool in_flight)
{
    kw_account *account = kw_account_new();
    kw_gather_spec spec = fixture_spec(self);
    spec.account = account;
    spec.buffer_bytes = 4096;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    int64_t most = 0;
    for (int page = 0; page < 20; page++) {
        fixture_read_page(self, gather, 20, 1 << 20);
        g_assert_cmpuint(self->page_count, ==, 20);
        g_assert_cmpint(kw_account_bytes(account), >, 0);
        most = page < 5 ? MAX(most, kw_account_bytes(account)) : most;
        g_assert_cmpint(kw_account_bytes(account), <=, 2 * most);
    }
    if (in_flight)
        fixture_start_page(self, gather, 20, 1 << 20, KW_DEADLINE_NONE);
    kw_gather_free(gather);
    self->done = true;
    for (int i = 0; in_flight && i < 3; i++)
        uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);
    g_assert_cmpint(kw_account_bytes(account), ==, 0);
    kw_account_unref(account);
}

KW_TEST(test_charges, "/gather/reads/charges")
{
    for (int points = 0; points < 2; points++)
        for (int in_flight = 0; in_flight < 2; in_flight++) {
            fixture *self = points ? noting_fixture_of_points(1000) : noting_fixture_of_ranges(3, 1000);
            assert_charges(self, in_flight);
            fixture_free(self);
        }
}

KW_TEST_START(start)
{
    fixture_seed();
}
