/* The cost of merging, over a store that needs almost no time:
 *
 *   bench_gather [--check] [--rows N]
 *
 * 1. CPU time per merged row at 1, 16, 64 and 256 ranges, in both directions: only the tree; gathers of keys
 *    without cells; gathers of rows of three 100-byte cells that are copied once, as any store must.
 * 2. CPU time per record as a caller of a scan gets them, over 16 and 256 buckets. Targets: 256 buckets cost
 *    at most 1.5 times as much as 16; at least 300,000 merged rows/s.
 * 3. Memory: a scan of N rows (10 million) in pages of 10,000, with a new gather per page, as cursors do;
 *    RSS must not grow.
 * 4. Rows read per row returned: the latest 1 and 20 of 16 ranges, pages of 10,000.
 */
#include "bench.h"
#include "synthetic_store.h"

#include "gather/tree.h"

#include <glib.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BUDGET ((size_t)8 << 20)
#define PAGE_ROWS 10000
#define PAGE_BYTES ((size_t)8 << 20)
#define RSS_GROWTH_MAX_KB 4096

static bool missed;

void
bench_target(bool check, bool met, const char *what)
{
    if (!met)
        printf("MISSED: %s\n", what);
    missed |= check && !met;
}

double
bench_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* --- the tree alone -------------------------------------------------------------------------------- */

static void
set_head(kw_tree *tree, uint32_t leaf, kw_bytes head)
{
    kw_tree_set(tree, leaf, head, kw_tree_rank(tree, head));
}

static double
tree_ns(uint32_t leaves)
{
    enum { ROWS = 4000000 };
    g_autofree uint64_t *heads = g_new0(uint64_t, leaves);
    uint8_t(*bytes)[8] = g_malloc0(leaves * 8);
    kw_tree *tree = kw_tree_new(leaves, false);
    for (uint32_t i = 0; i < leaves; i++) {
        heads[i] = kw_random_u64() % 1000;
        kw_be64_store(bytes[i], heads[i]);
        set_head(tree, i, kw_bytes_of(bytes[i], 8));
    }
    kw_tree_build(tree);
    double began_ns = bench_cpu_ns();
    for (int row = 0; row < ROWS; row++) {
        uint32_t leaf = kw_tree_winner(tree);
        heads[leaf] += (uint64_t)row * UINT64_C(0x9e3779b97f4a7c15) >> 54;
        kw_be64_store(bytes[leaf], heads[leaf]);
        set_head(tree, leaf, kw_bytes_of(bytes[leaf], 8));
        kw_tree_replay(tree);
    }
    double ns = (bench_cpu_ns() - began_ns) / ROWS;
    kw_tree_free(tree);
    g_free(bytes);
    return ns;
}

/* --- gathers --------------------------------------------------------------------------------------- */

typedef struct scan {
    bool done;
    uint64_t rows;
    uint64_t scanned;
    bool end;
    kw_position position;
    kw_buffer suffix;
} scan;

static void
paged(void *user, const kw_gathered *page, const kw_error *error)
{
    scan *self = user;
    if (error)
        g_error("%s", error->text);
    self->done = true;
    self->rows += page->count;
    self->scanned += page->scanned;
    self->end = page->end;
    self->position = page->position;
    self->suffix.size = 0;
    kw_buffer_append(&self->suffix, page->position.suffix);
    self->position.suffix = kw_buffer_bytes(&self->suffix);
}

static void
read_page(scan *self, kw_loop *loop, kw_gather *gather)
{
    self->done = false;
    kw_gather_page(gather, PAGE_ROWS, PAGE_BYTES, KW_DEADLINE_NONE, paged, self);
    while (!self->done)
        uv_run(kw_loop_uv(loop), UV_RUN_ONCE);
}

static double
gather_ns(kw_loop *loop, uint32_t ranges, bool reversed, bool copies, uint64_t rows)
{
    synthetic_store *store = synthetic_store_new(loop, rows / ranges, 3, copies);
    g_autoptr(kw_arena) arena = kw_arena_new();
    scan self = {0};
    kw_gather_spec spec = {.plan = synthetic_store_plan(ranges, reversed, arena), .buffer_bytes = BUDGET};
    double began_ns = bench_cpu_ns();
    while (!self.end) {
        kw_gather *gather = kw_gather_new(synthetic_store_handle(store), &spec);
        read_page(&self, loop, gather);
        kw_gather_free(gather);
        spec.position = self.position;
    }
    double ns = (bench_cpu_ns() - began_ns) / (double)self.rows;
    g_assert(self.rows == rows / ranges * ranges);
    kw_buffer_clear(&self.suffix);
    synthetic_store_free(store);
    return ns;
}

