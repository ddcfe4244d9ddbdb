/* When a gather reads ahead, and how many rows it then reads. */
#include "gather/forecast.h"
#include "noting.h"

/* --- when ------------------------------------------------------------------------------------------- */

typedef struct watch {
    kw_gather *gather;
    size_t batches, in_time;
} watch;

/* Checks at each row whether the batch after the one being read has been requested. It is requested from the
 * second row of a batch on if more pages follow, otherwise from the middle of a batch on. */
static bool
check_request(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error)
{
    watch *self = user;
    (void)ret_error;
    const kw_stream *stream = &self->gather->groups->streams[0];
    size_t at = (size_t)(row - stream->batch->rows), count = stream->batch->count;
    size_t mark = self->gather->spec.more_pages ? 1 : count / 2;
    bool requested = stream->fetching || stream->ahead || stream->end;
    self->batches += at == 0;
    self->in_time += at == mark && requested;
    if (requested && at < mark)
        g_assert_true(stream->end || self->gather->spec.more_pages);
    *ret_accepted = KW_ROW_ACCEPTED;
    return true;
}

static void
check_requests(uint32_t page_rows, bool more_pages)
{
    fixture *self = fixture_of_ranges(1, 6000, false);
    watch seen = {0};
    kw_gather_spec spec = fixture_spec(self);
    spec.more_pages = more_pages;
    spec.buffer_bytes = 64 * 1024;
    spec.accept = check_request;
    spec.accept_user = &seen;
    seen.gather = kw_gather_new(self->handle, &spec);
    do {
        fixture_read_page(self, seen.gather, page_rows, 1 << 20);
        for (int i = 0; i < 3; i++) /* the batch that was requested arrives */
            uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);
    } while (!self->end);
    g_assert_cmpuint(seen.batches, >, 10);
    g_assert_cmpuint(seen.in_time, ==, seen.batches);
    kw_gather_free(seen.gather);
    fixture_free(self);
}

/* The batch being read and the one that is read ahead fit into the buffer together. */
KW_TEST(test_request_of_next_batch, "/gather/ahead/request of next batch")
{
    check_requests(10000, false);
    check_requests(10000, true);
    check_requests(300, true);
}

/* Fails the test if a batch is requested while the one before it is being read. */
static bool
check_no_request(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error)
{
    watch *self = user;
    (void)ret_error;
    const kw_stream *stream = &self->gather->groups->streams[0];
    g_assert_false(stream->fetching || stream->ahead);
    self->batches += row == stream->batch->rows;
    *ret_accepted = KW_ROW_ACCEPTED;
    return true;
}

/* While memory is short, nothing is read ahead. */
KW_TEST(test_no_request_while_memory_is_short, "/gather/ahead/short memory")
{
    static const int64_t budget = 16 << 20, used = 14 << 20;
    kw_budget_configure(budget);
    kw_budget_charge(KW_MEMORY_CALLS, used);
    kw_budget_settle();
    for (int more_pages = 0; more_pages < 2; more_pages++) {
        fixture *self = fixture_of_ranges(1, 2000, false);
        watch seen = {0};
        kw_gather_spec spec = fixture_spec(self);
        spec.more_pages = more_pages;
        spec.accept = check_no_request;
        spec.accept_user = &seen;
        seen.gather = kw_gather_new(self->handle, &spec);
        fixture_read_page(self, seen.gather, 10000, 1 << 20);
        g_assert_cmpuint(self->page_count, ==, 2000);
        g_assert_cmpuint(seen.batches, >, 5);
        kw_gather_free(seen.gather);
        fixture_free(self);
    }
    kw_budget_charge(KW_MEMORY_CALLS, -used);
    kw_budget_settle();
    kw_budget_configure(0);
}

/* --- how many --------------------------------------------------------------------------------------- */

