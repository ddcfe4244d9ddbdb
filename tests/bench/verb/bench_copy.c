/* Rows per second of the copy of a change in the embedded store, compared with puts of the same rows:
 *
 *   bench_copy [--check] [--rows N]
 *
 * Each round puts N rows, 100 per call, one call at a time, and then copies them with one slice at a time.
 * The median round counts. Then the duration of single puts, alone and while rows are copied. --check fails
 * on a missed target. */
#include "unit/verb/placed_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 7
#define BATCH 100
#define PUTS 400

typedef struct bench {
    placed_fixture placed;
    desk *desk;
    kw_copy_request request;
    kw_copy_result result;
    uint8_t after[200];
    bool copying; /* a slice is running */
    bool done;
    uint64_t copied;
} bench;

static double
seconds_since(uint64_t began_ns)
{
    return (double)(kw_clock_mono_ns() - began_ns) / 1e9;
}

static void
wait_for(bench *self, const bool *flag)
{
    while (!*flag)
        uv_run(kw_loop_uv(self->desk->loop), UV_RUN_ONCE);
}

/* --- puts ---------------------------------------------------------------------------------------- */

static kw_record
make_record(bench *self, int number)
{
    g_autofree char *note = g_strnfill(60, 'n');
    g_autofree char *text =
        g_strdup_printf("id=row%08d n=%d note=%s tags.a=1 tags.b=%d", number, number, note, number);
    return desk_record(self->desk, "then", text);
}

static void
on_put(void *user, const kw_written_record *results, size_t count)
{
    bench *self = user;
    for (size_t i = 0; i < count; i++)
        g_assert(results[i].outcome == KW_OUTCOME_OK);
    self->done = true;
}

/* Returns the time of the call, without that of making the records. */
static double
put_batch(bench *self, int first, size_t count)
{
    kw_item items[BATCH] = {0};
    for (size_t i = 0; i < count; i++)
        items[i].record = make_record(self, first + (int)i);
    uint64_t began_ns = kw_clock_mono_ns();
    self->done = false;
    kw_verb_put(&self->desk->call, desk_table(self->desk, "then"), items, count, self->desk->options, on_put,
                self);
    wait_for(self, &self->done);
    return seconds_since(began_ns);
}

static double
put_rows(bench *self, int first, int count)
{
    double took_s = 0;
    for (int at = 0; at < count; at += BATCH) {
        took_s += put_batch(self, first + at, BATCH);
        desk_clear(self->desk);
    }
    return took_s;
}

/* --- copies -------------------------------------------------------------------------------------- */

static void
on_copied(void *user, const kw_copy_result *result, const kw_error *error)
{
    bench *self = user;
    if (error)
        g_error("%s", error->text);
    self->result = *result;
    g_assert(result->after.size <= sizeof self->after);
    memcpy(self->after, result->after.data, result->after.size);
    self->request.after = kw_bytes_of(self->after, result->after.size);
    self->copied += result->rows;
    self->copying = false;
    self->done = true;
}

static void
start_copy(bench *self, kw_call *call)
{
    self->copying = true;
    kw_copy(call, &self->request, on_copied, self);
}

static double
copy_rows(bench *self)
{
    uint64_t began_ns = kw_clock_mono_ns();
    do {
        self->done = false;
        start_copy(self, &self->desk->call);
        wait_for(self, &self->done);
        desk_clear(self->desk);
    } while (!self->result.end);
    return seconds_since(began_ns);
}

static int
by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double
measure_rates(bench *self, int rows)
{
    double ratios[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double put_s = put_rows(self, round * rows, rows);
        self->copied = 0;
        double copy_s = copy_rows(self);
        g_assert(self->copied == (uint64_t)rows);
        ratios[round] = put_s / copy_s;
        printf("round %d: puts %.0f rows/s, copies %.0f rows/s, ratio %.2f\n", round + 1, rows / put_s,
               rows / copy_s, ratios[round]);
    }
    qsort(ratios, ROUNDS, sizeof *ratios, by_value);
    return ratios[ROUNDS / 2];
}

/* --- delays of puts ------------------------------------------------------------------------------ */

/* Prints the median and the 99th percentile of single puts; returns the latter. */
static double
measure_puts(bench *self, int first, bool while_copying)
{
    double took_ms[PUTS];
    kw_call call = self->desk->call;
    call.arena = kw_arena_new();
    self->request.after = KW_BYTES_NONE;
    for (int i = 0; i < PUTS; i++) {
        if (while_copying && !self->copying) {
            kw_arena_reset(call.arena);
            self->request.after = self->result.end ? KW_BYTES_NONE : self->request.after;
            start_copy(self, &call);
        }
        took_ms[i] = put_batch(self, first + i, 1) * 1000;
        desk_clear(self->desk);
    }
    while (self->copying)
        uv_run(kw_loop_uv(self->desk->loop), UV_RUN_ONCE);
    kw_arena_free(call.arena);
    qsort(took_ms, PUTS, sizeof *took_ms, by_value);
    printf("puts %s: median %.2f ms, 99th percentile %.2f ms\n",
           while_copying ? "while rows are copied" : "alone", took_ms[PUTS / 2], took_ms[PUTS * 99 / 100]);
    return took_ms[PUTS * 99 / 100];
}

int
main(int argc, char **argv)
{
    bool check = false;
    int rows = 10000;
    for (int i = 1; i < argc; i++) {
        check = check || g_str_equal(argv[i], "--check");
        if (g_str_equal(argv[i], "--rows") && i + 1 < argc)
            rows = atoi(argv[++i]);
    }
    bench self = {0};
    placed_fixture_open(&self.placed);
    self.desk = self.placed.desk;
    placed_fixture_place(&self.placed, "now", "then");
    self.request = (kw_copy_request){
        .from = &self.placed.placements[1], .to = &self.placed.placements[0], .max_rows = KW_COPY_ROWS_MAX};
    rows = MAX(rows / BATCH, 1) * BATCH;
    double ratio = measure_rates(&self, rows);
    printf("copies / puts: %.2f\n", ratio);
    double alone_ms = measure_puts(&self, ROUNDS * rows, false);
    double copying_ms = measure_puts(&self, ROUNDS * rows + PUTS, true);
    placed_fixture_close(&self.placed);
    bool missed = check && (ratio < 0.7 || copying_ms > alone_ms + 10);
    if (missed)
        printf("MISSED: copies have at least 0.7 of the rate of puts, and delay puts by at most 10 ms\n");
    return missed;
}
