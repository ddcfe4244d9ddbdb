#include "base/fence.h"

#include "base/clock.h"

#include <stdatomic.h>

bool
kw_fence_is_open(const kw_fence *fence)
{
    return kw_clock_boot_ns() < atomic_load(&fence->open_until_ns);
}

void
kw_fence_open_until(kw_fence *fence, uint64_t until_ns)
{
    atomic_store(&fence->open_until_ns, until_ns);
}

uint64_t
kw_fence_era(const kw_fence *fence)
{
    return atomic_load(&fence->era);
}

void
kw_fence_shut(kw_fence *fence)
{
    atomic_fetch_add(&fence->era, 1);
    atomic_store(&fence->open_until_ns, 0);
}
