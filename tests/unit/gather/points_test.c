/* Plans of single row keys: the sizes and the order of multi-gets, rows that the store leaves for a later
 * multi-get, and a multi-get that is in flight at the end of a page. */
#include "gather/gather_internal.h"
#include "noting.h"
#include "store/class.h"

/* The first multi-get reads a few rows. The next ones read what the page needs: as many rows as the buffer
 * holds, and at most 1,024. */
KW_TEST(test_sizes_of_multi_gets, "/gather/points/sizes of multi-gets")
{
    enum { ROWS = 4000 };
    static const size_t buffers[] = {16 * 1024, 64 * 1024, 64 * 1024 * 1024};
    for (size_t i = 0; i < G_N_ELEMENTS(buffers); i++) {
        fixture *self = noting_fixture_of_points(ROWS);
        kw_gather_spec spec = fixture_spec(self);
        spec.buffer_bytes = buffers[i];
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        fixture_read_page(self, gather, ROWS, 64 << 20);
        g_assert_cmpuint(self->page_count, ==, ROWS);
        g_assert_cmpuint(noted.gets[0], ==, 64);
        size_t row_bytes = kw_flow_row_memory(&gather->flow, 0);
        for (size_t at = 1; at + 1 < noted.gets_count; at++) {
            size_t fitting = MIN(buffers[i] / row_bytes, 1024);
            g_assert_cmpuint(noted.gets[at], <=, fitting + fitting / 4);
            g_assert_cmpuint(noted.gets[at] + noted.gets[at] / 4, >=, fitting);
            g_assert_cmpuint(noted.gets[at], <=, 1024);
        }
        g_assert_cmpuint(noted.get.max_bytes, ==, buffers[i]);
        kw_gather_free(gather);
        fixture_free(self);
    }
}

/* Points are read with the columns of the gather, of which one can be a whole family. */
KW_TEST(test_columns_of_points, "/gather/points/columns")
{
    static const kw_column columns[] = {
        {.family = KW_BYTES_LITERAL("f"), .whole_family = true},
        {.family = KW_BYTES_LITERAL("g"), .qualifier = KW_BYTES_LITERAL("q")}};
    fixture *self = noting_fixture_of_points(5);
    kw_gather_spec spec = fixture_spec(self);
    spec.columns = columns;
    spec.columns_count = G_N_ELEMENTS(columns);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, 5, 1 << 20);
    g_assert_cmpuint(noted.get.columns_count, ==, 2);
    g_assert_true(noted.get.columns[0].whole_family && !noted.get.columns[1].whole_family);
    g_assert_true(kw_bytes_equal(noted.get.columns[0].family, columns[0].family));
    g_assert_true(kw_bytes_equal(noted.get.columns[1].qualifier, columns[1].qualifier));
    kw_gather_free(gather);
    fixture_free(self);
}

/* A page reads no more points than it has rows. */
KW_TEST(test_points_of_a_page, "/gather/points/points of a page")
{
    fixture *self = noting_fixture_of_points(200);
    kw_gather_spec spec = fixture_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    static const uint32_t pages[] = {1, 7, 30, 1};
    for (size_t i = 0; i < G_N_ELEMENTS(pages); i++) {
        fixture_read_page(self, gather, pages[i], 1 << 20);
        g_assert_cmpuint(self->page_count, ==, pages[i]);
        g_assert_cmpuint(noted.gets_count, ==, i + 1);
        g_assert_cmpuint(noted.gets[i], ==, pages[i]);
    }
    kw_gather_free(gather);
    fixture_free(self);
}

/* Points are read and returned in the order of their keys, whatever their order in the plan. */
KW_TEST(test_order_of_points, "/gather/points/order")
{
    enum { ROWS = 200 };
    for (int reversed = 0; reversed < 2; reversed++) {
        fixture *self = noting_fixture_of_points(ROWS);
        kw_range *points = (kw_range *)self->plan.ranges;
        for (uint32_t i = 0; i < ROWS; i++) {
            uint32_t other = (i * 7 + 3) % ROWS;
            kw_range kept = points[i];
            points[i] = points[other];
            points[other] = kept;
        }
        self->plan.reversed = reversed;
        kw_gather_spec spec = fixture_spec(self);
        do {
            kw_gather *gather = kw_gather_new(self->handle, &spec);
            fixture_read_page(self, gather, 30, 1 << 20);
            kw_gather_free(gather);
            spec.position = self->position;
        } while (!self->end);
        g_assert_cmpuint(self->keys->len, ==, ROWS);
        for (guint i = 1; i < ROWS; i++) {
            kw_bytes before = g_array_index(self->keys, kw_bytes, i - 1);
            kw_bytes key = g_array_index(self->keys, kw_bytes, i);
            g_assert_cmpint(kw_bytes_compare(before, key) > 0, ==, reversed);
        }
        fixture_free(self);
    }
}

