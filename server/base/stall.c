/* See stall.h. Reading the processor time of a thread is a system call. It is read once per tick of the
 * coarse clock, at the first step after the tick. So the last reading before a piece is less than a tick
 * older than the piece: `slack_ns`, which does not count. */
#include "base/stall.h"

#include "base/log.h"
#include "base/metrics.h"
#include "base/units.h"

#include <glib.h>
#include <stdbool.h>
#include <time.h>

/* A tick has at least this length, even if the coarse clock is finer. */
#define TICK_MIN_NS KW_NS_PER_MS
#define LOGGED_MAX 10

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT_NS (10 * KW_STALL_LIMIT_MS * KW_NS_PER_MS)
#else
#define LIMIT_NS (KW_STALL_LIMIT_MS * KW_NS_PER_MS)
#endif

typedef struct watch {
    bool active;
    kw_stall_namer namer;
    void *user;
    uint64_t call;            /* of the piece; 0: none */
    uint64_t read_ns, cpu_ns; /* when the processor time was read, and the processor time */
    uint64_t slack_ns;
    kw_log_limit logged;
} watch;

static _Thread_local watch own;

static uint64_t
ns_of(struct timespec time)
{
    return (uint64_t)time.tv_sec * 1000 * KW_NS_PER_MS + (uint64_t)time.tv_nsec;
}

static uint64_t
read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return ns_of(now);
}

static void
report(uint64_t used_ns)
{
    char name[KW_STALL_NAME_MAX] = "no call";
    uint64_t unlogged, used_ms = used_ns / KW_NS_PER_MS;
    if (own.call && own.namer)
        own.namer(own.user, own.call, name);
    kw_metrics_add(KW_METRIC_loop_stalls, 1);
    if (!kw_log_limit_allows(&own.logged, LOGGED_MAX, &unlogged))
        return;
    kw_log(KW_LOG_WARN, "loop", "stall", KW_LOG_FACT("cpu_ms", used_ms), KW_LOG_FACT("call", name),
           KW_LOG_FACT("unlogged", unlogged));
}

void
kw_stall_watch(kw_stall_namer namer, void *user)
{
    struct timespec tick;
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    own = (watch){.active = true,
                  .namer = namer,
                  .user = user,
                  .read_ns = read_clock(CLOCK_MONOTONIC_COARSE),
                  .cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID),
                  .slack_ns = MAX(ns_of(tick), TICK_MIN_NS)};
}

/* The time of a piece that took longer than a tick also includes what the thread did before it in the same
 * tick. */
static void
judge(uint64_t now_ns)
{
    uint64_t cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID), used_ns = cpu_ns - own.cpu_ns;
    if (used_ns > LIMIT_NS + own.slack_ns)
        report(used_ns - own.slack_ns);
    own.read_ns = now_ns;
    own.cpu_ns = cpu_ns;
}

void
kw_stall_step(void)
{
    if (!own.active)
        return;
    uint64_t now_ns = read_clock(CLOCK_MONOTONIC_COARSE);
    if (now_ns - own.read_ns >= own.slack_ns)
        judge(now_ns);
    own.call = 0;
}

void
kw_stall_set_call(uint64_t call)
{
    own.call = call;
}
