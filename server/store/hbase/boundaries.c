/* See boundaries.h. */
#include "store/hbase/boundaries.h"

#include "store/hbase/handle.h"

#include <glib.h>

#define REFRESH_NS (UINT64_C(10) * 1000 * 1000 * 1000)
#define ASK_MS 10000

/* Outlives its owner while an answer is under way. */
struct kw_hbase_boundaries {
    kw_store_handle *handle;
    kw_bytes table;
    char *name;
    void (*changed)(void *user);
    void *user;
    kw_regions *regions; /* NULL: not known */
    uint64_t asked_ns;   /* 0: never */
    bool asking;
    bool gone;
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
release(kw_hbase_boundaries *boundaries)
{
    if (!boundaries->gone || boundaries->asking)
        return;
    kw_regions_free(boundaries->regions);
    g_free(boundaries->name);
    g_free(boundaries);
}

void
kw_hbase_boundaries_free(kw_hbase_boundaries *boundaries)
{
    boundaries->gone = true;
    release(boundaries);
}

static bool
same(const kw_regions *one, const kw_regions *other)
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
answered(void *user, kw_regions *regions, const kw_error *error)
{
    kw_hbase_boundaries *boundaries = user;
    boundaries->asking = false;
    if (error || boundaries->gone || same(boundaries->regions, regions)) {
        kw_regions_free(regions);
        release(boundaries);
        return;
    }
    kw_regions_free(boundaries->regions);
    boundaries->regions = regions;
    boundaries->changed(boundaries->user);
}

void
kw_hbase_boundaries_use(kw_hbase_boundaries *boundaries, uint64_t now_ns)
{
    if (boundaries->asking || (boundaries->asked_ns && now_ns - boundaries->asked_ns < REFRESH_NS))
        return;
    boundaries->asking = true;
    boundaries->asked_ns = now_ns;
    kw_hbase_regions(boundaries->handle, boundaries->table, kw_deadline_in_ms(ASK_MS), answered, boundaries);
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
    while (high - low > 1) { /* regions[low] begins at or before the row */
        size_t middle = low + (high - low) / 2;
        if (kw_bytes_compare(regions[middle].start, row) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}
