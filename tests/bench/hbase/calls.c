/* Closed loops of single calls: puts, gets, a hot key, more callers than Thrift2 can serve, and YCSB's mixes.
 */
#include "bench.h"
#include "table.h"

#include <glib.h>
#include <stdio.h>

#define GENERATED_MOST 900

typedef struct target {
    unsigned callers; /* at least this many */
    double must, aim;
} target;

/* Targets for calls per second, relative to direct calls. */
static const target put_targets[] = {{1, 0, 0}, {8, 0.95, 1.1}, {64, 1.7, 3.0}, {256, 2.5, 4.0}};
static const target get_targets[] = {{1, 0, 0}, {8, 0.95, 1.1}, {64, 1.3, 2.0}, {256, 1.6, 2.2}};

static const char *
text_of(kw_arena *arena, const slice_result *of)
{
    const char *text =
        kw_arena_printf(arena, "%.0f /s, p50 %.0f us, p99 %.0f us", of->per_second, of->p50_us, of->p99_us);
    if (of->store_calls > 0)
        text = kw_arena_printf(arena, "%s, %.2f calls to Thrift2 each", text, of->store_calls);
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

static void
add_row(const bench *all, const char *measure, const compared *got, double value, bound how, double must,
        double aim)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const char *name = all->generated ? kw_arena_printf(arena, "%s (generated clients)", measure) : measure;
    table_add(&(table_row){name, text_of(arena, &got->of[0]), text_of(arena, &got->of[1]), value, "x", how,
                           must, aim});
}

/* Adds more than the rates: one caller's p50, the p99, and the gateway's CPU time per put. */
static void
add_more(const bench *all, work what, const compared *got)
{
    const char *name = what == WORK_PUT ? "put" : "get";
    unsigned callers = got->of[0].callers;
    g_autoptr(kw_arena) arena = kw_arena_new();
    if (callers == 1)
        add_row(all, kw_arena_printf(arena, "%s p50, 1 caller", name), got, got->p50.median, AT_MOST, 1.15,
                1.08);
    if (callers == 64 && what == WORK_PUT)
        add_row(all, "put p99, 64 callers", got, got->p99.median, AT_MOST, 1.0, 0.5);
    if (callers == 256 && what == WORK_PUT && got->of[1].cpu_us > 0)
        table_add(&(table_row){"gateway CPU per put, 256 callers", "",
                               kw_arena_printf(arena, "%.0f puts/s", got->of[1].per_second),
                               got->of[1].cpu_us, "us", AT_MOST, 12, 7});
}

void
measure_calls(bench *all, work what)
{
    const target *targets = what == WORK_PUT ? put_targets : get_targets;
    for (size_t i = 0; i < all->callers_count; i++) {
        unsigned callers = all->callers[i];
        if (all->generated && callers > GENERATED_MOST) {
            fprintf(stderr,
                    "%u generated clients are left out: they would wait forever for one of Thrift2's 1,000 "
                    "threads\n",
                    callers);
            continue;
        }
        target wanted = target_of(targets, G_N_ELEMENTS(put_targets), callers);
        compared got = rounds_compare(all, what, callers);
        g_autofree char *name = g_strdup_printf("%s, %u caller%s", what == WORK_PUT ? "put" : "get", callers,
                                                callers > 1 ? "s" : "");
        add_row(all, name, &got, got.rate.median, wanted.must > 0 ? AT_LEAST : NO_BOUND, wanted.must,
                wanted.aim);
        add_more(all, what, &got);
        if (got.of[0].generator > 0.9 || got.of[1].generator > 0.9)
            fprintf(stderr, "%s: the load generator reached its own limit\n", name);
    }
}

void
measure_hot(bench *all)
{
    compared got = rounds_compare(all, WORK_GET_HOT, 64);
    add_row(all, "get, 64 callers, 90 % on one key", &got, got.rate.median, AT_LEAST, 5, 10);
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
    compared got = rounds_compare(all, WORK_GET, 1000);
    table_add(&(table_row){"1,000 callers connected", served(arena, &got.of[0]), served(arena, &got.of[1]),
                           got.of[1].served, "served", AT_LEAST, 1000, 1000});
    slice_result many = slice_run(&all->sides[1], WORK_GET, 10000, all->slice_ms * 4);
    const char *text = kw_arena_printf(arena, "%s; %.0f /s, p50 %.0f us, p99 %.0f us", served(arena, &many),
                                       many.per_second, many.p50_us, many.p99_us);
    table_add(
        &(table_row){"10,000 callers connected", "", text, many.served, "served", AT_LEAST, 10000, 10000});
    table_add(&(table_row){"connections to Thrift2, 10,000 callers", "10000 would be needed", "",
                           many.upstream, "", AT_MOST, 32, 32});
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
        compared got = rounds_compare(all, mixes[i].what, 64);
        g_autofree char *name = g_strdup_printf("%s, 64 callers", mixes[i].name);
        add_row(all, name, &got, got.rate.median, NO_BOUND, 0, 0);
    }
}
