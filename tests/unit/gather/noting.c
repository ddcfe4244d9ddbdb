#include "noting.h"

#include "store/class.h"

noted_reads noted;

static const kw_store_handle_class *inner;

static void
note_fetch(kw_range_scan *scan, uint32_t max_rows, size_t max_bytes, bool more_hint, kw_deadline deadline,
           kw_get_done done, void *user)
{
    g_assert_cmpuint(noted.fetches_count, <, NOTED_MAX);
    noted.fetches[noted.fetches_count++] = (noted_fetch){scan, max_rows, more_hint};
    noted.deadline = deadline;
    inner->range_scan_fetch(scan, max_rows, max_bytes, more_hint, deadline, done, user);
}

static kw_range_scan *
note_open(kw_store_handle *handle, const kw_range_scan_spec *spec)
{
    g_assert_cmpint(spec->max_versions, ==, 1);
    return inner->open_range_scan(handle, spec);
}

static void
note_gets(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done, void *user)
{
    g_assert_cmpuint(noted.gets_count, <, NOTED_MAX);
    noted.gets[noted.gets_count++] = count;
    noted.get = *gets[0];
    for (size_t i = 0; i < count; i++)
        g_assert_cmpint(gets[i]->max_versions, ==, 1);
    inner->get_many(handle, gets, count, done, user);
}

fixture *
noting_fixture_of_ranges(uint32_t ranges, uint32_t rows)
{
    static kw_store_handle_class between;
    fixture *self = fixture_of_ranges(ranges, rows, false);
    inner = self->handle->class;
    noted.fetches_count = noted.gets_count = 0;
    between = *inner;
    between.open_range_scan = note_open;
    between.range_scan_fetch = note_fetch;
    between.get_many = note_gets;
    self->handle->class = &between;
    return self;
}

/* Replaces the plan by one point for each row of the fixture's range. */
static void
make_points(fixture *self, uint32_t rows)
{
    kw_range *points = KW_ARENA_ARRAY(self->arena, kw_range, rows);
    kw_merge_group *group = KW_ARENA_NEW(self->arena, kw_merge_group);
    for (uint32_t row = 0; row < rows; row++) {
        char *key = kw_arena_printf(self->arena, "%03u%08u", 0, row);
        points[row] =
            (kw_range){.placement = &self->placements[0], .start = kw_bytes_of_text(key), .skip = 3};
    }
    group->count = rows;
    self->plan.ranges = points;
    self->plan.ranges_count = rows;
    self->plan.groups = group;
    self->plan.point = true;
}

fixture *
noting_fixture_of_points(uint32_t rows)
{
    fixture *self = noting_fixture_of_ranges(1, rows);
    make_points(self, rows);
    return self;
}