/* The minimum of several alternating rounds, so that other load on the machine affects all cases. */
static void
measure_rounds(kw_loop *loop, const uint32_t *ranges, double best[3][4])
{
    enum { ROUNDS = 7 };
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 0; kind < 3; kind++)
            for (int i = 0; i < 4; i++) {
                double ns = gather_ns(loop, ranges[i], kind == 2, kind > 0, 1000000);
                best[kind][i] = round ? MIN(best[kind][i], ns) : ns;
            }
}

static void
measure_merge(kw_loop *loop)
{
    static const uint32_t ranges[] = {1, 16, 64, 256};
    double best[3][4];
    const double *bare = best[0], *forward = best[1], *backward = best[2];
    measure_rounds(loop, ranges, best);
    printf("%-8s %14s %14s %14s %14s %16s\n", "ranges", "tree ns/row", "keys ns/row", "rows ns/row",
           "reversed", "merged rows/s");
    for (int i = 0; i < 4; i++)
        printf("%-8u %14.1f %14.1f %14.1f %14.1f %16.0f\n", ranges[i], tree_ns(ranges[i]), bare[i],
               forward[i], backward[i], 1e9 / forward[i]);
    printf("256 ranges against 16: rows %.2f x, reversed %.2f x; bare keys %.2f x\n", forward[3] / forward[1],
           backward[3] / backward[1], bare[3] / bare[1]);
}

/* --- memory ---------------------------------------------------------------------------------------- */

static long
rss_kb(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    g_assert(file);
    int read = fscanf(file, "%ld %ld", &pages, &resident);
    g_assert(read == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void
measure_memory(kw_loop *loop, bool check, uint64_t rows)
{
    synthetic_store *store = synthetic_store_new(loop, rows / 16, 3, true);
    g_autoptr(kw_arena) arena = kw_arena_new();
    scan self = {0};
    kw_gather_spec spec = {.plan = synthetic_store_plan(16, false, arena), .buffer_bytes = BUDGET};
    long early_kb = 0, most_kb = 0;
    uint64_t began_ns = kw_clock_mono_ns();
    while (!self.end) {
        kw_gather *gather = kw_gather_new(synthetic_store_handle(store), &spec);
        read_page(&self, loop, gather);
        spec.position = self.position;
        most_kb = MAX(most_kb, rss_kb());
        kw_gather_free(gather);
        if (self.rows < rows / 10)
            early_kb = most_kb;
    }
    double seconds = (double)(kw_clock_mono_ns() - began_ns) / 1e9;
    printf("%lu rows by cursors: %.0f rows/s, %.3f rows read per row, RSS at most %ld KB in the first tenth, "
           "%ld KB "
           "in all\n",
           (unsigned long)self.rows, (double)self.rows / seconds, (double)self.scanned / (double)self.rows,
           early_kb, most_kb);
    g_assert(self.rows == rows / 16 * 16);
    bench_target(check, most_kb - early_kb <= RSS_GROWTH_MAX_KB, "memory stays flat");
    bench_target(check, (double)self.scanned <= 1.15 * (double)self.rows,
                 "pages read at most 1.15 rows per row");
    kw_buffer_clear(&self.suffix);
    synthetic_store_free(store);
}

static void
measure_limit(kw_loop *loop, bool check, uint64_t limit, uint64_t most)
{
    synthetic_store *store = synthetic_store_new(loop, 100000, 3, false);
    g_autoptr(kw_arena) arena = kw_arena_new();
    scan self = {0};
    kw_gather_spec spec = {
        .plan = synthetic_store_plan(16, true, arena), .buffer_bytes = BUDGET, .limit = limit};
    kw_gather *gather = kw_gather_new(synthetic_store_handle(store), &spec);
    read_page(&self, loop, gather);
    printf("the latest %lu of 16 ranges: %lu rows read\n", (unsigned long)limit, (unsigned long)self.scanned);
    bench_target(check, self.rows == limit && self.scanned <= most, "limits reach the range scans");
    kw_gather_free(gather);
    kw_buffer_clear(&self.suffix);
    synthetic_store_free(store);
}

int
main(int argc, char **argv)
{
    bool check = false;
    uint64_t rows = 10000000;
    for (int i = 1; i < argc; i++) {
        if (g_str_equal(argv[i], "--check"))
            check = true;
        else if (g_str_equal(argv[i], "--rows") && i + 1 < argc)
            rows = strtoull(argv[++i], NULL, 10);
        else {
            fprintf(stderr, "usage: bench_gather [--check] [--rows N]\n");
            return 2;
        }
    }
    mallopt(M_TRIM_THRESHOLD, 256 << 20); /* as in keywayd: the memory of one page is reused for the next */
    mallopt(M_TOP_PAD, 16 << 20);
    kw_loop *loop = kw_loop_new();
    measure_merge(loop);
    bench_records(loop, check);
    measure_limit(loop, check, 1, 16);
    measure_limit(loop, check, 20, 60);
    measure_memory(loop, check, rows);
    kw_loop_free(loop);
    return missed;
}
