/* A day of minutes: 1,440 groups that are read one after the other, few rows or none in each. Read to the
 * end, stopped and continued at every kind of place, in both directions; and when time runs out among empty
 * groups, what was done is not done again. */
#include "bed.h"

#define GROUPS 1440

static bed *
day(bool reversed, uint32_t rows_per_range)
{
    bed_shape shape = {.groups = GROUPS,
                       .ranges_per_group = 3,
                       .rows_per_range = rows_per_range,
                       .suffixes = 40,
                       .reversed = reversed};
    bed *self = bed_new(&shape);
    self->control->shuffle = true;
    self->control->late_end = bed_random(2);
    return self;
}

static void
test_to_the_end(void)
{
    for (int reversed = 0; reversed < 2; reversed++) {
        bed *self = day(reversed, 2);
        kw_gather_spec spec = bed_spec(self);
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        do
            bed_page(self, gather, 1000, 1 << 20);
        while (!self->failed && !self->end);
        kw_gather_free(gather);
        bed_assert_rows(self, 0, self->rows_count);
        g_assert_cmpuint(self->rows_count, >, GROUPS);
        bed_free(self);
    }
}

/* Behind each of these rows: pages of one row to the next, then all that is left. */
static void
stop_and_go_on(bed *self, size_t row)
{
    kw_gather_spec spec = bed_spec(self);
    spec.position = bed_position_after(self, row);
    bed_forget(self);
    for (int page = 0; page < 2; page++) {
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        bed_page(self, gather, page ? 100000 : 1, 1 << 24);
        kw_gather_free(gather);
        g_assert_false(self->failed);
        if (self->end)
            break;
        spec.position = self->position;
    }
    g_assert_true(self->end);
    bed_assert_rows(self, row + 1, self->rows_count - row - 1);
}

static bool
is_alone(const bed *self, size_t row, bool after)
{
    return self->rows[row].group != self->rows[after ? row + 1 : row - 1].group;
}

static void
test_every_kind_of_place(void)
{
    for (int reversed = 0; reversed < 2; reversed++) {
        bed *self = day(reversed, 3);
        size_t count = self->rows_count;
        stop_and_go_on(self, 0);
        stop_and_go_on(self, count - 1);
        stop_and_go_on(self, count - 2);
        for (int kind = 0; kind < 4; kind++) { /* is the next row, or the one before, of another group? */
            for (int tries = 0; tries < 3; tries++) {
                size_t row = 1 + bed_random((uint32_t)count - 2);
                while (row + 2 < count && is_alone(self, row, kind & 1) != (kind > 1))
                    row++;
                stop_and_go_on(self, row);
            }
        }
        bed_free(self);
    }
}

/* At the head of a group, which no row leads to. */
static void
test_heads(void)
{
    for (int reversed = 0; reversed < 2; reversed++) {
        bed *self = day(reversed, 2);
        const uint32_t groups[] = {0, 1, bed_random(GROUPS), GROUPS - 1};
        for (size_t i = 0; i < G_N_ELEMENTS(groups); i++) {
            size_t first = 0;
            while (first < self->rows_count && self->rows[first].group < groups[i])
                first++;
            kw_gather_spec spec = bed_spec(self);
            spec.position = (kw_position){.started = true,
                                          .at_head = true,
                                          .group = groups[i],
                                          .range = (uint32_t)self->plan.groups[groups[i]].first};
            kw_gather *gather = kw_gather_new(self->handle, &spec);
            bed_forget(self);
            bed_page(self, gather, 100000, 1 << 24);
            kw_gather_free(gather);
            bed_assert_rows(self, first, self->rows_count - first);
        }
        bed_free(self);
    }
}

/* Nothing but empty groups, and each page fails by time after some more of them: every page comes further,
 * and the last one is the end. */
