#include "store/hbase/batch/boundaries.h"

#include "store/hbase/handle.h"

#include <glib.h>

#define REFRESH_NS (UINT64_C(10) * 1000 * 1000 * 1000)
#define REQUEST_MS 10000

/* Lives longer than its owner while a request is in flight. */
struct kw_hbase_boundaries {
    kw_store_handle *handle;
    kw_bytes table;
    char *name;
    void (*changed)(void *user);
    void *user;
    kw_regions *regions;   /* NULL: unknown; starts in ascending order */
    uint64_t requested_ns; /* 0: never */
    bool requesting;
    bool freed; /* by the owner */
};

kw_hbase_boundaries *
kw_hbase_boundaries_new(kw_store_handle *handle, kw_bytes table, void (*changed)(void *user), void *user)
{
    kw_hbase_boundaries *boundaries = g_new0(kw_hbase_boundaries, 1);
    boundaries->handle = handle;
    boundaries->name = g_memdup2(table.data, table.size);
    boundaries->table = kw_bytes_of(boundaries->name, table.size);
    boundaries->changed = changed;
    boundaries->user = user;
    return boundaries;
}

static void
free_if_unused(kw_hbase_boundaries *boundaries)
{
    if (!boundaries->freed || boundaries->requesting)
        return;
    kw_regions_free(boundaries->regions);
    g_free(boundaries->name);
    g_free(boundaries);
}

void
kw_hbase_boundaries_free(kw_hbase_boundaries *boundaries)
{
    g_assert(!boundaries->freed);
    boundaries->freed = true;
    free_if_unused(boundaries);
}

static bool
same_starts(const kw_regions *one, const kw_regions *other)
{
    if (!one || one->count != other->count)
        return false;
    for (size_t i = 0; i < one->count; i++) {
        if (!kw_bytes_equal(one->regions[i].start, other->regions[i].start))
            return false;
    }
    return true;
}

static void
on_regions(void *user, kw_regions *regions, const kw_error *error)
{
    kw_hbase_boundaries *boundaries = user;
    boundaries->requesting = false;
    if (error || boundaries->freed || same_starts(boundaries->regions, regions)) {
        kw_regions_free(regions);
        free_if_unused(boundaries);
        return;
    }
    kw_regions_free(boundaries->regions);
    boundaries->regions = regions;
    boundaries->changed(boundaries->user);
}

void
kw_hbase_boundaries_use(kw_hbase_boundaries *boundaries, uint64_t now_ns)
{
    if (boundaries->requesting ||
        (boundaries->requested_ns && now_ns - boundaries->requested_ns < REFRESH_NS))
        return;
    g_assert(!boundaries->freed);
    boundaries->requesting = true;
    boundaries->requested_ns = now_ns;
    kw_hbase_regions(boundaries->handle, boundaries->table, kw_deadline_in_ms(REQUEST_MS), on_regions,
                     boundaries);
}

size_t
kw_hbase_boundaries_count(const kw_hbase_boundaries *boundaries)
{
    return boundaries->regions ? MAX(boundaries->regions->count, 1) : 1;
}

size_t
kw_hbase_boundaries_find(const kw_hbase_boundaries *boundaries, kw_bytes row)
{
    if (!boundaries->regions)
        return 0;
    const kw_region *regions = boundaries->regions->regions;
    size_t low = 0, high = boundaries->regions->count;
    while (high - low > 1) { /* regions[low] starts at or before the row */
        size_t middle = low + (high - low) / 2;
        if (kw_bytes_compare(regions[middle].start, row) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}
