/* How much a gather reads: limits apply to the range scans; the size of a fetch depends on the rows seen so
 * far; groups are opened ahead only if the finished groups had too few rows; memory stays within the buffer
 * limit. */
#include "gather/demand.h"

#include "fixture.h"
#include "gather/gather_internal.h"

/* --- arithmetic ------------------------------------------------------------------------------------ */

KW_TEST(test_arithmetic, "/gather/demand/arithmetic")
{
    kw_demand one = {.wanted = 1, .streams = 1};
    g_assert_cmpuint(kw_demand_rows(&one, 0), ==, 1);
    kw_demand alone = {.wanted = 5000, .streams = 1, .taken = 10, .taken_by_all = 10};
    g_assert_cmpuint(kw_demand_rows(&alone, 0), ==, 5000);
    kw_demand of_many = {.wanted = 1, .streams = 16};
    g_assert_cmpuint(kw_demand_rows(&of_many, 0), ==, 1);
    kw_demand two = {.wanted = 2, .streams = 2}; /* one row each, and a margin of one */
    g_assert_cmpuint(kw_demand_rows(&two, 0), ==, 2);
    kw_demand twenty = {.wanted = 20, .streams = 16};
    g_assert_cmpuint(kw_demand_rows(&twenty, 0), ==, 3);
    /* All rows so far are from this stream: it fetches nearly all rows that are left. */
    kw_demand skewed = {.wanted = 1000, .streams = 16, .taken = 500, .taken_by_all = 500};
    g_assert_cmpuint(kw_demand_rows(&skewed, 0), >, 900);
    kw_demand cold = {.wanted = 1000, .streams = 16, .taken = 0, .taken_by_all = 500};
    g_assert_cmpuint(kw_demand_rows(&cold, 0), <, 10);
    g_assert_cmpuint(kw_demand_rows(&cold, 100), ==, 1);
    g_assert_true(kw_demand_ahead(&skewed, 100));
    g_assert_false(kw_demand_ahead(&skewed, 900));
    g_assert_false(kw_demand_ahead(&cold, 2));

    g_assert_cmpuint(kw_demand_groups(100, 0, 0), ==, 0);
    g_assert_cmpuint(kw_demand_groups(100, 1, 1000), ==, 0);
    g_assert_cmpuint(kw_demand_groups(100, 2, 20), ==, 9);
    g_assert_cmpuint(kw_demand_groups(1, 3, 0), ==, 3);
    g_assert_cmpuint(kw_demand_groups(1000000, 1, 1), ==, 32);
}

/* --- limits ---------------------------------------------------------------------------------------- */

static uint64_t
rows_read_for(fixture *self, uint64_t limit, uint32_t page_rows)
{
    kw_gather_spec spec = fixture_spec(self);
    spec.buffer_bytes = 8 << 20;
    spec.limit = limit;
    self->control->rows_read = 0;
    self->control->fetches = 0;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, page_rows, 8 << 20);
    kw_gather_free(gather);
    g_assert_false(self->failed);
    g_assert_cmpuint(self->scanned, ==, self->control->rows_read);
    return self->control->rows_read;
}

KW_TEST(test_limit_reaches_range_scans, "/gather/demand/limit reaches the range scans")
{
    fixture *one = fixture_of_ranges(1, 1000, false);
    g_assert_cmpuint(rows_read_for(one, 1, 10000), ==, 1);
    g_assert_cmpuint(rows_read_for(one, 20, 10000), ==, 20);
    g_assert_cmpuint(rows_read_for(one, 0, 20), ==, 21); /* one row more shows whether another page follows */
    g_assert_cmpuint(rows_read_for(one, 0, 1000), ==, 1000);
    g_assert_true(one->end);
    fixture_free(one);

    fixture *even = fixture_of_ranges(16, 500, false);
    g_assert_cmpuint(rows_read_for(even, 1, 10000), ==, 16);
    g_assert_cmpuint(rows_read_for(even, 20, 10000), <=, 50);
    g_assert_cmpuint(rows_read_for(even, 1600, 10000), <=, 1600 + 16 * 16);
    g_assert_cmpuint(even->control->fetches, <=, 20);
    fixture_free(even);

    fixture *skewed = fixture_of_ranges(16, 500, true);
    g_assert_cmpuint(rows_read_for(skewed, 20, 10000), <=, 72);
    g_assert_cmpuint(rows_read_for(skewed, 400, 10000), <=, 1000);
    g_assert_cmpuint(skewed->control->fetches, <=, 22);
    fixture_free(skewed);
}

