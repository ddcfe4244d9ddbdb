/* Time and randomness, injectable for tests.
 *
 * Wall time is milliseconds since 1970-01-01 UTC; monotonic time is nanoseconds since some start.
 * A deadline is a monotonic time; KW_DEADLINE_NONE never passes. The functions may be called from
 * any thread; kw_clock_inject and kw_random_inject are for tests, before other threads run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t kw_deadline;
#define KW_DEADLINE_NONE UINT64_MAX

int64_t kw_clock_wall_ms(void);
uint64_t kw_clock_mono_ns(void);
/* Nanoseconds since the machine started, the time that it was suspended included: for leases. */
uint64_t kw_clock_boot_ns(void);

/* now + timeout_ms; 0 or less gives KW_DEADLINE_NONE. */
kw_deadline kw_deadline_in_ms(int64_t timeout_ms);
bool kw_deadline_passed(kw_deadline deadline);
/* Milliseconds left, rounded up; 0 when passed; INT64_MAX for none. */
int64_t kw_deadline_left_ms(kw_deadline deadline);
kw_deadline kw_deadline_earlier(kw_deadline a, kw_deadline b);

/* Replaces the sources; NULL restores the real ones. */
void kw_clock_inject(int64_t (*wall_ms)(void), uint64_t (*mono_ns)(void));

/* Uniform 64 random bits (not for secrets; OpenSSL's RAND_bytes is). Per thread, seeded from the
 * system; kw_random_inject makes the calling thread's sequence repeatable. */
uint64_t kw_random_u64(void);
void kw_random_inject(uint64_t seed);