static void
add_row(fixture *self, uint32_t range, uint32_t place)
{
    g_autofree char *key = g_strdup_printf("%03u%08u", range, place);
    kw_memory_store_set(self->store, "t", kw_bytes_of_text(key), "d", "v", KW_BYTES_LITERAL("0123456789"), 1);
}

/* A range that has ended does not count: the other range is expected to supply all rows that the page still
 * needs. */
KW_TEST(test_after_the_end_of_a_range, "/gather/ahead/after the end of a range")
{
    enum { SHORT = 400, LONG = 3000 };
    fixture *self = noting_fixture_of_ranges(2, SHORT);
    for (uint32_t row = 2 * SHORT; row < LONG; row++)
        add_row(self, 1, row);
    kw_gather_spec spec = fixture_spec(self);
    spec.buffer_bytes = 8 << 20;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, SHORT, 1 << 20);
    fixture_read_page(self, gather, SHORT + 1, 1 << 20);
    size_t before = noted.fetches_count;
    g_assert_true(gather->groups->streams[0].end && !gather->groups->streams[0].head);
    fixture_read_page(self, gather, 1000, 1 << 20);
    g_assert_cmpuint(self->page_count, ==, 1000);
    g_assert_cmpuint(noted.fetches_count, ==, before + 1);
    kw_gather_free(gather);
    fixture_free(self);
}

/* The same for ranges without rows. */
KW_TEST(test_empty_ranges, "/gather/ahead/empty ranges")
{
    enum { RANGES = 10, ROWS = 300 };
    fixture *self = noting_fixture_of_ranges(RANGES, 0);
    for (uint32_t row = 0; row < 2 * ROWS; row++)
        add_row(self, 3, row);
    kw_gather_spec spec = fixture_spec(self);
    spec.buffer_bytes = 8 << 20;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, ROWS, 1 << 20);
    g_assert_cmpuint(self->page_count, ==, ROWS);
    g_assert_cmpuint(noted.fetches_count, ==, RANGES + 1);
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

/* If most rows are dropped, fetches are as much larger. */
KW_TEST(test_dropped_rows, "/gather/ahead/dropped rows")
{
    fixture *self = noting_fixture_of_ranges(1, 6000);
    unsigned seen = 0;
    self->plan.residual = true;
    kw_gather_spec spec = fixture_spec(self);
    spec.buffer_bytes = 8 << 20;
    spec.accept = accept_each_fiftieth;
    spec.accept_user = &seen;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, 100, 1 << 20);
    g_assert_cmpuint(self->page_count, ==, 100);
    g_assert_cmpuint(noted.fetches[0].rows, ==, 101);
    g_assert_cmpuint(noted.fetches[1].rows, >, 2000);
    g_assert_cmpuint(noted.fetches[1].rows, <, 4000);
    kw_gather_free(gather);
    fixture_free(self);
}

/* Reads 400 rows, four in five of them from the first range, and then a page of this size. Returns the number
 * of fetches for that page. */
static size_t
fetches_of_second_page(uint32_t page_rows)
{
    enum { ROWS = 4000, EACH = 5 };
    fixture *self = noting_fixture_of_ranges(2, 0);
    for (uint32_t row = 0; row < ROWS; row++)
        add_row(self, row % EACH == 0, row);
    kw_gather_spec spec = fixture_spec(self);
    spec.buffer_bytes = 8 << 20;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, 400, 1 << 20);
    size_t before = noted.fetches_count;
    fixture_read_page(self, gather, page_rows, 1 << 20);
    g_assert_cmpuint(self->page_count, ==, page_rows);
    memmove(noted.fetches + 2, noted.fetches + before,
            (noted.fetches_count - before) * sizeof *noted.fetches);
    kw_gather_free(gather);
    fixture_free(self);
    return noted.fetches_count - before;
}

/* When the rows of a range that has most rows of the page run out, the gather also fetches a few rows of the
 * other range. It fetches none of them if that range has enough rows: the 222 that it got at first are a
 * fifth of the rows of both pages. */