static void
test_time_runs_out(void)
{
    bed *self = day(false, 0);
    kw_gather_spec spec = bed_spec(self);
    uint32_t group = 0;
    size_t pages = 0;
    for (bool end = false; !end; pages++) {
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        self->control->fail_at = self->control->operations + 400;
        self->control->fail_code = KW_TIMEOUT;
        bed_page(self, gather, 100, 1 << 20);
        kw_gather_free(gather);
        g_assert_false(self->failed);
        g_assert_cmpuint(self->page_count, ==, 0);
        end = self->end;
        if (end)
            break;
        g_assert_true(self->position.started && self->position.at_head);
        g_assert_cmpuint(self->position.group, >, group + 50);
        group = self->position.group;
        spec.position = self->position;
    }
    g_assert_cmpuint(pages, >, 2);
    self->control->fail_at = self->control->operations + 1;
    spec.position = (kw_position){.started = false};
    kw_gather *gather = kw_gather_new(self->handle, &spec);
    bed_page(self, gather, 100, 1 << 20); /* nothing was done: an error */
    g_assert_true(self->failed && self->error.code == KW_TIMEOUT);
    kw_gather_free(gather);
    bed_free(self);
}

/* --- a stream that waits for a place, and its group ends ---------------------------------------------- */

#define LAST_RANGES 100
#define SECOND_ROWS 300

static void
add_group(bed *self, kw_range *ranges, kw_merge_group *groups, uint32_t count, uint32_t rows)
{
    kw_merge_group *group = &groups[self->plan.groups_count];
    *group = (kw_merge_group){.first = self->plan.ranges_count, .count = count};
    for (uint32_t i = 0; i < count; i++) {
        uint16_t number = (uint16_t)self->plan.ranges_count;
        uint8_t *bytes = kw_arena_alloc(self->arena, 4);
        kw_be16_store(bytes, number);
        kw_be16_store(bytes + 2, (uint16_t)(number + 1));
        ranges[self->plan.ranges_count++] = (kw_range){.placement = &self->placements[0],
                                                       .start = kw_bytes_of(bytes, 2),
                                                       .stop = kw_bytes_of(bytes + 2, 2),
                                                       .skip = 2,
                                                       .group = (uint32_t)self->plan.groups_count};
        for (uint32_t row = 0; row < rows; row++) {
            uint8_t key[4];
            kw_be16_store(key, number);
            kw_be16_store(key + 2, (uint16_t)row);
            kw_memory_store_set(self->store, "t", kw_bytes_of(key, 4), "d", "v", KW_BYTES_LITERAL("0"), 1);
        }
    }
    self->plan.groups_count++;
}

/* All places among the fetches in flight are taken by the last group, which is opened early, when the stream
 * of the second asks ahead; it runs dry and ends before there is one. */
static void
test_ends_while_waiting(void)
{
    bed_shape none = {.groups = 1, .ranges_per_group = 1, .suffixes = 1};
    for (int tries = 0; tries < 30; tries++) {
        bed *self = bed_new(&none);
        kw_range *ranges = KW_ARENA_ARRAY(self->arena, kw_range, LAST_RANGES + 2);
        kw_merge_group *groups = KW_ARENA_ARRAY(self->arena, kw_merge_group, 3);
        self->control->shuffle = true;
        self->plan.ranges = ranges;
        self->plan.groups = groups;
        self->plan.ranges_count = self->plan.groups_count = 0;
        add_group(self, ranges, groups, 1, 2);
        add_group(self, ranges, groups, 1, SECOND_ROWS);
        add_group(self, ranges, groups, LAST_RANGES, 1);
        kw_gather_spec spec = bed_spec(self);
        spec.more_pages = bed_random(2);
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        bed_page(self, gather, 100000, 1 << 24);
        g_assert_true(!self->failed && self->end);
        g_assert_cmpuint(self->page_count, ==, 2 + SECOND_ROWS + LAST_RANGES);
        kw_gather_free(gather);
        bed_free(self);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    bed_seed();
    g_test_add_func("/gather/groups/to_the_end", test_to_the_end);
    g_test_add_func("/gather/groups/every_kind_of_place", test_every_kind_of_place);
    g_test_add_func("/gather/groups/heads", test_heads);
    g_test_add_func("/gather/groups/time_runs_out", test_time_runs_out);
    g_test_add_func("/gather/groups/ends_while_waiting", test_ends_while_waiting);
    return g_test_run();
}
