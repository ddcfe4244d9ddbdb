/* Properties of gathers over random plans and rows: a merge returns what a sort returns, and the pages
 * together return all rows, in both directions and with replies in any order. No row is lost when a read
 * fails. A gather can be closed at any time. */
#include "fixture.h"
#include "support/slow_build.h"

static fixture_shape
random_shape(void)
{
    static const uint32_t suffixes[] = {6, 60, 6000};
    return (fixture_shape){.groups = 1 + fixture_random(5),
                           .ranges_per_group = 1 + fixture_random(20),
                           .rows_per_range = fixture_random(3) ? fixture_random(40) : fixture_random(400),
                           .suffixes = suffixes[fixture_random(3)],
                           .reversed = fixture_random(2)};
}

static fixture *
random_fixture(void)
{
    fixture_shape shape = random_shape();
    fixture *self = fixture_new(&shape);
    self->control->shuffle = fixture_random(2);
    self->control->late_end = fixture_random(2);
    return self;
}

static void
read_on_one_gather(fixture *self, uint32_t max_page_rows)
{
    kw_gather_spec spec = fixture_spec(self);
    spec.buffer_bytes = fixture_random(2) ? 2048 : 64 * 1024;
    spec.more_pages = fixture_random(2);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_clear_keys(self);
    do
        fixture_read_page(self, gather, 1 + fixture_random(max_page_rows), 64 * 1024);
    while (!self->failed && !self->end);
    g_assert_false(self->failed);
    kw_gather_free(gather);
    fixture_assert_rows(self, 0, self->rows_count);
}

static void
read_by_position(fixture *self, uint32_t max_page_rows)
{
    kw_gather_spec spec = fixture_spec(self);
    fixture_clear_keys(self);
    do {
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        fixture_read_page(self, gather, 1 + fixture_random(max_page_rows), 64 * 1024);
        kw_gather_free(gather);
        g_assert_false(self->failed);
        spec.position = self->position;
    } while (!self->end);
    fixture_assert_rows(self, 0, self->rows_count);
}

KW_TEST(test_merge_is_sort, "/gather/merge is sort")
{
    for (int i = 0; i < 60; i++) {
        fixture *self = random_fixture();
        read_on_one_gather(self, 10000);
        read_on_one_gather(self, 1 + fixture_random(50));
        read_by_position(self, 1 + fixture_random(50));
        fixture_free(self);
    }
}

KW_TEST(test_limit, "/gather/limit")
{
    for (int i = 0; i < 40; i++) {
        fixture *self = random_fixture();
        kw_gather_spec spec = fixture_spec(self);
        spec.limit = 1 + fixture_random(100);
        spec.more_pages = fixture_random(2);
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        do
            fixture_read_page(self, gather, 1 + fixture_random(30), 64 * 1024);
        while (!self->end);
        kw_gather_free(gather);
        fixture_assert_rows(self, 0, MIN(spec.limit, self->rows_count));
        fixture_free(self);
    }
}

/* A gather starts after any row, even one that no page ended with. */
KW_TEST(test_position_anywhere, "/gather/position anywhere")
{
    for (int i = 0; i < 60; i++) {
        fixture *self = random_fixture();
        for (int again = 0; again < 5 && self->rows_count; again++) {
            size_t row = fixture_random((uint32_t)self->rows_count);
            kw_gather_spec spec = fixture_spec(self);
            spec.position = fixture_position_after(self, row);
            kw_gather *gather = kw_gather_new(self->handle, &spec);
            fixture_clear_keys(self);
            fixture_read_page(self, gather, 100000, 1 << 24);
            kw_gather_free(gather);
            fixture_assert_rows(self, row + 1, self->rows_count - row - 1);
        }
        fixture_free(self);
    }
}

KW_TEST(test_position_of_another_plan, "/gather/position of another plan")
{
    fixture_shape shape = {.groups = 2, .ranges_per_group = 1, .rows_per_range = 5, .suffixes = 50};
    fixture *self = fixture_new(&shape);
    const kw_position bad[] = {{.started = true, .group = 2},
                               {.started = true, .group = 0, .range = 1},
                               {.started = true, .group = 1, .range = 0},
                               {.started = true, .group = UINT32_MAX, .range = UINT32_MAX}};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        kw_gather_spec spec = fixture_spec(self);
        spec.position = bad[i];
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        fixture_read_page(self, gather, 10, 1000);
        g_assert_true(self->failed);
        g_assert_cmpint(self->error.code, ==, KW_INVALID);
        kw_gather_free(gather);
    }
    fixture_free(self);
}

/* The n-th operation fails, for each n until no operation fails. Each page is complete or an error; no row is
 * missing between two pages. A new gather continues after the last page. */