/* A page that is limited by bytes does not read the whole table. */
KW_TEST(test_page_bytes, "/gather/demand/page bytes")
{
    fixture *self = fixture_of_ranges(4, 3000, false);
    kw_gather_spec spec = fixture_spec(self);
    spec.buffer_bytes = 8 << 20;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, 10000, 4000); /* rows have 22 bytes */
    g_assert_cmpuint(self->page_count, >, 120);
    g_assert_cmpuint(self->page_count, <, 260);
    g_assert_cmpuint(self->control->rows_read, <, 700);
    kw_gather_free(gather);
    fixture_free(self);
}

/* --- groups ---------------------------------------------------------------------------------------- */

/* A plan of `groups` groups with as many ranges each, and `rows` rows in each range. */
static fixture *
fixture_of_large_groups(uint32_t groups, uint32_t ranges_each, uint32_t rows)
{
    fixture *self = fixture_of_ranges(groups * ranges_each, rows, true);
    kw_merge_group *generated = KW_ARENA_ARRAY(self->arena, kw_merge_group, groups);
    kw_range *ranges = KW_ARENA_ARRAY(self->arena, kw_range, groups * ranges_each);
    for (uint32_t i = 0; i < groups * ranges_each; i++) {
        ranges[i] = self->plan.ranges[i];
        ranges[i].group = i / ranges_each;
    }
    for (uint32_t i = 0; i < groups; i++)
        generated[i] = (kw_merge_group){i * ranges_each, ranges_each};
    self->plan.ranges = ranges;
    self->plan.groups = generated;
    self->plan.groups_count = groups;
    return self;
}

static fixture *
fixture_of_groups(uint32_t groups, uint32_t rows)
{
    return fixture_of_large_groups(groups, 1, rows);
}

KW_TEST(test_groups_ahead, "/gather/demand/groups ahead")
{
    fixture *small = fixture_of_groups(200, 1);
    g_assert_cmpuint(rows_read_for(small, 1, 10000), ==, 1);
    g_assert_cmpuint(rows_read_for(small, 0, 10000), ==, 200);
    g_assert_cmpuint(small->control->most_in_flight, >, 20);
    g_assert_cmpuint(small->control->most_in_flight, <=, 34);
    fixture_free(small);

    fixture *empty = fixture_of_groups(200, 0);
    g_assert_cmpuint(rows_read_for(empty, 1, 10000), ==, 0);
    g_assert_cmpuint(empty->control->most_in_flight, >, 20);
    fixture_free(empty);

    /* The first group alone fills the page: no other group is read. */
    fixture *large = fixture_of_groups(50, 300);
    g_assert_cmpuint(rows_read_for(large, 0, 200), ==, 201);
    g_assert_cmpuint(rows_read_for(large, 250, 10000), ==, 250);
    g_assert_cmpuint(rows_read_for(large, 400, 10000), <=, 720);
    fixture_free(large);
}

/* --- dropped rows ---------------------------------------------------------------------------------- */

static bool
accept_last_digit(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error)
{
    const unsigned *digit = user;
    (void)ret_error;
    bool fits = row->key.data[row->key.size - 1] == '0' + *digit;
    *ret_accepted = fits ? KW_ROW_ACCEPTED : KW_ROW_DROPPED;
    return true;
}

KW_TEST(test_accept, "/gather/demand/accept")
{
    fixture *self = fixture_of_ranges(4, 1000, true);
    unsigned digit = 3;
    self->plan.residual = true;
    kw_gather_spec spec = fixture_spec(self);
    spec.accept = accept_last_digit;
    spec.accept_user = &digit;
    for (int copies = 0; copies < 2; copies++) {
        size_t count = 0;
        spec.accept_copies = copies;
        spec.position = (kw_position){0};
        do {
            kw_gather *gather = kw_gather_new(self->handle, &spec);
            self->control->rows_read = 0;
            fixture_read_page(self, gather, 7, 1 << 20);
            kw_gather_free(gather);
            count += self->page_count;
            g_assert_cmpuint(self->control->rows_read, <, 400);
            spec.position = self->position;
        } while (!self->end);
        g_assert_cmpuint(count, ==, 400);
    }
    fixture_free(self);
}

static bool
accept_none(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error)
{
    (void)row;
    uint64_t *seen = user;
    *ret_accepted = KW_ROW_DROPPED;
    return ++*seen < 500 || kw_error_set(ret_error, KW_CORRUPT, "row 500");
}

