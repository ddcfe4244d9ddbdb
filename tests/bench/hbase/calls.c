/* Closed loops of single calls: puts, gets, a hot key, more callers than Thrift2 can serve, and YCSB's mixes.
 */
#include "bench.h"
#include "table.h"

#include <glib.h>
#include <stdio.h>

#define GENERATED_MOST 900
#define PROXY_MOST 256 /* callers for which the bare proxy is measured */

/* What a rate is compared with. Few callers cannot gain from batches: any process in front of Thrift2 costs
 * them what a bare proxy costs. */
typedef enum compared_with { BASE_DIRECT, BASE_PROXY } compared_with;

typedef struct target {
    unsigned callers; /* at least this many */
    compared_with base;
    double must, aim;
} target;

/* Targets for calls per second. */
static const target put_targets[] = {{1, BASE_DIRECT, 0, 0},
                                     {8, BASE_PROXY, 1.05, 1.2},
                                     {64, BASE_DIRECT, 1.8, 3.0},
                                     {256, BASE_DIRECT, 2.7, 4.0}};
static const target get_targets[] = {{1, BASE_DIRECT, 0, 0},
                                     {8, BASE_PROXY, 1.0, 1.1},
                                     {64, BASE_DIRECT, 1.6, 2.2},
                                     {256, BASE_DIRECT, 1.9, 2.4}};

static const char *
text_of(kw_arena *arena, const slice_result *of)
{
    const char *text =
        kw_arena_printf(arena, "%.0f /s, p50 %.0f us, p99 %.0f us", of->per_second, of->p50_us, of->p99_us);
    if (of->store_calls > 0)
        text = kw_arena_printf(arena, "%s, %.2f calls to Thrift2 each", text, of->store_calls);
    if (of->cpu_us > 0)
        text = kw_arena_printf(arena, "%s, %.1f us of CPU each", text, of->cpu_us);
    if (of->servers_cpu_us > 0)
        text = kw_arena_printf(arena, "%s, %.0f us of CPU in HBase and Thrift2", text, of->servers_cpu_us);
    if (of->served < of->callers)
        text = kw_arena_printf(arena, "%s, **%u of %u callers served**", text, of->served, of->callers);
    return text;
}

static target
target_of(const target *from, size_t count, unsigned callers)
{
    target found = from[0];
    for (size_t i = 0; i < count; i++)
        if (callers >= from[i].callers)
            found = from[i];
    return found;
}

typedef struct limits {
    bound how;
    double must, aim;
} limits;
static const limits unlimited = {.how = NO_BOUND};

static limits
at_least(target wanted, compared_with base)
{
    bool is_limited = wanted.must > 0 && wanted.base == base;
    return is_limited ? (limits){AT_LEAST, wanted.must, wanted.aim} : unlimited;
}

/* A row that compares the gateway with one of the other sides. */
static void
add_row(const bench *all, const char *measure, const compared *got, compared_with base, interval value,
        limits limit)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const char *name = all->generated ? kw_arena_printf(arena, "%s (generated clients)", measure) : measure;
    const slice_result *other = &got->of[base == BASE_PROXY ? SIDE_PROXY : SIDE_DIRECT];
    if (base == BASE_PROXY)
        name = kw_arena_printf(arena, "%s, to a bare proxy", name);
    table_add_spread(&(table_row){.measure = name,
                                  .first = text_of(arena, other),
                                  .second = text_of(arena, &got->of[SIDE_GATEWAY]),
                                  .value = value.median,
                                  .unit = "x",
                                  .bound = limit.how,
                                  .must = limit.must,
                                  .aim = limit.aim},
                     value.low, value.high);
}

/* The proxy's CPU time per call shows how fast the machine is: it forwards a call with six system calls. */
static void
add_cpu(const char *measure, const compared *got, double must, double aim)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const slice_result *gateway = &got->of[SIDE_GATEWAY], *proxy = &got->of[SIDE_PROXY];
    const char *first = "";
    if (got->cpu.median <= 0)
        return;
    if (got->has_proxy)
        first = kw_arena_printf(arena, "the bare proxy: %.1f us, %.0f /s", proxy->cpu_us, proxy->per_second);
    table_add_spread(&(table_row){.measure = measure,
                                  .first = first,
                                  .second = kw_arena_printf(arena, "%.0f /s", gateway->per_second),
                                  .value = got->cpu.median,
                                  .unit = "us",
                                  .bound = AT_MOST,
                                  .must = must,
                                  .aim = aim},
                     got->cpu.low, got->cpu.high);
}

/* What the bare proxy costs, for comparison. */
static void
add_proxy(const char *measure, const compared *got, interval value)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    table_add_spread(
        &(table_row){.measure = kw_arena_printf(arena, "(%s, the bare proxy to direct)", measure),
                     .first = text_of(arena, &got->of[SIDE_DIRECT]),
                     .second = text_of(arena, &got->of[SIDE_PROXY]),
                     .value = value.median,
                     .unit = "x",
                     .bound = NO_BOUND},
        value.low, value.high);
}

