/* Growth with callers and with the size of a record: closed loops of puts and gets. See growth.h. */
#include "growth.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#define DIRECT_MOST 900 /* Thrift2 serves 1,000 connections, including those of the gateway */
#define MANY_CALLERS 3000
#define SIZE_ROWS 64
#define SIZE_CALLERS 8
#define SIZE_BATCH_BYTES 500000

static const char *
name_of(work what)
{
    return what == WORK_PUT ? "put" : "get";
}

/* A direct operation is always one Thrift2 call. */
static void
print_point(work what, const bench_side *side, uint64_t at, const slice_result *got)
{
    bool gateway = side->way == &way_gateway;
    printf("%s,%s,%llu,%.0f,%.1f,%.1f,%.4f,%.2f,%u,%u\n", name_of(what), side->way->name,
           (unsigned long long)at, got->per_second, got->p50_us, got->p99_us,
           gateway ? got->store_calls : 1.0, got->cpu_us, got->served, got->upstream);
    fflush(stdout);
}

static void
print_header(const char *x)
{
    printf("work,way,%s,calls_per_second,p50_us,p99_us,thrift2_calls,gateway_cpu_us,served,"
           "connections_to_thrift2\n",
           x);
}

static void
print_both(bench *all, work what, uint64_t at, const char *unit, const compared *got)
{
    for (int side = 0; side < 2; side++)
        print_point(what, &all->sides[side], at, &got->of[side]);
    fprintf(stderr, "%llu %s, %s: direct %.0f/s, gateway %.0f/s\n", (unsigned long long)at, unit,
            name_of(what), got->of[0].per_second, got->of[1].per_second);
}

/* --- callers ---------------------------------------------------------------------------------- */

/* More callers than Thrift2 has threads: measures only the gateway, long enough to serve every caller. */
static void
run_callers(bench *all, work what, unsigned callers)
{
    int ms = all->slice_ms * (callers > MANY_CALLERS ? 6 : 3);
    slice_result got = slice_run(&all->sides[1], what, callers, ms);
    print_point(what, &all->sides[1], callers, &got);
    fprintf(stderr, "%u callers, %s: gateway %.0f/s, %u served\n", callers, name_of(what), got.per_second,
            got.served);
}

void
growth_by_callers(bench *all)
{
    static const unsigned counts[] = {1, 3, 10, 30, 100, 300, 900, 3000, 10000};
    static const work works[] = {WORK_PUT, WORK_GET};
    print_header("callers");
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(works); j++) {
            if (counts[i] > DIRECT_MOST) {
                run_callers(all, works[j], counts[i]);
                continue;
            }
            compared got = rounds_compare(all, works[j], counts[i], false);
            print_both(all, works[j], counts[i], "callers", &got);
        }
    }
}

/* --- size ------------------------------------------------------------------------------------- */

/* Writes the first rows, with values of bench_value_bytes. */
static void
fill(bench_side *side)
{
    link_to *link = link_open(&side->place);
    g_autoptr(kw_arena) arena = kw_arena_new();
    size_t most = CLAMP(SIZE_BATCH_BYTES / (3 * bench_value_bytes), 1, SIZE_ROWS);
    uint32_t generation = 0;
    for (uint64_t row = 0; row < SIZE_ROWS; row++)
        generation = MAX(generation, side->generations[row] + 2); /* a put of unknown outcome can add 1 */
    for (uint64_t first = 0; first < SIZE_ROWS; first += most) {
        kw_arena_reset(arena);
        bench_call call =
            side->way->put_many(arena, BENCH_SALTED, first, MIN(most, SIZE_ROWS - first), generation);
        side->way->check_put_many(link_call(link, call.method, call.args));
    }
    for (uint64_t row = 0; row < SIZE_ROWS; row++) {
        side->generations[row] = generation;
        side->doubtful[row] = false;
    }
    link_close(link);
}

void
growth_by_size(bench *all)
{
    static const size_t sizes[] = {100, 300, 1000, 3000, 10000, 30000, 100000, 300000, 1000000};
    static const work works[] = {WORK_PUT, WORK_GET};
    print_header("record_bytes");
    all->unverified = true; /* the other rows have another size; gets check the rows that they read */
    for (int side = 0; side < 2; side++)
        all->sides[side].rows = SIZE_ROWS;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        bench_value_bytes = sizes[i] / 3;
        fill(&all->sides[0]);
        fill(&all->sides[1]);
        for (size_t j = 0; j < G_N_ELEMENTS(works); j++) {
            compared got = rounds_compare(all, works[j], SIZE_CALLERS, false);
            print_both(all, works[j], sizes[i], "bytes", &got);
        }
    }
}

/* --- all kinds -------------------------------------------------------------------------------- */

bool
growth_run(bench *all, const char *kind)
{
    static const struct {
        const char *name;
        void (*run)(bench *all);
    } kinds[] = {{"callers", growth_by_callers},
                 {"buckets", growth_by_buckets},
                 {"size", growth_by_size},
                 {"rows", growth_by_rows}};
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(kinds[i].name, kind) == 0) {
            kinds[i].run(all);
            return true;
        }
    }
    fprintf(stderr, "growth by %s: callers, buckets, size or rows\n", kind);
    return false;
}
