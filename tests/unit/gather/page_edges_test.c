/* The ends of pages: a row that does not fit, a row that is too large, a page without rows, short memory, and
 * the memory that open groups are charged for. */
#include "fixture.h"
#include "gather/gather_internal.h"
#include "store/class.h"

/* --- rows of the next page -------------------------------------------------------------------------- */

typedef struct visits {
    unsigned offered;
    bool put_off; /* the last row was left to the next page */
} visits;

/* Leaves each tenth row to the next page when it is offered first. */
static bool
put_off_each_tenth(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error)
{
    visits *self = user;
    (void)row;
    (void)ret_error;
    self->put_off = !self->put_off && ++self->offered % 10 == 0;
    *ret_accepted = self->put_off ? KW_ROW_NEXT_PAGE : KW_ROW_ACCEPTED;
    return true;
}

/* A row that does not fit ends its page, and it is the first row of the next page. */
KW_TEST(test_next_page, "/gather/page-edges/next-page")
{
    fixture *self = fixture_of_ranges(1, 45, false);
    visits seen = {0};
    kw_gather_spec spec = fixture_spec(self);
    spec.accept = put_off_each_tenth;
    spec.accept_user = &seen;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    static const size_t pages[] = {9, 10, 10, 10, 6};
    for (size_t i = 0; i < G_N_ELEMENTS(pages); i++) {
        fixture_read_page(self, gather, 100, 1 << 20);
        g_assert_cmpuint(self->page_count, ==, pages[i]);
    }
    g_assert_true(self->end);
    g_assert_cmpuint(self->keys->len, ==, 45);
    kw_gather_free(gather);
    fixture_free(self);
}

/* --- large rows -------------------------------------------------------------------------------------- */

static const kw_store_handle_class *inner;

typedef struct many {
    kw_get_done done;
    void *user;
} many;

static void
omit_first(void *user, kw_rows *rows, const kw_error *error)
{
    many *self = user;
    if (!error)
        rows->rows[0].omitted = KW_OMITTED_TOO_LARGE;
    self->done(self->user, rows, error);
    g_free(self);
}

static void
get_without_first(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                  void *user)
{
    many *self = g_new0(many, 1);
    *self = (many){done, user};
    inner->get_many(handle, gets, count, omit_first, self);
}

/* A row that the store omits because it is too large is an error with the limit. */
KW_TEST(test_large_row, "/gather/page-edges/large-row")
{
    static kw_store_handle_class between;
    fixture *self = fixture_of_ranges(1, 3, false);
    inner = self->handle->class;
    between = *inner;
    between.get_many = get_without_first;
    self->handle->class = &between;
    kw_range point = self->plan.ranges[0];
    point.start = KW_BYTES_LITERAL("00000000000");
    self->plan.ranges = &point;
    self->plan.point = true;
    kw_gather_spec spec = fixture_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, 10, 1 << 20);
    g_assert_true(self->failed);
    g_assert_cmpint(self->error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(self->error.text, "table t: row 00000000000 is too large to be read"));
    kw_gather_free(gather);
    fixture_free(self);
}

/* --- pages without rows ------------------------------------------------------------------------------ */

/* Fills memory that was freed, as other calls would. */
static void
fetch_after_others(kw_range_scan *scan, uint32_t max_rows, size_t max_bytes, bool more_hint,
                   kw_deadline deadline, kw_get_done done, void *user)
{
    kw_arena *arenas[64];
    for (size_t i = 0; i < G_N_ELEMENTS(arenas); i++) {
        arenas[i] = kw_arena_new();
        for (int piece = 0; piece < 18; piece++)
            memset(kw_arena_alloc(arenas[i], 1000), 'x', 1000);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(arenas); i++)
        kw_arena_free(arenas[i]);
    inner->range_scan_fetch(scan, max_rows, max_bytes, more_hint, deadline, done, user);
}

