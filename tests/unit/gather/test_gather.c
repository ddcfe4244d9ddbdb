/* What a gather must keep, over random plans and rows: merge = sort, pages = the whole, in both directions,
 * with answers that come in any order; no row is lost when a read fails; closing at any moment is clean. */
#include "bed.h"

static bed_shape
random_shape(void)
{
    static const uint32_t suffixes[] = {6, 60, 6000};
    return (bed_shape){.groups = 1 + bed_random(5),
                       .ranges_per_group = 1 + bed_random(20),
                       .rows_per_range = bed_random(3) ? bed_random(40) : bed_random(400),
                       .suffixes = suffixes[bed_random(3)],
                       .reversed = bed_random(2)};
}

static bed *
random_bed(void)
{
    bed_shape shape = random_shape();
    bed *self = bed_new(&shape);
    self->control->shuffle = bed_random(2);
    self->control->late_end = bed_random(2);
    return self;
}

static void
read_on_one_gather(bed *self, uint32_t rows_most)
{
    kw_gather_spec spec = bed_spec(self);
    spec.buffer_bytes = bed_random(2) ? 2048 : 64 * 1024;
    spec.more_pages = bed_random(2);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    bed_forget(self);
    do
        bed_page(self, gather, 1 + bed_random(rows_most), 64 * 1024);
    while (!self->failed && !self->end);
    g_assert_false(self->failed);
    kw_gather_free(gather);
    bed_assert_rows(self, 0, self->rows_count);
}

static void
read_by_position(bed *self, uint32_t rows_most)
{
    kw_gather_spec spec = bed_spec(self);
    bed_forget(self);
    do {
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        bed_page(self, gather, 1 + bed_random(rows_most), 64 * 1024);
        kw_gather_free(gather);
        g_assert_false(self->failed);
        spec.position = self->position;
    } while (!self->end);
    bed_assert_rows(self, 0, self->rows_count);
}

static void
test_merge_is_sort(void)
{
    for (int i = 0; i < 60; i++) {
        bed *self = random_bed();
        read_on_one_gather(self, 10000);
        read_on_one_gather(self, 1 + bed_random(50));
        read_by_position(self, 1 + bed_random(50));
        bed_free(self);
    }
}

static void
test_limit(void)
{
    for (int i = 0; i < 40; i++) {
        bed *self = random_bed();
        kw_gather_spec spec = bed_spec(self);
        spec.limit = 1 + bed_random(100);
        spec.more_pages = bed_random(2);
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        do
            bed_page(self, gather, 1 + bed_random(30), 64 * 1024);
        while (!self->end);
        kw_gather_free(gather);
        bed_assert_rows(self, 0, MIN(spec.limit, self->rows_count));
        bed_free(self);
    }
}

/* A position behind any row, also one that no page ended with. */
static void
test_position_anywhere(void)
{
    for (int i = 0; i < 60; i++) {
        bed *self = random_bed();
        for (int again = 0; again < 5 && self->rows_count; again++) {
            size_t row = bed_random((uint32_t)self->rows_count);
            kw_gather_spec spec = bed_spec(self);
            spec.position = bed_position_after(self, row);
            kw_gather *gather = kw_gather_new(self->handle, &spec);
            bed_forget(self);
            bed_page(self, gather, 100000, 1 << 24);
            kw_gather_free(gather);
            bed_assert_rows(self, row + 1, self->rows_count - row - 1);
        }
        bed_free(self);
    }
}

static void
test_position_of_another_plan(void)
{
    bed_shape shape = {.groups = 2, .ranges_per_group = 1, .rows_per_range = 5, .suffixes = 50};
    bed *self = bed_new(&shape);
    const kw_position bad[] = {{.started = true, .group = 2},
                               {.started = true, .group = 0, .range = 1},
                               {.started = true, .group = 1, .range = 0},
                               {.started = true, .group = UINT32_MAX, .range = UINT32_MAX}};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        kw_gather_spec spec = bed_spec(self);
        spec.position = bad[i];
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        bed_page(self, gather, 10, 1000);
        g_assert_true(self->failed);
        g_assert_cmpint(self->error.code, ==, KW_INVALID);
        kw_gather_free(gather);
    }
    bed_free(self);
}

/* The n-th operation fails, n walking up until nothing fails: every page is whole or an error, never short of
 * a row in between; a new gather continues from the last page. */
