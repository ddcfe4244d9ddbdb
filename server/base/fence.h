/* A fence: reports whether this process still holds its lease.
 *
 * The holder of a lease keeps the fence open until the lease expires. A process that was suspended for longer
 * finds the fence shut when it resumes, because the fence compares its time with the clock. When the lease is
 * lost for good, a new era begins: work of an earlier era must not be finished, even if the fence is open
 * again. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct kw_fence {
    _Atomic uint64_t open_until_ns; /* kw_clock_boot_ns; 0: shut */
    _Atomic uint64_t era;
} kw_fence;

bool kw_fence_is_open(const kw_fence *fence);
uint64_t kw_fence_era(const kw_fence *fence);

void kw_fence_open_until(kw_fence *fence, uint64_t until_ns);
/* Shuts the fence and begins a new era. */
void kw_fence_shut(kw_fence *fence);