/* If no rows follow the second page, the position stays after its last row, whose memory has been freed. */
KW_TEST(test_position_of_an_empty_page, "/gather/page-edges/position-of-an-empty-page")
{
    enum { ROWS = 50 };
    static kw_store_handle_class between;
    fixture *self = fixture_of_ranges(1, ROWS, false);
    inner = self->handle->class;
    between = *inner;
    between.range_scan_fetch = fetch_after_others;
    self->handle->class = &between;
    self->control->late_end = true;
    kw_gather_spec spec = fixture_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    for (int page = 0; page < 2; page++) {
        fixture_read_page(self, gather, ROWS / 2, 1 << 20);
        g_assert_cmpuint(self->page_count, ==, ROWS / 2);
        g_assert_false(self->end);
    }
    kw_position before = self->position;
    fixture_read_page(self, gather, ROWS, 1 << 20);
    g_assert_cmpuint(self->page_count, ==, 0);
    g_assert_true(self->end);
    g_assert_true(kw_bytes_equal(self->position.suffix, before.suffix));
    g_assert_true(kw_bytes_equal(self->position.suffix, KW_BYTES_LITERAL("00000049")));
    kw_gather_free(gather);
    fixture_free(self);
}

/* --- memory ------------------------------------------------------------------------------------------ */

/* While memory is short, a page ends at 64 KiB. The metric counts the pages that would have had more. */
KW_TEST(test_short_memory, "/gather/page-edges/short-memory")
{
    enum { ROWS = 5000, ROW_BYTES = 32, SHORT_ROWS = 64 * 1024 / ROW_BYTES };
    static const int64_t budget = 16 << 20, used = 14 << 20;
    fixture *self = fixture_of_ranges(1, 0, false);
    for (uint32_t row = 0; row < ROWS; row++) {
        g_autofree char *key = g_strdup_printf("000%08u", row);
        kw_memory_store_set(self->store, "t", kw_bytes_of_text(key), "d", "v",
                            KW_BYTES_LITERAL("a value of 20 bytes."), 1);
    }
    kw_gather_spec spec = fixture_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    kw_budget_configure(budget);
    kw_budget_charge(KW_MEMORY_CALLS, used);
    kw_budget_settle();
    int64_t before = kw_metrics_read(KW_METRIC_memory_short_pages);
    fixture_read_page(self, gather, ROWS, 1 << 20);
    g_assert_cmpuint(self->page_count, ==, SHORT_ROWS);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_short_pages), ==, before + 1);
    fixture_read_page(self, gather, 100, 1 << 20);
    g_assert_cmpuint(self->page_count, ==, 100);
    kw_budget_charge(KW_MEMORY_CALLS, -used);
    kw_budget_settle();
    fixture_read_page(self, gather, ROWS, 1 << 20);
    g_assert_cmpuint(self->page_count, ==, ROWS - SHORT_ROWS - 100);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_short_pages), ==, before + 1);
    kw_budget_configure(0);
    kw_gather_free(gather);
    fixture_free(self);
}

/* The caller's account is charged for every stream of an open group. */
KW_TEST(test_streams_are_charged, "/gather/page-edges/streams-are-charged")
{
    enum { STREAMS = 500 };
    fixture *self = fixture_of_ranges(STREAMS, 0, false);
    kw_account *account = kw_account_new();
    kw_gather_spec spec = fixture_spec(self);
    spec.account = account;
    self->control->never_answer = true;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_start_page(self, gather, 10, 1 << 20, kw_deadline_in_ms(1));
    g_assert_nonnull(gather->groups);
    while (!self->done)
        fixture_run_once(self);
    int64_t bytes = kw_account_bytes(account);
    kw_gather_free(gather);
    g_assert_cmpint(bytes - kw_account_bytes(account), >=, (int64_t)(STREAMS * sizeof(kw_stream)));
    fixture_free(self);
    kw_account_unref(account);
}

KW_TEST(test_nothing_to_free, "/gather/page-edges/nothing-to-free")
{
    kw_gather_free(NULL);
    kw_points_free(NULL);
    kw_tree_free(NULL);
}

KW_TEST_START(start)
{
    fixture_seed();
}