static void
walk_faults(bool reversed, kw_code code)
{
    bed_shape shape = {
        .groups = 3, .ranges_per_group = 6, .rows_per_range = 60, .suffixes = 500, .reversed = reversed};
    bed *self = bed_with_rows(&shape, 300);
    self->control->shuffle = true;
    self->control->fail_code = code;
    bool failed = true;
    uint64_t n = 0;
    for (n = 1; failed; n++) {
        failed = false;
        self->control->fail_at = self->control->operations + n;
        kw_gather_spec spec = bed_spec(self);
        spec.buffer_bytes = 4096;
        bed_forget(self);
        do {
            kw_gather *gather = kw_gather_new(self->handle, &spec);
            bed_page(self, gather, 40, 2000);
            if (self->failed) {
                g_assert_cmpint(self->error.code, ==, code);
                g_assert_false(failed);
                failed = true;
            } else {
                spec.position = self->position;
            }
            kw_gather_free(gather);
        } while (self->failed || !self->end);
        bed_assert_rows(self, 0, self->rows_count);
        if (self->control->operations >= self->control->fail_at)
            failed = true; /* a read ahead failed that nobody needed */
    }
    g_assert_cmpuint(n, >, 10);
    bed_free(self);
}

static void
test_faults(void)
{
    walk_faults(false, KW_UNAVAILABLE);
    walk_faults(true, KW_UNAVAILABLE);
    walk_faults(false, KW_TIMEOUT);
}

/* A gather that failed answers the same error again. */
static void
test_failed_stays_failed(void)
{
    bed_shape shape = {.groups = 1, .ranges_per_group = 1, .rows_per_range = 100, .suffixes = 50000};
    bed *self = bed_with_rows(&shape, 1);
    self->control->fail_at = 1;
    kw_gather_spec spec = bed_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    for (int i = 0; i < 2; i++) {
        bed_page(self, gather, 10, 1000);
        g_assert_true(self->failed);
        g_assert_cmpint(self->error.code, ==, KW_UNAVAILABLE);
    }
    kw_gather_free(gather);
    bed_free(self);
}

static void
test_close_in_flight(void)
{
    for (int i = 0; i < 200; i++) {
        bed *self = random_bed();
        self->control->shuffle = true;
        kw_gather_spec spec = bed_spec(self);
        spec.buffer_bytes = 2048;
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        bed_start_page(self, gather, 100, 10000, KW_DEADLINE_NONE);
        for (uint32_t turns = bed_random(8); turns && !self->done; turns--)
            bed_turn(self);
        bool was_done = self->done;
        kw_gather_free(gather);
        self->done = true; /* a completion after this would assert */
        for (int turns = 0; turns < 3 && !was_done; turns++)
            uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);
        bed_free(self);
    }
}

static void
test_empty(void)
{
    bed_shape shape = {.groups = 2, .ranges_per_group = 3, .rows_per_range = 0, .suffixes = 1};
    bed *self = bed_new(&shape);
    read_by_position(self, 5);
    self->plan.groups_count = 0;
    self->plan.ranges_count = 0;
    read_by_position(self, 5);
    kw_gather_spec spec = bed_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    bed_start_page(self, gather, 1, 1, KW_DEADLINE_NONE);
    kw_gather_free(gather); /* with its completion posted */
    self->done = true;
    uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);
    bed_free(self);
}

static void
test_deadline(void)
{
    bed_shape shape = {.groups = 1, .ranges_per_group = 1, .rows_per_range = 3000, .suffixes = 50000};
    bed *self = bed_with_rows(&shape, 1000);
    kw_gather_spec spec = bed_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    bed_start_page(self, gather, 10, 1000, 1);
    while (!self->done)
        bed_turn(self);
    g_assert_true(self->failed);
    g_assert_cmpint(self->error.code, ==, KW_TIMEOUT);
    kw_gather_free(gather);

    /* Rows in hand when the deadline passes make a short page that can be continued. */
    spec.buffer_bytes = 4096;
    gather = kw_gather_new(self->handle, &spec);
    self->control->fail_at = self->control->operations + 3;
    self->control->fail_code = KW_TIMEOUT;
    bed_page(self, gather, 10000, 1 << 20);
    g_assert_false(self->failed);
    g_assert_cmpuint(self->page_count, >, 0);
    g_assert_cmpuint(self->page_count, <, self->rows_count);
    g_assert_false(self->end);
    bed_assert_rows(self, 0, self->page_count);
    kw_gather_free(gather);
    bed_free(self);
}

/* A store whose threads are all busy answers nothing; the page ends at its deadline all the same. */
static void
test_deadline_of_a_silent_store(void)
{
    bed_shape shape = {.groups = 1, .ranges_per_group = 2, .rows_per_range = 50, .suffixes = 50000};
    bed *self = bed_with_rows(&shape, 1);
    kw_gather_spec spec = bed_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    kw_deadline give_up = kw_deadline_in_ms(60000);
    self->control->never_answer = true;
    bed_start_page(self, gather, 10, 1000, kw_deadline_in_ms(20));
    while (!self->done && !kw_deadline_passed(give_up))
        uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);
    g_assert_true(self->done && self->failed);
    g_assert_cmpint(self->error.code, ==, KW_TIMEOUT);
    kw_gather_free(gather);
    bed_free(self);
}