KW_TEST(test_accept_fails, "/gather/demand/accept fails")
{
    fixture *self = fixture_of_ranges(4, 1000, true);
    uint64_t seen = 0;
    self->plan.residual = true;
    kw_gather_spec spec = fixture_spec(self);
    spec.accept = accept_none;
    spec.accept_user = &seen;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, 7, 1 << 20);
    g_assert_true(self->failed);
    g_assert_cmpint(self->error.code, ==, KW_CORRUPT);
    g_assert_cmpuint(seen, ==, 500);
    kw_gather_free(gather);
    fixture_free(self);
}

/* The store's filter drops all rows of many fetches. */
KW_TEST(test_filter, "/gather/demand/filter")
{
    fixture *self = fixture_of_ranges(3, 400, false);
    kw_gather_spec spec = fixture_spec(self);
    spec.filter = KW_BYTES_LITERAL("RowFilter(=, 'regexstring:[02468]$')");
    for (int late = 0; late < 2; late++) {
        self->control->late_end = late;
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        fixture_read_page(self, gather, 5, 1 << 20);
        g_assert_cmpuint(self->page_count, ==, 5);
        fixture_read_page(self, gather, 10000, 1 << 20);
        g_assert_cmpuint(self->page_count, ==, 595);
        g_assert_true(self->end);
        kw_gather_free(gather);
    }
    fixture_free(self);
}

/* More streams than may fetch at once, and the store's filter drops the rows of their first fetches: each of
 * them waits several times for its turn. */
KW_TEST(test_streams_wait_again, "/gather/demand/streams wait again")
{
    enum { STREAMS = 3 * KW_FLOW_FETCHES_MAX, ROWS = 9 };
    fixture *self = fixture_of_ranges(STREAMS, ROWS, false);
    kw_gather_spec spec = fixture_spec(self);
    spec.filter = KW_BYTES_LITERAL("RowFilter(=, 'regexstring:00000100$')");
    spec.limit = 1;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, 1, 1 << 20);
    g_assert_cmpuint(self->page_count, ==, 1);
    g_assert_cmpuint(self->control->fetches, >, 2 * STREAMS);
    g_assert_cmpuint(self->control->most_in_flight, ==, KW_FLOW_FETCHES_MAX);
    for (uint32_t stream = 0; stream < STREAMS; stream++)
        g_assert_false(gather->groups->streams[stream].waiting);
    kw_gather_free(gather);
    fixture_free(self);
}

/* In every group, more streams than may fetch at once. No stream is left waiting when the queue becomes empty
 * and is filled again. */
KW_TEST(test_streams_wait_in_every_group, "/gather/demand/streams wait in every group")
{
    enum { GROUPS = 3, STREAMS = KW_FLOW_FETCHES_MAX + 10, ROWS = 2 };
    for (int more = 0; more < 2; more++) {
        fixture *self = fixture_of_large_groups(GROUPS, STREAMS, ROWS);
        kw_gather_spec spec = fixture_spec(self);
        spec.more_pages = more;
        spec.buffer_bytes = 1 << 20;
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        size_t count = 0;
        do {
            fixture_read_page(self, gather, 100, 1 << 20);
            count += self->page_count;
        } while (!self->end);
        g_assert_cmpuint(count, ==, GROUPS * STREAMS * ROWS);
        g_assert_cmpuint(self->control->most_in_flight, ==, KW_FLOW_FETCHES_MAX);
        kw_gather_free(gather);
        fixture_free(self);
    }
}

/* Rows whose keys are longer than the row size of their range belong to other strings; the gather drops
 * them. */
KW_TEST(test_row_size, "/gather/demand/row size")
{
    fixture *self = fixture_of_ranges(2, 50, false);
    kw_range *ranges =
        (kw_range *)(void *)kw_arena_copy(self->arena, kw_bytes_of(self->plan.ranges, 2 * sizeof(kw_range)))
            .data;
    ranges[0].row_size = ranges[1].row_size = 11;
    self->plan.ranges = ranges;
    for (unsigned i = 0; i < 30; i++) {
        g_autofree char *longer = g_strdup_printf("000%08ux", 2 * i);
        kw_memory_store_set(self->store, "t", kw_bytes_of_text(longer), "d", "v", KW_BYTES_LITERAL("0"), 1);
    }
    kw_gather_spec spec = fixture_spec(self);
    fixture_clear_keys(self);
    do {
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        fixture_read_page(self, gather, 9, 1 << 20);
        kw_gather_free(gather);
        spec.position = self->position;
    } while (!self->end);
    g_assert_cmpuint(self->keys->len, ==, 100);
    for (guint i = 0; i < 100; i++)
        g_assert_cmpuint(g_array_index(self->keys, kw_bytes, i).size, ==, 11);
    fixture_free(self);
}