KW_TEST(test_shares_of_ranges, "/gather/ahead/shares of ranges")
{
    g_assert_cmpuint(fetches_of_second_page(2000), >=, 2);
    const noted_fetch *dry = &noted.fetches[2], *other = &noted.fetches[3];
    g_assert_true(dry->scan == noted.fetches[0].scan && dry->rows > 1200);
    g_assert_true(other->scan == noted.fetches[1].scan && other->rows < 400);
    g_assert_cmpuint(fetches_of_second_page(666), ==, 1);
    g_assert_cmpuint(fetches_of_second_page(5 * 222 - 400 + 1), ==, 2);
}

/* --- forecasts --------------------------------------------------------------------------------------- */

enum { FORECAST_STREAMS = 4 };

/* Each text has the keys of a stream's buffered rows, one letter each; those after a bar are in the batch
 * that was read ahead. A stream has ended if the text ends with a full stop. Checks the number of rows that
 * follow in a page of `wanted` rows after each stream has run out. */
static void
check_forecast(const char *const texts[FORECAST_STREAMS], bool reversed, uint64_t wanted,
               const uint64_t expected[FORECAST_STREAMS])
{
    kw_plan plan = {.reversed = reversed};
    kw_gather gather = {.spec = {.plan = &plan}};
    kw_stream streams[FORECAST_STREAMS] = {0};
    kw_row rows[FORECAST_STREAMS][26] = {0};
    kw_group group = {.gather = &gather, .streams = streams, .count = FORECAST_STREAMS};
    kw_rows ahead[FORECAST_STREAMS] = {0};
    uint64_t left[FORECAST_STREAMS];
    for (size_t i = 0; i < FORECAST_STREAMS; i++) {
        size_t count = strcspn(texts[i], ".|"), size = strcspn(texts[i], ".");
        for (size_t k = 0; k < size; k++)
            rows[i][k].key = kw_bytes_of((const uint8_t *)texts[i] + k, 1);
        streams[i] = (kw_stream){.end = texts[i][size] == '.'};
        streams[i].head = count ? rows[i] : NULL;
        streams[i].last = count ? rows[i] + count - 1 : NULL;
        if (count < size) {
            ahead[i].rows = rows[i] + count + 1;
            ahead[i].count = size - count - 1;
            streams[i].ahead = &ahead[i];
        }
    }
    kw_forecast(&group, wanted, left);
    for (size_t i = 0; i < FORECAST_STREAMS; i++)
        g_assert_cmpuint(left[i], ==, expected[i]);
}

/* While one of four streams has run out, three buffered rows count as four rows of the page, because the
 * fourth stream is expected to have one more. While two have run out, two rows count as four. */
KW_TEST(test_forecast, "/gather/ahead/forecast")
{
    check_forecast((const char *const[]){"", "ab", "cz", "xy"}, false, 12, (uint64_t[]){0, 9, 0, 3});
    check_forecast((const char *const[]){"", "ab", "cz", "xy"}, false, 5, (uint64_t[]){0, 2, 0, 0});
    check_forecast((const char *const[]){"", "ab", "cz", "xy"}, false, 2, (uint64_t[]){0, 0, 0, 0});
    check_forecast((const char *const[]){"", "zy", "xb", "ca"}, true, 5, (uint64_t[]){0, 2, 0, 0});
    check_forecast((const char *const[]){"", "ab.", "cz", "xy."}, false, 12, (uint64_t[]){0, 0, 2, 0});
    check_forecast((const char *const[]){"", "a|b.", "c|z", "x|y."}, false, 12, (uint64_t[]){0, 0, 2, 0});
    check_forecast((const char *const[]){"", "", "", "."}, false, 12, (uint64_t[]){0, 0, 0, 0});
}

KW_TEST_START(start)
{
    fixture_seed();
}
