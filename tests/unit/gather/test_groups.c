/* A day of minutes: 1,440 groups that are read one after the other, with few rows or none in each. The tests
 * read to the end, stop and continue at every kind of position, in both directions. If the deadline passes
 * among empty groups, the next page does not read those groups again. */
#include "fixture.h"

#define GROUPS 1440

static fixture *
fixture_of_a_day(bool reversed, uint32_t rows_per_range)
{
    fixture_shape shape = {.groups = GROUPS,
                           .ranges_per_group = 3,
                           .rows_per_range = rows_per_range,
                           .suffixes = 40,
                           .reversed = reversed};
    fixture *self = fixture_new(&shape);
    self->control->shuffle = true;
    self->control->late_end = fixture_random(2);
    return self;
}

KW_TEST(test_to_the_end, "/gather/groups/to_the_end")
{
    for (int reversed = 0; reversed < 2; reversed++) {
        fixture *self = fixture_of_a_day(reversed, 2);
        kw_gather_spec spec = fixture_spec(self);
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        do
            fixture_read_page(self, gather, 1000, 1 << 20);
        while (!self->failed && !self->end);
        kw_gather_free(gather);
        fixture_assert_rows(self, 0, self->rows_count);
        g_assert_cmpuint(self->rows_count, >, GROUPS);
        fixture_free(self);
    }
}

/* Starts after the row: reads a page of one row, then all rows that are left. */
static void
stop_and_continue(fixture *self, size_t row)
{
    kw_gather_spec spec = fixture_spec(self);
    spec.position = fixture_position_after(self, row);
    fixture_clear_keys(self);
    for (int page = 0; page < 2; page++) {
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        fixture_read_page(self, gather, page ? 100000 : 1, 1 << 24);
        kw_gather_free(gather);
        g_assert_false(self->failed);
        if (self->end)
            break;
        spec.position = self->position;
    }
    g_assert_true(self->end);
    fixture_assert_rows(self, row + 1, self->rows_count - row - 1);
}

static bool
is_at_group_boundary(const fixture *self, size_t row, bool after)
{
    return self->rows[row].group != self->rows[after ? row + 1 : row - 1].group;
}

KW_TEST(test_every_kind_of_position, "/gather/groups/every_kind_of_position")
{
    for (int reversed = 0; reversed < 2; reversed++) {
        fixture *self = fixture_of_a_day(reversed, 3);
        size_t count = self->rows_count;
        stop_and_continue(self, 0);
        stop_and_continue(self, count - 1);
        stop_and_continue(self, count - 2);
        for (int kind = 0; kind < 4; kind++) { /* bit 0: look at the next row instead of the previous one;
                                                  above 1: the row must be in another group */
            for (int tries = 0; tries < 3; tries++) {
                size_t row = 1 + fixture_random((uint32_t)count - 2);
                while (row + 2 < count && is_at_group_boundary(self, row, kind & 1) != (kind > 1))
                    row++;
                stop_and_continue(self, row);
            }
        }
        fixture_free(self);
    }
}

/* A position at the head of a group, before all its rows. */
KW_TEST(test_heads, "/gather/groups/heads")
{
    for (int reversed = 0; reversed < 2; reversed++) {
        fixture *self = fixture_of_a_day(reversed, 2);
        const uint32_t groups[] = {0, 1, fixture_random(GROUPS), GROUPS - 1};
        for (size_t i = 0; i < G_N_ELEMENTS(groups); i++) {
            size_t first = 0;
            while (first < self->rows_count && self->rows[first].group < groups[i])
                first++;
            kw_gather_spec spec = fixture_spec(self);
            spec.position = (kw_position){.started = true,
                                          .at_head = true,
                                          .group = groups[i],
                                          .range = (uint32_t)self->plan.groups[groups[i]].first};
            kw_gather *gather = kw_gather_new(self->handle, &spec);
            fixture_clear_keys(self);
            fixture_read_page(self, gather, 100000, 1 << 24);
            kw_gather_free(gather);
            fixture_assert_rows(self, first, self->rows_count - first);
        }
        fixture_free(self);
    }
}

/* All groups are empty, and each page exceeds its deadline after some more groups. Each page makes progress,
 * and the last page is the end. */
KW_TEST(test_deadline_among_empty_groups, "/gather/groups/deadline_among_empty_groups")
{
    fixture *self = fixture_of_a_day(false, 0);
    kw_gather_spec spec = fixture_spec(self);
    uint32_t group = 0;
    size_t pages = 0;
    for (bool end = false; !end; pages++) {
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        self->control->fail_at = self->control->operations + 400;
        self->control->fail_code = KW_TIMEOUT;
        fixture_read_page(self, gather, 100, 1 << 20);
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
    fixture_read_page(self, gather, 100, 1 << 20); /* no group was read: an error */
    g_assert_true(self->failed && self->error.code == KW_TIMEOUT);
    kw_gather_free(gather);
    fixture_free(self);
}

/* --- a stream that waits to fetch while its group ends ------------------------------------------- */

#define LAST_RANGES 100
#define SECOND_ROWS 300

static void
add_group(fixture *self, kw_range *ranges, kw_merge_group *groups, uint32_t count, uint32_t rows)
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

/* The last group is opened early and uses all fetches that are allowed at a time. The stream of the second
 * group must wait before it can prefetch. It runs out of rows and ends while it waits. */
KW_TEST(test_group_ends_while_stream_waits, "/gather/groups/group_ends_while_stream_waits")
{
    fixture_shape empty = {.groups = 1, .ranges_per_group = 1, .suffixes = 1};
    for (int tries = 0; tries < 200; tries++) {
        fixture *self = fixture_new(&empty);
        kw_range *ranges = KW_ARENA_ARRAY(self->arena, kw_range, LAST_RANGES + 2);
        kw_merge_group *groups = KW_ARENA_ARRAY(self->arena, kw_merge_group, 3);
        self->control->shuffle = true;
        self->plan.ranges = ranges;
        self->plan.groups = groups;
        self->plan.ranges_count = self->plan.groups_count = 0;
        add_group(self, ranges, groups, 1, 2);
        add_group(self, ranges, groups, 1, SECOND_ROWS);
        add_group(self, ranges, groups, LAST_RANGES, 1);
        kw_gather_spec spec = fixture_spec(self);
        spec.more_pages = fixture_random(2);
        kw_gather *gather = kw_gather_new(self->handle, &spec);
        fixture_read_page(self, gather, 100000, 1 << 24);
        g_assert_true(!self->failed && self->end);
        g_assert_cmpuint(self->page_count, ==, 2 + SECOND_ROWS + LAST_RANGES);
        kw_gather_free(gather);
        fixture_free(self);
    }
}

KW_TEST_START(start)
{
    fixture_seed();
}
