/* What gets and the latest rows cost in a table whose values compress well, relative to one whose values do
 * not. A file has about the same size on the disk in both, so it has many more rows of values that compress,
 * and larger index and filter blocks. */
#include "bench.h"

#include "store/embedded/embedded_internal.h"

#include <stdio.h>
#include <string.h>

#define TABLE KW_BYTES_LITERAL("compressed")
#define BUCKETS 16
#define VALUE_BYTES 100
#define LATEST_ROWS 20

typedef struct timing {
    bench_loop *loop;
    const bench_compressed *rows;
    uint64_t *took_ns; /* of each operation */
    size_t done, wanted;
    uint64_t began_ns;
    char row[32];
    kw_get get;
    kw_range_scan *scans[BUCKETS];
    size_t fetching, found;
} timing;

static kw_bytes
format_row(char row[32], size_t number)
{
    return kw_bytes_of(row, (size_t)snprintf(row, 32, "%02zx|%012zu", number % BUCKETS, number / BUCKETS));
}

/* --- loading ------------------------------------------------------------------------------------------ */

typedef struct loading {
    const bench_compressed *rows;
    char keys[BENCH_BATCH][32];
    uint8_t values[BENCH_BATCH][VALUE_BYTES];
    kw_cell cells[BENCH_BATCH];
} loading;

static void
fill_value(const bench_compressed *rows, uint8_t *value)
{
    memset(value, 'x', VALUE_BYTES);
    for (size_t i = 0; i + 8 <= VALUE_BYTES && !rows->compressible; i += 8) {
        uint64_t random = kw_random_u64();
        memcpy(value + i, &random, sizeof random);
    }
}

static void
fill_row(void *user, size_t number, size_t slot, kw_write *put)
{
    loading *load = user;
    fill_value(load->rows, load->values[slot]);
    load->cells[slot] = (kw_cell){.family = KW_BYTES_LITERAL("d"),
                                  .qualifier = KW_BYTES_LITERAL("v"),
                                  .value = kw_bytes_of(load->values[slot], VALUE_BYTES)};
    put->row = format_row(load->keys[slot], number);
    put->cells = &load->cells[slot];
    put->cells_count = 1;
}

/* --- gets --------------------------------------------------------------------------------------------- */

static void start_get(timing *self);

static void
end_one(timing *self, void (*next)(timing *self))
{
    self->took_ns[self->done++] = kw_clock_mono_ns() - self->began_ns;
    if (self->done < self->wanted)
        next(self);
    else
        bench_end_loop(self->loop);
}

static void
get_done(void *user, kw_rows *rows, const kw_error *error)
{
    if (error)
        g_error("%s", error->text);
    g_assert_cmpuint(rows->rows[0].cells_count, ==, 1);
    kw_rows_free(rows);
    end_one(user, start_get);
}

static void
start_get(timing *self)
{
    self->get = (kw_get){.table = TABLE,
                         .row = format_row(self->row, kw_random_u64() % self->rows->rows),
                         .deadline = KW_DEADLINE_NONE};
    self->began_ns = kw_clock_mono_ns();
    kw_store_handle_get(self->loop->handle, &self->get, get_done, self);
}

/* --- the latest rows ---------------------------------------------------------------------------------- */

static void start_latest(timing *self);

static void
latest_fetched(void *user, kw_rows *rows, const kw_error *error)
{
    timing *self = user;
    if (error)
        g_error("%s", error->text);
    self->found += rows->count;
    kw_rows_free(rows);
    if (--self->fetching > 0)
        return;
    g_assert_cmpuint(self->found, >=, LATEST_ROWS);
    for (size_t i = 0; i < BUCKETS; i++)
        kw_range_scan_close(self->scans[i]);
    end_one(self, start_latest);
}

/* As a query of the latest 20 rows of 16 buckets reads them. */
static void
start_latest(timing *self)
{
    self->began_ns = kw_clock_mono_ns();
    self->fetching = BUCKETS;
    self->found = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        char start[8], stop[8];
        snprintf(start, sizeof start, "%02zx|", i);
        snprintf(stop, sizeof stop, "%02zx}", i);
        kw_range_scan_spec spec = {.table = TABLE,
                                   .start = kw_bytes_of_text(start),
                                   .stop = kw_bytes_of_text(stop),
                                   .reversed = true};
        self->scans[i] = kw_store_handle_open_range_scan(self->loop->handle, &spec);
        kw_range_scan_fetch(self->scans[i], LATEST_ROWS / BUCKETS + 1, 1 << 20, false, KW_DEADLINE_NONE,
                            latest_fetched, self);
    }
}

/* --- all ---------------------------------------------------------------------------------------------- */

static void
begin_gets(kw_task *task)
{
    timing *self = bench_loop_of(task)->work;
    self->loop = bench_loop_of(task);
    start_get(self);
}

static void
begin_latest(kw_task *task)
{
    timing *self = bench_loop_of(task)->work;
    self->loop = bench_loop_of(task);
    start_latest(self);
}

static int
by_time(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static double
median_us(kw_store *store, const bench_compressed *rows, size_t count, void (*begin)(kw_task *task))
{
    timing self = {.rows = rows, .wanted = count, .took_ns = g_new(uint64_t, count)};
    bench_loop loop;
    bench_on_loops(store, &loop, 1, begin, &self);
    qsort(self.took_ns, count, sizeof *self.took_ns, by_time);
    double median = (double)self.took_ns[count / 2] / 1000;
    g_free(self.took_ns);
    return median;
}

void
bench_load_compressed(kw_store *store, const bench_compressed *rows)
{
    loading *load = g_new0(loading, 1);
    load->rows = rows;
    bench_load(store, TABLE, rows->rows, fill_row, load);
    g_free(load);
    rocksdb_compact_range(((kw_embedded *)store)->engine.db, NULL, 0, NULL, 0);
}

void
bench_read_compressed(kw_store *store, bench_compressed *rows)
{
    median_us(store, rows, 2000, begin_gets); /* fills the cache */
    rows->get_us = median_us(store, rows, 20000, begin_gets);
    rows->latest_us = median_us(store, rows, 2000, begin_latest);
}