static void
walk_faults(bool reversed, kw_code code)
{
    fixture_shape shape = {
        .groups = 3, .ranges_per_group = 6, .rows_per_range = 60, .suffixes = 500, .reversed = reversed};
    fixture *self = fixture_new_with_rows(&shape, 300);
    self->control->shuffle = true;
    self->control->fail_code = code;
    bool failed = true;
    uint64_t n = 0;
    for (n = 1; failed; n += KW_TEST_STEP(3)) {
        failed = false;
        self->control->fail_at = self->control->operations + n;
        kw_gather_spec spec = fixture_spec(self);
        spec.buffer_bytes = 4096;
        fixture_clear_keys(self);
        do {
            kw_gather *gather = kw_gather_new(self->handle, &spec);
            fixture_read_page(self, gather, 40, 2000);
            if (self->failed) {
                g_assert_cmpint(self->error.code, ==, code);
                g_assert_false(failed);
                failed = true;
            } else {
                spec.position = self->position;
            }
            kw_gather_free(gather);
        } while (self->failed || !self->end);
        fixture_assert_rows(self, 0, self->rows_count);
        if (self->control->operations >= self->control->fail_at)
            failed = true; /* a prefetch failed whose rows were not needed */
    }
    g_assert_cmpuint(n, >, 10);
    fixture_free(self);
}

KW_TEST(test_faults, "/gather/faults")
{
    walk_faults(false, KW_UNAVAILABLE);
    walk_faults(true, KW_UNAVAILABLE);
    walk_faults(false, KW_TIMEOUT);
}

/* A gather that failed returns the same error again. */
KW_TEST(test_failed_stays_failed, "/gather/failed stays failed")
{
    fixture_shape shape = {.groups = 1, .ranges_per_group = 1, .rows_per_range = 100, .suffixes = 50000};
    fixture *self = fixture_new_with_rows(&shape, 1);
    self->control->fail_at = 1;
    kw_gather_spec spec = fixture_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    for (int i = 0; i < 2; i++) {
        fixture_read_page(self, gather, 10, 1000);
        g_assert_true(self->failed);
        g_assert_cmpint(self->error.code, ==, KW_UNAVAILABLE);
    }
    kw_gather_free(gather);
    fixture_free(self);
}

KW_TEST(test_close_in_flight, "/gather/close in flight")
{
    for (int i = 0; i < 200; i++) {
        fixture *self = random_fixture();
        self->control->shuffle = true;
        kw_gather_spec spec = fixture_spec(self);
        spec.buffer_bytes = 2048;
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        fixture_start_page(self, gather, 100, 10000, KW_DEADLINE_NONE);
        for (uint32_t iterations = fixture_random(8); iterations && !self->done; iterations--)
            fixture_run_once(self);
        bool was_done = self->done;
        kw_gather_free(gather);
        self->done = true; /* page_done would assert if it ran after this */
        for (int iterations = 0; iterations < 3 && !was_done; iterations++)
            uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);
        fixture_free(self);
    }
}

KW_TEST(test_empty, "/gather/empty")
{
    fixture_shape shape = {.groups = 2, .ranges_per_group = 3, .rows_per_range = 0, .suffixes = 1};
    fixture *self = fixture_new(&shape);
    read_by_position(self, 5);
    self->plan.groups_count = 0;
    self->plan.ranges_count = 0;
    read_by_position(self, 5);
    kw_gather_spec spec = fixture_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_start_page(self, gather, 1, 1, KW_DEADLINE_NONE);
    kw_gather_free(gather); /* its completion is posted already */
    self->done = true;
    uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);
    fixture_free(self);
}

KW_TEST(test_deadline, "/gather/deadline")
{
    fixture_shape shape = {.groups = 1, .ranges_per_group = 1, .rows_per_range = 3000, .suffixes = 50000};
    fixture *self = fixture_new_with_rows(&shape, 1000);
    kw_gather_spec spec = fixture_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_start_page(self, gather, 10, 1000, 1);
    while (!self->done)
        fixture_run_once(self);
    g_assert_true(self->failed);
    g_assert_cmpint(self->error.code, ==, KW_TIMEOUT);
    kw_gather_free(gather);

    /* Rows that were read before the deadline make a short page that can be continued. */
    spec.buffer_bytes = 4096;
    gather = kw_gather_new(self->handle, &spec);
    self->control->fail_at = self->control->operations + 3;
    self->control->fail_code = KW_TIMEOUT;
    fixture_read_page(self, gather, 10000, 1 << 20);
    g_assert_false(self->failed);
    g_assert_cmpuint(self->page_count, >, 0);
    g_assert_cmpuint(self->page_count, <, self->rows_count);
    g_assert_false(self->end);
    fixture_assert_rows(self, 0, self->page_count);
    kw_gather_free(gather);
    fixture_free(self);
}

/* A page ends at its deadline even if the store sends no reply. */
KW_TEST(test_deadline_of_a_silent_store, "/gather/deadline-of-a-silent-store")
{
    fixture_shape shape = {.groups = 1, .ranges_per_group = 2, .rows_per_range = 50, .suffixes = 50000};
    fixture *self = fixture_new_with_rows(&shape, 1);
    kw_gather_spec spec = fixture_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    kw_deadline give_up = kw_deadline_in_ms(60000);
    self->control->never_answer = true;
    fixture_start_page(self, gather, 10, 1000, kw_deadline_in_ms(20));
    while (!self->done && !kw_deadline_passed(give_up))
        uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);
    g_assert_true(self->done && self->failed);
    g_assert_cmpint(self->error.code, ==, KW_TIMEOUT);
    kw_gather_free(gather);
    fixture_free(self);
}