static void
add_p50(const bench *all, work what, const compared *got)
{
    const char *name = what == WORK_PUT ? "put p50, 1 caller" : "get p50, 1 caller";
    add_row(all, name, got, BASE_DIRECT, got->p50, unlimited);
    if (!got->has_proxy)
        return;
    add_row(all, name, got, BASE_PROXY, got->to_proxy_p50, (limits){AT_MOST, 1.08, 1.0});
    add_proxy(name, got, got->proxy_p50);
}

static void
add_rate(const bench *all, work what, const compared *got, target wanted)
{
    unsigned callers = got->of[SIDE_DIRECT].callers;
    g_autofree char *name =
        g_strdup_printf("%s, %u caller%s", what == WORK_PUT ? "put" : "get", callers, callers > 1 ? "s" : "");
    add_row(all, name, got, BASE_DIRECT, got->rate, at_least(wanted, BASE_DIRECT));
    if (got->has_proxy) {
        add_row(all, name, got, BASE_PROXY, got->to_proxy_rate, at_least(wanted, BASE_PROXY));
        add_proxy(name, got, got->proxy_rate);
    }
    if (got->of[SIDE_DIRECT].generator > 0.9 || got->of[SIDE_GATEWAY].generator > 0.9)
        fprintf(stderr, "%s: the load generator reached its own limit\n", name);
}

static void
measure_callers(bench *all, work what, unsigned callers)
{
    const target *targets = what == WORK_PUT ? put_targets : get_targets;
    target wanted = target_of(targets, G_N_ELEMENTS(put_targets), callers);
    compared got = rounds_compare(all, what, callers, callers <= PROXY_MOST);
    if (callers == 1)
        add_p50(all, what, &got);
    else
        add_rate(all, what, &got, wanted);
    if (callers == 64 && what == WORK_PUT)
        add_row(all, "put p99, 64 callers", &got, BASE_DIRECT, got.p99, (limits){AT_MOST, 1.0, 0.5});
    if (callers == 256 && what == WORK_PUT)
        add_cpu("gateway CPU per put, 256 callers", &got, 12, 9);
}

void
measure_calls(bench *all, work what)
{
    for (size_t i = 0; i < all->callers_count; i++) {
        if (all->generated && all->callers[i] > GENERATED_MOST)
            fprintf(stderr,
                    "%u generated clients are left out: they would wait forever for one of Thrift2's 1,000 "
                    "threads\n",
                    all->callers[i]);
        else
            measure_callers(all, what, all->callers[i]);
    }
}

void
measure_hot(bench *all)
{
    compared got = rounds_compare(all, WORK_GET_ONE, 64, true);
    add_row(all, "get of one key, 64 callers", &got, BASE_DIRECT, got.rate, (limits){AT_LEAST, 3, 5});
    add_cpu("gateway CPU per get of one key, 64 callers", &got, 9, 9);
    got = rounds_compare(all, WORK_GET_HOT, 64, false);
    add_row(all, "get, 64 callers, 90 % on one key", &got, BASE_DIRECT, got.rate, unlimited);
}

static const char *
served(kw_arena *arena, const slice_result *of)
{
    return kw_arena_printf(arena, "%u of %u served, %u lost", of->served, of->callers, of->lost);
}

void
measure_connected(bench *all)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    compared got = rounds_compare(all, WORK_GET, 1000, false);
    table_add(&(table_row){.measure = "1,000 callers connected",
                           .first = served(arena, &got.of[0]),
                           .second = served(arena, &got.of[1]),
                           .value = got.of[1].served,
                           .unit = "served",
                           .bound = AT_LEAST,
                           .must = 1000,
                           .aim = 1000});
    slice_result many = slice_run(&all->sides[1], WORK_GET, 10000, all->slice_ms * 4);
    const char *text = kw_arena_printf(arena, "%s; %.0f /s, p50 %.0f us, p99 %.0f us", served(arena, &many),
                                       many.per_second, many.p50_us, many.p99_us);
    table_add(&(table_row){.measure = "10,000 callers connected",
                           .first = "",
                           .second = text,
                           .value = many.served,
                           .unit = "served",
                           .bound = AT_LEAST,
                           .must = 10000,
                           .aim = 10000});
    table_add(&(table_row){.measure = "connections to Thrift2, 10,000 callers",
                           .first = "10000 would be needed",
                           .second = "",
                           .value = many.upstream,
                           .unit = "",
                           .bound = AT_MOST,
                           .must = 32,
                           .aim = 32});
}

void
measure_mixes(bench *all)
{
    static const struct {
        work what;
        const char *name;
    } mixes[] = {{WORK_MIX_A, "YCSB A: 50 % reads, 50 % updates"},
                 {WORK_MIX_B, "YCSB B: 95 % reads, 5 % updates"},
                 {WORK_MIX_E, "YCSB E: 95 % scans of 1 to 100, 5 % inserts"}};
    for (size_t i = 0; i < G_N_ELEMENTS(mixes); i++) {
        compared got = rounds_compare(all, mixes[i].what, 64, false);
        g_autofree char *name = g_strdup_printf("%s, 64 callers", mixes[i].name);
        add_row(all, name, &got, BASE_DIRECT, got.rate, unlimited);
    }
}
