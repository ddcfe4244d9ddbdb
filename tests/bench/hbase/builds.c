/* A gateway compared with one of an earlier build, over the same HBase: the cost of a change. */
#include "bench.h"
#include "table.h"

#include <glib.h>

#define MANY 64

/* The allowed costs of `order: store` and `order: stamp`. */
typedef struct limits {
    double p50, mean, rate;
} limits;
static const limits store_limits = {1.03, 1.03, 0.97}, stamp_limits = {1.15, 1.25, 0.95};
#define REMOVAL_MOST 2.8 /* a get and a delete instead of a delete */

static const char *
text_of(kw_arena *arena, const slice_result *of)
{
    return kw_arena_printf(arena,
                           "%.0f /s, p50 %.0f us, mean %.0f us, p99 %.0f us, %.2f calls to Thrift2 each",
                           of->per_second, of->p50_us, of->mean_us, of->p99_us, of->store_calls);
}

static void
add_row(const char *measure, const compared *got, interval value, bound how, double must)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    table_add_spread(&(table_row){.measure = measure,
                                  .first = text_of(arena, &got->of[0]),
                                  .second = text_of(arena, &got->of[1]),
                                  .value = value.median,
                                  .unit = "x",
                                  .bound = how,
                                  .must = must,
                                  .aim = must},
                     value.low, value.high);
}

static void
measure_calls_of(bench *all, work what, const char *name, limits most)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    compared one = rounds_compare(all, what, 1, false);
    add_row(kw_arena_printf(arena, "%s p50, 1 caller", name), &one, one.p50, AT_MOST, most.p50);
    add_row(kw_arena_printf(arena, "%s mean, 1 caller", name), &one, one.mean, AT_MOST, most.mean);
    compared many = rounds_compare(all, what, MANY, false);
    add_row(kw_arena_printf(arena, "%ss per second, %d callers", name, MANY), &many, many.rate, AT_LEAST,
            most.rate);
    if (what == WORK_PUT)
        for (int side = 0; side < 2; side++)
            scan_whole(&all->sides[side]);
}

static int64_t
increment_once(const bench_side *side)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    link_to *link = link_open(&side->place);
    bench_call call = side->way->increment(arena, BENCH_COUNTED, 0);
    int64_t value = side->way->check_increment(link_call(link, call.method, call.args));
    link_close(link);
    return value;
}

/* The counter is the sum of the acknowledged increments. */
static void
measure_increments(bench *all)
{
    int64_t began[2];
    for (int side = 0; side < 2; side++) {
        all->sides[side].table = BENCH_COUNTED;
        began[side] = increment_once(&all->sides[side]);
    }
    compared got = rounds_compare(all, WORK_INCREMENT, MANY, false);
    for (int side = 0; side < 2; side++)
        if (increment_once(&all->sides[side]) != began[side] + all->sides[side].counted + 1)
            caller_group_fail(all->sides[side].place.name,
                              KW_BYTES_LITERAL("the counter is not the sum of its increments"));
    for (int side = 0; side < 2; side++)
        all->sides[side].table = BENCH_SALTED;
    add_row("increments per second of one counter, 64 callers", &got, got.rate, NO_BOUND, 0);
}

static void
measure_removals(bench *all, bool stamped)
{
    compared got = rounds_compare(all, WORK_REMOVE, 1, false);
    add_row("remove p50, 1 caller, records older than a second", &got, got.p50, stamped ? NO_BOUND : AT_MOST,
            REMOVAL_MOST);
}

void
measure_builds(bench *all, bool stamped, const char *const *only)
{
    limits most = stamped ? stamp_limits : store_limits;
    all->unverified = true; /* verified once after all rounds: 21 times would take minutes */
    if (g_strv_contains(only, "put"))
        measure_calls_of(all, WORK_PUT, "put", most);
    if (g_strv_contains(only, "get"))
        measure_calls_of(all, WORK_GET, "get", most);
    if (g_strv_contains(only, "remove"))
        measure_removals(all, stamped);
    if (g_strv_contains(only, "increment") && !stamped) /* tables with order: stamp cannot have counters */
        measure_increments(all);
}
