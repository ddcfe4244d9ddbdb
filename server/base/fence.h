/* A fence: may this process still act on what it knows?
 *
 * Whoever holds a lease keeps the fence open until the lease ends. A process that was stopped for longer
 * finds the fence shut by itself, whatever it does first when it continues. When the lease is lost for good,
 * a new era begins: what was started in an earlier era is not finished, even if the fence is open again. Any
 * thread.
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
/* Shuts it, and begins a new era. */
void kw_fence_shut(kw_fence *fence);