#define LARGE 10000

/* Keeps large rows only and counts their bytes. */
static bool
accept_large(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error)
{
    size_t *bytes = user;
    (void)ret_error;
    *ret_accepted = row->cells[0].value.size == LARGE ? KW_ROW_ACCEPTED : KW_ROW_DROPPED;
    *bytes += *ret_accepted == KW_ROW_ACCEPTED ? row->key.size + LARGE : 0;
    return true;
}

/* Large rows are among many small rows that the gather drops. The limit on the bytes of a page applies to the
 * large rows too. */
KW_TEST(test_large_rows_among_small_rows, "/gather/large rows among small rows")
{
    fixture_shape shape = {.groups = 1, .ranges_per_group = 3, .rows_per_range = 3000, .suffixes = 50000};
    static uint8_t value[LARGE];
    for (int copies = 0; copies < 2; copies++) {
        fixture *self = fixture_new_with_rows(&shape, 1000);
        size_t bytes = 0, large = 0, kept = 0;
        for (size_t i = 0; i < self->rows_count; i += 20, large++)
            kw_memory_store_set(self->store, fixture_table_of(self, i), self->rows[i].key, "d", "v",
                                kw_bytes_of(value, LARGE), 2);
        kw_gather_spec spec = fixture_spec(self);
        spec.buffer_bytes = 1 << 20;
        spec.accept = accept_large;
        spec.accept_user = &bytes;
        spec.accept_copies = copies;
        self->plan.residual = true;
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        do {
            bytes = 0;
            fixture_read_page(self, gather, 100000, 10 * LARGE);
            g_assert_false(self->failed);
            g_assert_cmpuint(bytes, <, 11 * LARGE);
            kept += self->page_count;
        } while (!self->end);
        g_assert_cmpuint(kept, ==, large);
        kw_gather_free(gather);
        fixture_free(self);
    }
}

/* --- points ---------------------------------------------------------------------------------------- */

/* Replaces the ranges of the plan by points: one for each expected row, and one for a key after it that does
 * not exist. */
static void
make_points(fixture *self)
{
    kw_range *ranges = KW_ARENA_ARRAY(self->arena, kw_range, 2 * self->rows_count);
    kw_merge_group *groups = KW_ARENA_ARRAY(self->arena, kw_merge_group, self->plan.groups_count);
    size_t count = 0;
    for (uint32_t group = 0; group < self->plan.groups_count; group++) {
        groups[group].first = count;
        for (size_t i = 0; i < self->rows_count; i++) {
            if (self->rows[i].group != group)
                continue;
            kw_bytes key = self->rows[i].key;
            const kw_range *from = &self->plan.ranges[self->rows[i].range];
            kw_range point = {.placement = from->placement, .skip = from->skip, .group = group};
            uint8_t *longer = kw_arena_alloc0(self->arena, key.size + 1);
            memcpy(longer, key.data, key.size);
            kw_bytes after = kw_bytes_of(longer, key.size + 1);
            point.start = key;
            point.stop = after;
            ranges[count++] = point;
            point.start = after;
            point.stop = KW_BYTES_NONE;
            ranges[count++] = point;
        }
        groups[group].count = count - groups[group].first;
        /* Points can be in any order in the plan, but equal suffixes must be in the order of their ranges. */
        if (groups[group].count == 0)
            self->plan.groups_count = group;
    }
    self->plan.ranges = ranges;
    self->plan.ranges_count = count;
    self->plan.groups = groups;
    self->plan.point = true;
}

KW_TEST(test_points, "/gather/points")
{
    for (int i = 0; i < 30; i++) {
        fixture_shape shape = random_shape();
        shape.rows_per_range = 30;
        fixture *self = fixture_new(&shape);
        make_points(self);
        size_t rows = 0;
        while (rows < self->rows_count && self->rows[rows].group < self->plan.groups_count)
            rows++;
        self->rows_count = rows;
        read_on_one_gather(self, 200);
        read_by_position(self, 1 + fixture_random(40));
        g_assert_cmpuint(self->control->fetches, ==, 0);
        fixture_free(self);
    }
}

KW_TEST(test_points_close_and_fail, "/gather/points: close and fail")
{
    fixture_shape shape = {.groups = 1, .ranges_per_group = 4, .rows_per_range = 40, .suffixes = 5000};
    fixture *self = fixture_new_with_rows(&shape, 30);
    make_points(self);
    kw_gather_spec spec = fixture_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    fixture_start_page(self, gather, 10, 1000, KW_DEADLINE_NONE);
    kw_gather_free(gather);
    self->done = true;
    uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);

    self->control->fail_at = self->control->operations + 1;
    gather = kw_gather_new(self->handle, &spec);
    fixture_read_page(self, gather, 10, 1000);
    g_assert_true(self->failed);
    g_assert_cmpint(self->error.code, ==, KW_UNAVAILABLE);
    kw_gather_free(gather);
    fixture_free(self);
}

KW_TEST_START(start)
{
    fixture_seed();
}
