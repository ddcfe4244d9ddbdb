#include "base/clock.h"

#include <glib.h>
#include <stdatomic.h>
#include <sys/random.h>
#include <time.h>

static _Atomic(int64_t (*)(void)) injected_wall;
static _Atomic(uint64_t (*)(void)) injected_mono;

int64_t
kw_clock_wall_ms(void)
{
    int64_t (*source)(void) = atomic_load_explicit(&injected_wall, memory_order_relaxed);
    if (source)
        return source();
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint64_t
kw_clock_mono_ns(void)
{
    uint64_t (*source)(void) = atomic_load_explicit(&injected_mono, memory_order_relaxed);
    if (source)
        return source();
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t
kw_clock_boot_ns(void)
{
    uint64_t (*source)(void) = atomic_load_explicit(&injected_mono, memory_order_relaxed);
    if (source)
        return source();
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

kw_deadline
kw_deadline_in_ms(int64_t timeout_ms)
{
    if (timeout_ms <= 0)
        return KW_DEADLINE_NONE;
    uint64_t now = kw_clock_mono_ns();
    if ((uint64_t)timeout_ms > (UINT64_MAX - 1 - now) / 1000000)
        return KW_DEADLINE_NONE;
    return now + (uint64_t)timeout_ms * 1000000;
}

bool
kw_deadline_passed(kw_deadline deadline)
{
    return deadline != KW_DEADLINE_NONE && kw_clock_mono_ns() >= deadline;
}

int64_t
kw_deadline_left_ms(kw_deadline deadline)
{
    if (deadline == KW_DEADLINE_NONE)
        return INT64_MAX;
    uint64_t now = kw_clock_mono_ns();
    return now >= deadline ? 0 : (int64_t)((deadline - now + 999999) / 1000000);
}

kw_deadline
kw_deadline_first_part(kw_deadline deadline, size_t parts)
{
    uint64_t now = kw_clock_mono_ns();
    if (deadline == KW_DEADLINE_NONE || now >= deadline)
        return deadline;
    return now + (deadline - now) / parts;
}

kw_deadline
kw_deadline_earlier(kw_deadline a, kw_deadline b)
{
    return a < b ? a : b;
}

void
kw_clock_inject(int64_t (*wall_ms)(void), uint64_t (*mono_ns)(void))
{
    atomic_store(&injected_wall, wall_ms);
    atomic_store(&injected_mono, mono_ns);
}

/* splitmix64 (Steele, Lea and Flood, 2014): one word of state per thread. */
static _Thread_local uint64_t random_state;
static _Thread_local bool random_seeded;

uint64_t
kw_random_u64(void)
{
    if (!random_seeded) {
        ssize_t got = getrandom(&random_state, sizeof random_state, 0);
        g_assert(got == sizeof random_state);
        random_seeded = true;
    }
    uint64_t mixed = random_state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

void
kw_random_inject(uint64_t seed)
{
    random_state = seed;
    random_seeded = true;
}