#define LARGE 10000

/* Counts the bytes of the rows that are kept: only large ones are. */
static bool
accept_large(void *user, kw_row *row, kw_acceptance *ret_accepted, kw_error *ret_error)
{
    size_t *bytes = user;
    (void)ret_error;
    *ret_accepted = row->cells[0].value.size == LARGE ? KW_ROW_ACCEPTED : KW_ROW_DROPPED;
    *bytes += *ret_accepted == KW_ROW_ACCEPTED ? row->key.size + LARGE : 0;
    return true;
}

/* Large rows among many small ones that are dropped: a page has no more bytes of them than of others. */
static void
test_large_among_small(void)
{
    bed_shape shape = {.groups = 1, .ranges_per_group = 3, .rows_per_range = 3000, .suffixes = 50000};
    static uint8_t value[LARGE];
    for (int copies = 0; copies < 2; copies++) {
        bed *self = bed_with_rows(&shape, 1000);
        size_t bytes = 0, large = 0, kept = 0;
        for (size_t i = 0; i < self->rows_count; i += 20, large++)
            kw_memory_store_set(self->store, bed_table_of(self, i), self->rows[i].key, "d", "v",
                                kw_bytes_of(value, LARGE), 2);
        kw_gather_spec spec = bed_spec(self);
        spec.buffer_bytes = 1 << 20;
        spec.accept = accept_large;
        spec.accept_user = &bytes;
        spec.accept_copies = copies;
        self->plan.residual = true;
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        do {
            bytes = 0;
            bed_page(self, gather, 100000, 10 * LARGE);
            g_assert_false(self->failed);
            g_assert_cmpuint(bytes, <, 11 * LARGE);
            kept += self->page_count;
        } while (!self->end);
        g_assert_cmpuint(kept, ==, large);
        kw_gather_free(gather);
        bed_free(self);
    }
}

/* --- points ---------------------------------------------------------------------------------------- */

/* Makes every expected row, and as many keys that are not there, a point of one plan. */
static void
make_points(bed *self)
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
        /* Points may stand in the plan in any order, but equal suffixes by the order of their ranges. */
        if (groups[group].count == 0)
            self->plan.groups_count = group;
    }
    self->plan.ranges = ranges;
    self->plan.ranges_count = count;
    self->plan.groups = groups;
    self->plan.point = true;
}

static void
test_points(void)
{
    for (int i = 0; i < 30; i++) {
        bed_shape shape = random_shape();
        shape.rows_per_range = 30;
        bed *self = bed_new(&shape);
        make_points(self);
        size_t rows = 0;
        while (rows < self->rows_count && self->rows[rows].group < self->plan.groups_count)
            rows++;
        self->rows_count = rows;
        read_on_one_gather(self, 200);
        read_by_position(self, 1 + bed_random(40));
        g_assert_cmpuint(self->control->fetches, ==, 0);
        bed_free(self);
    }
}

static void
test_points_close_and_fail(void)
{
    bed_shape shape = {.groups = 1, .ranges_per_group = 4, .rows_per_range = 40, .suffixes = 5000};
    bed *self = bed_with_rows(&shape, 30);
    make_points(self);
    kw_gather_spec spec = bed_spec(self);
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    bed_start_page(self, gather, 10, 1000, KW_DEADLINE_NONE);
    kw_gather_free(gather);
    self->done = true;
    uv_run(kw_loop_uv(self->loop), UV_RUN_NOWAIT);

    self->control->fail_at = self->control->operations + 1;
    gather = kw_gather_new(self->handle, &spec);
    bed_page(self, gather, 10, 1000);
    g_assert_true(self->failed);
    g_assert_cmpint(self->error.code, ==, KW_UNAVAILABLE);
    kw_gather_free(gather);
    bed_free(self);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    bed_seed();
    g_test_add_func("/gather/merge is sort", test_merge_is_sort);
    g_test_add_func("/gather/limit", test_limit);
    g_test_add_func("/gather/position anywhere", test_position_anywhere);
    g_test_add_func("/gather/position of another plan", test_position_of_another_plan);
    g_test_add_func("/gather/faults", test_faults);
    g_test_add_func("/gather/failed stays failed", test_failed_stays_failed);
    g_test_add_func("/gather/close in flight", test_close_in_flight);
    g_test_add_func("/gather/empty", test_empty);
    g_test_add_func("/gather/deadline", test_deadline);
    g_test_add_func("/gather/deadline-of-a-silent-store", test_deadline_of_a_silent_store);
    g_test_add_func("/gather/points", test_points);
    g_test_add_func("/gather/large_among_small", test_large_among_small);
    g_test_add_func("/gather/points: close and fail", test_points_close_and_fail);
    return g_test_run();
}
