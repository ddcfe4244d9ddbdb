/* The durations of puts during a change, for a plot. */
#include "bench.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

#define CALLERS 16
#define STEP_NS UINT64_C(100000000)
#define QUIET_US 2000000 /* before, between and after the versions */

typedef struct version {
    const char *name;
    uint64_t since_ns;
} version;

typedef struct trace {
    const bench_gateway *gateway;
    version versions[16];
    size_t count;
    gint done;
} trace;

static void
enter(trace *self, const char *name)
{
    self->versions[self->count++] = (version){name, kw_clock_mono_ns()};
}

static gpointer
run_change(gpointer data)
{
    trace *self = data;
    enter(self, "before");
    g_usleep(QUIET_US);
    enter(self, "begin");
    bench_begin_change(self->gateway);
    enter(self, "copying");
    while (!bench_change_progress(self->gateway).all_copied)
        g_usleep(STEP_NS / 1000);
    enter(self, "comparing");
    while (!bench_change_progress(self->gateway).all_compared)
        g_usleep(STEP_NS / 1000);
    enter(self, "passing"); /* on HBase */
    while (!bench_change_progress(self->gateway).ready)
        g_usleep(STEP_NS / 1000);
    enter(self, "both written");
    g_usleep(QUIET_US);
    enter(self, "switch");
    bench_order_change(self->gateway, BENCH_SWITCH);
    enter(self, "new rows read");
    g_usleep(QUIET_US);
    enter(self, "complete");
    bench_order_change(self->gateway, BENCH_COMPLETE);
    enter(self, "after");
    g_usleep(QUIET_US);
    g_atomic_int_set(&self->done, 1);
    return NULL;
}

static const char *
version_at(const trace *self, uint64_t at_ns)
{
    size_t place = self->count - 1;
    while (place > 0 && self->versions[place].since_ns > at_ns)
        place--;
    return self->versions[place].name;
}

/* Replies are in the order of their times. */
static void
write_steps(const trace *self, GArray *replies, FILE *file)
{
    uint64_t first_ns = self->versions[0].since_ns, step_ns = first_ns;
    GArray *step = g_array_new(FALSE, FALSE, sizeof(bench_reply));
    fputs("second,version,puts,p50_us,p99_us\n", file);
    for (guint i = 0; i < replies->len; i++) {
        const bench_reply *reply = &g_array_index(replies, bench_reply, i);
        while (reply->at_ns >= step_ns + STEP_NS) {
            fprintf(file, "%.1f,\"%s\",%u,%.0f,%.0f\n", (double)(step_ns - first_ns) / 1e9,
                    version_at(self, step_ns), step->len, bench_percentile_us(step, 0.5),
                    bench_percentile_us(step, 0.99));
            g_array_set_size(step, 0);
            step_ns += STEP_NS;
        }
        g_array_append_val(step, *reply);
    }
    g_array_unref(step);
}

void
bench_trace(const bench_options *options, bench_gateway *gateway)
{
    trace self = {.gateway = gateway};
    FILE *file = fopen(options->trace, "w");
    if (!file) {
        perror(options->trace);
        exit(1);
    }
    GThread *thread = g_thread_new("change", run_change, &self);
    bench_work work = {.call = BENCH_PUT,
                       .callers = CALLERS,
                       .seconds = 3600,
                       .stop = &self.done,
                       .number = &gateway->next_put};
    bench_slice puts = bench_callers_run(gateway->callers, &work);
    g_thread_join(thread);
    write_steps(&self, puts.replies, file);
    g_array_unref(puts.replies);
    fclose(file);
}
