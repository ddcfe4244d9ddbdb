#include "fixture.h"
#include "support/seed.h"

void
fixture_seed(void)
{
    kw_random_inject(test_seed());
}

uint32_t
fixture_random(uint32_t limit)
{
    return (uint32_t)(kw_random_u64() % limit);
}

/* The n-th suffix: a number as text. Lengths differ, so that some suffixes are prefixes of others. */
static kw_bytes
suffix_of(fixture *self, uint32_t n)
{
    static const char *const forms[] = {"%u", "%09u", "s%u", "\x01%u"};
    return kw_bytes_of_text(kw_arena_printf(self->arena, forms[n % 4], n / 4));
}

static void
add_rows(fixture *self, uint32_t group, uint32_t range, const kw_range *below, const fixture_shape *shape,
         GArray *into)
{
    const char *table = (const char *)below->placement->store_table.data;
    uint32_t count = fixture_random(shape->rows_per_range + 1);
    for (uint32_t i = 0; i < count; i++) {
        kw_bytes suffix = suffix_of(self, fixture_random(shape->suffixes));
        kw_buffer key = KW_BUFFER_EMPTY;
        kw_buffer_append(&key, below->start);
        kw_buffer_append(&key, suffix);
        expected_row row = {group, range, kw_arena_copy(self->arena, kw_buffer_bytes(&key))};
        kw_buffer_clear(&key);
        bool exists = kw_memory_store_cell(self->store, table, row.key, "d", "v").size > 0;
        kw_memory_store_set(self->store, table, row.key, "d", "v", KW_BYTES_LITERAL("0123456789"), 1);
        if (!exists)
            g_array_append_val(into, row);
    }
}

static int
by_order(gconstpointer left, gconstpointer right, gpointer user)
{
    const fixture *self = user;
    const expected_row *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    kw_bytes of_a = kw_bytes_skip(a->key, self->plan.ranges[a->range].skip);
    kw_bytes of_b = kw_bytes_skip(b->key, self->plan.ranges[b->range].skip);
    int order = kw_bytes_compare(of_a, of_b);
    if (order)
        return self->plan.reversed ? -order : order;
    return a->range < b->range ? -1 : a->range > b->range;
}

/* The prefix of a range is the group and its place in the group, and one more byte for every second range, so
 * that `skip` differs within a group. */
static kw_range
make_range(fixture *self, uint32_t group, uint32_t place)
{
    size_t skip = 3 + place % 2;
    uint8_t *start = kw_arena_alloc0(self->arena, 4), *stop = kw_arena_alloc0(self->arena, 4);
    kw_be16_store(start, (uint16_t)group);
    kw_be16_store(stop, (uint16_t)group);
    start[2] = stop[2] = (uint8_t)place;
    stop[skip - 1]++;
    return (kw_range){.start = kw_bytes_of(start, skip),
                      .stop = kw_bytes_of(stop, skip),
                      .skip = (uint32_t)skip,
                      .group = group};
}

fixture *
fixture_new(const fixture_shape *shape)
{
    fixture *self = g_new0(fixture, 1);
    self->arena = kw_arena_new();
    self->loop = kw_loop_new();
    self->store = kw_memory_store_open();
    self->control = kw_memory_store_control(self->store);
    self->handle = kw_store_open_handle(self->store, self->loop);
    self->keys = g_array_new(FALSE, FALSE, sizeof(kw_bytes));
    self->path = (kw_path){.name = "primary", .placements = self->placements, .placements_count = 2};
    self->placements[0] = (kw_placement){.path = &self->path, .store_table = KW_BYTES_LITERAL("t")};
    self->placements[1] = (kw_placement){.path = &self->path, .store_table = KW_BYTES_LITERAL("u")};
    kw_memory_store_set(self->store, "u", KW_BYTES_LITERAL("\xff\xff\xff"), "d", "v", KW_BYTES_NONE, 1);
    kw_range *ranges = KW_ARENA_ARRAY(self->arena, kw_range, shape->groups * shape->ranges_per_group);
    kw_merge_group *groups = KW_ARENA_ARRAY(self->arena, kw_merge_group, shape->groups);
    self->plan = (kw_plan){.path = &self->path,
                           .ranges = ranges,
                           .groups = groups,
                           .groups_count = shape->groups,
                           .reversed = shape->reversed,
                           .expected_reads_per_row = 1};
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(expected_row));
    for (uint32_t group = 0; group < shape->groups; group++) {
        groups[group].first = self->plan.ranges_count;
        groups[group].count = 1 + fixture_random(shape->ranges_per_group);
        uint32_t in_first =
            1 + fixture_random((uint32_t)groups[group].count); /* ranges in the first placement */
        for (uint32_t place = 0; place < groups[group].count; place++) {
            uint32_t range = (uint32_t)self->plan.ranges_count++;
            ranges[range] = make_range(self, group, place);
            ranges[range].placement = &self->placements[place >= in_first];
            add_rows(self, group, range, &ranges[range], shape, rows);
        }
    }
    g_qsort_with_data(rows->data, (gint)rows->len, sizeof(expected_row), by_order, self);
    self->rows_count = rows->len;
    self->rows = (expected_row *)(void *)kw_arena_copy(
                     self->arena, kw_bytes_of(rows->data, rows->len * sizeof(expected_row)))
                     .data;
    return self;
}