/* The memory of a read is that of one multi-get, however many points the plan has. */
KW_TEST(test_memory_of_points, "/gather/points/memory")
{
    enum { ROWS = 100000, PAGE = 200 };
    fixture *self = noting_fixture_of_points(ROWS);
    kw_account *account = kw_account_new();
    kw_gather_spec spec = fixture_spec(self);
    spec.account = account;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    int64_t index_bytes = ROWS * (int64_t)sizeof(uint32_t), most = 0;
    for (int page = 0; page < 5; page++) {
        fixture_start_page(self, gather, PAGE, 1 << 20, KW_DEADLINE_NONE);
        while (!self->done) {
            most = MAX(most, kw_account_bytes(account));
            fixture_run_once(self);
        }
        g_assert_cmpuint(self->page_count, ==, PAGE);
    }
    g_assert_cmpint(most, <, index_bytes + 256 * 1024);
    kw_gather_free(gather);
    g_assert_cmpint(kw_account_bytes(account), ==, 0);
    kw_account_unref(account);
    fixture_free(self);
}

/* A multi-get of long keys has fewer of them. */
KW_TEST(test_long_keys, "/gather/points/long keys")
{
    enum { ROWS = 100, KEY_BYTES = 30000 };
    fixture *self = noting_fixture_of_points(ROWS);
    kw_range *points = (kw_range *)self->plan.ranges;
    for (uint32_t i = 0; i < ROWS; i++) {
        char *key = kw_arena_alloc(self->arena, KEY_BYTES + 1);
        memset(key, 'x', KEY_BYTES);
        g_snprintf(key + KEY_BYTES - 10, 11, "%010u", i);
        points[i].start = kw_bytes_of(key, KEY_BYTES);
    }
    kw_account *account = kw_account_new();
    kw_gather_spec spec = fixture_spec(self);
    spec.account = account;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    int64_t most = 0;
    fixture_start_page(self, gather, ROWS, 1 << 20, KW_DEADLINE_NONE);
    while (!self->done) {
        most = MAX(most, kw_account_bytes(account));
        fixture_run_once(self);
    }
    g_assert_true(self->end && !self->failed);
    g_assert_cmpint(most, <, 2 << 20);
    size_t all = 0;
    for (size_t i = 0; i < noted.gets_count; i++) {
        g_assert_cmpuint(noted.gets[i], <=, (1 << 20) / KEY_BYTES);
        all += noted.gets[i];
    }
    g_assert_cmpuint(all, ==, ROWS);
    kw_gather_free(gather);
    kw_account_unref(account);
    fixture_free(self);
}

/* Even a buffer that is too small for one row reads one row at a time. */
KW_TEST(test_tiny_buffer, "/gather/points/tiny buffer")
{
    enum { ROWS = 100 };
    fixture *self = noting_fixture_of_points(ROWS);
    kw_gather_spec spec = fixture_spec(self);
    spec.buffer_bytes = 1;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    for (size_t count = 0; count < ROWS; count += self->page_count)
        fixture_read_page(self, gather, ROWS, 1 << 20);
    g_assert_cmpuint(noted.gets_count, ==, 1 + ROWS - 64);
    for (size_t i = 1; i < noted.gets_count; i++)
        g_assert_cmpuint(noted.gets[i], ==, 1);
    kw_gather_free(gather);
    fixture_free(self);
}

/* --- replies --------------------------------------------------------------------------------------- */

static const kw_store_handle_class *inner;

typedef struct many {
    kw_get_done done;
    void *user;
} many;

#define REPLY_ROWS 10

/* The store's limit is reached after some rows: it leaves the others for another call. */
static void
omit_others(void *user, kw_rows *rows, const kw_error *error)
{
    many *self = user;
    for (size_t i = REPLY_ROWS; !error && i < rows->count; i++) {
        rows->rows[i].omitted = KW_OMITTED_LIMIT_REACHED;
        rows->rows[i].cells_count = 0;
    }
    self->done(self->user, rows, error);
    g_free(self);
}

