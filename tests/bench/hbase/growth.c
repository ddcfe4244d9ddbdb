/* How cost grows, as CSV on stdout: with callers, buckets, the size of a record and the number of rows.
 * run.sh
 * --growth makes the tables that it needs (policy-growth.yaml.in). */
#include "bench.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#define EVENTS 20000

static void
tell_slice(const char *what, const char *x, uint64_t at, const bench_side *side, const figures *got)
{
    (void)x;
    printf("%s,%s,%llu,%.0f,%.1f,%.1f,%u,%u\n", what, side->way->name, (unsigned long long)at,
           got->per_second, got->p50_us, got->p99_us, got->served, got->upstream);
    fflush(stdout);
}

static void
by_callers(bench *all)
{
    static const unsigned counts[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 2000, 5000, 10000};
    printf("work,way,callers,calls_per_second,p50_us,p99_us,served,connections_to_thrift2\n");
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
        for (int side = 0; side < 2; side++) {
            if (side == 0 && counts[i] > 900)
                continue; /* Thrift2 takes 1,000 connections */
            figures put = slice_run(&all->sides[side], WORK_PUT, counts[i], all->slice_ms);
            figures get = slice_run(&all->sides[side], WORK_GET, counts[i], all->slice_ms);
            tell_slice("put", "callers", counts[i], &all->sides[side], &put);
            tell_slice("get", "callers", counts[i], &all->sides[side], &get);
        }
    }
}

static void
by_buckets(bench *all)
{
    printf("buckets,p50_us,p99_us,rows_scanned,calls\n");
    for (unsigned buckets = 1; buckets <= 256; buckets *= 2) {
        g_autofree char *table = g_strdup_printf("events_%u", buckets);
        question_load_events(&all->sides[1].place, table, 0, EVENTS);
        question_latest(&all->sides[1].place, table, all->slice_ms);
        asked got = question_latest(&all->sides[1].place, table, all->slice_ms);
        printf("%u,%.1f,%.1f,%.1f,%.2f\n", buckets, got.p50_us, got.p99_us, got.rows_scanned, got.calls);
        fflush(stdout);
    }
}

/* Rows 0..63 with larger and larger values; 8 callers. */
static void
by_size(bench *all)
{
    static const size_t sizes[] = {100, 300, 1000, 3000, 10000, 30000, 100000, 300000, 1000000};
    printf("work,way,record_bytes,calls_per_second,p50_us,p99_us,served,connections_to_thrift2\n");
    for (int side = 0; side < 2; side++)
        all->sides[side].rows = 64;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        bench_value_bytes = MAX(sizes[i] / 3, 33);
        for (int side = 0; side < 2; side++) {
            for (unsigned row = 0; row < 8; row++)
                slice_run(&all->sides[side], WORK_PUT, 64, 100);
            figures put = slice_run(&all->sides[side], WORK_PUT, 8, all->slice_ms);
            tell_slice("put", "bytes", sizes[i], &all->sides[side], &put);
        }
        for (int side = 0; side < 2; side++) {
            figures get = slice_run(&all->sides[side], WORK_GET, 8, all->slice_ms);
            tell_slice("get", "bytes", sizes[i], &all->sides[side], &get);
        }
    }
}

static void
by_rows(bench *all)
{
    uint64_t loaded = 0;
    printf("rows,latest_p50_us,rows_scanned,direct_get_p50_us\n");
    for (uint64_t rows = 1000; rows <= 1000000; rows *= 10) {
        question_load_events(&all->sides[1].place, "events", loaded, rows - loaded);
        loaded = rows;
        question_latest(&all->sides[1].place, "events", all->slice_ms);
        asked got = question_latest(&all->sides[1].place, "events", all->slice_ms);
        figures get = slice_run(&all->sides[0], WORK_GET, 1, all->slice_ms);
        printf("%llu,%.1f,%.1f,%.1f\n", (unsigned long long)rows, got.p50_us, got.rows_scanned, get.p50_us);
        fflush(stdout);
    }
}

bool
growth_run(bench *all, const char *kind)
{
    static const struct {
        const char *name;
        void (*run)(bench *all);
    } kinds[] = {{"callers", by_callers}, {"buckets", by_buckets}, {"size", by_size}, {"rows", by_rows}};
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(kinds[i].name, kind) == 0) {
            kinds[i].run(all);
            return true;
        }
    }
    fprintf(stderr, "growth by %s: callers, buckets, size or rows\n", kind);
    return false;
}