/* --- memory ---------------------------------------------------------------------------------------- */

typedef struct memory_watch {
    kw_gather *gather;
    size_t most_bytes;
    size_t most_retired_bytes;
} memory_watch;

static bool
watch_memory(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error)
{
    memory_watch *self = user;
    (void)row;
    (void)ret_error;
    self->most_bytes = MAX(self->most_bytes, self->gather->flow.held_bytes);
    self->most_retired_bytes = MAX(self->most_retired_bytes, self->gather->page.retired_bytes);
    *ret_accepted = KW_ROW_ACCEPTED;
    return true;
}

/* Reads all rows of the plan, and frees the fixture. Returns the most bytes that the gather held. */
static size_t
most_held(fixture *self, size_t rows, size_t budget, bool copies, bool more_pages)
{
    self->control->shuffle = true;
    memory_watch memory = {0};
    kw_gather_spec spec = fixture_spec(self);
    spec.buffer_bytes = budget;
    spec.accept = watch_memory;
    spec.accept_user = &memory;
    spec.accept_copies = copies;
    spec.more_pages = more_pages;
    memory.gather = kw_gather_new(self->handle, &spec);
    size_t count = 0;
    do {
        self->done = false;
        fixture_start_page(self, memory.gather, 10000, copies ? 1 << 20 : 16 * 1024, KW_DEADLINE_NONE);
        while (!self->done)
            fixture_run_once(self);
        count += self->page_count;
    } while (!self->end);
    g_assert_cmpuint(count, ==, rows);
    g_test_message("%zu ranges: held at most %zu of %zu, retired %zu", self->plan.ranges_count,
                   memory.most_bytes, budget, memory.most_retired_bytes);
    if (copies)
        g_assert_cmpuint(memory.most_retired_bytes, ==, 0);
    kw_gather_free(memory.gather);
    fixture_free(self);
    return memory.most_bytes;
}

static void
check_budget(uint32_t ranges, uint32_t rows, size_t budget, bool copies, bool more_pages)
{
    fixture *self = fixture_of_ranges(ranges, rows, false);
    size_t most = most_held(self, (size_t)ranges * rows, budget, copies, more_pages);
    g_assert_cmpuint(most, <, budget + budget / 2);
}

/* Groups are opened ahead while half of the budget is free. */
KW_TEST(test_budget_of_groups, "/gather/demand/budget of groups")
{
    enum { GROUPS = 200, ROWS = 2, BUDGET = 16 * 1024 };
    for (int more = 0; more < 2; more++)
        g_assert_cmpuint(most_held(fixture_of_groups(GROUPS, ROWS), GROUPS * ROWS, BUDGET, true, more), <,
                         BUDGET / 4 * 3);
}

KW_TEST(test_budget, "/gather/demand/budget")
{
    for (int more = 0; more < 2; more++) {
        check_budget(1, 20000, 64 * 1024, true, more);
        check_budget(16, 2000, 128 * 1024, true, more);
        check_budget(16, 2000, 128 * 1024, false, more);
        check_budget(128, 200, 1024 * 1024, true, more);
    }
}

/* Rows that the store scans between two pages of a gather are counted as well: all pages together report
 * every row. */
KW_TEST(test_scanned_between_pages, "/gather/demand/scanned_between_pages")
{
    fixture *self = fixture_of_ranges(4, 500, false);
    kw_gather_spec spec = fixture_spec(self);
    spec.buffer_bytes = 8 * 1024;
    spec.filter = KW_BYTES_LITERAL("RowFilter (=, 'substring:1')");
    spec.more_pages = true;
    self->control->rows_read = 0;
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    uint64_t scanned = 0;
    do {
        fixture_read_page(self, gather, 50, 1 << 20);
        g_assert_false(self->failed);
        scanned += self->scanned;
        for (int i = 0; i < 20; i++)
            uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);
    } while (!self->end);
    kw_gather_free(gather);
    g_assert_cmpuint(self->control->rows_given, <, self->control->rows_read);
    g_assert_cmpuint(self->control->rows_read, ==, 4 * 500);
    g_assert_cmpuint(scanned, ==, 4 * 500);
    fixture_free(self);
}

KW_TEST_START(start)
{
    fixture_seed();
}
