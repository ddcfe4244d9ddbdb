/* Time and randomness, injectable for tests.
 *
 * Wall time is milliseconds since 1970-01-01 UTC; monotonic time is nanoseconds since an unspecified start. A
 * deadline is a monotonic time; KW_DEADLINE_NONE never passes. Any thread can call these functions.
 * kw_clock_inject and kw_random_inject are for tests, which call them before they start other threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t kw_deadline;
#define KW_DEADLINE_NONE UINT64_MAX

int64_t kw_clock_wall_ms(void);
uint64_t kw_clock_mono_ns(void);
/* Nanoseconds since the machine booted, including suspended time. Used for leases. */
uint64_t kw_clock_boot_ns(void);

/* now + timeout_ms; KW_DEADLINE_NONE if timeout_ms is 0 or less, or too large for the clock. */
kw_deadline kw_deadline_in_ms(int64_t timeout_ms);
bool kw_deadline_passed(kw_deadline deadline);
/* Milliseconds left, rounded up; 0 if the deadline has passed; INT64_MAX for KW_DEADLINE_NONE. */
int64_t kw_deadline_left_ms(kw_deadline deadline);
kw_deadline kw_deadline_earlier(kw_deadline a, kw_deadline b);
/* The end of the first of `parts` equal parts of the time that is left; parts >= 1. For attempts that share a
 * deadline. */
kw_deadline kw_deadline_first_part(kw_deadline deadline, size_t parts);

/* Replaces the clocks; NULL restores the real ones. */
void kw_clock_inject(int64_t (*wall_ms)(void), uint64_t (*mono_ns)(void));

/* 64 uniform random bits. Not for secrets: use OpenSSL's RAND_bytes for those. Each thread has its own
 * generator, seeded by the system; kw_random_inject seeds the one of the calling thread, which makes its
 * sequence repeatable. */
uint64_t kw_random_u64(void);
void kw_random_inject(uint64_t seed);