static void
get_some(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done, void *user)
{
    many *self = g_new0(many, 1);
    *self = (many){done, user};
    inner->get_many(handle, gets, count, omit_others, self);
}

static void
refuse_first(void *user, kw_rows *rows, const kw_error *error)
{
    many *self = user;
    rows->rows[0].omitted = KW_OMITTED_TOO_LARGE;
    self->done(self->user, rows, error);
    g_free(self);
}

/* The first row of table u is too large. */
static void
get_of_two_tables(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                  void *user)
{
    if (kw_bytes_equal(gets[0]->table, KW_BYTES_LITERAL("u"))) {
        many *self = g_new0(many, 1);
        *self = (many){done, user};
        inner->get_many(handle, gets, count, refuse_first, self);
    } else {
        inner->get_many(handle, gets, count, done, user);
    }
}

/* A row that is too large ends the page before it. The error of the next page names its table. */
KW_TEST(test_row_too_large, "/gather/points/row too large")
{
    enum { ROWS = 10 };
    static kw_store_handle_class between;
    fixture *self = noting_fixture_of_points(ROWS);
    kw_range *points = (kw_range *)self->plan.ranges;
    for (uint32_t i = 0; i < ROWS; i++)
        points[i].placement = &self->placements[i >= ROWS / 2];
    inner = self->handle->class;
    between = *inner;
    between.get_many = get_of_two_tables;
    self->handle->class = &between;
    kw_gather_spec spec = fixture_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, ROWS, 1 << 20);
    g_assert_false(self->failed);
    g_assert_false(self->end);
    g_assert_cmpuint(self->keys->len, ==, ROWS / 2);
    fixture_read_page(self, gather, ROWS, 1 << 20);
    g_assert_true(self->failed);
    g_assert_cmpint(self->error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(self->error.text, "table u: row "));
    kw_gather_free(gather);
    fixture_free(self);
}

/* Rows that a reply omits are requested again: each is returned once, in order. */
KW_TEST(test_rows_omitted_by_the_store, "/gather/points/rows omitted by the store")
{
    enum { ROWS = 95 };
    static kw_store_handle_class between;
    static const uint32_t pages[] = {ROWS, 7, 15};
    for (size_t i = 0; i < G_N_ELEMENTS(pages); i++) {
        fixture *self = noting_fixture_of_points(ROWS);
        inner = self->handle->class;
        between = *inner;
        between.get_many = get_some;
        self->handle->class = &between;
        kw_gather_spec spec = fixture_spec(self);
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        do
            fixture_read_page(self, gather, pages[i], 1 << 20);
        while (!self->failed && !self->end);
        g_assert_cmpuint(self->keys->len, ==, ROWS);
        for (guint row = 0; row < ROWS; row++)
            g_assert_true(
                kw_bytes_equal(g_array_index(self->keys, kw_bytes, row), self->plan.ranges[row].start));
        kw_gather_free(gather);
        fixture_free(self);
    }
}

/* From the first multi-get on, the store answers no further one. */
static bool
stall_after_first(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error)
{
    fixture *self = user;
    (void)row;
    (void)ret_error;
    self->control->never_answer = true;
    *ret_accepted = KW_ROW_ACCEPTED;
    return true;
}

/* A page ends at its deadline while a multi-get is in flight: the next page waits for that one. */
KW_TEST(test_multi_get_in_flight, "/gather/points/multi-get in flight")
{
    enum { ROWS = 100, FIRST = 64 };
    fixture *self = noting_fixture_of_points(ROWS);
    kw_gather_spec spec = fixture_spec(self);
    spec.accept = stall_after_first;
    spec.accept_user = self;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_start_page(self, gather, ROWS, 1 << 20, kw_deadline_in_ms(1));
    while (!self->done)
        fixture_run_once(self);
    g_assert_false(self->failed || self->end);
    g_assert_cmpuint(self->page_count, ==, FIRST);
    fixture_start_page(self, gather, ROWS, 1 << 20, kw_deadline_in_ms(1));
    while (!self->done)
        fixture_run_once(self);
    g_assert_true(self->failed);
    g_assert_cmpint(self->error.code, ==, KW_TIMEOUT);
    g_assert_cmpuint(noted.gets_count, ==, 2);
    kw_gather_free(gather);
    fixture_free(self);
}

KW_TEST_START(start)
{
    fixture_seed();
}
