/* Puts of 100 rows per call to Thrift2, without a gateway: what the copy of rows is compared with. */
#include "bench.h"

#include "base/clock.h"
#include "bench/hbase/link.h"
#include "thrift/hbase2_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 3
#define CELL_SIZE 100
#define FAMILY "d"

struct bench_direct {
    group_server server;
    link_to *link;
    char *table;
    kw_arena *arena;
    GRand *random;
};

static void
must(const kw_hb_TIOError *io)
{
    if (!io)
        return;
    fprintf(stderr, "bench_change: Thrift2: %.*s\n", (int)io->message.size, (const char *)io->message.data);
    exit(1);
}

static kw_bytes
random_bytes(bench_direct *direct, size_t size)
{
    uint8_t *bytes = kw_arena_alloc(direct->arena, size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)g_rand_int_range(direct->random, 0, 256);
    return kw_bytes_of(bytes, size);
}

/* A row of the size that the gateway's rows have, in a random bucket. */
static kw_hb_TPut
make_put(bench_direct *direct)
{
    static const char *const names[CELLS] = {"a", "b", "c"};
    kw_hb_TColumnValue *cells = KW_ARENA_ARRAY(direct->arena, kw_hb_TColumnValue, CELLS);
    for (size_t i = 0; i < CELLS; i++)
        cells[i] = (kw_hb_TColumnValue){.family = KW_BYTES_LITERAL(FAMILY),
                                        .qualifier = kw_bytes_of_text(names[i]),
                                        .value = random_bytes(direct, CELL_SIZE)};
    kw_bytes row = random_bytes(direct, 26);
    ((uint8_t *)(uintptr_t)row.data)[0] &= 15;
    kw_hb_TPut put = {.row = row};
    put.columnValues.items = cells;
    put.columnValues.count = CELLS;
    return put;
}

bench_direct *
bench_direct_open(const char *place, const char *name)
{
    bench_direct *direct = g_new0(bench_direct, 1);
    direct->server = (group_server){
        .name = "Thrift2", .port = (uint16_t)atoi(strrchr(place, ':') + 1), .form = {KW_WIRE_COMPACT, true}};
    direct->link = link_open(&direct->server);
    direct->table = g_strconcat(name, "_direct", NULL);
    direct->arena = kw_arena_new();
    direct->random = g_rand_new_with_seed(1);
    return direct;
}

void
bench_direct_close(bench_direct *direct)
{
    link_close(direct->link);
    kw_arena_free(direct->arena);
    g_rand_free(direct->random);
    g_free(direct->table);
    g_free(direct);
}

/* Without the time in which the rows are made. */
double
bench_direct_puts(bench_direct *direct, double seconds)
{
    uint64_t took_ns = 0, rows = 0;
    while (took_ns < (uint64_t)(seconds * 1e9)) {
        kw_hb_TPut puts[BENCH_BATCH];
        kw_arena_reset(direct->arena);
        for (size_t i = 0; i < BENCH_BATCH; i++)
            puts[i] = make_put(direct);
        kw_hb_THBaseService_putMultiple_args args = {.table = kw_bytes_of_text(direct->table)};
        args.tputs.items = puts;
        args.tputs.count = BENCH_BATCH;
        uint64_t began_ns = kw_clock_mono_ns();
        const kw_hb_THBaseService_putMultiple_result *result =
            link_call(direct->link, &kw_hb_methods[KW_HB_THBaseService_putMultiple], &args);
        took_ns += kw_clock_mono_ns() - began_ns;
        must(result->io);
        rows += BENCH_BATCH;
    }
    return (double)rows / ((double)took_ns / 1e9);
}