fixture *
fixture_new_with_rows(const fixture_shape *shape, size_t least)
{
    fixture *self = fixture_new(shape);
    while (self->rows_count < least) {
        fixture_free(self);
        self = fixture_new(shape);
    }
    return self;
}

fixture *
fixture_of_ranges(uint32_t ranges, uint32_t rows, bool skewed)
{
    fixture_shape shape = {.groups = 1, .ranges_per_group = 1, .rows_per_range = 0, .suffixes = 1};
    fixture *self = fixture_new(&shape);
    kw_range *generated = KW_ARENA_ARRAY(self->arena, kw_range, ranges);
    kw_merge_group *group = KW_ARENA_NEW(self->arena, kw_merge_group);
    for (uint32_t range = 0; range < ranges; range++) {
        char *start = kw_arena_printf(self->arena, "%03u", range),
             *stop = kw_arena_printf(self->arena, "%03u", range);
        stop[2]++;
        generated[range] = (kw_range){.placement = &self->placements[0],
                                      .start = kw_bytes_of_text(start),
                                      .stop = kw_bytes_of_text(stop),
                                      .skip = 3};
        for (uint32_t row = 0; row < rows; row++) {
            uint32_t place = skewed ? range * rows + row : row * ranges + range;
            g_autofree char *key = g_strdup_printf("%03u%08u", range, place);
            kw_memory_store_set(self->store, "t", kw_bytes_of_text(key), "d", "v",
                                KW_BYTES_LITERAL("0123456789"), 1);
        }
    }
    group->count = ranges;
    self->plan.ranges = generated;
    self->plan.ranges_count = ranges;
    self->plan.groups = group;
    return self;
}

const char *
fixture_table_of(const fixture *self, size_t row)
{
    return (const char *)self->plan.ranges[self->rows[row].range].placement->store_table.data;
}

static void
handle_closed(void *user)
{
    ((fixture *)user)->done = true;
}

void
fixture_run_once(fixture *self)
{
    uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
}

void
fixture_free(fixture *self)
{
    g_assert_cmpuint(self->control->runs_open, ==, 0);
    self->done = false;
    kw_store_handle_close(self->handle, handle_closed, self);
    while (!self->done)
        fixture_run_once(self);
    kw_store_free(self->store);
    kw_loop_free(self->loop);
    g_array_free(self->keys, TRUE);
    kw_arena_free(self->arena);
    g_free(self);
}

kw_gather_spec
fixture_spec(const fixture *self)
{
    return (kw_gather_spec){.plan = &self->plan, .buffer_bytes = 64 * 1024};
}

static void
page_done(void *user, const kw_gathered *page, const kw_error *error)
{
    fixture *self = user;
    g_assert_false(self->done);
    self->done = true;
    self->failed = !!error;
    if (error) {
        self->error = *error;
        return;
    }
    for (size_t i = 0; page->rows && i < page->count; i++) {
        kw_bytes key = kw_arena_copy(self->arena, page->rows[i]->key);
        g_array_append_val(self->keys, key);
        g_assert_cmpuint(page->rows[i]->cells_count, >, 0);
    }
    self->page_count = page->count;
    self->end = page->end;
    self->scanned = page->scanned;
    self->position = page->position;
    self->position.suffix = kw_arena_copy(self->arena, page->position.suffix);
}

void
fixture_start_page(fixture *self, kw_gather *gather, uint32_t max_rows, size_t max_bytes,
                   kw_deadline deadline)
{
    self->done = false;
    kw_gather_page(gather, max_rows, max_bytes, deadline, page_done, self);
    g_assert_false(self->done); /* the callback never runs inside the call */
}

void
fixture_read_page(fixture *self, kw_gather *gather, uint32_t max_rows, size_t max_bytes)
{
    fixture_start_page(self, gather, max_rows, max_bytes, KW_DEADLINE_NONE);
    while (!self->done)
        fixture_run_once(self);
}

void
fixture_clear_keys(fixture *self)
{
    g_array_set_size(self->keys, 0);
}

void
fixture_assert_rows(const fixture *self, size_t first, size_t count)
{
    g_assert_cmpuint(self->keys->len, ==, count);
    for (size_t i = 0; i < count; i++) {
        kw_bytes got = g_array_index(self->keys, kw_bytes, i), expected = self->rows[first + i].key;
        g_assert_true(kw_bytes_equal(got, expected));
    }
}

kw_position
fixture_position_after(const fixture *self, size_t row)
{
    const expected_row *at = &self->rows[row];
    return (kw_position){.started = true,
                         .group = at->group,
                         .range = at->range,
                         .suffix = kw_bytes_skip(at->key, self->plan.ranges[at->range].skip)};
}
